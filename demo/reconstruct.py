"""The job of the reconstruction plan: writes a volume, or says how many bytes its inputs have.

`reconstruct.py JOB` with the path of a job.json
"""

import json
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit


def path_of(uri: str) -> Path:
    """Return the file of a file: address."""
    return Path(unquote(urlsplit(uri).path))


def main(job_file: Path) -> None:
    """Read the job, and leave its output and its measurements."""
    job = json.loads(job_file.read_text())
    if inputs := [path_of(each) for each in job["input_uris"]]:
        found = [{"name": "volume_size", "value": sum(each.stat().st_size for each in inputs)}]
        (job_file.parent / "measurements.json").write_text(json.dumps(found))
    else:
        path_of(job["output_uri"]).write_bytes(bytes(job["parameters"]["voxels"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
