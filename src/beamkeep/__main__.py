"""The command line, as `python -m beamkeep`."""

from beamkeep.deployment.verbs import main

if __name__ == "__main__":
    main()
