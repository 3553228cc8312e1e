"""Layouts of answers that people read most."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from textwrap import wrap
from typing import Any, cast

from .board import board, status
from .catalogue import catalogue
from .terminal import age, local, tail, width

type Body = Mapping[str, Any]


def readiness(body: Body) -> Iterator[str]:
    """Yield whether a plan can be started, and what would clear each check that fails."""
    checks: list[Body] = body["checks"]
    failed = [check for check in checks if not check["passed"]]
    yield (
        f"● Ready: all {len(checks)} checks pass."
        if body["ready"]
        else f"✕ Not ready: {len(failed)} of {len(checks)} checks fail."
    )
    for check in failed:
        facts: list[Body] = check["facts"]
        yield f"✕ {_words(check['check'])}" + ("" if facts else f": {check['error']}")
        yield from (f"    {_state(fact)}" for fact in facts)
        yield from (f"    → beamkeep {way}" for way in _ways(check["cleared_by"], facts))
    if passed := [_words(check["check"]) for check in checks if check["passed"]]:
        yield from wrap(f"● {', '.join(passed)}", width(), subsequent_indent="  ")
    yield from (f"▲ {_state(fact)}" for fact in body["advisories"])
    for caution in body["cautions"]:
        text = f"▲ {caution['severity']}: {caution['text']}"
        yield from wrap(text, width(), subsequent_indent="    ")
        way = f"    Workaround: {caution['workaround']}"
        yield from wrap(way, width(), subsequent_indent="    ")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _state(fact: Body) -> str:
    until = f" until {local(fact['until'])}" if fact.get("until") else ""
    return f"{fact['kind']} {fact['name']} is {fact['state']}{until}"


def _ways(names: list[str], facts: list[Body]) -> Iterator[str]:
    """Yield the commands that would clear a check, with the objects that they are about."""
    for name in names:
        if entry := catalogue().get(name):
            kinds = {entry.fields[each].refers_to for each in entry.in_path}
            about = [fact["name"] for fact in facts if fact["kind"] in kinds]
            targets = [shlex.quote(text) for text in dict.fromkeys(about)]
            yield from (f"{entry.words} {each}" for each in targets or [""])


def handover(body: Body) -> Iterator[str]:
    """Yield what happened in a shift, section by section; what is still open comes first."""
    for name in sorted(body, key=lambda each: each != "open"):
        rows = body[name]
        if isinstance(rows, list) and rows:
            yield name.replace("_", " ").capitalize()
            yield from (f"  {_happened(row)}" for row in cast("list[Body]", rows))


def _happened(row: Body) -> str:
    when = local(row["at"])
    words = re.findall(r"[A-Z]?[a-z]+", row["what"].removeprefix(row["kind"]))
    parts = [when, row["kind"], row["name"] or tail(row["id"]), " ".join(words).lower()]
    why = f": {row['why']}" if row.get("why") else ""
    return " ".join(parts) + why


def whoami(body: Body) -> Iterator[str]:
    """Yield who calls, where, until when, and what may be called there, noun by noun."""
    surface, facility, ends = body["surface"], body["facility"], body["token_expires_at"]
    permitted, own = set(body["permitted_commands"]), len(body["own_only"])
    everything = permitted >= catalogue().keys()
    count = "everything" if everything else f"{len(permitted)} operations and questions"
    yield f"{body['name']} ({body['kind'].replace('_', ' ')}) {tail(body['actor_id'])}"
    yield f"surface   {_both(surface['name'], surface['kind'])}"
    yield f"facility  {_both(facility['name'], facility['code'])}, {facility['timezone']}"
    yield f"time      {body['now'][:19].replace('T', ' ')} UTC at the service"
    yield f"token     {f'ends {age(ends)}' if ends else 'none'}"
    yield f"may call  {count}" + (f"; {own} of them show only your own objects" if own else "")
    nouns: dict[str, list[str]] = {}
    for name in sorted(permitted & catalogue().keys()) if not everything else ():
        entry = catalogue()[name]
        nouns.setdefault(entry.noun or "no noun", []).append(entry.short or entry.verb)
    for noun in sorted(nouns):
        yield from wrap(f"{noun}: {', '.join(sorted(nouns[noun]))}", width(), **HANGING)


def _both(name: str, code: str) -> str:
    return name if name == code else f"{name} ({code})"


HANGING: Mapping[str, Any] = {
    "initial_indent": "  ",
    "subsequent_indent": "      ",
    "break_on_hyphens": False,
}
LAYOUTS: Mapping[str, Callable[[Body], Iterator[str]]] = {
    "get_plan_readiness": readiness,
    "get_self": whoami,
    "get_shift_handover": handover,
    "get_board": board,
    "get_status": status,
}
"""By the name of the question."""
