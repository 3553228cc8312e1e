"""Custody: which copies count, what a dataset lacks, and which copy may be deleted."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

import msgspec
import pytest
from pydantic import TypeAdapter, ValidationError
from tests.unit.contexts.data.around import (
    COPY,
    DATASET,
    NVME,
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
from tests.unit.contexts.supply.around import facility

from beamkeep.contexts.data import dataset, distribution
from beamkeep.contexts.data.custody import (
    OPERATIONS,
    ArchiveDataset,
    CustodyOfDataset,
    CustodyView,
    DatasetCustodyNotMetError,
    DatasetHasNoVerifiedDistributionError,
    DiscardDistribution,
    DistributionChecksOutdatedError,
    DistributionIsLastVerifiedError,
    DistributionNeededByCustodyError,
    DistributionSharedError,
    StorageSite,
)
from beamkeep.contexts.data.dataset import (
    Dataset,
    DatasetArchived,
    DatasetCannotArchiveError,
    DatasetDiscarded,
    DatasetNeedsSecondPersonError,
    DatasetNotFoundError,
    DatasetPromoted,
    DatasetRetentionUpdated,
    DatasetStatus,
)
from beamkeep.contexts.data.distribution import (
    AccessProtocol,
    Copy,
    Distribution,
    DistributionCannotDiscardError,
    DistributionDiscarded,
    DistributionMarkedStale,
    DistributionMarkedUnreachable,
    DistributionNotFoundError,
    DistributionStatus,
    GoodCheck,
    copy_of,
)
from beamkeep.contexts.seams.custody_rules import (
    ChecksumStrength,
    CustodyRule,
    CustodyRules,
    DatasetIntent,
    VerifiedBy,
)
from beamkeep.contexts.seams.installation import Facts
from beamkeep.contexts.supply.supply import (
    SupplyDegraded,
    SupplyDeregistered,
    SupplyMarkedAvailable,
    SupplyMarkedRecovering,
    SupplyMarkedUnavailable,
    SupplyStatus,
)
from beamkeep.contexts.trust.trigger import TriggerSource
from beamkeep.kernel import Event, Lock, replace
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import ABSENT, CALL, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

SECOND, THIRD, TAPE, CLOUD, HALL = (UUID(int=number) for number in range(150, 155))
OWN, AREA, OTHER_SITE, OTHER_AREA = (UUID(int=number) for number in range(160, 164))
TRIAL, PRODUCTION, RETRACTED = DatasetIntent
SERVICE, CLIENT, TRANSFER = VerifiedBy
STRONG, WEAK = ChecksumStrength
REGISTERED, VERIFIED, STALE, DISCARDED, REMOVED, OVERWRITTEN = DistributionStatus
OPERATOR = TriggerSource.OPERATOR

ARCHIVE = ArchiveDataset(dataset_id=DATASET)
DISCARD = DiscardDistribution(distribution_id=COPY, reason=" the archive has it ")
archived = DatasetArchived(NOW, DATASET)
discarded = DistributionDiscarded(NOW, COPY, "the archive has it", frees_place=False)
LOCKED = Lock(f"dataset:{DATASET}")


def view(rule: CustodyRule | None = None, **production: Any) -> CustodyView:
    """A view in which NVME is inside, CLOUD outside and TAPE down."""
    rule = rule or CustodyRule(**production)
    sites = {
        NVME: StorageSite(NVME, "nvme1", is_down=False, is_outside=False),
        HALL: StorageSite(HALL, "hall", is_down=False, is_outside=False),
        CLOUD: StorageSite(CLOUD, "cloud", is_down=False, is_outside=True),
        TAPE: StorageSite(TAPE, "tape", is_down=True, is_outside=False),
    }
    return CustodyView(CustodyRules(production=rule), sites, NOW)


def copy(text: str) -> Copy:
    """A copy told by words: its status, where it is, and what is special about it."""
    words = text.split()
    status = next((each for each in DistributionStatus if each.value in words), VERIFIED)
    site = {"nvme": NVME, "hall": HALL, "cloud": CLOUD, "tape": TAPE, "nowhere": None}
    supply_id = next((id for name, id in site.items() if name in words), NVME)
    age = next((int(word[:-4]) for word in words if word.endswith("days")), 0)
    by = next((each for each in VerifiedBy if each.value in words), CLIENT)
    check = GoodCheck(by, WEAK if "weak" in words else STRONG, NOW - timedelta(days=age))
    offline, posix = AccessProtocol.OFFLINE, AccessProtocol.POSIX
    # A copy is a file of its own on the file system of its storage, unless it is said otherwise.
    file = next((word[5:] for word in words if word.startswith("file=")), text.replace(" ", "-"))
    disk = next((word[5:] for word in words if word.startswith("disk=")), supply_id)
    key = f"host {disk} {file}"
    return Copy(
        uuid5(DATASET, text),
        dataset_id=DATASET,
        supply_id=supply_id,
        status=status,
        access_protocol=offline if "offline" in words else posix,
        byte_size=1,
        uri="file:///data/scan.h5",
        good_checks=(check,) if status is VERIFIED else (),
        unreachable_since=NOW if "unreachable" in words else None,
        of_parts=False,
        file_key=None if "unread" in words else key,
        checks_count_from=None,
    )


# Which copies count. Each line: a copy, and whether it counts by the rule that says nothing.
COUNTING = """
Verified nvme               yes
Verified nowhere            yes
Verified cloud              yes
Verified tape               no
Verified offline            yes
Verified unreachable        no
Verified weak               no
Verified Service            yes
Verified Transfer           yes
Verified 365days            yes
Verified 366days            no
Registered nvme             no
Stale nvme                  no
Discarded nvme              no
Removed nvme                no
"""


def test_a_copy_counts_if_a_check_found_its_bytes_right_and_it_can_be_read():
    for line in COUNTING.strip().splitlines():
        text, _, expected = line.rpartition(" ")
        assert view().counts(copy(text), PRODUCTION) is (expected == "yes"), line


# Each line: what the rule demands of a check, a copy, and whether it counts.
BY_RULE = """
strength=Integrity                             Verified weak              yes
strength=Integrity                             Verified                   yes
strength=Cryptographic                         Verified weak              no
verified_by=Service,Transfer                   Verified Client            no
verified_by=Service,Transfer                   Verified Service           yes
verified_by=Service,Transfer                   Verified Transfer          yes
verified_within_days=30                        Verified 30days            yes
verified_within_days=30                        Verified 31days            no
verified_within_days=null                      Verified 4000days          yes
verified_by=Service verified_within_days=30    Verified Service 31days    no
verified_by=Transfer strength=Integrity        Verified Transfer weak     yes
"""


def rule_of(text: str) -> CustodyRule:
    """The rule that `key=value` pairs tell."""
    values: dict[str, Any] = {}
    for pair in text.split():
        key, _, value = pair.partition("=")
        many = value.split(",") if key == "verified_by" else value
        values[key] = msgspec.json.decode(value) if value in {"null", "false"} else many
        values[key] = int(value) if value.isdigit() else values[key]
    return msgspec.convert(values, CustodyRule)


def test_a_rule_says_whose_check_counts_how_strong_and_how_old():
    for line in BY_RULE.strip().splitlines():
        rule, told, expected = (part for part in line.split("  ") if part.strip())
        found = view(rule_of(rule)).counts(copy(told), PRODUCTION)
        assert found is (expected.strip() == "yes"), line


def test_one_check_satisfies_the_whole_rule():
    old, recent = GoodCheck(SERVICE, STRONG, NOW - timedelta(days=90)), GoodCheck(CLIENT, WEAK, NOW)
    by_two = replace(copy("Verified"), good_checks=(old, recent))
    assert not view(verified_by=frozenset({SERVICE}), verified_within_days=30).counts(
        by_two, PRODUCTION
    )
    assert view(verified_by=frozenset({SERVICE})).counts(by_two, PRODUCTION)
    assert not view(verified_within_days=30).counts(by_two, PRODUCTION)


# Each line: a rule, the copies, and what they lack of it.
SHORT = """
verified_copies=1     | Verified                                    |
verified_copies=1     |                                             | verified_copies=1 distinct_supplies=1
verified_copies=1     | Registered; Stale; Verified tape            | verified_copies=1 distinct_supplies=1
verified_copies=2     | Verified; Verified offline                  |
verified_copies=3     | Verified; Verified hall; Stale              | verified_copies=1
distinct_supplies=2   | Verified; Verified offline                  | distinct_supplies=1
distinct_supplies=2   | Verified; Verified hall                     |
distinct_supplies=2   | Verified nowhere; Verified nowhere offline  | distinct_supplies=1
distinct_supplies=2   | Verified nowhere; Verified nvme             |
outside=1             | Verified; Verified hall                     | outside=1
outside=1             | Verified nowhere                            | outside=1
outside=1             | Verified cloud                              |
outside=2             | Verified cloud; Verified cloud offline      |
outside=1             | Stale cloud; Verified                       | outside=1
verified_copies=2     | Verified file=1; Verified hall file=1 disk=x |
verified_copies=2     | Verified file=1; Verified file=1 Service    | verified_copies=1
verified_copies=2     | Verified unread; Verified hall unread       | verified_copies=1
verified_copies=2     | Verified unread; Verified hall              |
distinct_supplies=2   | Verified disk=x; Verified hall disk=x       | distinct_supplies=1
distinct_supplies=2 file_systems_differ=false | Verified disk=x; Verified hall disk=x |
distinct_supplies=2   | Verified disk=x; Verified hall disk=x; Verified cloud |
distinct_supplies=2   | Verified disk=x; Verified hall disk=y; Verified nowhere disk=y |
distinct_supplies=3   | Verified disk=x; Verified hall disk=y; Verified nowhere disk=y | distinct_supplies=1
distinct_supplies=2   | Verified unread; Verified hall unread       | distinct_supplies=1
outside=2             | Verified cloud file=1; Verified cloud file=1 Service | outside=1
online=1              | Verified offline                            | online=1
online=1              | Verified offline; Verified                  |
online=2              | Verified offline; Verified                  | online=1
"""  # noqa: E501


def test_what_is_missing_is_named_by_the_key_of_the_rule():
    for line in SHORT.strip().splitlines():
        rule, copies, expected = line.split("|")
        told = [copy(text) for text in copies.split(";") if text.strip()]
        pairs = (pair.partition("=") for pair in expected.split())
        lacks = {key: int(number) for key, _, number in pairs}
        assert view(rule_of(rule)).short(told, PRODUCTION) == lacks, line


def test_every_intent_has_its_own_rule():
    rules = CustodyRules(production=CustodyRule(verified_copies=2))
    seen = replace(view(), rules=rules)
    one = [copy("Verified")]
    assert seen.short(one, PRODUCTION) == {"verified_copies": 1}
    assert seen.short(one, TRIAL) == {}
    assert seen.short(one, RETRACTED) == {}


# Each line: a rule, the copy in question, the others, and whether the first may go.
MAY_DISCARD = """
verified_copies=1    | Verified              |                                 | no
verified_copies=1    | Registered            |                                 | no
verified_copies=1    | Stale                 |                                 | no
verified_copies=1    | Verified              | Verified hall                   | yes
verified_copies=1    | Verified              | Registered hall; Stale cloud    | no
verified_copies=1    | Stale                 | Registered hall                 | no
verified_copies=1    | Stale                 | Verified hall                   | yes
verified_copies=1    | Verified tape         | Verified hall                   | yes
verified_copies=1    | Verified              | Verified tape                   | no
verified_copies=1    | Verified              | Verified hall unreachable       | no
verified_copies=1    | Verified              | Discarded hall                  | no
verified_copies=2    | Verified              | Verified hall                   | no
verified_copies=2    | Verified              | Verified hall; Verified cloud   | yes
verified_copies=2    | Stale                 | Verified hall                   | yes
verified_copies=2    | Verified unreachable  | Verified hall                   | yes
verified_copies=2    | Verified weak         | Verified hall                   | yes
verified_copies=1    | Verified file=1       | Verified file=1 Service         | no
verified_copies=1    | Stale file=1          | Verified file=1                 | no
verified_copies=1    | Verified file=1       | Verified file=2                 | yes
outside=1            | Verified cloud        | Verified; Verified hall         | no
outside=1            | Verified              | Verified cloud                  | yes
online=1             | Verified              | Verified offline; Verified tape | no
distinct_supplies=2  | Verified              | Verified offline; Verified hall | yes
distinct_supplies=2  | Verified hall         | Verified; Verified offline      | no
"""


def test_a_copy_may_go_if_the_others_meet_the_rule_or_if_it_takes_nothing_away():
    for line in MAY_DISCARD.strip().splitlines():
        rule, asked, others, expected = line.split("|")
        seen, this = view(rule_of(rule)), copy(asked)
        all_of_them = [this, *(copy(text) for text in others.split(";") if text.strip())]
        found = seen.may_discard(this, all_of_them, PRODUCTION, DatasetStatus.REGISTERED)
        assert found is (expected.strip() == "yes"), line
        archived = seen.may_discard(this, all_of_them, PRODUCTION, DatasetStatus.ARCHIVED)
        assert archived is found
        assert seen.may_discard(this, all_of_them, PRODUCTION, DatasetStatus.DISCARDED)


# Each line: a rule, the copy in question, the others, and which of all must be checked first.
TO_CHECK = """
verified_copies=1                             | Verified           | Verified hall 1days               |
verified_copies=1                             | Verified           | Verified hall 2days               | Verified hall 2days
verified_copies=1 relied_within_hours=48      | Verified           | Verified hall 2days               |
verified_copies=1 relied_within_hours=null    | Verified           | Verified hall 300days             |
verified_copies=1                             | Verified           | Verified hall 2days; Verified cloud |
verified_copies=2                             | Verified           | Verified hall 2days; Verified cloud | Verified hall 2days
verified_copies=2                             | Stale              | Verified hall 2days; Verified cloud |
verified_copies=2                             | Stale              | Verified hall 2days               | Verified hall 2days
verified_copies=1                             | Registered unread  | Verified hall                     | Registered unread
verified_copies=1                             | Registered unread  | Verified hall 2days               | Registered unread; Verified hall 2days
verified_copies=1                             | Registered unread offline | Verified hall              |
"""  # noqa: E501


def test_what_a_discard_relies_on_is_checked_first():
    for line in TO_CHECK.strip().splitlines():
        rule, asked, others, expected = line.split("|")
        seen, this = view(rule_of(rule)), copy(asked.strip())
        rest = [copy(text.strip()) for text in others.split(";") if text.strip()]
        wanted = {
            copy(text.strip()).distribution_id for text in expected.split(";") if text.strip()
        }
        every = [this, *rest]
        assert seen.may_discard(this, every, PRODUCTION, DatasetStatus.REGISTERED), line
        found = seen.to_check(this, every, PRODUCTION, DatasetStatus.REGISTERED)
        assert found == wanted, line
        assert seen.to_check(this, every, PRODUCTION, DatasetStatus.DISCARDED) == frozenset()


def test_the_rules_of_a_deployment_are_read_with_their_defaults():
    text = (
        '{"Production": {"verified_copies": 2, "distinct_supplies": 2, "outside": 1,'
        ' "verified_by": ["Service", "Transfer"]}, "Trial": {}}'
    )
    read = TypeAdapter(CustodyRules).validate_json
    rules = read(text)
    assert rules.for_intent(TRIAL) == rules.for_intent(RETRACTED) == CustodyRule()
    assert rules.for_intent(PRODUCTION) == CustodyRule(
        verified_copies=2,
        distinct_supplies=2,
        outside=1,
        online=0,
        verified_by=frozenset({SERVICE, TRANSFER}),
        strength=STRONG,
        verified_within_days=365,
        relied_within_hours=24,
        file_systems_differ=True,
    )
    for wrong in (
        '{"Draft": {}}',
        '{"trial": {}}',
        '{"Trial": {"copies": 2}}',
        '{"Trial": {"verified_copies": 0}}',
        '{"Trial": {"outside": -1}}',
        '{"Trial": {"verified_by": ["Nobody"]}}',
        '{"Trial": {"verified_within_days": 0}}',
    ):
        with pytest.raises(ValidationError):
            read(wrong)


# Archiving and discarding.

STRICT = CustodyRules(
    production=CustodyRule(verified_copies=2, distinct_supplies=2, outside=1, online=1)
)
AROUND = (
    *facility(OWN, FACTS.facility_code),
    *facility(AREA, "hall-2", OWN),
    *facility(OTHER_SITE, "annex"),
    *facility(OTHER_AREA, "annex-hall", OTHER_SITE),
    a_storage(NVME, FACTS.facility_code),
    a_storage(HALL, "hall-2"),
    a_storage(CLOUD, "annex"),
    a_storage(TAPE, "annex-hall"),
    *a_dataset(),
)
promoted = DatasetPromoted(NOW, DATASET, "looked at by two")


def given(*history: Part, rules: CustodyRules = STRICT) -> Scenario:
    here: Facts = replace(FACTS, custody_rules=rules)
    return Scenario(OPERATIONS, (*AROUND, *history), here)


def kept(id: UUID, supply_id: UUID | None, **changes: Any) -> tuple[Part, ...]:
    """A verified copy on a storage."""
    place = f"file:///data/{id}.h5"
    return *a_copy(id, supply_id=supply_id, uri=place, **changes), verified(id)


def state_of(*events: Any) -> Distribution:
    state = distribution.begin(replace(copy_registered, uri=f"file:///data/{COPY}.h5"))
    for event in events:
        state = distribution.evolve(state, event)
    return state


def test_a_dataset_that_meets_its_rule_is_archived():
    standing = dataset.standing_of(dataset.evolve(dataset.begin(dataset_registered), archived))
    given(*kept(COPY, NVME)).when(ARCHIVE).then(
        archived, dataset.STANDINGS.upsert(standing), LOCKED
    )
    outcome = given(promoted, *kept(COPY, NVME), *kept(SECOND, CLOUD)).when(ARCHIVE).decided()
    assert outcome[0] == archived


def test_a_dataset_without_a_copy_that_counts_is_not_archived():
    for copies in ((), a_copy(), (*a_copy(), verified(strength=WEAK))):
        given(*copies).when(ARCHIVE).refused(DatasetHasNoVerifiedDistributionError)


def test_a_dataset_that_lacks_copies_is_not_archived_and_what_it_lacks_is_named():
    offline = kept(COPY, NVME, access_protocol=AccessProtocol.OFFLINE)
    missing = (
        "verified copies (1), storages (1), copies outside the facility (1), copies online (1)"
    )
    refused = (
        given(promoted, *offline)
        .when(ARCHIVE)
        .refused(DatasetCustodyNotMetError, saying=f"Missing: {missing}.")
    )
    assert refused.facts == {
        "short": {"verified_copies": 1, "distinct_supplies": 1, "outside": 1, "online": 1}
    }


def test_an_area_of_the_own_site_is_inside_and_another_site_with_its_areas_is_outside():
    rules = CustodyRules(trial=CustodyRule(outside=1))
    for supply_id in (NVME, HALL, None):
        given(*kept(COPY, supply_id), rules=rules).when(ARCHIVE).refused(DatasetCustodyNotMetError)
    for supply_id in (CLOUD, TAPE):
        assert given(*kept(COPY, supply_id), rules=rules).when(ARCHIVE).decided()[0] == archived


def test_only_a_registered_dataset_is_archived():
    given(archived, *kept(COPY, NVME)).when(ARCHIVE).refused(
        DatasetCannotArchiveError, saying="The status is Archived; it must be Registered."
    )
    given(archived).when(ARCHIVE).refused(DatasetCannotArchiveError)


def test_a_copy_that_is_not_needed_is_discarded_and_keeps_its_place():
    after = copy_of(state_of(verified(), discarded))
    given(*kept(COPY, NVME), *kept(SECOND, HALL)).when(DISCARD).then(
        discarded, distribution.COPIES.upsert(after), LOCKED
    )


# Where another copy that is kept may be, of a copy at file:///data/<id>.h5.
NEAR: dict[str, dict[str, Any]] = {
    "file:///data/": {"checksum": TREE},
    "file:///link.h5": {},
}


def test_a_copy_stays_while_another_that_stays_has_bytes_of_it():
    other, own = UUID(int=171), (*kept(COPY, NVME), *kept(SECOND, HALL))
    for uri, of in NEAR.items():
        near = a_copy(THIRD, dataset_id=other, uri=uri, **of)
        first = replace(copy_registered, distribution_id=THIRD, dataset_id=other, uri=uri, **of)
        file_key = None if of else file_of(COPY).key
        row = replace(copy_of(distribution.begin(first)), file_key=file_key)
        past = (*own, *a_dataset(other), *near, distribution.COPIES.upsert(row))
        refused = (
            given(*past)
            .when(DISCARD)
            .refused(DistributionSharedError, saying=f"It is copy {THIRD} of dataset {other}.")
        )
        assert refused.facts == {"distribution_id": THIRD}, uri
        gone = replace(row, status=DISCARDED)
        assert given(*past, distribution.COPIES.upsert(gone)).when(DISCARD).decided()


def test_a_copy_goes_once_what_it_relies_on_was_checked_lately():
    old = verified(SECOND, at=NOW - timedelta(days=2))
    past = (*a_copy(uri="file:///a.h5"), verified(), *a_copy(SECOND, uri="file:///b.h5"), old)
    refused = (
        given(*past)
        .when(DISCARD)
        .refused(DistributionChecksOutdatedError, saying=f"Check copy {SECOND}.")
    )
    assert refused.facts == {"distribution_ids": [SECOND]}
    assert given(*past, verified(SECOND)).when(DISCARD).decided()[0] == discarded


def test_who_released_production_data_from_its_dates_discards_no_copy_of_it():
    released = DatasetRetentionUpdated(
        NOW, DATASET, None, None, "over", released_by=CALL.principal_id
    )
    copies = (*kept(COPY, NVME), *kept(SECOND, HALL), *kept(THIRD, CLOUD))
    both = replace(FACTS, discard_needs_two=True)
    past = (*AROUND, promoted, released, *copies)
    Scenario(OPERATIONS, past, both).when(DISCARD).refused(DatasetNeedsSecondPersonError)
    another = replace(CALL, principal_id=ABSENT)
    for scenario in (
        Scenario(OPERATIONS, past, both).when(DISCARD, call=another),
        Scenario(OPERATIONS, past, FACTS).when(DISCARD),
        Scenario(OPERATIONS, (*AROUND, released, *copies), both).when(DISCARD),
    ):
        assert scenario.decided()[0] == discarded


def test_the_last_copy_that_counts_stays():
    given(*kept(COPY, NVME)).when(DISCARD).refused(DistributionIsLastVerifiedError)
    others: tuple[tuple[Part, ...], ...] = (
        a_copy(SECOND, uri="file:///b"),
        (*kept(SECOND, HALL), DistributionMarkedStale(NOW, SECOND, OPERATOR, "overwritten", None)),
        (*kept(SECOND, HALL), DistributionDiscarded(NOW, SECOND, "spare")),
        (
            *kept(SECOND, HALL),
            DistributionMarkedUnreachable(
                NOW, SECOND, OPERATOR, ABSENT, failure="Timeout", checked_at=NOW
            ),
        ),
    )
    for other in others:
        given(*kept(COPY, NVME), *other).when(DISCARD).refused(DistributionIsLastVerifiedError)


def test_the_only_copy_stays_whether_or_not_it_counts():
    given(*a_copy()).when(DISCARD).refused(DistributionIsLastVerifiedError)
    stale = DistributionMarkedStale(NOW, COPY, OPERATOR, "overwritten", None)
    given(*a_copy(), stale).when(DISCARD).refused(DistributionIsLastVerifiedError)


def test_a_copy_that_the_rule_needs_stays_and_what_would_be_missing_is_named():
    refused = (
        given(promoted, *kept(COPY, CLOUD), *kept(SECOND, NVME), *kept(THIRD, HALL))
        .when(DISCARD)
        .refused(
            DistributionNeededByCustodyError, saying="Missing: copies outside the facility (1)."
        )
    )
    assert refused.facts == {"short": {"outside": 1}}
    spare = given(promoted, *kept(SECOND, CLOUD), *kept(COPY, NVME), *kept(THIRD, HALL))
    assert spare.when(DISCARD).decided()[0] == discarded


def test_a_copy_that_does_not_count_goes_while_one_that_counts_is_left():
    stale = DistributionMarkedStale(NOW, COPY, OPERATOR, "overwritten", None, file=file_of())
    place = a_copy(uri=f"file:///data/{COPY}.h5")
    outcome = given(promoted, *place, stale, *kept(SECOND, NVME)).when(DISCARD).decided()
    # This copy left its place, as earlier events of stale copies say.
    let_go = replace(discarded, frees_place=True)
    row = distribution.COPIES.upsert(copy_of(state_of(stale, let_go)))
    assert outcome == [let_go, row, LOCKED]


def test_every_copy_of_a_discarded_dataset_may_go():
    gone = DatasetDiscarded(NOW, DATASET, "out of focus")
    assert given(*kept(COPY, NVME), gone).when(DISCARD).decided()[0] == discarded


def test_copies_of_other_datasets_do_not_count():
    other = UUID(int=170)
    given(*kept(COPY, NVME), *a_dataset(other), *kept(SECOND, HALL, dataset_id=other)).when(
        DISCARD
    ).refused(DistributionIsLastVerifiedError)


# Each line: what happened to the storage of the other copy, and whether the first may go.
STORAGE: list[tuple[tuple[Event, ...], bool]] = [
    ((), True),
    ((SupplyMarkedAvailable(NOW, HALL, SupplyStatus.UNKNOWN, OPERATOR, None, "seen"),), True),
    ((SupplyDegraded(NOW, HALL, SupplyStatus.UNKNOWN, OPERATOR, None, "slow"),), True),
    ((SupplyMarkedUnavailable(NOW, HALL, SupplyStatus.UNKNOWN, OPERATOR, None, "down"),), False),
    (
        (
            SupplyMarkedUnavailable(NOW, HALL, SupplyStatus.UNKNOWN, OPERATOR, None, "down"),
            SupplyMarkedRecovering(NOW, HALL, SupplyStatus.UNAVAILABLE, OPERATOR, None, "back"),
        ),
        True,
    ),
    ((SupplyDeregistered(NOW, HALL, SupplyStatus.UNKNOWN, OPERATOR, None, "sold"),), False),
]


def test_a_copy_on_a_storage_that_is_down_or_gone_does_not_count():
    for past, may_go in STORAGE:
        scenario = given(*past, *kept(COPY, NVME), *kept(SECOND, HALL)).when(DISCARD)
        if may_go:
            assert scenario.decided()[0] == discarded
        else:
            scenario.refused(DistributionIsLastVerifiedError)


def test_the_streams_decide_and_not_the_rows():
    stale = DistributionMarkedStale(NOW, SECOND, OPERATOR, "overwritten", None)
    row = distribution.COPIES.upsert(
        replace(
            copy_of(distribution.begin(copy_registered)), distribution_id=SECOND, status=VERIFIED
        )
    )
    given(*kept(COPY, NVME), *kept(SECOND, HALL), stale, row).when(DISCARD).refused(
        DistributionIsLastVerifiedError
    )


def test_a_copy_is_discarded_once():
    given(*kept(COPY, NVME), *kept(SECOND, HALL), discarded).when(DISCARD).refused(
        DistributionCannotDiscardError, saying="The status is Discarded"
    )


def test_what_does_not_exist_is_neither_archived_nor_discarded():
    nothing = Scenario(OPERATIONS)
    nothing.when(ARCHIVE).refused(DatasetNotFoundError)
    nothing.when(DISCARD).refused(DistributionNotFoundError)


SPARE = replace(copy_of(state_of(verified())), distribution_id=SECOND, file_key="host 8:2 2")
SAFE = CustodyOfDataset(
    dataset.begin(dataset_registered), (copy_of(state_of(verified())), SPARE), view()
)

DATASET_STATUS = """
            archive_dataset
Registered  Archived
Archived    -
Discarded   -
"""

COPY_STATUS = """
            discard_distribution
Registered  Discarded
Verified    Discarded
Stale       Discarded
Discarded   -
Removed     -
Overwritten -
"""


def test_every_move_from_every_status():
    def a_dataset_in(status: DatasetStatus) -> Dataset:
        return replace(dataset.begin(dataset_registered), status=status)

    def a_copy_in(status: DistributionStatus) -> Distribution:
        return replace(state_of(verified()), status=status)

    def status_of(it: Dataset | Distribution) -> str:
        return it.status

    archiving, discarding = [Example(ARCHIVE, given=SAFE)], [Example(DISCARD, given=SAFE)]
    matrix(OPERATIONS, DatasetStatus, archiving, a_dataset_in, status_of, DATASET_STATUS)
    matrix(OPERATIONS, DistributionStatus, discarding, a_copy_in, status_of, COPY_STATUS)
