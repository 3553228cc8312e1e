"""Of each kind of object: from what its team follows, and that the named team is kept."""

from typing import Any
from uuid import UUID

from tests.unit.contexts.campaign import test_campaign
from tests.unit.contexts.data import test_dataset, test_edition, test_scan
from tests.unit.contexts.decision import test_decision
from tests.unit.contexts.operation import test_procedure
from tests.unit.contexts.safety import test_clearance
from tests.unit.contexts.starting import test_start
from tests.unit.contexts.subject import test_subject

from beamkeep.contexts.campaign.campaign import CampaignRegistered
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.data.acquisition import AcquisitionRecorded
from beamkeep.contexts.data.attestation import AttestationRecorded
from beamkeep.contexts.data.dataset import DatasetRegistered
from beamkeep.contexts.data.distribution import DistributionRegistered
from beamkeep.contexts.data.edition import EditionRegistered
from beamkeep.contexts.decision.decision import DecisionRegistered
from beamkeep.contexts.operation.procedure import ProcedureRegistered
from beamkeep.contexts.proposal.proposal import ProposalRegistered
from beamkeep.contexts.run.run import RunStarted
from beamkeep.contexts.safety.clearance import (
    AssetBinding,
    ClearanceRegistered,
    ExternalBinding,
    ProcedureBinding,
    RunBinding,
    SubjectBinding,
)
from beamkeep.contexts.seams.belonging import GivenTeam, OfTeam
from beamkeep.contexts.subject.subject import SubjectRegistered
from beamkeep.contexts.trust.belonging import OF_TEAM
from beamkeep.kernel import AnyAggregate, Event, Sources, WrittenStream, replace
from beamkeep.testing.past import NEW, NOW
from beamkeep.testing.scenario import Scenario

TEAM, VISIT = UUID(int=101), UUID(int=102)
SUBJECT, OTHER_SUBJECT, CAMPAIGN, RUN, PROCEDURE, CLEARANCE, DECISION, DATASET, COPY, ASSET = (
    UUID(int=number) for number in range(201, 211)
)
FLAT, RAW = UUID(int=211), UUID(int=212)
NO_OTHERS = (None,) * 5
"""The further inputs of a decision that may name an object of a team."""


def first[E: Event](of: type[E], **told: Any) -> E:
    """Return a first event that tells this, and nothing else that matters here."""
    every: dict[str, Any] = dict.fromkeys(of.__struct_fields__[: -len(of.__struct_defaults__)])
    known: dict[str, Any] = {"occurred_at": NOW, of.__struct_fields__[1]: NEW}
    return of(**every | known | told)


def deciding(parent_id: UUID | None = None, **inputs: object) -> DecisionRegistered:
    told: dict[str, object] = {"parent_id": parent_id, "inputs": inputs or None}
    return first(DecisionRegistered, determining_policy_ids=(), **told)


def binding(*bindings: object, parent_id: UUID | None = None) -> ClearanceRegistered:
    return first(ClearanceRegistered, bindings=bindings, parent_id=parent_id)


def proposing(target: WrittenStream | None) -> ProposalRegistered:
    return first(ProposalRegistered, target=target, arguments={"subject_id": str(SUBJECT)})


def working(**told: UUID) -> RunStarted:
    return first(RunStarted, asset_ids=(ASSET,), decided_by_decision_id=DECISION, **told)


