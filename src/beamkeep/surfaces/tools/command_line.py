"""The catalogue as the command line reads it: nouns, verbs, arguments and columns."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from inspect import cleandoc
from itertools import product, takewhile
from typing import Any

from beamkeep.contexts.catalogue import CATALOGUE, SITE
from beamkeep.kernel import (
    Accepted,
    Catalogue,
    Context,
    Entries,
    History,
    Listed,
    Many,
    Operation,
    Question,
    events_of,
    reply_of,
)
from beamkeep.surfaces.schema import input_schema
from beamkeep.surfaces.shapes import ApiSchemas

type CommandRow = Operation | Question

TOP = {
    "list_events": "events",
    "search": "search",
    "resolve_names": "names",
    "get_status": "status",
    "get_self": "whoami",
}
"""Questions about no aggregate, and their verbs."""
SHORT = {
    "append_run_logbook_entry": "note",
    "append_decision_logbook_entry": "note",
    "take_visit_surface_control": "take",
    "release_visit_surface_control": "release",
    "promote_caution_proposal": "promote",
    "get_plan_readiness": "ready",
}
SAID = {
    "append_activities": "activities appended",
    "append_decision_logbook_entry": "note written",
    "append_inferences": "inferences appended",
    "append_observations": "observations appended",
    "append_run_logbook_entry": "note written",
    "export_artifact": "record exported",
    "import_artifact": "record imported",
    "ingest_scan": "ingested",
    "observe_supply_status": "status reported",
    "promote_caution_proposal": "proposal promoted",
    "retry_delivery": "delivery will be retried",
    "skip_delivery": "delivery skipped",
}
"""What operations did whose events do not tell it."""
PREPOSITIONS = frozenset({"from", "to", "of", "in", "on"})
LABELS = (
    *("name", "title", "code", "slot_code", "channel_name", "operation_name", "command_name"),
    *("quantity", "choice", "text"),
)
"""Fields that tell a person which object is meant, the best first."""
MOST_COLUMNS = 6
# fmt: off
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "list_acquisitions": ("acquisition_id", "dataset_id", "producing_asset_id", "captured_at",
        "corrects_acquisition_id"),
    "list_actors": ("actor_id", "name", "kind", "active", "created_at"),
    "list_agent_costs": ("day", "calls", "failed_calls", "input_tokens", "output_tokens",
        "cost_usd"),
    "list_agents": ("agent_id", "name", "kind", "status", "version", "created_at"),
    "list_assets": ("asset_id", "name", "tier", "lifecycle", "condition", "condition_reason"),
    "list_at_risk_results": ("decision_id", "kind", "choice", "reasons", "occurred_at"),
    "list_attestations": ("attestation_id", "distribution_id", "kind", "outcome", "verified_by",
        "checked_at"),
    "list_capabilities": ("capability_id", "name", "status", "code", "created_at"),
    "list_calibrations": ("calibration_id", "quantity", "asset_id", "current_status",
        "revision_count", "last_revised_at"),
    "list_campaigns": ("campaign_id", "name", "intent", "status", "run_count", "lead_actor_id"),
    "list_cautions": ("caution_id", "severity", "in_effect", "target", "text"),
    "list_clearances": ("clearance_id", "title", "status", "in_force", "valid_until", "risk_band"),
    "list_conduit_denials": ("occurred_at", "command_name", "principal_id", "surface_id",
        "reason_code"),
    "list_custody": ("dataset_id", "name", "verdict", "verified_count", "byte_size", "kept_by"),
    "list_dataset_parts": ("path", "byte_size", "sha256"),
    "list_datasets": ("dataset_id", "name", "status", "intent", "byte_size", "created_at"),
    "list_decision_logbook_entries": ("recorded_at", "text", "author_id"),
    "list_decision_evidence": ("asked_at", "question", "release"),
    "verify_decision_evidence": ("asked_at", "question", "verdict"),
    "list_decisions": ("decision_id", "context", "choice", "actor_id", "confidence_band",
        "created_at"),
    "list_deliveries": ("event_id", "event_type", "status", "attempt", "at"),
    "list_distributions": ("distribution_id", "uri", "status", "verified_at"),
    "list_editions": ("edition_id", "title", "status", "publication_year", "external_id",
        "published_at"),
    "list_distribution_checks": ("kind", "percent", "bytes_read", "byte_size", "bytes_per_second",
        "started_at"),
    "list_enclosures": ("enclosure_id", "name", "permit_status", "last_observed_reason",
        "last_observed_at", "last_reported_at"),
    "list_policies": ("policy_id", "name", "surface_id", "object_scope", "updated_at"),
    "list_procedure_activities": ("sequence", "phase", "step_index", "step_kind", "stage",
        "recorded_at"),
    "list_procedure_iterations": ("iteration_index", "converged", "value", "reason", "started_at"),
    "list_procedures": ("procedure_id", "name", "status", "kind", "last_status_reason",
        "created_at"),
    "list_proposals": ("proposal_id", "command_name", "status", "proposed_by", "expires_at"),
    "list_recipe_versions": ("version_number", "version_tag", "step_count", "defined_at"),
    "list_run_logbook_entries": ("recorded_at", "text", "kind", "author_id"),
    "list_run_observations": ("channel_name", "value", "unit", "sampling_procedure", "simulated",
        "sampled_at"),
    "list_runs": ("run_id", "name", "status", "last_status_reason", "plan_id", "created_at"),
    "list_subjects": ("subject_id", "name", "status", "mounted_on_asset_id",
        "last_status_changed_at"),
    "list_subscriptions": ("subscription_id", "name", "host", "format", "status", "status_reason"),
    "list_supplies": ("supply_id", "name", "kind", "status", "last_status_reason",
        "last_status_changed_at"),
    "list_visits": ("visit_id", "type", "status", "external_refs", "planned_start_at",
        "planned_end_at"),
}
"""The columns of lists whose readers need others than those that the rule finds."""
# fmt: on
TIMES = ("updated_at", "recorded_at", "sampled_at", "created_at")


def catalogue_rows() -> list[dict[str, Any]]:
    """Return what the command line needs to know of every operation and question of the house."""
    own = {row.name for context in SITE.values() for row in _rows_of(context)}
    return [row for row in _every_row() if row["name"] not in own]


def rows_of_context(name: str) -> list[dict[str, Any]]:
    """Return what the command line needs to know of a context of a site."""
    own = {row.name for row in _rows_of(SITE[name])}
    return [row for row in _every_row() if row["name"] in own]


def as_file(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as the file that the command line reads."""
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def _rows_of(context: Context) -> tuple[CommandRow, ...]:
    return (*context.operations, *context.questions)


