"""What a refusal may show of objects that the caller may not read: their ids and kinds."""

from collections.abc import Mapping, Sequence, Set
from inspect import cleandoc
from typing import cast

from beamkeep.kernel import NOT_SHOWN, Record, Refusal, replace

from .store import Stream

DECLARED = frozenset({"axis", "check", "checks", "must_be"})
"""Facts that are declared and not read from an object."""


def withhold(refusal: Refusal, readable: Set[Stream], hidden: Set[Stream]) -> None:
    """Take from a refusal what it may quote of hidden objects that were read for it."""
    if not hidden:
        return
    members = refusal.facts
    rest = {name: value for name, value in members.items() if _is_shown(name)}
    if "facts" in members:
        facts = [_fact(each, readable) for each in cast("Sequence[object]", members["facts"])]
        shown = [fact for fact in facts if fact is not None]
        # The way to clear a check follows from the states in its facts.
        is_whole = shown == [*cast("Sequence[object]", members["facts"])]
        rest |= {"facts": shown, "cleared_by": members.get("cleared_by", ()) if is_whole else ()}
    refusal.facts = rest
    refusal.args = (cleandoc(type(refusal).__doc__ or ""),)


def _is_shown(name: str) -> bool:
    return name in DECLARED or name.endswith(("_id", "_ids"))


def _fact(fact: object, readable: Set[Stream]) -> Record | None:
    """Return a fact as it may be shown."""
    if not isinstance(fact, Record):
        return None
    values = {name: getattr(fact, name) for name in fact.__struct_fields__}
    kind, id = values.pop("kind", None), values.pop("id", None)
    if (kind, id) in readable:
        return fact
    unknown: Mapping[str, object] = {
        name: NOT_SHOWN if isinstance(value, str) else None for name, value in values.items()
    }
    return replace(fact, **unknown)
