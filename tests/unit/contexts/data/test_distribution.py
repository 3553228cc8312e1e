"""Distribution: where a copy is, what checks found there, and when its bytes were deleted."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from tests.unit.contexts.data.around import (
    COPY,
    DATASET,
    HDF5,
    NVME,
    SIZE,
    SUM,
    TREE,
    Part,
    a_copy,
    a_dataset,
    a_storage,
    copy_registered,
    dataset_registered,
    file_of,
    verified,
)

from beamkeep.contexts.data.dataset import DatasetDiscarded, DatasetNotFoundError
from beamkeep.contexts.data.dataset import begin as begin_dataset
from beamkeep.contexts.data.distribution import (
    COPIES,
    OPERATIONS,
    QUESTIONS,
    AccessProtocol,
    Copy,
    Distribution,
    DistributionAlreadyExistsError,
    DistributionByteSizeMismatchError,
    DistributionCannotMarkOverwrittenError,
    DistributionCannotMarkStaleError,
    DistributionCannotRecordRemovalError,
    DistributionCannotRestoreError,
    DistributionChanged,
    DistributionChecksumMismatchError,
    DistributionCommand,
    DistributionDatasetDiscardedError,
    DistributionDiscarded,
    DistributionLimitError,
    DistributionMarkedOverwritten,
    DistributionMarkedStale,
    DistributionMarkedUnreachable,
    DistributionNotFoundError,
    DistributionRemoved,
    DistributionRestored,
    DistributionStatus,
    DistributionSupplyDecommissionedError,
    DistributionSupplyNotStorageError,
    GoodCheck,
    InvalidDistributionChecksumError,
    InvalidDistributionRemovedAtError,
    InvalidDistributionUriError,
    MarkDistributionOverwritten,
    MarkDistributionStale,
    NewCopy,
    RecordDistributionRemoval,
    RegisterDistribution,
    RestoreDistribution,
    begin,
    claims_of,
    evolve,
)
from beamkeep.contexts.seams.custody_rules import ChecksumStrength, VerifiedBy
from beamkeep.contexts.supply.supply import (
    SupplyDeregistered,
    SupplyMarkedUnavailable,
    SupplyNotFoundError,
    SupplyStatus,
)
from beamkeep.contexts.trust.trigger import TriggerSource
from beamkeep.kernel import ActorKind, Many, Refusal, SideWrite, claim, free, replace
from beamkeep.testing.past import ABSENT, CALL, LATER, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

OTHER, OTHER_DATASET, HUTCH = UUID(int=110), UUID(int=111), UUID(int=112)
REGISTERED, VERIFIED, STALE, DISCARDED, REMOVED, OVERWRITTEN = DistributionStatus
PLACE = "file:///data/scan.h5"
SERVICE, CLIENT, TRANSFER = VerifiedBy
STRONG, WEAK = ChecksumStrength

stale = DistributionMarkedStale(
    NOW, COPY, TriggerSource.OPERATOR, "overwritten", None, frees_place=False
)
unreachable = DistributionMarkedUnreachable(
    NOW, COPY, TriggerSource.MONITOR, UUID(int=90), failure="NotFound", checked_at=NOW
)
discarded = DistributionDiscarded(NOW, COPY, "the archive has it", frees_place=False)
restored = DistributionRestored(NOW, COPY, "needed", checks_count_from=NOW + timedelta(hours=1))
overwritten = DistributionMarkedOverwritten(NOW, COPY, "a new scan")
removed = DistributionRemoved(NOW, COPY, NOW)

REGISTER = RegisterDistribution(
    dataset_id=DATASET,
    supply_id=NVME,
    uri=f" {PLACE} ",
    checksum=SUM,
    byte_size=SIZE,
    access_protocol=AccessProtocol.POSIX,
)
MARK_STALE = MarkDistributionStale(distribution_id=COPY, reason=" overwritten ")
RESTORE = RestoreDistribution(distribution_id=COPY, reason=" needed ")
MARK_OVERWRITTEN = MarkDistributionOverwritten(distribution_id=COPY, reason=" a new scan ")
REMOVE = RecordDistributionRemoval(distribution_id=COPY)
new = replace(copy_registered, distribution_id=NEW)
AROUND = (*a_dataset(), a_storage())


def given(*history: Part) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def registering(**changes: object) -> RegisterDistribution:
    return REGISTER.model_copy(update=changes)


def row(id: UUID = COPY, **changes: Any) -> Copy:
    """The row of a copy."""
    copy = Copy(
        id,
        dataset_id=DATASET,
        supply_id=NVME,
        status=REGISTERED,
        access_protocol=AccessProtocol.POSIX,
        byte_size=SIZE,
        uri=PLACE,
        good_checks=(),
        unreachable_since=None,
        of_parts=False,
        file_key=None,
        checks_count_from=None,
    )
    return replace(copy, **changes)


def taken(uri: str = PLACE, value: str | None = None, holder: UUID = NEW) -> SideWrite:
    """The claim on a place."""
    loser = DistributionAlreadyExistsError
    return claim("distribution", uri, value, holder=holder, loser=loser)


FREED = free("distribution", PLACE, None)


# Registering.


def test_a_copy_is_registered_with_its_address_trimmed():
    given().when(REGISTER).then(new, COPIES.insert(row(NEW)), taken())


def test_a_copy_needs_no_storage():
    given().when(registering(supply_id=None)).then(
        replace(new, supply_id=None), COPIES.insert(row(NEW, supply_id=None)), taken()
    )


def test_the_storage_may_be_down_but_not_decommissioned_or_of_another_kind():
    operator = TriggerSource.OPERATOR
    down = SupplyMarkedUnavailable(NOW, NVME, SupplyStatus.UNKNOWN, operator, None, "full")
    (event, *_) = given(down).when(REGISTER).decided()
    assert event == new
    gone = SupplyDeregistered(NOW, NVME, SupplyStatus.UNKNOWN, operator, None, "sold")
    given(gone).when(REGISTER).refused(
        DistributionSupplyDecommissionedError, saying="'Storage 62' is Decommissioned."
    )
    beam = a_storage(OTHER, kind="photon_beam")
    given(beam).when(registering(supply_id=OTHER)).refused(
        DistributionSupplyNotStorageError, saying="'Storage 110' is a supply of photon_beam."
    )


def test_a_copy_has_the_checksum_and_the_size_of_its_dataset():
    other_sum = replace(SUM, value="00" * 32)
    given().when(registering(checksum=other_sum)).refused(
        DistributionChecksumMismatchError, saying=f"The dataset has sha256 {'ab' * 32}."
    )
    tree = replace(TREE, value=SUM.value)
    given().when(registering(checksum=tree, uri=PLACE + "/")).refused(
        DistributionChecksumMismatchError
    )
    given().when(registering(byte_size=SIZE - 1)).refused(
        DistributionByteSizeMismatchError, saying="The dataset has 1000 bytes, the copy 999."
    )


def test_a_discarded_dataset_gets_no_copies():
    given(DatasetDiscarded(NOW, DATASET, "out of focus")).when(REGISTER).refused(
        DistributionDatasetDiscardedError
    )


def copies(*statuses: DistributionStatus) -> list[Part]:
    ids = (UUID(int=1_000 + number) for number in range(len(statuses)))
    return [COPIES.insert(row(id, status=each)) for id, each in zip(ids, statuses, strict=True)]


def test_a_dataset_has_at_most_64_present_copies():
    given(*copies(*[REGISTERED, VERIFIED, STALE] * 21)).when(REGISTER).then(
        new, COPIES.insert(row(NEW)), taken()
    )
    given(*copies(*[REGISTERED, VERIFIED, STALE] * 21, REGISTERED)).when(REGISTER).refused(
        DistributionLimitError
    )
    given(*copies(*[STALE] * 63, *[DISCARDED] * 9)).when(REGISTER).then(
        new, COPIES.insert(row(NEW)), taken()
    )


OTHER_BYTES = "If other bytes are there now, call mark_distribution_overwritten for it."


def test_one_place_holds_one_copy_of_whatever_dataset():
    elsewhere = a_dataset(OTHER_DATASET)
    for dataset_id in (DATASET, OTHER_DATASET):
        refused = (
            given(*elsewhere, *a_copy(dataset_id=dataset_id))
            .when(REGISTER)
            .refused(
                DistributionAlreadyExistsError,
                saying=f"It is copy {COPY}, which is Registered. {OTHER_BYTES}",
            )
        )
        assert refused.facts == {"distribution_id": COPY}


def test_a_place_is_held_until_the_bytes_are_removed_and_the_remedies_are_named():
    given(*a_copy(), stale).when(REGISTER).refused(
        DistributionAlreadyExistsError, saying=f"which is Stale. {OTHER_BYTES}"
    )
    given(*a_copy(), discarded).when(REGISTER).refused(
        DistributionAlreadyExistsError,
        saying="which is Discarded. Call record_distribution_removal once it is deleted, or"
        " restore_distribution if it is to stay; an hour after that, mark_distribution_overwritten"
        " ends it.",
    )


# Spellings of one place, which is PLACE.
SPELLINGS = (
    "FILE:///data/scan.h5",
    "file:/data/scan.h5",
    "file://localhost/data/scan.h5",
    "file://127.0.0.1/data/scan.h5",
    "file:////data//scan.h5",
    "file:///data/./scan.h5",
    "file:///d%61ta/scan%2Eh5",
    "file:///data/scan.h5/",
    "file:///data/scan.h5/.",
)


def test_an_address_has_one_spelling():
    for spelling in SPELLINGS:
        (event, *_) = given().when(registering(uri=spelling)).decided()
        assert event == new, spelling
        given(*a_copy()).when(registering(uri=spelling)).refused(DistributionAlreadyExistsError)


def test_a_file_of_another_host_is_another_file():
    (event, *_) = given(*a_copy()).when(registering(uri="file://NVME1/data/scan.h5")).decided()
    assert event == replace(new, uri="file://nvme1/data/scan.h5")


def test_of_two_copies_registered_at_one_place_at_once_one_is_refused():
    dataset = begin_dataset(dataset_registered)
    before = NewCopy(dataset, None, copies=0, holder=None)
    given(taken(holder=OTHER)).when(REGISTER, given=before).refused(DistributionAlreadyExistsError)


def test_datasets_of_parts_share_a_base_directory():
    base, other = "file:///data/day/", replace(TREE, value="ef" * 32)
    parts = {"checksum": TREE, "file_count": 2, "of_parts": True}
    of_parts = (
        *a_dataset(OTHER_DATASET, **parts),
        *a_dataset(HUTCH, **parts | {"checksum": other}),
    )
    first = a_copy(dataset_id=HUTCH, uri=base, checksum=other, of_parts=True)
    command = registering(dataset_id=OTHER_DATASET, uri=base, checksum=TREE)
    outcome = given(*of_parts, *first).when(command).decided()
    assert outcome[2] == taken(base, TREE.value)
    again = a_copy(dataset_id=OTHER_DATASET, uri=base, checksum=TREE, of_parts=True)
    given(*of_parts, *again).when(command).refused(DistributionAlreadyExistsError)


def test_faults_of_a_copy_are_reported_in_order():
    past = (
        *(DatasetDiscarded(NOW, DATASET, "out of focus"), a_storage(OTHER, kind="photon_beam")),
        *copies(*[STALE] * 64),
        *a_copy(),
    )
    wrong: dict[str, object] = {
        "dataset_id": ABSENT,
        "supply_id": ABSENT,
        "uri": "scan.h5",
        "checksum": replace(SUM, value="AB"),
        "byte_size": 1,
    }
    rights: list[tuple[dict[str, object], type[Refusal]]] = [
        ({"dataset_id": DATASET}, DatasetNotFoundError),
        ({"supply_id": OTHER}, SupplyNotFoundError),
        ({"checksum": replace(SUM, value="00" * 32)}, InvalidDistributionChecksumError),
        ({"uri": PLACE}, InvalidDistributionUriError),
        ({"supply_id": NVME}, DistributionSupplyNotStorageError),
    ]
    for right, refusal in rights:
        given(*past).when(registering(**wrong)).refused(refusal)
        wrong |= right
    given(*past).when(registering(**wrong)).refused(DistributionDatasetDiscardedError)
    past = past[1:]
    given(*past).when(registering(**wrong)).refused(DistributionChecksumMismatchError)
    given(*past).when(registering(byte_size=1)).refused(DistributionByteSizeMismatchError)
    given(*past).when(REGISTER).refused(DistributionLimitError)


# Each line: a protocol, whether the dataset has several files, and addresses that it takes.
ADDRESSES = """
POSIX    one   file:///data/scan.h5  file://host/data/scan.h5  file:///data/a%20b.h5
NFS      one   file:///mnt/scan.h5
HTTPS    one   https://data.lab.test/scan.h5  HTTPS://data.lab.test:8443/scan.h5
S3       one   s3://bucket/key
Globus   one   globus://0a1b2c3d/path/scan.h5
XRootD   one   root://eos.lab.test//eos/scan.h5  roots://eos.lab.test//eos/scan.h5
OAI_PMH  one   oai:lab.test:1234  https://lab.test/oai/1
Offline  one   tape:LTO-0042/17  urn:shelf:3
POSIX    many  file:///data/day/
S3       many  s3://bucket/prefix/
"""
NO_ADDRESS = "Enter an address with a scheme"
SECRET = "Remove the user, the query and the fragment."
# Each line: a protocol, an address that it refuses, and what is said of it.
REFUSED: list[tuple[AccessProtocol, str, str]] = [
    (AccessProtocol.POSIX, "/data/scan.h5", NO_ADDRESS),
    (AccessProtocol.POSIX, "scan.h5", NO_ADDRESS),
    (AccessProtocol.POSIX, "file:", NO_ADDRESS),
    (AccessProtocol.POSIX, "file:scan.h5", "Enter the whole path"),
    (AccessProtocol.POSIX, "file:///", "Enter the whole path"),
    (AccessProtocol.POSIX, "file:///data/../scan.h5", "Remove '..'"),
    (AccessProtocol.POSIX, "file:///data/%2e%2e/scan.h5", "Remove '..'"),
    (AccessProtocol.POSIX, "file:///data/%00", "Remove '..'"),
    (AccessProtocol.POSIX, "file:///data/a\nb", NO_ADDRESS),
    (AccessProtocol.POSIX, "file:///data/a\tb", NO_ADDRESS),
    (AccessProtocol.POSIX, "file:///data/\x7f", NO_ADDRESS),
    (AccessProtocol.OFFLINE, "javascript:alert(1)", NO_ADDRESS),
    (AccessProtocol.OFFLINE, "VBScript:a", NO_ADDRESS),
    (AccessProtocol.OFFLINE, "data:text/plain,a", NO_ADDRESS),
    (AccessProtocol.OFFLINE, "about:blank", NO_ADDRESS),
    (AccessProtocol.OFFLINE, "view-source:https://a", NO_ADDRESS),
    (AccessProtocol.HTTPS, "https://[::1/scan.h5", "The address is malformed."),
    (AccessProtocol.HTTPS, "https://ada@lab.test/scan.h5", SECRET),
    (AccessProtocol.HTTPS, "https://ada:secret@lab.test/scan.h5", SECRET),
    (AccessProtocol.HTTPS, "https://lab.test/scan.h5?X-Amz-Signature=1", SECRET),
    (AccessProtocol.HTTPS, "https://lab.test/scan.h5?", SECRET),
    (AccessProtocol.HTTPS, "https://lab.test/scan.h5#frame", SECRET),
    (AccessProtocol.HTTPS, "https://lab.test/scan.h5#", SECRET),
    (AccessProtocol.POSIX, "https://lab.test/scan.h5", "The scheme of POSIX is file."),
    (AccessProtocol.NFS, "nfs://lab.test/scan.h5", "The scheme of NFS is file."),
    (AccessProtocol.HTTPS, "http://lab.test/scan.h5", "The scheme of HTTPS is https."),
    (AccessProtocol.S3, "https://s3.lab.test/key", "The scheme of S3 is s3."),
    (AccessProtocol.GLOBUS, "file:///data/scan.h5", "The scheme of Globus is globus."),
    (AccessProtocol.XROOTD, "xroot://eos/scan.h5", "The scheme of XRootD is root or roots."),
]


def test_an_address_fits_the_protocol():
    parts = a_dataset(OTHER_DATASET, checksum=TREE, file_count=None)
    for line in ADDRESSES.strip().splitlines():
        protocol, files, *addresses = line.split()
        of = {"one": {}, "many": {"dataset_id": OTHER_DATASET, "checksum": TREE}}[files]
        for uri in addresses:
            command = registering(uri=uri, access_protocol=AccessProtocol(protocol), **of)
            event = given(*parts).when(command).decided()[0]
            assert (getattr(event, "uri"), getattr(event, "encoding")) == (uri, HDF5)  # noqa: B009


def test_an_address_that_does_not_fit_or_holds_a_secret_is_refused():
    for protocol, uri, saying in REFUSED:
        given().when(registering(uri=uri, access_protocol=protocol)).refused(
            InvalidDistributionUriError, saying=saying
        )
    given().when(registering(checksum=TREE, uri="file:///data/day")).refused(
        InvalidDistributionUriError, saying="is their base directory and ends in a slash."
    )


# Findings.


def test_a_copy_is_marked_stale_and_keeps_its_place():
    given(*a_copy()).when(MARK_STALE).then(stale, COPIES.upsert(row(status=STALE)))
    given(*a_copy(), verified()).when(MARK_STALE).then(
        stale, COPIES.upsert(row(status=STALE, file_key=file_of().key))
    )


def test_a_restored_copy_counts_by_no_check_that_began_while_it_could_be_deleted():
    checked = verified(at=NOW - timedelta(days=1))
    given(*a_copy(), checked, discarded).when(RESTORE).then(
        restored,
        COPIES.upsert(row(file_key=file_of().key, checks_count_from=restored.checks_count_from)),
    )
    copy = after(checked, discarded, restored)
    assert (copy.status, copy.good_checks, copy.verified_at) == (REGISTERED, (), None)
    assert copy.checks_count_from == NOW + timedelta(hours=1)


def test_a_copy_that_lost_its_place_is_restored_only_if_no_other_copy_took_it():
    past = (copy_registered, *a_dataset(), replace(discarded, frees_place=True))
    outcome = Scenario(OPERATIONS, past).when(RESTORE).decided()
    assert outcome == [
        restored,
        COPIES.upsert(row(checks_count_from=restored.checks_count_from)),
        taken(holder=COPY),
    ]
    Scenario(OPERATIONS, (*past, *a_copy(OTHER))).when(RESTORE).refused(
        DistributionAlreadyExistsError
    )


def test_a_copy_is_restored_or_overwritten_only_in_time():
    for past in ((), (verified(),), (stale,), (discarded, removed)):
        given(*a_copy(), *past).when(RESTORE).refused(DistributionCannotRestoreError)
    for past in ((discarded,), (discarded, removed), (overwritten,)):
        given(*a_copy(), *past).when(MARK_OVERWRITTEN).refused(
            DistributionCannotMarkOverwrittenError
        )


def test_a_restored_copy_ends_as_overwritten_once_no_cleaner_can_delete_what_is_there():
    past = (*a_copy(), discarded, restored)
    hour = timedelta(hours=1)
    for now, may in ((NOW + hour - timedelta(microseconds=1), False), (NOW + hour, True)):
        scenario = given(*past).when(MARK_OVERWRITTEN, call=replace(CALL, now=now))
        if may:
            assert scenario.decided()[0] == replace(overwritten, occurred_at=now)
        else:
            scenario.refused(DistributionCannotMarkOverwrittenError, saying="was restored")


def test_an_overwritten_copy_is_gone_and_frees_its_place():
    for past in ((), (verified(),), (stale,)):
        given(*a_copy(), *past).when(MARK_OVERWRITTEN).then(overwritten, COPIES.delete(COPY), FREED)


def test_the_trigger_of_a_stale_mark_follows_from_the_kind_of_caller():
    for kind, source in (
        (ActorKind.SERVICE_ACCOUNT, TriggerSource.MONITOR),
        (ActorKind.AGENT, TriggerSource.AUTO),
    ):
        (event, *_) = (
            given(*a_copy()).when(MARK_STALE, call=replace(CALL, principal_kind=kind)).decided()
        )
        assert event == replace(stale, trigger=source)


def test_a_copy_is_marked_stale_once():
    given(*a_copy(), stale).when(MARK_STALE).refused(
        DistributionCannotMarkStaleError,
        saying="The status is Stale; it must be Registered or Verified.",
    )


def test_a_removal_is_recorded_as_of_now_unless_it_was_earlier():
    gone = COPIES.delete(COPY)
    given(*a_copy(), discarded).when(REMOVE).then(removed, gone, FREED)
    earlier = NOW - timedelta(days=1)
    for removed_at in (earlier, NOW):
        command = REMOVE.model_copy(update={"removed_at": removed_at})
        given(*a_copy(), discarded).when(command).then(
            replace(removed, removed_at=removed_at), gone, FREED
        )


def test_a_removal_is_not_in_the_future():
    soon = NOW + timedelta(microseconds=1)
    command = REMOVE.model_copy(update={"removed_at": soon})
    for past in ((discarded,), ()):
        given(*a_copy(), *past).when(command).refused(
            InvalidDistributionRemovedAtError, saying=f"removed_at is {soon}."
        )


def test_bytes_are_not_deleted_before_the_copy_is_discarded():
    given(*a_copy(), verified()).when(REMOVE).refused(
        DistributionCannotRecordRemovalError, saying="The status is Verified; it must be Discarded."
    )


def test_a_copy_that_does_not_exist_does_not_change():
    commands: tuple[DistributionCommand, ...] = (MARK_STALE, RESTORE, MARK_OVERWRITTEN, REMOVE)
    for command in commands:
        given().when(command).refused(DistributionNotFoundError)


# Each line: the events of a copy, and whether it holds its place after them. Earlier, a copy left
# its place when it became stale or discarded; its events say so for ever.
PLACES_HELD = """
                           yes
