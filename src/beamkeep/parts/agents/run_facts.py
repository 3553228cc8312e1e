"""Run facts: what a model is shown about a run that has ended."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAliasType, get_args, get_origin, get_type_hints

from msgspec.json import decode, encode

from beamkeep.contexts.equipment.asset import Asset, with_all_above
from beamkeep.contexts.recipe.method import methods
from beamkeep.contexts.run import run as run_context
from beamkeep.contexts.run.run import Run, runs
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.supply.gate import coverage
from beamkeep.kernel import Event, MayContainPersonalData, Record
from beamkeep.runtime.store import Envelope
from beamkeep.schemas import Json, JsonObject

MOST_BYTES = 32 * 1024
MOST_PARAMETER_BYTES = 12 * 1024
WITHHELD, CUT = "<withheld>", "<cut>"
ENDS: dict[str, type[Event]] = {each.__name__: each for each in run_context.ENDS}
"""The events that end a run, by name."""


class EndedRun(Record):
    """A run that has ended, with what stood around it."""

    run: Run
    assets: Sequence[Asset]
    facts: JsonObject


async def ended_run(
    trigger: Envelope, history: Sequence[Envelope], read: Reader, send_marked: bool
) -> EndedRun:
    """Return a run and its facts; texts that may name people are withheld unless `send_marked`."""
    run = await read.one(runs, trigger.stream_id)
    ancestry = await with_all_above(run.asset_ids, read)
    wired = [ancestry[id] for id in run.asset_ids]
    needed = (await read.one(methods, run.method_id)).needed_supplies
    supplies = await coverage(needed, ancestry, read)
    ended = shown(decode(trigger.payload), ENDS[trigger.event_type], send_marked)
    facts: JsonObject = {
        "run_id": str(run.id),
        "name": run.name,
        "status": run.status,
        "terminal_event_type": trigger.event_type,
        "reason": ended.get("reason"),
        "ended_at": trigger.recorded_at.isoformat(),
        "started_at": run.created_at.isoformat(),
        "plan_id": str(run.plan_id),
        "subject_id": run.subject_id and str(run.subject_id),
        "campaign_id": run.campaign_id and str(run.campaign_id),
        "effective_parameters": run.effective_parameters,
        "holds": sum(each.event_type == run_context.RunHeld.__name__ for each in history),
        "adjustments": run.adjustment_count,
        "pinned_calibration_ids": [str(each) for each in run.pinned_calibration_ids],
        "assets": [
            {"id": str(each.id), "name": each.name, "condition": each.condition} for each in wired
        ],
        "supplies": [
            {"kind": kind, "name": each.supply.name, "status": each.status}
            for kind, found in supplies.found.items()
            for each in found
        ],
    }
    return EndedRun(run, wired, facts)


def shown(payload: JsonObject, of: type[object], send_marked: bool) -> JsonObject:
    """Return a payload without the texts of fields that may contain personal data."""
    hints = get_type_hints(of, include_extras=True)
    return {
        name: WITHHELD if value and not send_marked and _is_marked(hints.get(name)) else value
        for name, value in payload.items()
    }


def fitted(facts: JsonObject) -> JsonObject:
    """Return facts that are small enough to send; what was cut is named under `cut`."""
    shortened, cut = dict(facts), set[str]()
    if len(encode(shortened["effective_parameters"])) > MOST_PARAMETER_BYTES:
        shortened["effective_parameters"] = CUT
        cut.add("effective_parameters")
    while len(encode(shortened)) > MOST_BYTES - 1024:
        longest = max(_lists(shortened), key=lambda name: len(encode(shortened[name])))
        rows = _lists(shortened)[longest]
        shortened[longest] = rows[: len(rows) // 2]
        cut.add(longest)
    shortened["cut"] = [*sorted(cut)]
    return shortened


def _lists(facts: JsonObject) -> dict[str, list[Json]]:
    return {name: value for name, value in facts.items() if isinstance(value, list)}


def _is_marked(hint: Any) -> bool:
    if isinstance(hint, TypeAliasType):
        return _is_marked(hint.__value__)
    if get_origin(hint) is Annotated:
        inner, *marks = get_args(hint)
        return any(isinstance(m, MayContainPersonalData) for m in marks) or _is_marked(inner)
    return any(map(_is_marked, get_args(hint)))
