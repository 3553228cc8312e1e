"""One module or package for each external system that the service uses."""
