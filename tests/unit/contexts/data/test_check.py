"""Checks of copies: which copies the service can read, and one check of a kind at a time."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from beamkeep.contexts.data.attestation import AttestationFormatUnsupportedError
from beamkeep.contexts.data.check import (
    CHECKING,
    CHECKS,
    OPERATIONS,
    READ_FILES,
    AttestationProtocolUnsupportedError,
    CheckAccepted,
    DistributionCannotRequestCheckError,
    DistributionCheck,
    DistributionCheckNotActiveError,
    DistributionCheckPendingError,
    EndDistributionCheck,
    RequestDistributionCheck,
)
from beamkeep.contexts.data.distribution import (
    AccessProtocol,
    CheckKind,
    DistributionCheckRequested,
    DistributionDiscarded,
    DistributionRegistered,
    begin,
    evolve,
)
from beamkeep.contexts.data.shapes import Checksum, ChecksumAlgorithm, Encoding
from beamkeep.contexts.seams.work import WORK_STATES, WORK_TURNS, WorkState, WorkTurn
from beamkeep.kernel import WORK, Event, Fenced, SideWrite, Work, replace
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import ABSENT, CALL, LATER, NEW, NOW
from beamkeep.testing.scenario import Scenario

COPY, DATASET, CHECK, WORKER = (UUID(int=number) for number in range(60, 64))
NXTOMO = "https://manual.nexusformat.org/classes/applications/NXtomo.html"
SUM, SIZE = Checksum(ChecksumAlgorithm.SHA256, "ab" * 32), 1_000
TREE = Checksum(ChecksumAlgorithm.SHA256_TREE, "cd" * 32)
BYTES, FORMAT = CheckKind

registered = DistributionRegistered(
    NOW,
    COPY,
    dataset_id=DATASET,
    supply_id=None,
    uri="file:///data/scan.h5",
    checksum=SUM,
    byte_size=SIZE,
    encoding=Encoding("application/x-hdf5", (NXTOMO,)),
    access_protocol=AccessProtocol.POSIX,
    of_parts=False,
)
discarded = DistributionDiscarded(NOW, COPY, "gone")
row = DistributionCheck(COPY, BYTES, check_id=CHECK, requested_at=NOW, byte_size=SIZE)
AFTER = replace(CALL, now=LATER)
END = EndDistributionCheck(distribution_id=COPY, kind=BYTES, check_id=CHECK, claim=3, owner=WORKER)


READING = replace(FACTS, reads_layouts=True)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, history, READING)


def asking(kind: CheckKind = BYTES, id: UUID = COPY) -> RequestDistributionCheck:
    return RequestDistributionCheck(distribution_id=id, kind=kind)


def a_copy(**changes: Any) -> Scenario:
    return given(replace(registered, **changes))


def work(idle_claims: int) -> SideWrite:
    state = WorkState(
        CHECK,
        claim=1,
        owner=None,
        due_at=NOW,
        idle_claims=idle_claims,
        stop=None,
        last_error=None,
        ended_at=None,
        overdue=timedelta(),
    )
    return WORK_STATES.insert(state)


def test_a_request_is_recorded_with_the_work_that_it_asks_for():
    for kind in CheckKind:
        event = DistributionCheckRequested(LATER, COPY, check_id=NEW, kind=kind)
        given(registered).when(asking(kind), call=AFTER).then(
            event,
            CHECKS.upsert(replace(row, check_id=NEW, kind=kind, requested_at=LATER)),
            WORK.insert(Work(NEW, CHECKING, COPY)),
            CheckAccepted(NEW),
        )
        assert evolve(begin(registered), event) == begin(registered)
    given().when(asking(id=ABSENT)).refused(OPERATIONS[0].aggregate.absent)


def test_a_discarded_copy_is_not_checked():
    given(registered, discarded).when(asking()).refused(DistributionCannotRequestCheckError)


def test_the_service_reads_files_and_single_files_by_https():
    https, refusal = AccessProtocol.HTTPS, AttestationProtocolUnsupportedError
    for protocol in (AccessProtocol.POSIX, AccessProtocol.NFS, https):
        a_copy(access_protocol=protocol).when(asking()).decided()
    a_copy(checksum=TREE).when(asking()).decided()
    a_copy(access_protocol=https, checksum=TREE).when(asking()).refused(refusal, "single file")
    a_copy(access_protocol=https).when(asking(FORMAT)).refused(refusal, "checksum")
    for protocol in {*AccessProtocol} - {AccessProtocol.POSIX, AccessProtocol.NFS, https}:
        a_copy(access_protocol=protocol).when(asking()).refused(refusal, protocol)


def test_a_format_is_checked_only_where_a_layout_is_claimed():
    plain = Encoding("application/x-hdf5", ("https://example.org/own",))
    a_copy(encoding=plain).when(asking(FORMAT)).refused(AttestationFormatUnsupportedError)
    a_copy(encoding=plain).when(asking()).decided()
    elsewhere = Scenario(OPERATIONS, [registered])
    elsewhere.when(asking(FORMAT)).refused(AttestationFormatUnsupportedError, "deployment")
    elsewhere.when(asking()).decided()


def test_one_check_of_a_kind_waits_or_runs():
    history = registered, CHECKS.insert(row), work(idle_claims=4)
    given(*history).when(asking()).refused(DistributionCheckPendingError, str(CHECK))
    given(*history).when(asking(FORMAT)).decided()


def test_a_check_that_workers_gave_up_is_replaced():
    history = registered, CHECKS.insert(row), work(idle_claims=5)
    decided = given(*history).when(asking(), call=AFTER).decided()
    assert decided[1:3] == [
        WORK_TURNS.replace(WorkTurn(CHECK, ended_at=LATER, due_at=LATER)),
        READ_FILES.delete(CHECK),
    ]
    assert decided[3] == CHECKS.upsert(replace(row, check_id=NEW, requested_at=LATER))


def test_the_end_of_a_check_deletes_its_progress_while_the_worker_holds_it():
    given(registered, CHECKS.insert(row)).when(END).then(
        CHECKS.delete(COPY, BYTES),
        READ_FILES.delete(CHECK),
        Fenced(CHECK, 3, WORKER, ends=True),
    )
    refusal = DistributionCheckNotActiveError
    given(registered).when(END).refused(refusal)
    other = CHECKS.insert(replace(row, check_id=NEW))
    given(registered, other).when(END).refused(refusal)
