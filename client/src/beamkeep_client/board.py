"""How beamlines stand, in lines that fit one screen of 80 columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .catalogue import catalogue
from .terminal import SIGN_OF, age, aligned, height, tail

type Body = Mapping[str, Any]

MOST_CHECKS = 3
"""How many failed checks a board shows."""
RANK = {"✕": 0, "▲": 1, "○": 2, "●": 3}
HEADS = ("BEAMLINE", "STATE", "RUNS", "SUPPLIES", "HUTCHES", "ASSETS", "FIRST REASON")


def status(body: Body) -> Iterator[str]:
    """Yield a line for each beamline; supplies, hutches and assets are counted if abnormal."""
    lines: Sequence[Body] = body["items"]
    if not lines:
        yield "No beamline: register an asset of tier Unit at a facility."
        return
    counted = ("runs", "supplies", "enclosures", "assets")
    rows = [
        [
            line["name"],
            _signed(line["state"]) if line["state"] else "not shown",
            *(_count(line[name]) for name in counted),
            line["reason"] or "",
        ]
        for line in lines
    ]
    yield from aligned([HEADS, *rows])
    if body["more"]:
        yield "There are more: give --facility-code."


def board(body: Body) -> Iterator[str]:
    """Yield how one beamline stands: whether a run can start, then every part, abnormal first."""
    names = {id: each["name"] for id, each in body.get("names", {}).items()}
    verdict = list(_verdict(body, names))
    yield from verdict
    lines_of = {part: _part_lines(body[part], part, line, names) for _, part, line in PARTS}
    room = _room(
        {part: len(lines) for part, lines in lines_of.items()}, height() - len(verdict) - 2
    )
    for title, part, _ in PARTS:
        lines, most = lines_of[part], room[part]
        cut = len(lines) > most or part in body["more"]
        shown = lines[: most - 1] if len(lines) > most > 1 else lines[:most]
        for number, line in enumerate(shown):
            yield f"  {title if number == 0 else '':<10} {line}"
        if cut and most > 1:
            yield f"  {'':<10} … and more: beamkeep asset board {tail(body['asset_id'])} -o yaml"


def _part_lines(
    objects: Sequence[Body] | None, part: str, line: "PartLine", names: Mapping[str, str]
) -> Sequence[str]:
    if objects is None:
        return ["not shown to you"]
    if not objects:
        return ["none"] if part in SAID_IF_NONE else []
    return sorted((line(each, names) for each in objects), key=lambda text: RANK[text[0]])


def _room(wanted: Mapping[str, int], most: int) -> Mapping[str, int]:
    """Return how many lines each part gets: one, then one more in turn while the screen has any."""
    room = {part: min(count, 1) for part, count in wanted.items()}
    while sum(room.values()) < most and (short := [p for p in room if room[p] < wanted[p]]):
        for part in short[: most - sum(room.values())]:
            room[part] += 1
    return room


def _verdict(body: Body, names: Mapping[str, str]) -> Iterator[str]:
    name, plans = body["name"], body["plans"]
    if not plans:
        detail = "no plan has run here" if plans is not None else "readiness is not shown to you"
        yield f"{name}: {detail}."
        return
    for plan in plans:
        called = names.get(plan["plan_id"]) or tail(plan["plan_id"])
        failed = [check for check in plan["checks"] if not check["passed"]]
        if not failed:
            yield f"● {name}: {called} can start."
            continue
        share = f"{len(failed)} of {len(plan['checks'])}"
        yield f"✕ {name}: {called} cannot start. {share} checks fail."
        for check in failed[:MOST_CHECKS]:
            facts = "; ".join(f"{fact['name']} is {fact['state']}" for fact in check["facts"])
            yield f"    {check['check']}: {facts or check['error']}"
            ways = [catalogue()[way].words for way in check["cleared_by"] if way in catalogue()]
            if ways:
                yield f"      clear it with: beamkeep {', '.join(ways)}"
        if len(failed) > MOST_CHECKS:
            yield f"    … and more: beamkeep plan ready {tail(plan['plan_id'])}"


def _supply(each: Body, names: Mapping[str, str]) -> str:
    return _line(each["name"], each["status"], each["since"], each["reason"])


def _enclosure(each: Body, names: Mapping[str, str]) -> str:
    stale = "its monitor is silent" if each["stale"] else each["reason"]
    return _line(each["name"], each["permit_status"], each["since"], stale)


def _clearance(each: Body, names: Mapping[str, str]) -> str:
    until = f"ends {age(each['valid_until'])}" if each["valid_until"] else "without an end"
    return f"● {each['title']}: in force, {until}"


def _surface(each: Body, names: Mapping[str, str]) -> str:
    visit, id = each["visit"], each["controlling_visit_id"]
    if not id:
        return f"○ {each['name']}: free"
    references: Mapping[str, str] = visit["external_refs"] if visit else {}
    called = ", ".join(f"{scheme} {value}" for scheme, value in references.items())
    who = called or names.get(id) or tail(id)
    return f"● {each['name']}: {who} has control since {age(each['controlled_since'])}"


def _run(each: Body, names: Mapping[str, str]) -> str:
    about = [names.get(each[field] or "") for field in ("plan_id", "subject_id")]
    called = ", ".join(filter(None, about))
    line = _line(each["name"], each["status"], each["since"], each["reason"])
    return f"{line} ({called})" if called else line


def _procedure(each: Body, names: Mapping[str, str]) -> str:
    if each["undecided_step_indexes"]:
        steps = ", ".join(str(index + 1) for index in each["undecided_step_indexes"])
        return f"✕ {each['name']}: is step {steps} done? beamkeep procedure conduct-from"
    if each["lease_expired"]:
        return f"✕ {each['name']}: no worker is at work on it"
    line = _line(each["name"], each["status"], each["since"], each["reason"])
    if each["step_index"] is None or not each["step_count"]:
        return line
    return f"{line}, step {each['step_index'] + 1} of {each['step_count']}"


def _caution(each: Body, names: Mapping[str, str]) -> str:
    about = names.get(each["target"]["id"]) or each["target"]["kind"]
    sign = "✕" if each["severity"] == "Warning" else "▲"
    return f"{sign} {each['severity']} about {about}: {each['text']}"


def _asset(each: Body, names: Mapping[str, str]) -> str:
    if each["condition"] == "Nominal":
        return _line(
            each["name"], each["lifecycle"], each["lifecycle_since"], each["lifecycle_reason"]
        )
    return _line(each["name"], each["condition"], each["condition_since"], each["condition_reason"])


def _line(name: str, state: str, since: str | None, reason: str | None) -> str:
    sign = SIGN_OF[state][0] if state in SIGN_OF else "○"
    when = f" for {age(since)}" if since else ""
    return f"{sign} {name}: {state}{when}{f': {reason}' if reason else ''}"


def _signed(state: str) -> str:
    return f"{SIGN_OF[state][0] if state in SIGN_OF else '○'} {state}"


def _count(number: int | None) -> str:
    return "?" if number is None else str(number) if number else "-"


type PartLine = Callable[[Body, Mapping[str, str]], str]
PARTS: Sequence[tuple[str, str, PartLine]] = (
    ("run", "runs", _run),
    ("procedure", "procedures", _procedure),
    ("supply", "supplies", _supply),
    ("hutch", "enclosures", _enclosure),
    ("clearance", "clearances", _clearance),
    ("control", "surfaces", _surface),
    ("equipment", "assets", _asset),
    ("caution", "cautions", _caution),
)
"""The parts of a board in their order: the title, the field and how one object is shown."""
SAID_IF_NONE = {"runs", "clearances"}
