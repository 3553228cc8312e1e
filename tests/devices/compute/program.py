"""What the jobs of the tests run: it reads its job and does what its first argument says."""

import json
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit


def main() -> int:
    verb, job = sys.argv[1], json.loads(Path(sys.argv[2]).read_bytes())
    target: str = job["output_uri"]
    with Path("runs").open("a") as runs:
        runs.write("once\n")
    output = Path(unquote(urlsplit(target).path))
    match verb:
        case "measure":
            number = job["parameters"]["number"]
            measured = [{"name": "twice", "value": 2 * number, "unit": "mm", "quality": "Good"}]
            Path("measurements.json").write_text(json.dumps(measured))
        case "file":
            output.write_text("made\n")
        case "tree":
            (output / "b").mkdir(parents=True)
            (output / "b/two.txt").write_text("two\n")
            (output / "a.txt").write_text("one\n")
        case "link":
            output.symlink_to("/etc/passwd")
        case "garbled":
            Path("measurements.json").write_text('[{"name": "twice", "value": NaN}]')
        case "wait":
            while not Path("go").exists():
                time.sleep(0.01)
        case _:
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
