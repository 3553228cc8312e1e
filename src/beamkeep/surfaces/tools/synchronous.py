"""The synchronous client, word by word from the asynchronous one."""

import re
from collections.abc import Mapping
from pathlib import Path

NOTE = "# Written from `asynchronous`; `make reference` writes it again.\n"
WORDS = (
    (r"\basync (?=def |with |for )", ""),
    (r"\bawait ", ""),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\basynchronous\b", "synchronous"),
    (r"\basyncio\b", "time"),
    (r"\b__a(enter|exit|iter)__", r"__\1__"),
    (r"\ba(iter_lines|read|close)\(", r"\1("),
    (r"\b_arepr_html_\b", "_repr_html_"),
)
"""What the synchronous form has in place of words of the asynchronous form."""


def synchronous(text: str) -> str:
    """Return the synchronous form of asynchronous code."""
    for pattern, word in WORDS:
        text = re.sub(pattern, word, text)
    return text


def synchronous_modules(package: Path, written: Mapping[str, str]) -> dict[str, str]:
    """Return the synchronous form of every asynchronous module, on disk or just written."""
    texts = {file.name: file.read_text() for file in (package / "asynchronous").glob("*.py")}
    new = {Path(name).name: text for name, text in written.items() if "asynchronous/" in name}
    return {
        f"synchronous/{name}": NOTE + synchronous(text)
        for name, text in sorted((texts | new).items())
    }
