"""What the service is made of, from its lock files: a list of parts, and whether any is unfit.

Writes `build/sbom.json` (CycloneDX). Fails when a part has no hash, no version, a licence nobody
looked at, was withdrawn from the index or has a published vulnerability. The last two can only be
asked of the index; where it does not answer, that is said, and is no failure.
"""

import asyncio
import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

import httpx2

ROOT = Path(__file__).parents[1]
SBOM = ROOT / "build" / "sbom.json"
EXTRAS = (
    "anthropic",
    "bluesky",
    "client",
    "epics",
    "federation",
    "nats",
    "openai",
    "optimiser",
    "pandas",
    "pkcs11",
    "polars",
    "pvaccess",
    "tango",
)
LOCKS = ("requirements.txt", *(f"requirements-{extra}.txt" for extra in EXTRAS))
INDEX, VULNERABILITIES = "https://pypi.org/simple", "https://pypi.org/pypi"
AT_ONCE, SECONDS = 8, 10.0

PART = re.compile(
    r"^(?P<name>[a-z0-9.-]+)==(?P<version>[^ \\\n]+)(?P<rest>(?:.*\\\n)*.*)$", re.MULTILINE
)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
FILE = re.compile(r"<a\s[^>]*#sha256=(?P<hash>[0-9a-f]{64})[^>]*>")

ALLOWED = frozenset(
    [
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "EPICS",
        "MIT",
        "MIT-0",
        "MPL-2.0",
        "PSF-2.0",
        "Zlib",
    ]
)
"""Licences by their SPDX names that a facility may install and pass on with Apache-2.0."""

SPELLED = {
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "GNU Library or Lesser General Public License (LGPL)": "LGPL-3.0-only",
    "3-Clause BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""What packages call them that do not use the SPDX names."""

EXCEPTED = {"pytango": "LGPL-3.0-only"}
"""Parts of extras under a licence that is not allowed in general: installed, but not passed on."""

READ = {"historydict": "BSD-3-Clause"}
"""Parts whose metadata does not say, by what their source says."""


@dataclass(frozen=True)
class Part:
    """One locked package."""

    name: str
    version: str
    hashes: tuple[str, ...]

    @property
    def purl(self) -> str:
        """Its name in every list of parts."""
        return f"pkg:pypi/{self.name}@{self.version}"

    @property
    def licence(self) -> str | None:
        """What it is given under; nothing when this machine's platform does not install it."""
        try:
            declared = metadata(self.name)
        except PackageNotFoundError:
            return None
        if written := declared.get("License-Expression") or READ.get(self.name):
            return str(written)
        classifiers = [str(each) for each in declared.get_all("Classifier") or ()]
        spoken = [each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License")]
        spoken = spoken or [str(declared.get("License") or "no licence")]
        return " OR ".join(SPELLED.get(each, each) for each in spoken)


def parts(texts: Iterable[str]) -> list[Part]:
    """Every part of some lock files, once."""
    found = {
        (each["name"], each["version"]): Part(
            each["name"], each["version"], tuple(HASH.findall(each["rest"]))
        )
        for text in texts
        for each in PART.finditer(text)
    }
    return [part for _, part in sorted(found.items())]


def sbom(found: Iterable[Part]) -> dict[str, Any]:
    """The list of parts, the same for the same lock files."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "beamkeep"}},
        "components": [
            {
                "type": "library",
                "bom-ref": part.purl,
                "name": part.name,
                "version": part.version,
                "purl": part.purl,
                "hashes": [{"alg": "SHA-256", "content": each} for each in part.hashes],
                **({"licenses": [{"expression": part.licence}]} if part.licence else {}),
            }
            for part in found
        ],
    }


def faults(found: Iterable[Part]) -> list[str]:
    """What is wrong with the parts by what is known here."""
    wrong: list[str] = []
    for part in found:
        if not part.hashes:
            wrong.append(f"{part.purl} has no hash. Run `make lock`.")
        terms = re.split(r" (?:AND|OR) ", part.licence) if part.licence else ()
        if not {*ALLOWED, EXCEPTED.get(part.name)}.issuperset(terms):
            wrong.append(f"{part.purl} is under {part.licence}, which nobody has allowed.")
    return wrong


def withdrawn(part: Part, page: str) -> list[str]:
    """What the index says against a part: files withdrawn, or other than those locked."""
    files = {each["hash"]: each[0] for each in FILE.finditer(page)}
    listed = [files[each] for each in part.hashes if each in files]
    if not listed:
        return [f"{part.purl}: none of the locked files is in the index."]
    return [f"{part.purl} was withdrawn."] * any("data-yanked" in each for each in listed)


def vulnerable(part: Part, release: Mapping[str, Any]) -> list[str]:
    """The vulnerabilities published for a part and not taken back."""
    published = [each for each in release.get("vulnerabilities", ()) if not each.get("withdrawn")]
    return [
        f"{part.purl}: {each['id']}, mended in {', '.join(each.get('fixed_in') or ['no version'])}."
        for each in published
    ]


async def asked(found: Iterable[Part]) -> tuple[list[str], list[str]]:
    """What the index has against the parts, and which questions it did not answer."""
    wrong, silent, turn = list[str](), dict[str, int](), asyncio.Semaphore(AT_ONCE)

    async def get(http: httpx2.AsyncClient, what: str, address: str) -> httpx2.Response | None:
        async with turn:
            try:
                answer = await http.get(address)
            except (httpx2.HTTPError, OSError):
                answer = None
        if answer is not None and answer.status_code == 200:
            return answer
        silent[what] = silent.get(what, 0) + 1
        return None

    async def ask(http: httpx2.AsyncClient, part: Part) -> None:
        page = await get(http, "withdrawals", f"{INDEX}/{part.name}/")
        wrong.extend(withdrawn(part, page.text) if page else ())
        answer = await get(
            http, "vulnerabilities", f"{VULNERABILITIES}/{part.name}/{part.version}/json"
        )
        wrong.extend(vulnerable(part, answer.json()) if answer else ())

    async with httpx2.AsyncClient(timeout=SECONDS, follow_redirects=True) as http:
        await asyncio.gather(*(ask(http, part) for part in found))
    return wrong, [f"NOT ASKED: {what} of {count} parts" for what, count in silent.items()]


def main() -> int:
    """Write the list, and say what is wrong."""
    found = parts((ROOT / "requirements" / name).read_text() for name in LOCKS)
    SBOM.parent.mkdir(exist_ok=True)
    SBOM.write_text(json.dumps(sbom(found), indent=2) + "\n")
    wrong, silent = asyncio.run(asked(found))
    wrong = faults(found) + sorted(wrong)
    print("\n".join([*wrong, *silent]))
    print(f"{len(found)} parts in {SBOM.relative_to(ROOT)}, {len(wrong)} unfit")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