# fmt: off
TABLE: tuple[tuple[str, Event, Sources], ...] = (
    ("Subject", first(SubjectRegistered), Sources()),

    ("Campaign", first(CampaignRegistered, tags=(), subject_id=SUBJECT), Sources(about=(SUBJECT,))),
    ("Campaign", first(CampaignRegistered, tags=()), Sources(about=(None,))),

    ("Run", working(subject_id=SUBJECT, campaign_id=CAMPAIGN),
        Sources(about=(SUBJECT, CAMPAIGN))),
    ("Run", working(subject_id=SUBJECT), Sources(about=(SUBJECT, None))),
    ("Run", working(campaign_id=CAMPAIGN), Sources(about=(None, CAMPAIGN))),

    ("Procedure", first(ProcedureRegistered, target_asset_ids=(ASSET,), parent_run_id=RUN),
        Sources(part_of=(RUN,))),
    ("Procedure", first(ProcedureRegistered, target_asset_ids=(ASSET,)), Sources(part_of=(None,))),

    ("Clearance", binding(SubjectBinding(SUBJECT), AssetBinding(ASSET),
            SubjectBinding(OTHER_SUBJECT), parent_id=CLEARANCE),
        Sources(about=(SUBJECT, OTHER_SUBJECT, CLEARANCE), several=True)),
    ("Clearance", binding(RunBinding(RUN), ProcedureBinding(PROCEDURE),
            ExternalBinding("proposal", "P-1234")),
        Sources(about=(None,), several=True)),

    ("Decision", deciding(DECISION, run_id=str(RUN), procedure_id=str(PROCEDURE), score=0.5),
        Sources(part_of=(DECISION, RUN, PROCEDURE, *NO_OTHERS), several=True)),
    ("Decision", deciding(run_id=RUN.hex.upper()),
        Sources(part_of=(None, RUN, None, *NO_OTHERS), several=True)),
    ("Decision", deciding(subject_id=str(SUBJECT), campaign_id=str(CAMPAIGN),
            dataset_id=str(DATASET), clearance_id=str(CLEARANCE), proposal_id=str(FLAT)),
        Sources(part_of=(None, None, None, SUBJECT, CAMPAIGN, DATASET, CLEARANCE, FLAT),
            several=True)),
    ("Decision", deciding(run_id="last night", procedure_id=["x"]),
        Sources(part_of=(None, None, None, *NO_OTHERS), several=True)),
    ("Decision", deciding(), Sources(part_of=(None, None, None, *NO_OTHERS), several=True)),

    ("Proposal", proposing(WrittenStream("Run", RUN, 3)),
        Sources(part_of=(RUN,), is_found=True)),
    ("Proposal", proposing(None), Sources(part_of=(NEW,), is_found=True)),

    ("Dataset", first(DatasetRegistered, producing_run_id=RUN, subject_id=SUBJECT,
            derived_from=(FLAT, RAW)),
        Sources(part_of=(RUN, FLAT, RAW), about=(SUBJECT,))),
    ("Dataset", first(DatasetRegistered, derived_from=()),
        Sources(part_of=(None,), about=(None,))),

    ("Acquisition", first(AcquisitionRecorded, dataset_id=DATASET, producing_run_id=RUN),
        Sources(part_of=(DATASET,))),
    ("Distribution", first(DistributionRegistered, dataset_id=DATASET),
        Sources(part_of=(DATASET,))),
    ("Attestation", first(AttestationRecorded, dataset_id=DATASET, distribution_id=COPY),
        Sources(part_of=(COPY,))),
    ("Edition", first(EditionRegistered, dataset_ids=(FLAT, RAW)),
        Sources(part_of=(FLAT, RAW), several=True)),
)
# fmt: on


def of(kind: str) -> AnyAggregate:
    return CATALOGUE.aggregates[kind]


def test_the_team_of_an_object_follows_from_what_it_is_part_of_and_about():
    for kind, event, sources in TABLE:
        team = of(kind).team
        assert team is not None, kind
        assert team(event) == sources, kind


def test_every_kind_of_a_team_is_in_the_table():
    found = {name for name, each in CATALOGUE.aggregates.items() if each.team}
    assert found == {kind for kind, _, _ in TABLE}


def test_an_object_has_the_team_of_its_first_event():
    for kind, event, _ in TABLE:
        assert event.__struct_fields__[-2:] == ("team_id", "visit_id"), kind
        before: Any = of(kind).begin(event)
        after: Any = of(kind).begin(replace(event, team_id=TEAM, visit_id=VISIT))
        assert (before.team_id, before.visit_id) == (None, None), kind
        assert after == replace(before, team_id=TEAM, visit_id=VISIT), kind


def test_objects_are_listed_by_team_and_by_visit():
    for view in CATALOGUE.views:
        if view.aggregate.team:
            assert issubclass(view.listing, OfTeam), view.name
            assert {"team_id", "visit_id"} <= {*view.filters}, view.name


CREATING: tuple[tuple[Scenario, GivenTeam, type[Event]], ...] = (
    (test_subject.given(), test_subject.REGISTER, SubjectRegistered),
    (test_campaign.given(), test_campaign.REGISTER, CampaignRegistered),
    (test_start.given(), test_start.START, RunStarted),
    (test_procedure.given(), test_procedure.REGISTER, ProcedureRegistered),
    (test_clearance.given(), test_clearance.registering(), ClearanceRegistered),
    (test_decision.given(), test_decision.REGISTER, DecisionRegistered),
    (test_dataset.given(), test_dataset.REGISTER, DatasetRegistered),
    (test_edition.given(*test_edition.KNOWN), test_edition.REGISTER, EditionRegistered),
)


def test_the_team_that_a_command_names_is_in_its_first_event():
    for past, command, made in CREATING:
        for team_id, visit_id in ((None, None), (TEAM, None), (None, VISIT), (TEAM, VISIT)):
            named = {"team_id": team_id, "visit_id": visit_id}
            outcome = past.when(command.model_copy(update=named)).decided()
            event: Any = next(part for part in outcome if type(part) is made)
            assert (event.team_id, event.visit_id) == (team_id, visit_id), made


def test_the_team_of_a_scan_is_named_for_its_dataset_alone():
    command = test_scan.ingest(team_id=TEAM, visit_id=VISIT)
    outcome = test_scan.when(command).decided()
    made: dict[type[Event], Any] = {type(it): it for it in outcome if isinstance(it, Event)}
    told = {of: (each.team_id, each.visit_id) for of, each in made.items()}
    # A copy and an acquisition are part of the dataset, from which their team follows.
    assert told == {
        DatasetRegistered: (TEAM, VISIT),
        DistributionRegistered: (None, None),
        AcquisitionRecorded: (None, None),
    }


def test_every_command_that_names_a_team_declares_its_refusals():
    for operation in CATALOGUE.by_command.values():
        if issubclass(operation.command, GivenTeam):
            assert {*OF_TEAM} <= {*operation.refusals}, operation.name
