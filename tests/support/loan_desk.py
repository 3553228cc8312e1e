"""The loan desk of the page «Add an aggregate», as a package of a site."""

import re
import tomllib
from pathlib import Path

from beamkeep.deployment.new_context import write_skeleton

PAGE = (Path(__file__).parents[2] / "docs/how-to/add-an-aggregate.md").read_text()
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
NAMED = re.compile(r"(?:#|--) (src/\S+|tests/\S+|\w+\.py)\n")


def files() -> dict[str, str]:
    """Return the files that the page shows."""
    texts = [text for kind, text in BLOCK.findall(PAGE) if kind in {"python", "sql"}]
    return {found[1]: text[found.end() :] for text in texts if (found := NAMED.match(text))}


def installed(folder: Path) -> Path:
    """Write the package, and return the folder that has it on the path of Python."""
    for _ in write_skeleton(folder, "loan_desk", "tool"):
        pass
    for name, text in files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    record = folder / "src/loan_desk-0.1.0.dist-info"
    record.mkdir()
    about = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (record / "METADATA").write_text(about)
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {context}" for name, context in points.items()))
    ]
    (record / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder / "src"
