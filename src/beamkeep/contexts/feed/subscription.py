"""Subscription: somebody's standing request to get events by HTTP."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import count
from typing import Annotated, ClassVar
from uuid import UUID

from annotated_types import MaxLen, MinLen
from pydantic import Field

from beamkeep.contexts.access.profile import SYSTEM
from beamkeep.contexts.federation.facility import FacilityCode
from beamkeep.contexts.seams.installation import Reader, present
from beamkeep.contexts.seams.log import (
    MOST_EVENT_TYPES,
    MOST_STREAMS,
    NOW,
    ListEvents,
    UnknownEventTypeError,
    require_known,
)
from beamkeep.contexts.seams.receivers import NewSecret, Receiver, SecretKeeper
from beamkeep.contexts.seams.work import WORK_TURNS, WorkTurn
from beamkeep.contexts.trust.trigger import TriggerSource, source_of
from beamkeep.kernel import (
    CLAIMS,
    WORK,
    Aggregate,
    Axis,
    Blank,
    Call,
    Cannot,
    Claim,
    Command,
    DirectoryEntry,
    Event,
    Invalid,
    Listing,
    NotFound,
    Page,
    Record,
    Reply,
    SideWrite,
    Table,
    Work,
    claim_key,
    entries,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, Trimmed

MOST_OWN, MOST = 20, 200
"""Subscriptions that are not retired: of one owner, and of the deployment."""
DELIVERING = "subscription"
"""The kind of the durable work that a subscription is."""
SLOTS = "subscription-slot"
"""The scope of the claims by which subscriptions are counted. Of two that are registered at once,
both claim the same number, and the loser counts again."""


class SubscriptionFormat(StrEnum):
    CLOUD_EVENT = "CloudEvent"
    TEXT = "Text"
    CARD = "Card"


class SubscriptionStatus(StrEnum):
    ACTIVE = "Active"
    PAUSED = "Paused"
    RETIRED = "Retired"


class ResumeFrom(StrEnum):
    NOW = "now"
    WHERE_IT_STOPPED = "where_it_stopped"


class DeliveryStatus(StrEnum):
    SENDING = "Sending"
    DELIVERED = "Delivered"
    REFUSED = "Refused"
    SKIPPED = "Skipped"


class SubscriptionSecrets(Record):
    """The address and the signing secrets of a subscription, each encrypted."""

    subscription_id: UUID
    url: str
    secret: str
    previous: str | None = None
    rotated_at: datetime | None = None


class SubscriptionPlace(Record):
    """The bookmark of a subscription that is not retired, as a cursor of the feed."""

    subscription_id: UUID
    owner_id: UUID
    cursor: str


class EventDelivery(Record):
    """One event on its way to the receiver."""

    subscription_id: UUID
    event_id: UUID
    event_type: str
    stream_type: str
    stream_id: UUID
    cursor: str
    """The place in the log after the event."""
    status: DeliveryStatus
    attempt: int
    first_at: datetime
    at: datetime
    """When the delivery was last attempted or settled."""
    due_at: datetime | None = None
    """When the next attempt is made, if the last one failed."""
    http_status: int | None = None
    error: str | None = None
    """The class of the failure."""
    answer: str | None = None
    """The first 500 characters that the receiver answered to a refused delivery."""
    outside_id: str | None = None


SECRETS = Table("subscription_secret", SubscriptionSecrets, key=("subscription_id",))
BOOKMARKS = Table("subscription_place", SubscriptionPlace, key=("subscription_id",))
DELIVERIES = Table("delivery", EventDelivery, key=("subscription_id", "event_id"))


# Events are stored for ever: add a field with a default; never rename or drop one.
class SubscriptionEvent(Event):
    subscription_id: UUID


class SubscriptionRegistered(SubscriptionEvent):
    name: str
    types: tuple[str, ...]
    stream_types: tuple[str, ...]
    stream_ids: tuple[UUID, ...]
    host: str
    """Of the address, only the host: the rest may be a secret or name a person."""
    format: SubscriptionFormat
    secret_id: UUID
    facility_code: str | None = None


class SubscriptionPaused(SubscriptionEvent):
    reason: FreeText
    trigger: TriggerSource


class SubscriptionResumed(SubscriptionEvent):
    resumed_from: ResumeFrom


class SubscriptionSecretRotated(SubscriptionEvent):
    secret_id: UUID


class SubscriptionRetired(SubscriptionEvent):
    reason: FreeText


class DeliveryRetried(SubscriptionEvent):
    event_id: UUID


class DeliverySkipped(SubscriptionEvent):
    event_id: UUID
    reason: FreeText


type SubscriptionMoved = SubscriptionPaused | SubscriptionResumed | SubscriptionRetired
type SubscriptionChanged = (
    SubscriptionMoved | SubscriptionSecretRotated | DeliveryRetried | DeliverySkipped
)


class SubscriptionNotFoundError(NotFound): ...


class DeliveryNotFoundError(NotFound): ...


class InvalidSubscriptionNameError(Blank): ...


class InvalidSubscriptionReasonError(Blank): ...


class InvalidSubscriptionFilterError(Invalid):
    """A subscription needs at least one of types, stream_types, stream_ids and facility_code."""


class InvalidSubscriptionUrlError(Invalid):
    """The address of the receiver is not allowed."""


class SubscriptionCannotRegisterError(Cannot):
    """The subscription cannot be registered."""


class SubscriptionCannotPauseError(Cannot):
    """Only an Active subscription can be paused."""


class SubscriptionCannotResumeError(Cannot):
    """Only a Paused subscription can be resumed."""


class SubscriptionCannotRotateSecretError(Cannot):
    """The signing secret cannot be rotated."""


class SubscriptionCannotRetireError(Cannot):
    """A Retired subscription cannot be retired again."""


class DeliveryCannotRetryError(Cannot):
    """Only a Refused delivery of a subscription that is not Retired can be retried."""


class DeliveryCannotSkipError(Cannot):
    """Only a Refused delivery can be skipped."""


S = SubscriptionStatus
STATUS: Axis[SubscriptionStatus, SubscriptionMoved] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (SubscriptionPaused, {S.ACTIVE}, S.PAUSED, SubscriptionCannotPauseError),
    (SubscriptionResumed, {S.PAUSED}, S.ACTIVE, SubscriptionCannotResumeError),
    (SubscriptionRetired, {S.ACTIVE, S.PAUSED}, S.RETIRED, SubscriptionCannotRetireError),
)


class Subscription(Record):
    id: UUID
    name: str
    types: tuple[str, ...]
    stream_types: tuple[str, ...]
    stream_ids: tuple[UUID, ...]
    host: str
    format: SubscriptionFormat
    secret_id: UUID
    facility_code: str | None = None
    status: SubscriptionStatus = SubscriptionStatus.ACTIVE
    status_reason: str | None = None
    """Why the subscription was paused or retired."""
    status_trigger: TriggerSource | None = None

    @property
    def filters(self) -> ListEvents:
        """The question whose answers this subscription gets."""
        return ListEvents(
            type=frozenset(self.types) or None,
            stream_type=frozenset(self.stream_types) or None,
            stream_id=frozenset(self.stream_ids) or None,
            facility_code=self.facility_code,
        )


def begin(event: SubscriptionRegistered) -> Subscription:
    return Subscription.of(event, id=event.subscription_id)


def evolve(subscription: Subscription, event: SubscriptionChanged) -> Subscription:
    match event:
        case SubscriptionSecretRotated():
            return replace(subscription, secret_id=event.secret_id)
        case DeliveryRetried() | DeliverySkipped():
            return subscription
        case SubscriptionPaused(reason=reason, trigger=trigger):
            why = {"status_reason": reason, "status_trigger": trigger}
        case SubscriptionResumed():
            why = {"status_reason": None, "status_trigger": None}
        case SubscriptionRetired(reason=reason):
            why = {"status_reason": reason, "status_trigger": None}
    return replace(subscription, status=STATUS.after(event), **why)


type FilterNames = Annotated[
    frozenset[Annotated[str, MinLen(1), MaxLen(100)]], MaxLen(MOST_EVENT_TYPES)
]
type SubscriptionReason = Annotated[Reason, Trimmed(InvalidSubscriptionReasonError)]


class RegisterSubscription(Command):
    name: Annotated[Name, Trimmed(InvalidSubscriptionNameError)]
    url: Annotated[str, MinLen(1), MaxLen(2000)]
    """The https address that events are sent to. Its host must be one that the deployment allows.
    Only the host is shown in lists and events."""
    format: SubscriptionFormat = SubscriptionFormat.CLOUD_EVENT
    """What is sent: the event itself, a text for Slack and Mattermost, or a card for Teams."""
    types: FilterNames = frozenset()
    """Only events of these types, such as `RunHeld`."""
    stream_types: FilterNames = frozenset()
    """Only events of these kinds of objects, such as `Run`."""
    stream_ids: Annotated[frozenset[UUID], MaxLen(MOST_STREAMS)] = frozenset()
    """Only events of these objects."""
    facility_code: FacilityCode | None = None
    """Only events of objects that are in this facility when the event is sent."""


class SubscriptionCommand(Command):
    subscription_id: UUID


class PauseSubscription(SubscriptionCommand):
    reason: SubscriptionReason


class ResumeSubscription(SubscriptionCommand):
    resumed_from: ResumeFrom = Field(alias="from")
    """Where to continue: at the events that happen from `now` on, or `where_it_stopped`."""


class RotateSubscriptionSecret(SubscriptionCommand): ...


class RetireSubscription(SubscriptionCommand):
    reason: SubscriptionReason


class RetryDelivery(SubscriptionCommand):
    event_id: UUID


class SkipDelivery(SubscriptionCommand):
    event_id: UUID
    reason: SubscriptionReason


class ShownSecret(Reply):
    """The signing secret, which is shown by the first answer only."""

    secret: str | None
    shown_once: ClassVar[tuple[str, ...]] = ("secret",)


class SubscriptionReferences(Record):
    """The receiver and its secret, where a new subscription begins, and how many there are."""

    receiver: Receiver
    keeper: SecretKeeper
    made: NewSecret
    cursor: str
    owners: Sequence[UUID]
    slot: str
    """The first number that no subscription has claimed."""


async def references(command: RegisterSubscription, read: Reader) -> SubscriptionReferences:
    require_known(present(read.readers.events), command.types, command.stream_types)
    try:
        receiver = read.facts.receivers.receiver(command.url)
    except ValueError as error:
        raise InvalidSubscriptionUrlError(str(error)) from None
    if (keeper := read.readers.secrets) is None:
        raise SubscriptionCannotRegisterError("The deployment has no SUBSCRIPTION_KEY_FILE.")
    # Before the rows are counted: what is registered in between is counted, or takes this slot.
    taken = {row.key for row in await read.rows(CLAIMS, scope=SLOTS)}
    return SubscriptionReferences(
        receiver=receiver,
        keeper=keeper,
        made=keeper.new(),
        cursor=await end_of_log(read),
        owners=[row.owner_id for row in await read.rows(BOOKMARKS)],
        slot=next(key for n in count() if (key := claim_key(n)) not in taken),
    )


async def end_of_log(read: Reader) -> str:
    """Return the cursor at the end of the log."""
    end = await present(read.readers.events).page(ListEvents(after=NOW, limit=1), None)
    return end.next_cursor


class Continuation(Record):
    """Deliveries under way, and where the subscription continues (default: where it stopped)."""

    under_way: tuple[EventDelivery, ...]
    place: SubscriptionPlace | None = None
    slots: tuple[str, ...] = ()
    """What the subscription has claimed, if it is retired."""


async def under_way(subscription: Subscription, command: Command, read: Reader) -> Continuation:
    where = {"subscription_id": subscription.id, "status": DeliveryStatus.SENDING}
    return Continuation(await read.rows(DELIVERIES, **where))


async def continuation(
    subscription: Subscription, command: ResumeSubscription, read: Reader
) -> Continuation:
    found = await under_way(subscription, command, read)
    rows = await read.rows(BOOKMARKS, subscription_id=subscription.id)
    if command.resumed_from is ResumeFrom.WHERE_IT_STOPPED or not rows:
        return found
    return replace(found, place=replace(rows[0], cursor=await end_of_log(read)))


async def retirement(
    subscription: Subscription, command: RetireSubscription, read: Reader
) -> Continuation:
    claimed = await read.rows(CLAIMS, scope=SLOTS)
    slots = tuple(row.key for row in claimed if row.holder == subscription.id)
    return replace(await under_way(subscription, command, read), slots=slots)


class Rotation(Record):
    """A new signing secret, and what the subscription has so far."""

    keeper: SecretKeeper
    made: NewSecret
    secrets: SubscriptionSecrets


async def rotation(
    subscription: Subscription, command: RotateSubscriptionSecret, read: Reader
) -> Rotation:
    found = await read.rows(SECRETS, subscription_id=subscription.id)
    if not found:
        raise SubscriptionCannotRotateSecretError(f"The status is {subscription.status}.")
    if (keeper := read.readers.secrets) is None:
        raise SubscriptionCannotRotateSecretError("The deployment has no SUBSCRIPTION_KEY_FILE.")
    return Rotation(keeper, keeper.new(), found[0])


async def delivery(
    subscription: Subscription, command: RetryDelivery | SkipDelivery, read: Reader
) -> EventDelivery:
    where = {"subscription_id": subscription.id, "event_id": command.event_id}
    if not (found := await read.rows(DELIVERIES, **where)):
        raise DeliveryNotFoundError(f"There is no delivery of event {command.event_id}.")
    return found[0]


def register_subscription(
    command: RegisterSubscription, given: SubscriptionReferences, call: Call
) -> list[SubscriptionRegistered | SideWrite | ShownSecret]:
    """Register a subscription, which tells a receiver of the events from now on."""
    filters = command.types, command.stream_types, command.stream_ids, command.facility_code
    if not any(filters):
        raise InvalidSubscriptionFilterError
    if (own := list(given.owners).count(call.principal_id)) >= MOST_OWN:
        raise SubscriptionCannotRegisterError(f"You have {own} already. Retire one first.")
    if (every := len(given.owners)) >= MOST:
        raise SubscriptionCannotRegisterError(f"The deployment has {every}. Retire one first.")
    id, keeper = call.new_id, given.keeper
    registered = SubscriptionRegistered.of(
        command,
        occurred_at=call.now,
        subscription_id=id,
        types=tuple(sorted(command.types)),
        stream_types=tuple(sorted(command.stream_types)),
        stream_ids=tuple(sorted(command.stream_ids)),
        host=given.receiver.shown,
        secret_id=given.made.secret_id,
    )
    url, secret = keeper.seal(command.url, id), keeper.seal(given.made.text, id)
    return [
        registered,
        SECRETS.insert(SubscriptionSecrets(id, url, secret)),
        BOOKMARKS.insert(SubscriptionPlace(id, call.principal_id, given.cursor)),
        WORK.insert(Work(id, DELIVERING, id)),
        CLAIMS.insert(Claim(SLOTS, given.slot, id)),
        ShownSecret(given.made.text),
    ]


def pause_subscription(
    subscription: Subscription, command: PauseSubscription, call: Call
) -> list[SubscriptionPaused | SideWrite]:
    """Pause a subscription; its bookmark stays where it is."""
    trigger = TriggerSource.AUTO if call.principal_id == SYSTEM else source_of(call)
    paused = SubscriptionPaused(call.now, subscription.id, command.reason, trigger=trigger)
    return [STATUS.allow(subscription.status, paused), _turn(subscription, call, ends=True)]


def resume_subscription(
    subscription: Subscription, command: ResumeSubscription, given: Continuation, call: Call
) -> list[SubscriptionResumed | SideWrite]:
    """Resume a paused subscription, from now on or from where it stopped."""
    resumed = SubscriptionResumed(call.now, subscription.id, command.resumed_from)
    STATUS.require(subscription.status, SubscriptionResumed)
    settle = _offered_again if given.place is None else _skipped
    moved = [BOOKMARKS.replace(given.place)] if given.place else []
    rows = [DELIVERIES.replace(settle(row, call)) for row in given.under_way]
    return [resumed, *moved, *rows, _turn(subscription, call, ends=False)]


def rotate_subscription_secret(
    subscription: Subscription, command: RotateSubscriptionSecret, given: Rotation, call: Call
) -> list[SubscriptionSecretRotated | SideWrite | ShownSecret]:
    """Replace the signing secret; the old one signs as well for another 24 hours."""
    if subscription.status is S.RETIRED:
        raise SubscriptionCannotRotateSecretError("The status is Retired.")
    rotated = replace(
        given.secrets,
        secret=given.keeper.seal(given.made.text, subscription.id),
        previous=given.secrets.secret,
        rotated_at=call.now,
    )
    event = SubscriptionSecretRotated(call.now, subscription.id, given.made.secret_id)
    return [event, SECRETS.replace(rotated), ShownSecret(given.made.text)]


def retire_subscription(
    subscription: Subscription, command: RetireSubscription, given: Continuation, call: Call
) -> list[SubscriptionRetired | SideWrite]:
    """End a subscription for good; its secret and its bookmark are deleted."""
    retired = SubscriptionRetired(call.now, subscription.id, command.reason)
    return [
        STATUS.allow(subscription.status, retired),
        *(DELIVERIES.replace(_skipped(row, call)) for row in given.under_way),
        SECRETS.delete(subscription.id),
        BOOKMARKS.delete(subscription.id),
        *(CLAIMS.delete(SLOTS, slot) for slot in given.slots),
        _turn(subscription, call, ends=True),
    ]


def retry_delivery(
    subscription: Subscription, command: RetryDelivery, given: EventDelivery, call: Call
) -> list[DeliveryRetried | SideWrite]:
    """Send a refused delivery again."""
    if subscription.status is S.RETIRED:
        raise DeliveryCannotRetryError("The subscription is Retired.")
    if given.status is not DeliveryStatus.REFUSED:
        raise DeliveryCannotRetryError(f"The delivery is {given.status}.")
    retried = DeliveryRetried(call.now, subscription.id, command.event_id)
    return [retried, DELIVERIES.replace(_offered_again(given, call))]


def skip_delivery(
    subscription: Subscription, command: SkipDelivery, given: EventDelivery, call: Call
) -> list[DeliverySkipped | SideWrite]:
    """Settle a refused delivery without sending it."""
    if given.status is not DeliveryStatus.REFUSED:
        raise DeliveryCannotSkipError(f"The delivery is {given.status}.")
    skipped = DeliverySkipped(call.now, subscription.id, command.event_id, reason=command.reason)
    return [skipped, DELIVERIES.replace(_skipped(given, call))]


def _offered_again(row: EventDelivery, call: Call) -> EventDelivery:
    """Return a delivery that is attempted as if it had never failed."""
    return replace(
        row, status=DeliveryStatus.SENDING, attempt=0, first_at=call.now, at=call.now, due_at=None
    )


def _skipped(row: EventDelivery, call: Call) -> EventDelivery:
    return replace(row, status=DeliveryStatus.SKIPPED, at=call.now, due_at=None)


def _turn(subscription: Subscription, call: Call, ends: bool) -> SideWrite:
    """Take the work from its worker, whose writes then fail, and end it or offer it again."""
    turn = WorkTurn(subscription.id, ended_at=call.now if ends else None, due_at=call.now)
    return WORK_TURNS.replace(turn)


subscriptions = Aggregate(
    "Subscription", begin, evolve, absent=SubscriptionNotFoundError, axes=(STATUS,)
)

# fmt: off
OPERATIONS = (
    subscriptions.creates("POST /subscriptions", RegisterSubscription, register_subscription,
        InvalidSubscriptionFilterError, InvalidSubscriptionUrlError, UnknownEventTypeError,
        SubscriptionCannotRegisterError, given=references),
    subscriptions.changes("POST /subscriptions/{subscription_id}/pause", PauseSubscription,
        pause_subscription, SubscriptionCannotPauseError),
    subscriptions.changes("POST /subscriptions/{subscription_id}/resume", ResumeSubscription,
        resume_subscription, SubscriptionCannotResumeError, given=continuation),
    subscriptions.changes("POST /subscriptions/{subscription_id}/rotate-secret",
        RotateSubscriptionSecret, rotate_subscription_secret, SubscriptionCannotRotateSecretError,
        given=rotation),
    subscriptions.changes("POST /subscriptions/{subscription_id}/retire", RetireSubscription,
        retire_subscription, SubscriptionCannotRetireError, given=retirement, destructive=True),
    subscriptions.changes("POST /subscriptions/{subscription_id}/deliveries/{event_id}/retry",
        RetryDelivery, retry_delivery, DeliveryNotFoundError, DeliveryCannotRetryError,
        given=delivery),
    subscriptions.changes("POST /subscriptions/{subscription_id}/deliveries/{event_id}/skip",
        SkipDelivery, skip_delivery, DeliveryNotFoundError, DeliveryCannotSkipError,
        given=delivery, destructive=True),
)
# fmt: on


class ReceiverAddress(Record):
    url: str | None
    """The whole address; null of a retired subscription, or if its key is not known."""


async def addresses(ids: Sequence[UUID], read: Reader) -> Mapping[UUID, ReceiverAddress]:
    """Return the addresses of subscriptions; none with an earlier state."""
    keeper = None if read.shows_past else read.readers.secrets
    found = {row.subscription_id: row for row in await read.rows(SECRETS, subscription_id={*ids})}
    return {id: ReceiverAddress(_opened(found.get(id), keeper)) for id in ids}


def _opened(row: SubscriptionSecrets | None, keeper: SecretKeeper | None) -> str | None:
    try:
        return keeper.open(row.url, row.subscription_id) if row and keeper else None
    except ValueError:
        return None


class ListSubscriptions(Listing):
    """List subscriptions."""

    status: frozenset[SubscriptionStatus] | None = None
    format: SubscriptionFormat | None = None


class ListDeliveries(Page):
    """List the deliveries of a subscription, oldest first."""

    status: DeliveryStatus | None = None


# fmt: off
QUESTIONS = (
    *reads("/subscriptions", subscriptions, ListSubscriptions, shown_with=addresses,
        directory=DirectoryEntry(
            lambda it: it.name, status=lambda it: it.status, keywords=lambda it: (it.host,))),
    entries("GET /subscriptions/{subscription_id}/deliveries", ListDeliveries, subscriptions,
        DELIVERIES, by=("first_at", "event_id")),
)
