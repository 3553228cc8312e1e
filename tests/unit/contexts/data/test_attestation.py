"""Attestation: what a check of a copy found, and what the copy becomes by it."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tests.unit.contexts.data.around import (
    COPY,
    DATASET,
    HDF5,
    NXTOMO,
    SIZE,
    SUM,
    TREE,
    Part,
    a_copy,
    a_dataset,
    copy_registered,
    dataset_registered,
    file_of,
    verified,
)

from beamkeep.contexts.data.attestation import (
    OPERATIONS,
    PROFILES,
    QUESTIONS,
    Attestation,
    AttestationAlgorithmUnknownError,
    AttestationDistributionDiscardedError,
    AttestationFormatUnsupportedError,
    AttestationKind,
    AttestationOutcome,
    AttestationPlaceLeavesError,
    AttestationRecorded,
    AttestationTransferNotTrustedError,
    CheckedCopy,
    CheckFailure,
    FoundSum,
    InvalidAttestationCheckedAtError,
    InvalidAttestationFoundError,
    RecordAttestation,
    ScanLayout,
    begin,
)
from beamkeep.contexts.data.dataset import DatasetDigestsConfirmed
from beamkeep.contexts.data.dataset import begin as begin_dataset
from beamkeep.contexts.data.distribution import (
    COPIES,
    DistributionAlreadyExistsError,
    DistributionDiscarded,
    DistributionEvent,
    DistributionMarkedOverwritten,
    DistributionMarkedStale,
    DistributionMarkedUnreachable,
    DistributionNotFoundError,
    DistributionRegistered,
    DistributionRemoved,
    DistributionRestored,
    DistributionStatus,
    DistributionVerified,
    claims_of,
    copy_of,
    evolve,
)
from beamkeep.contexts.data.distribution import begin as begin_copy
from beamkeep.contexts.data.shapes import ChecksumAlgorithm, DigestAlgorithm, Encoding
from beamkeep.contexts.seams.custody_rules import ChecksumStrength, VerifiedBy
from beamkeep.contexts.seams.installation import Facts
from beamkeep.contexts.trust.trigger import TriggerSource
from beamkeep.kernel import ActorKind, Event, Many, Refusal, replace
from beamkeep.schemas import JsonObject
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import ABSENT, CALL, LATER, NEW, NOW
from beamkeep.testing.scenario import Scenario

OTHER, SURFACE = UUID(int=140), UUID(int=141)
CHECKED = NOW - timedelta(hours=1)
CHECKSUM, TRANSFER, FORMAT = AttestationKind
MATCH, MISMATCH, UNREACHABLE = AttestationOutcome
STRONG, WEAK = ChecksumStrength
SHA256, MD5 = ChecksumAlgorithm.SHA256, DigestAlgorithm.MD5
OPERATOR = TriggerSource.OPERATOR
GOOD = FoundSum(SHA256, SUM.value, SIZE, file=file_of())
BAD = replace(GOOD, value="00" * 32)

found: JsonObject = {
    "algorithm": "sha256",
    "expected_value": SUM.value,
    "found_value": SUM.value,
    "byte_size_read": SIZE,
    "file_count": None,
    "file": {"host": "host", "device": f"8:{COPY.int}", "inode": str(COPY.int), "links": 1},
    "checker": "sha256sum 9.1",
    "failure": None,
}
recorded = AttestationRecorded(
    NOW,
    NEW,
    dataset_id=DATASET,
    distribution_id=COPY,
    kind=CHECKSUM,
    verified_by=VerifiedBy.CLIENT,
    outcome=MATCH,
    strength=STRONG,
    checked_at=CHECKED,
    evidence=found,
)
mismatched = replace(
    recorded, outcome=MISMATCH, strength=None, evidence=found | {"found_value": "00" * 32}
)
nothing: JsonObject = {"algorithm": "sha256", "expected_value": SUM.value, "found_value": None}
unread = replace(
    recorded,
    outcome=UNREACHABLE,
    strength=None,
    evidence={**nothing, "checker": "sha256sum 9.1", "failure": "NotFound"},
)
good = replace(verified(at=CHECKED), attestation_id=NEW)
stale = DistributionMarkedStale(
    NOW, COPY, OPERATOR, "checksum mismatch", NEW, file=file_of(), frees_place=False
)
left = replace(stale, frees_place=True)
gone = DistributionMarkedUnreachable(
    NOW, COPY, OPERATOR, NEW, failure="NotFound", checked_at=CHECKED
)
discarded = DistributionDiscarded(NOW, COPY, "the archive has it", frees_place=False)

RECORD = RecordAttestation(
    distribution_id=COPY,
    kind=CHECKSUM,
    checked_at=CHECKED,
    checker=" sha256sum 9.1 ",
    found=GOOD,
)


HERE: Facts = replace(FACTS, transfer_accounts=frozenset({CALL.principal_id}))
BY_FTS = replace(CALL, principal_kind=ActorKind.SERVICE_ACCOUNT, surface_id=SURFACE)


def given(*history: Part) -> Scenario:
    return Scenario(OPERATIONS, (*a_dataset(), *a_copy(), *history), HERE)


def recording(**changes: object) -> RecordAttestation:
    return RECORD.model_copy(update=changes)


def failing(failure: CheckFailure = CheckFailure.NOT_FOUND, **changes: object) -> RecordAttestation:
    return recording(found=None, failure=failure, **changes)


def by_transfer(**changes: object) -> RecordAttestation:
    return recording(**{"kind": TRANSFER, "service": "FTS", "task_id": "17", **changes})


def row_after(*events: Any) -> Part:
    """The row of the copy after these events."""
    copy = begin_copy(copy_registered)
    for event in events:
        copy = evolve(copy, event)
    return COPIES.upsert(copy_of(copy))


# What a check finds, and what the copy becomes.


def test_a_copy_whose_bytes_are_right_is_verified():
    given().when(RECORD).then(recorded, good, row_after(good))


def test_a_copy_checked_again_is_dated_again():
    before = verified(at=CHECKED - timedelta(days=1))
    given(before).when(RECORD).then(recorded, good, row_after(before, good))


def test_a_copy_whose_bytes_are_wrong_is_stale_and_keeps_its_place():
    for before in ((), (verified(at=LATER),)):
        outcome = given(*before).when(recording(found=BAD)).decided()
        assert outcome == [mismatched, stale, row_after(*before, stale)]


def test_a_copy_of_another_size_is_stale():
    evidence = found | {"byte_size_read": SIZE + 1}
    outcome = given().when(recording(found=replace(GOOD, byte_size=SIZE + 1))).decided()
    assert outcome[:2] == [replace(mismatched, evidence=evidence), stale]


def test_a_stale_copy_found_wrong_again_does_not_change():
    given(stale).when(recording(found=BAD)).then(mismatched)


def test_a_copy_that_cannot_be_read_is_unreachable_and_keeps_its_status():
    given().when(failing()).then(unread, gone, row_after(gone))
    given(verified()).when(failing()).then(unread, gone, row_after(verified(), gone))
    given(gone).when(failing()).then(unread)


def test_every_failure_makes_a_copy_unreachable():
    for failure in CheckFailure:
        outcome = given().when(failing(failure)).decided()
        assert outcome[1] == replace(gone, failure=str(failure))


def test_the_trigger_of_a_finding_follows_from_the_kind_of_caller():
    for kind, source in (
        (ActorKind.SERVICE_ACCOUNT, TriggerSource.MONITOR),
        (ActorKind.AGENT, TriggerSource.AUTO),
    ):
        call = replace(CALL, principal_kind=kind, surface_id=SURFACE)
        for command, finding in ((recording(found=BAD), stale), (failing(), gone)):
            outcome = given().when(command, call=call).decided()
            assert outcome[1] == replace(finding, trigger=source)


def test_an_old_good_check_does_not_overrule_a_later_finding():
    for past, at in (((stale,), NOW - timedelta(microseconds=1)), ((good, stale), CHECKED)):
        given(*past).when(recording(checked_at=at)).then(replace(recorded, checked_at=at))
    moved = Scenario(OPERATIONS, (*a_dataset(), copy_registered, stale), HERE)
    assert moved.when(recording(checked_at=NOW)).decided()[1] == replace(good, checked_at=NOW)


def test_a_stale_copy_that_left_its_place_takes_it_again_when_it_is_found_right():
    (here,) = claims_of(begin_copy(copy_registered))
    freed = (*a_dataset(), copy_registered, left)
    Scenario(OPERATIONS, freed, HERE).when(
        recording(checked_at=LATER), call=replace(CALL, now=LATER)
    ).then(
        replace(recorded, occurred_at=LATER, checked_at=LATER),
        verdict := replace(good, occurred_at=LATER, checked_at=LATER),
        row_after(left, verdict),
        here,
    )


def test_a_restored_copy_counts_only_by_a_check_that_began_after_the_hour_of_its_cleaner():
    until = NOW + timedelta(hours=1)
    restored = DistributionRestored(NOW, COPY, "needed", checks_count_from=until)
    late = replace(CALL, now=NOW + timedelta(hours=2))
    for checked_at, counts in ((until - timedelta(microseconds=1), False), (until, True)):
        command = recording(checked_at=checked_at)
        outcome = given(discarded, restored).when(command, call=late).decided()
        assert [type(part).__name__ for part in outcome[1:2]] == (
            ["DistributionVerified"] if counts else []
        )


def test_a_copy_is_not_verified_while_a_discarded_copy_has_bytes_of_it():
    others = {
        "the same file": {"uri": "file:///elsewhere/link.h5"},
        "a directory around it": {"uri": "file:///data/", "checksum": TREE},
    }
    for told, place in others.items():
        past = (
            *a_copy(OTHER, **place),
            *((verified(OTHER, file=file_of()),) if told == "the same file" else ()),
            replace(discarded, distribution_id=OTHER),
        )
        here = copies_after(*past)
        refused = (
            given(*past, *here)
            .when(RECORD)
            .refused(AttestationPlaceLeavesError, saying="Restore it, or record its removal.")
        )
        assert refused.facts == {"distribution_id": OTHER}, told


def test_a_copy_is_not_verified_while_a_cleaner_may_delete_a_restored_copy_of_its_file():
    until = NOW + timedelta(hours=1)
    gone = replace(discarded, distribution_id=OTHER)
    restored = DistributionRestored(NOW, OTHER, "needed", checks_count_from=until)
    uri = "file:///elsewhere/link.h5"
    past = (*a_copy(OTHER, uri=uri), verified(OTHER, file=file_of()), gone, restored)
    late = replace(CALL, now=NOW + timedelta(hours=2))
    early = recording(checked_at=until - timedelta(microseconds=1))
    given(*past, *copies_after(*past)).when(early, call=late).refused(
        AttestationPlaceLeavesError, saying=f"Copy {OTHER} was restored lately. Check at {until}."
    )
    after = recording(checked_at=until)
    assert given(*past, *copies_after(*past)).when(after, call=late).decided()


def copies_after(*past: Part) -> tuple[Part, ...]:
    """The rows that the events of other copies leave."""
    (first, *rest) = (part for part in past if isinstance(part, DistributionEvent))
    assert isinstance(first, DistributionRegistered)
    copy = begin_copy(first)
    for event in rest:
        copy = evolve(copy, event)  # pyright: ignore[reportArgumentType]
    return (COPIES.upsert(copy_of(copy)),)


def test_a_stale_copy_whose_place_was_taken_is_not_verified():
    past = Scenario(OPERATIONS, (*a_dataset(), copy_registered, left, *a_copy(OTHER)), HERE)
    refused = past.when(recording(checked_at=NOW)).refused(
        DistributionAlreadyExistsError, saying=f"It is copy {OTHER}, which is Registered."
    )
    assert refused.facts == {"distribution_id": OTHER}
    past.when(recording(found=BAD)).then(mismatched)
    stale_copy = evolve(begin_copy(copy_registered), left)
    before = CheckedCopy(
        stale_copy,
        begin_dataset(dataset_registered),
        holder=None,
        leaving=None,
        transfer_accounts=frozenset(),
    )
    past.when(recording(checked_at=NOW), given=before).refused(DistributionAlreadyExistsError)


# Each line: the status before, what the check found, the status after, and the event of the copy.
MOVES = """
Registered  Match        Verified    DistributionVerified
Registered  Mismatch     Stale       DistributionMarkedStale
Registered  Unreachable  Registered  DistributionMarkedUnreachable
Verified    Match        Verified    DistributionVerified
Verified    Mismatch     Stale       DistributionMarkedStale
Verified    Unreachable  Verified    DistributionMarkedUnreachable
Stale       Match        Verified    DistributionVerified
Stale       Mismatch     Stale       -
Stale       Unreachable  Stale       DistributionMarkedUnreachable
Discarded   Match        -           -
Discarded   Mismatch     -           -
Discarded   Unreachable  -           -
Removed     Match        -           -
Removed     Mismatch     -           -
Removed     Unreachable  -           -
Overwritten Match        -           -
Overwritten Mismatch     -           -
Overwritten Unreachable  -           -
"""
PASTS: dict[str, tuple[Event, ...]] = {
    "Registered": (),
    "Verified": (verified(),),
    "Stale": (replace(stale, occurred_at=CHECKED),),
    "Discarded": (discarded,),
    "Removed": (discarded, DistributionRemoved(NOW, COPY, NOW)),
    "Overwritten": (DistributionMarkedOverwritten(NOW, COPY, "a new scan"),),
}


def test_every_finding_in_every_status():
    assert [*PASTS] == [*DistributionStatus]
    commands = {"Match": RECORD, "Mismatch": recording(found=BAD), "Unreachable": failing()}
    for kind in (CHECKSUM, TRANSFER):
        told = {"service": "FTS", "task_id": "17"} if kind is TRANSFER else {}
        for line in MOVES.strip().splitlines():
            status, outcome, after, name = line.split()
            command = commands[outcome].model_copy(update={"kind": kind, **told})
            past: tuple[Any, ...] = PASTS[status]
            every = (*a_dataset(), copy_registered, *past)
            scenario = Scenario(OPERATIONS, every, HERE).when(command, call=BY_FTS)
            if after == "-":
                scenario.refused(
                    AttestationDistributionDiscardedError, saying=f"The status is {status}."
                )
                continue
            events: list[Any] = [part for part in scenario.decided() if isinstance(part, Event)]
            assert getattr(events[0], "outcome") == outcome  # noqa: B009
            assert [type(each).__name__ for each in events[1:]] == [name][: name != "-"]
            copy = begin_copy(copy_registered)
            for event in (*past, *events[1:]):
                copy = evolve(copy, event)
            assert copy.status == after, line


# Who checked.


def test_only_a_service_account_inside_the_service_is_its_checker():
    machine = ActorKind.SERVICE_ACCOUNT
    callers = {
        (machine, None): VerifiedBy.SERVICE,
        (machine, SURFACE): VerifiedBy.CLIENT,
        (ActorKind.HUMAN, None): VerifiedBy.CLIENT,
        (ActorKind.AGENT, SURFACE): VerifiedBy.CLIENT,
    }
    for (kind, surface_id), by in callers.items():
        call = replace(CALL, principal_kind=kind, surface_id=surface_id)
        outcome = given().when(RECORD, call=call).decided()
        assert outcome[:2] == [replace(recorded, verified_by=by), replace(good, verified_by=by)]


def test_only_a_service_account_that_the_deployment_names_reports_a_transfer():
    outcome = given().when(by_transfer(), call=BY_FTS).decided()
    assert outcome[1] == replace(good, verified_by=VerifiedBy.TRANSFER)
    person = replace(BY_FTS, principal_kind=ActorKind.HUMAN)
    another = replace(BY_FTS, principal_id=OTHER)
    for call in (person, another):
        given().when(by_transfer(), call=call).refused(AttestationTransferNotTrustedError)


def test_a_check_by_a_transfer_service_names_its_task():
    told: JsonObject = {"service": "FTS", "task_id": "17"}
    (event, *_) = given().when(by_transfer(), call=BY_FTS).decided()
    assert event == replace(
        recorded, kind=TRANSFER, verified_by=VerifiedBy.TRANSFER, evidence=found | told
    )
    late = by_transfer(found=None, failure=CheckFailure.TIMEOUT)
    (event, *_) = given().when(late, call=BY_FTS).decided()
    assert event == replace(
        unread,
        kind=TRANSFER,
        verified_by=VerifiedBy.TRANSFER,
        evidence=unread.evidence | told | {"failure": "Timeout"},
    )


# Which sum is compared.


def test_a_digest_of_the_dataset_is_compared_with_its_strength():
    digests = {"md5": "1" * 32, "sha512": "2" * 128}
    confirmed = DatasetDigestsConfirmed(NOW, DATASET, ("md5", "sha512"), ABSENT)
    past = (*a_dataset(digests=digests), confirmed, *a_copy())
    for algorithm, strength in ((MD5, WEAK), (DigestAlgorithm.SHA512, STRONG)):
        value = digests[algorithm]
        command = recording(found=FoundSum(algorithm, value, SIZE, file=file_of()))
        outcome = Scenario(OPERATIONS, past).when(command).decided()
        sums = {"algorithm": algorithm, "expected_value": value, "found_value": value}
        assert outcome[:2] == [
            replace(recorded, strength=strength, evidence=found | sums),
            replace(good, strength=strength),
        ]
    wrong = recording(found=FoundSum(MD5, "3" * 32, SIZE, file=file_of()))
    (event, *_) = Scenario(OPERATIONS, past).when(wrong).decided()
    sums = {"algorithm": "md5", "expected_value": "1" * 32, "found_value": "3" * 32}
    assert event == replace(mismatched, evidence=found | sums)


def test_a_digest_verifies_nothing_until_one_reading_has_found_it_with_the_checksum():
    digests = {"md5": "1" * 32, "sha512": "2" * 128}
    past = (*a_dataset(digests=digests), *a_copy())
    by_md5 = recording(found=FoundSum(MD5, "1" * 32, SIZE))
    Scenario(OPERATIONS, past).when(by_md5).refused(
        AttestationAlgorithmUnknownError,
        saying="No check has found its md5 together with its sha256 yet.",
    )
    both = replace(GOOD, digests={MD5: "1" * 32, DigestAlgorithm.SHA512: "0" * 128})
    outcome = Scenario(OPERATIONS, past).when(recording(found=both)).decided()
    confirmed = DatasetDigestsConfirmed(NOW, DATASET, ("md5",), NEW)
    assert outcome[-1] == confirmed
    assert begin_dataset(dataset_registered).confirmed_digests == frozenset()
    after = (*past, confirmed)
    (_, verdict, *_) = Scenario(OPERATIONS, after).when(by_md5).decided()
    assert isinstance(verdict, DistributionVerified)
    assert verdict.strength is WEAK
    again = Scenario(OPERATIONS, after).when(recording(found=both)).decided()
    assert confirmed not in again
    wrong = Scenario(OPERATIONS, past).when(recording(found=replace(both, value="00" * 32)))
    assert confirmed not in wrong.decided()


def test_a_sum_that_the_dataset_does_not_have_is_not_compared():
    given().when(recording(found=FoundSum(MD5, "0" * 32, SIZE))).refused(
        AttestationAlgorithmUnknownError, saying="It has sha256; the check used md5."
    )
    tree = FoundSum(ChecksumAlgorithm.SHA256_TREE, SUM.value, SIZE)
    given().when(recording(found=tree)).refused(AttestationAlgorithmUnknownError)
    several = Scenario(OPERATIONS, (*a_dataset(digests={"md5": "1" * 32}), *a_copy()))
    several.when(recording(found=FoundSum(DigestAlgorithm.SHA1, "0" * 40, SIZE))).refused(
        AttestationAlgorithmUnknownError, saying="It has sha256, md5; the check used sha1."
    )


def test_a_transfer_compares_several_files_only_if_it_knows_all_of_them():
    algorithm = ChecksumAlgorithm.SHA256_TREE
    tree = FoundSum(algorithm, TREE.value, SIZE, file_count=2, file=file_of())
    base = a_copy(uri="file:///data/day/", checksum=TREE)
    for of_parts, count, saying in (
        (False, 2, "A transfer compares the files of parts."),
        (True, 3, "The dataset has 2 files, not 3."),
        (True, None, "The dataset has 2 files, not None."),
    ):
        dataset = a_dataset(checksum=TREE, file_count=2, of_parts=of_parts)
        command = by_transfer(found=replace(tree, file_count=count))
        Scenario(OPERATIONS, (*dataset, *base), HERE).when(command, call=BY_FTS).refused(
            AttestationAlgorithmUnknownError, saying=saying
        )
    dataset = a_dataset(checksum=TREE, file_count=2, of_parts=True)
    known = Scenario(OPERATIONS, (*dataset, *base), HERE)
    outcome = known.when(by_transfer(found=tree), call=BY_FTS).decided()
    assert outcome[1] == replace(good, verified_by=VerifiedBy.TRANSFER)
    unlisted = a_dataset(checksum=TREE, file_count=None)
    outcome = Scenario(OPERATIONS, (*unlisted, *base)).when(recording(found=tree)).decided()
    assert outcome[1] == good


# Formats.


def test_a_format_is_compared_with_the_profiles_of_the_dataset_and_moves_no_copy():
    evidence: JsonObject = {
        "expected_profiles": [NXTOMO],
        "found_layout": "NXtomo",
        "checker": "sha256sum 9.1",
        "failure": None,
    }
    for layout, outcome in (
        (ScanLayout.NXTOMO, MATCH),
        (ScanLayout.NXMX, MISMATCH),
        (None, MISMATCH),
    ):
        given().when(recording(kind=FORMAT, found=FoundSum(layout=layout))).then(
            replace(
                recorded,
                kind=FORMAT,
                outcome=outcome,
                strength=None,
                evidence=evidence | {"found_layout": layout},
            )
        )
    given().when(failing(kind=FORMAT)).then(
        replace(
            unread, kind=FORMAT, evidence=evidence | {"found_layout": None, "failure": "NotFound"}
        )
    )


def test_the_format_of_a_dataset_without_a_known_profile_is_not_checked():
    plain = a_dataset(encoding=Encoding("image/tiff", ("urn:tiff:6",)))
    command = recording(kind=FORMAT, found=FoundSum(layout=ScanLayout.NXTOMO))
    Scenario(OPERATIONS, (*plain, *a_copy())).when(command).refused(
        AttestationFormatUnsupportedError
    )


def test_every_layout_has_a_profile():
    assert {*PROFILES} == {*ScanLayout}
    for layout, profile in PROFILES.items():
        of = a_dataset(encoding=replace(HDF5, conforms_to=(profile,)))
        command = recording(kind=FORMAT, found=FoundSum(layout=layout))
        (event,) = Scenario(OPERATIONS, (*of, *a_copy())).when(command).decided()
        assert getattr(event, "outcome") is MATCH  # noqa: B009


# What a report must have.


def test_a_report_has_what_was_found_or_why_nothing_was():
    either = "Enter either found or failure."
    given().when(recording(found=None)).refused(InvalidAttestationFoundError, saying=either)
    given().when(recording(failure=CheckFailure.CORRUPT)).refused(
        InvalidAttestationFoundError, saying=either
    )


def test_a_report_has_the_fields_of_its_kind():
    sums = "reports algorithm, value and byte_size."
    for wrong in (
        replace(GOOD, algorithm=None),
        replace(GOOD, value=None),
        replace(GOOD, byte_size=None),
        replace(GOOD, layout=ScanLayout.NXTOMO),
        FoundSum(),
    ):
        for make in (recording, by_transfer):
            given().when(make(found=wrong)).refused(InvalidAttestationFoundError, saying=sums)
    for wrong in (GOOD, FoundSum(file_count=1), FoundSum(byte_size=0), FoundSum(value="0")):
        given().when(recording(kind=FORMAT, found=wrong)).refused(
            InvalidAttestationFoundError, saying="FormatValidated reports layout alone."
        )


def test_only_a_transfer_names_its_service_and_task_and_it_names_both():
    saying = "service and task_id belong to TransferVerified, which needs both."
    wrong = (
        by_transfer(service=None),
        by_transfer(task_id=None),
        recording(service="FTS"),
        recording(task_id="17"),
        recording(service="FTS", task_id="17"),
        failing(kind=FORMAT, service="FTS", task_id="17"),
    )
    for command in wrong:
        given().when(command).refused(InvalidAttestationFoundError, saying=saying)


def test_a_check_did_not_begin_in_the_future():
    at: datetime = NOW + timedelta(seconds=60)
    outcome = given().when(recording(checked_at=at)).decided()
    assert outcome[0] == replace(recorded, checked_at=at)
    given().when(recording(checked_at=at + timedelta(microseconds=1))).refused(
        InvalidAttestationCheckedAtError, saying="checked_at is 2030-01-01 00:01:00.000001+00:00."
    )


def test_faults_of_a_report_are_reported_in_order():
    wrong: dict[str, object] = {
        "distribution_id": ABSENT,
        "found": FoundSum(MD5),
        "checked_at": LATER,
    }
    rights: list[tuple[dict[str, object], type[Refusal]]] = [
        ({"distribution_id": COPY}, DistributionNotFoundError),
        ({"found": FoundSum(MD5, "0" * 32, SIZE)}, InvalidAttestationFoundError),
        ({"checked_at": CHECKED}, InvalidAttestationCheckedAtError),
    ]
    for right, refusal in rights:
        given(discarded).when(recording(**wrong)).refused(refusal)
        wrong |= right
    given(discarded).when(recording(**wrong)).refused(AttestationDistributionDiscardedError)
    given().when(recording(**wrong)).refused(AttestationAlgorithmUnknownError)


def test_an_attestation_is_what_its_event_says():
    assert begin(replace(recorded, occurred_at=LATER)) == Attestation(
        NEW,
        dataset_id=DATASET,
        distribution_id=COPY,
        kind=CHECKSUM,
        verified_by=VerifiedBy.CLIENT,
        outcome=MATCH,
        strength=STRONG,
        checked_at=CHECKED,
        evidence=found,
        created_at=LATER,
    )


def test_a_list_finds_an_attestation_by_what_was_checked_and_found():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    assert set(source.view.facets_of(begin(recorded))) >= {
        *(f"dataset_id={DATASET}", f"distribution_id={COPY}", "kind=ChecksumVerified"),
        *("verified_by=Client", "outcome=Match"),
    }