verified                   yes
stale                      yes
stale discarded            yes
verified discarded         yes
discarded restored         yes
discarded removed          no
overwritten                no
left                       no
left verified              yes
let_go                     no
let_go restored            yes
let_go removed             no
"""


def test_a_place_is_held_until_the_copy_is_removed_or_overwritten():
    events: dict[str, DistributionChanged] = {
        "verified": verified(),
        "stale": stale,
        "discarded": discarded,
        "restored": restored,
        "removed": removed,
        "overwritten": overwritten,
        "left": replace(stale, frees_place=True),
        "let_go": replace(discarded, frees_place=True),
    }
    for line in PLACES_HELD.strip("\n").splitlines():
        *names, expected = line.split()
        copy = after(*(events[name] for name in names))
        assert copy.has_place is (expected == "yes"), line
        assert len(claims_of(copy)) == copy.has_place, line


# What a copy is.


def test_a_copy_is_what_its_first_event_says():
    assert begin(replace(copy_registered, occurred_at=LATER)) == Distribution(
        COPY,
        dataset_id=DATASET,
        supply_id=NVME,
        uri=PLACE,
        checksum=SUM,
        byte_size=SIZE,
        encoding=HDF5,
        access_protocol=AccessProtocol.POSIX,
        of_parts=False,
        created_at=LATER,
    )


def after(*events: DistributionChanged) -> Distribution:
    copy = begin(copy_registered)
    for event in events:
        copy = evolve(copy, event)
    return copy


def hours(number: int) -> Any:
    return NOW + timedelta(hours=number)


def test_the_latest_good_check_of_each_checker_and_strength_is_remembered():
    copy = after(
        verified(by=CLIENT, strength=STRONG, at=hours(1)),
        verified(by=SERVICE, strength=STRONG, at=hours(2)),
        verified(by=CLIENT, strength=STRONG, at=hours(3)),
        verified(by=TRANSFER, strength=WEAK, at=hours(9)),
        verified(by=SERVICE, strength=STRONG, at=hours(0)),
    )
    file = file_of()
    assert copy.good_checks == (
        GoodCheck(CLIENT, STRONG, hours(3), file),
        GoodCheck(SERVICE, STRONG, hours(2), file),
        GoodCheck(TRANSFER, WEAK, hours(9), file),
    )


def test_a_copy_is_verified_by_the_latest_of_the_strongest_checks():
    weak = after(verified(by=TRANSFER, strength=WEAK, at=hours(1)))
    assert (weak.verified_by, weak.verified_strength) == (TRANSFER, WEAK)
    assert weak.verified_at == hours(1)
    strong = after(
        verified(by=CLIENT, at=hours(2)),
        verified(by=SERVICE, at=hours(3)),
        verified(by=TRANSFER, strength=WEAK, at=hours(9)),
    )
    assert (strong.verified_by, strong.verified_strength) == (SERVICE, STRONG)
    assert strong.verified_at == hours(3)


def test_a_stale_copy_forgets_its_good_checks():
    late = replace(stale, occurred_at=LATER)
    assert after(verified(), late) == replace(
        begin(copy_registered),
        status=STALE,
        marked_stale_at=LATER,
        file=file_of(),
        keeps_place=True,
    )


def test_a_copy_is_unreachable_until_a_later_check_reads_it():
    gone = replace(unreachable, checked_at=hours(5))
    assert after(gone).unreachable_since == hours(5)
    assert after(gone).status is REGISTERED
    assert after(gone, verified(at=hours(4))).unreachable_since == hours(5)
    assert after(gone, verified(at=hours(5))).unreachable_since is None
    assert after(gone, verified(at=hours(6))).unreachable_since is None
    assert after(gone, stale).unreachable_since == hours(5)


def test_a_file_that_is_gone_is_not_known_by_its_number_any_more():
    assert after(verified(), unreachable).file is None
    away = replace(unreachable, failure="Timeout")
    assert after(verified(), away).file == file_of()


def in_status(status: DistributionStatus) -> Distribution:
    return replace(begin(copy_registered), status=status)


STATUS = """
             mark_distribution_stale  restore_distribution  mark_distribution_overwritten  record_distribution_removal
Registered   Stale                    -                     Overwritten                    -
Verified     Stale                    -                     Overwritten                    -
Stale        -                        -                     Overwritten                    -
Discarded    -                        Registered            -                              Removed
Removed      -                        -                     -                              -
Overwritten  -                        -                     -                              -
"""  # noqa: E501


def test_every_move_from_every_status():
    moves = [Example(MARK_STALE), Example(RESTORE), Example(MARK_OVERWRITTEN), Example(REMOVE)]
    matrix(OPERATIONS, DistributionStatus, moves, in_status, lambda it: it.status, STATUS)


def test_a_list_finds_a_copy_by_where_it_is_and_whether_it_can_be_read():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    assert set(source.view.facets_of(begin(copy_registered))) >= {
        *(f"dataset_id={DATASET}", f"supply_id={NVME}", "status=Registered"),
        *("access_protocol=POSIX", "unreachable=false"),
    }
    assert "unreachable=true" in set(source.view.facets_of(after(unreachable)))