def _every_row() -> list[dict[str, Any]]:
    schemas, words = ApiSchemas(CATALOGUE), noun_and_verb(CATALOGUE)
    return [_row(row, words[row.name], schemas) for row in CATALOGUE.named.values()]


def _row(row: CommandRow, words: tuple[str, str], schemas: ApiSchemas) -> dict[str, Any]:
    schema = input_schema(row)
    fields = {name: _parameter(name, each) for name, each in schema["properties"].items()}
    noun, verb = words
    data = {
        "name": row.name,
        "noun": noun,
        "verb": verb,
        "short": SHORT.get(row.name),
        "kind": _kind(row),
        "method": row.route.method,
        "path": row.route.path,
        "in_path": [*row.route.fields],
        "doc": cleandoc(row.doc),
        "fields": fields,
        "required": schema.get("required", []),
        "said": _said(row),
        "follows": _follows(row),
        "columns": _columns(row, schemas),
        "whole_ids": _has_whole_ids(row),
    }
    return {name: value for name, value in data.items() if value not in (None, False, [])}


def _kind(row: CommandRow) -> str:
    if isinstance(row, Question):
        return "question"
    return "create" if row.genesis else "change"


# --- nouns and verbs ---


@cache
def noun_and_verb(catalogue: Catalogue) -> Mapping[str, tuple[str, str]]:
    """Return noun and verb of every row; a pair that two would share keeps more words."""
    rows = catalogue.named.values()
    short = {row.name: _words(row, drop=True) for row in rows}
    shared = {words for words, count in Counter(short.values()).items() if count > 1}
    whole = {row.name: _words(row, drop=False) for row in rows}
    commands = {row.name for row in rows if isinstance(row, Operation)}
    chosen = {
        name: whole[name] if words in shared and (name not in commands or _longer(name)) else words
        for name, words in short.items()
    }
    twice = [words for words, count in Counter(chosen.values()).items() if count > 1]
    assert not twice, f"two operations have one verb: {twice}"  # noqa: S101
    return chosen


def _longer(name: str) -> bool:
    """Return whether a name has a preposition that a shorter verb leaves out."""
    return bool(PREPOSITIONS & {*name.split("_")})


def _words(row: CommandRow, drop: bool) -> tuple[str, str]:
    """Return noun and verb; without `drop`, with the `get` and the preposition of the name."""
    own = [word.lower() for word in re.findall(r"[A-Z][a-z0-9]*", row.aggregate.name)]
    if row.name in TOP:
        return "", TOP[row.name]
    words = row.name.split("_")
    forms = own, [*own[:-1], _plural(own[-1])]
    for place in range(1, len(words)):
        found = next((form for form in forms if words[place : place + len(form)] == form), None)
        if found:
            del words[place : place + len(found)]
            if drop and place == len(words) and words[-1] in PREPOSITIONS and len(words) > 1:
                words.pop()
            break
    if drop and words[0] in {"get", "list"} and len(words) > 1:
        words.pop(0)
    return "-".join(own), "-".join(words)


def _plural(word: str) -> str:
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


# --- arguments ---


