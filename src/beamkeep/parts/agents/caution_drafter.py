"""CautionDrafter: proposes cautions about equipment and procedures; people decide about them."""

from collections.abc import Iterable, Sequence
from uuid import UUID

import msgspec
from pydantic import ValidationError

from beamkeep.contexts.caution.caution import Caution, CautionRegistered, Target, TargetKind
from beamkeep.contexts.caution.coverage import cautions_covering
from beamkeep.contexts.caution.promotion import CONTEXT, DRAFT, SEVERITIES, CautionDraft
from beamkeep.contexts.operation.procedure import ListProcedures, procedures
from beamkeep.kernel import Command
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import Envelope
from beamkeep.schemas import JsonObject

from .desk import ModelAgent
from .model_agent import Case, ModelReaction, ModelVerdict
from .models.output import plain
from .run_facts import ended_run, fitted, shown

NO_ACTION, INVALID = "NoAction", "InvalidProposal"
MOST_PROCEDURES = 50
LINK = "://"


async def case(
    trigger: Envelope, history: Sequence[Envelope], read: Session, send_marked: bool
) -> Case:
    """Return what the model is asked about a run that has ended."""
    ended = await ended_run(trigger, history, read, send_marked)
    listed = await read.matching(ListProcedures(parent_run_id=ended.run.id), most=MOST_PROCEDURES)
    children = (await read.many(procedures, listed)).values()
    existing = {each.id: each for each in await cautions_covering(ended.run.asset_ids, read)}
    for child in children:
        existing |= {each.id: each for each in await cautions_covering((), read, child.id)}
    named = [(TargetKind.ASSET, each.id, each.name) for each in ended.assets]
    named += [(TargetKind.PROCEDURE, each.id, each.name) for each in children]
    facts = fitted(
        {
            **ended.facts,
            "candidate_targets": [
                {"kind": kind, "id": str(id), "name": name} for kind, id, name in named
            ],
            "existing_cautions": [_shown(each, send_marked) for each in existing.values()],
        }
    )
    # Only what the model was shown can be named in its answer.
    targets = [Target(kind, id) for kind, id, _ in named]
    count = len(msgspec.convert(facts["existing_cautions"], list[dict[str, object]]))
    seen = list(existing.values())[:count]
    return Case(facts, lambda output: judged(output, targets, seen))


def judged(
    output: JsonObject, targets: Iterable[Target], existing: Iterable[Caution]
) -> ModelVerdict:
    """Return the proposal in an answer, or that none is made if anything in it is wrong."""
    choice, proposed = str(output["choice"]), output["proposed_caution"]
    reasoning, confidence = str(output["reasoning"]), float(str(output["confidence"]))
    if LINK in reasoning or (proposed is None) != (choice == NO_ACTION):
        return ModelVerdict(NO_ACTION, failure=INVALID)
    if proposed is None:
        return ModelVerdict(NO_ACTION, reasoning=plain(reasoning) or None, confidence=confidence)
    try:
        draft = CautionDraft.model_validate(proposed)
    except ValidationError:
        return ModelVerdict(NO_ACTION, failure=INVALID)
    replaced = {each.id: each.target for each in existing}
    severity, supersedes = SEVERITIES[choice], draft.supersedes_caution_id
    texts = (draft.text, draft.workaround, *draft.tags)
    if (
        draft.target not in targets
        or severity not in {None, draft.severity}
        or (supersedes is None) == (severity is None)
        or (supersedes is not None and replaced.get(supersedes) != draft.target)
        or (draft.propagate_to_children and draft.target_kind is TargetKind.PROCEDURE)
        or any(LINK in text or plain(text) != text.strip() for text in texts)
    ):
        return ModelVerdict(NO_ACTION, failure=INVALID)
    fields: JsonObject = draft.model_dump(mode="json")
    fields["tags"] = [*sorted(draft.tags)]
    inputs: JsonObject = {DRAFT: fields}
    return ModelVerdict(
        choice, reasoning=plain(reasoning) or None, confidence=confidence, inputs=inputs
    )


def nothing_more(
    agent: ModelAgent, trigger: Envelope, decision_id: UUID, narrative: str
) -> Sequence[Command]:
    """Return no command: a proposal is a decision alone."""
    return ()


def _shown(caution: Caution, send_marked: bool) -> JsonObject:
    text: JsonObject = {"text": caution.text}
    return {
        "id": str(caution.id),
        "target": {"kind": caution.target.kind, "id": str(caution.target.id)},
        "category": caution.category,
        "severity": caution.severity,
        **shown(text, CautionRegistered, send_marked),
    }


CAUTION_DRAFTER = ModelReaction(
    kind="CautionDrafter",
    context=CONTEXT,
    deferred=NO_ACTION,
    conflicted="CautionDraftConflicted",
    commands=("register_decision", "append_inferences"),
    case=case,
    effects=nothing_more,
)