def _one_shape(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the one schema that a value follows unless it is null; empty if there are several."""
    shapes = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    return shapes[0] if len(shapes) == 1 else {}


def _parameter(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the client needs to know of one argument."""
    shape = _one_shape(schema)
    items: Mapping[str, Any] = shape.get("items", {})
    many = items.get("type") in {"string", "integer", "number"}
    value = items if many else shape
    texts = dict.fromkeys(filter(None, [schema.get("description"), shape.get("description")]))
    data = {
        "type": value.get("type"),
        "many": many,
        "format": value.get("format"),
        "enum": value.get("enum"),
        "suggested": value.get("examples"),
        "default": schema.get("default"),
        "help": " ".join(texts),
        "refers_to": _refers_to(name) if value.get("format") == "uuid" else None,
    }
    return {key: each for key, each in data.items() if each not in (None, False, "", [], {})}


def _refers_to(name: str) -> str | None:
    """Return the kind of object that an id is of, as far as its name tells."""
    base = re.sub(r"_ids?$", "", name)
    kinds = {re.sub(r"(?<!^)([A-Z])", r"_\1", kind).lower(): kind for kind in CATALOGUE.aggregates}
    fits = [noun for noun in kinds if base == noun or base.endswith(f"_{noun}")]
    return kinds[max(fits, key=len)] if fits else None


# --- answers ---


def _said(row: CommandRow) -> str | None:
    """Return what a command did, in the words of its event: `RunHeld` is `held`."""
    if isinstance(row, Question):
        return None
    if row.name in SAID:
        return SAID[row.name]
    own, names = row.aggregate.name, [event.__name__ for event in events_of(row)]
    said = [_sentence(each.removeprefix(own)) for each in names if each.startswith(own)]
    if len(said) <= 1:
        return said[0] if said else None
    best = max(said, key=lambda words: _likeness(words, row.name))
    return best if _likeness(best, row.name) else None


def _sentence(name: str) -> str:
    return " ".join(re.findall(r"[A-Z][a-z0-9]*", name)).lower()


def _likeness(said: str, name: str) -> int:
    """Return how many letters the words of an event and of an operation begin with alike."""
    pairs = product(said.split(), name.split("_")[:1])
    same = (takewhile(lambda two: two[0] == two[1], zip(*pair, strict=False)) for pair in pairs)
    return sum(len([*letters]) for letters in same)


def _follows(row: CommandRow) -> bool:
    """Return whether an operation begins a conduct, which `--follow` can show."""
    reply = reply_of(row) if isinstance(row, Operation) else None
    return reply is not None and issubclass(reply, Accepted) and hasattr(reply, "conduct_id")


def _has_whole_ids(row: CommandRow) -> bool:
    """Return whether a list is of things that no search finds by the end of their id."""
    if isinstance(row, Operation) or row.name in TOP:
        return False
    source = row.source
    if isinstance(source, Many):
        return source.view.directory is None
    return isinstance(source, Entries | Listed)


def _columns(row: CommandRow, schemas: ApiSchemas) -> list[str]:
    """Return the columns of a list: the id, what it is called, its states, and a time."""
    if isinstance(row, Operation):
        return []
    if isinstance(row.source, History):
        return ["version", "event_type", "command_name", "recorded_at"]
    answer = schemas.answer(row)
    named = schemas.named_in(answer)

    def plain(schema: Mapping[str, Any]) -> Mapping[str, Any]:
        shape = _one_shape(schema)
        return named[shape["$ref"].rpartition("/")[2]] if "$ref" in shape else shape

    items = plain(answer.get("properties", {}).get("items", {}).get("items", {}))
    fields = {name: plain(each) for name, each in items.get("properties", {}).items()}
    if chosen := COLUMNS.get(row.name):
        assert fields.keys() >= {*chosen}, f"{row.name} has no {chosen}"  # noqa: S101
        return [*chosen]
    ids = [name for name, each in fields.items() if each.get("format") == "uuid"]
    times = [name for name, each in fields.items() if each.get("format") == "date-time"]
    named_first = () if isinstance(row.source, Entries) else (row.aggregate.id_field,)
    others = [name for name in ids if name != row.aggregate.id_field]
    own = [name for name in (*named_first, *others) if name in fields][:1]
    labels = [name for name in LABELS if name in fields][:1]
    states = [name for name, each in fields.items() if "enum" in each and name not in labels]
    time = [name for name in TIMES if name in times][:1] or times[:1]
    others = [name for name in ids if name not in {*own, row.aggregate.id_field, "owner_id"}]
    others = [name for name in others if name in fields and _refers_to(name)]
    chosen = [*own, *labels, *states[:3], *others[:1], *time][:MOST_COLUMNS]
    texts = [name for name, each in fields.items() if each.get("type") == "string"]
    more = [name for name in texts if name not in {*chosen, *ids, *times}]
    return [*chosen, *more][: max(len(chosen), 4)]
