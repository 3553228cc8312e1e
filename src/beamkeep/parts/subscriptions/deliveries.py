"""Deliveries: tells the receiver of each subscription of its events, in order, one at a time."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NoReturn, Protocol
from uuid import UUID

import structlog

from beamkeep.contexts.access.profile import SYSTEM
from beamkeep.contexts.feed.subscription import (
    BOOKMARKS,
    DELIVERIES,
    SECRETS,
    DeliveryStatus,
    EventDelivery,
    PauseSubscription,
    Subscription,
    SubscriptionPlace,
    subscriptions,
)
from beamkeep.contexts.seams.log import InvalidFeedCursorError
from beamkeep.contexts.seams.receivers import SecretKeeper
from beamkeep.contexts.trust.surface import surfaces
from beamkeep.feed.facilities import ASK_SECONDS
from beamkeep.feed.follower import LogFollower
from beamkeep.feed.formats import body_of
from beamkeep.feed.log import LogPlace, LogQuery
from beamkeep.feed.matching import Owners, asked_for
from beamkeep.feed.published import PublishedEvent
from beamkeep.feed.reading import LogReader
from beamkeep.kernel import Cannot, Record, Sight, replace
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, UnauthorizedError
from beamkeep.runtime.parsing import MalformedRequestError
from beamkeep.runtime.session import sight_of
from beamkeep.runtime.store import EventStore, Position
from beamkeep.telemetry import Telemetry
from beamkeep.workers.durable import fenced_rows
from beamkeep.workers.leases import LONGEST_RETRY_AFTER, Holding

log: structlog.stdlib.BoundLogger = structlog.get_logger()

BATCH, AT_ONCE = 100, 1_000
"""Events that one question of permission allows, and events that are looked at together."""
DELAYS = (5.0, 30.0, 120.0, 600.0, 1800.0)
"""Seconds before the next attempt, after the first failure, the second, and so on."""
GIVES_UP_AFTER = timedelta(hours=24)
OLD_SECRET_SIGNS = timedelta(hours=24)
MOST_A_SECOND, MEASURED_FOR = 50, timedelta(hours=1)
RETRYABLE = frozenset({401, 403, 408, 425, 429})
GONE = 410
PERMISSION = "list_events"


class WebhookMessage(Record):
    """One attempt to tell a receiver of an event."""

    id: UUID
    sent_at: datetime
    content_type: str
    body: bytes
    secrets: tuple[str, ...]


class Answered(Record):
    """What a receiver answered."""

    status: int
    retry_after: float | None = None
    text: str = ""


class UnreachableError(Exception):
    """The receiver did not answer, for this class of reasons."""


class Webhooks(Protocol):
    """Sends messages to receivers."""

    async def post(self, url: str, message: WebhookMessage) -> Answered:
        """Return what the receiver answered. Raise UnreachableError when it did not answer."""
        ...


class DeliveryTimes(Record):
    """Seconds between two looks for deliveries to repeat, and the longest single wait."""

    look: float = 5.0
    wait: float = 1.0


class StoppedError(Exception):
    """The subscription is paused, or its receiver has no address."""


class Deliverer:
    """Sends the events of subscriptions."""

    def __init__(
        self,
        service: Service,
        store: EventStore,
        reader: LogReader,
        follower: LogFollower,
        webhooks: Webhooks,
        keeper: SecretKeeper,
        telemetry: Telemetry,
        clock: Callable[[], datetime],
        times: DeliveryTimes | None = None,
    ) -> None:
        self.service, self.store, self.reader, self.follower = service, store, reader, follower
        self.webhooks, self.keeper, self.telemetry = webhooks, keeper, telemetry
        self.clock, self.times = clock, times or DeliveryTimes()
        aggregates = service.catalogue.aggregates.values()
        self.owners = Owners(store, (each.name for each in aggregates if each.self_owned))

    async def walk(self, held: Holding) -> None:
        """Deliver the events of one subscription until it is paused or the worker stops."""
        id = held.work.subject_id
        rows = await self.store.rows(BOOKMARKS, {"subscription_id": id})
        if not rows:
            return
        subscription = await self.service.sessions().one(subscriptions, id)
        (first,) = await self.store.history((subscriptions.name, id), 0, 1)
        caller = Caller(first.correlation_id, principal_id=first.principal_id)
        if first.surface_id:
            surface = await self.service.sessions().one(surfaces, first.surface_id)
            selected = str(first.surface_id)
            caller = replace(caller, transport=surface.kind, selected_surface=selected)
        with suppress(StoppedError):
            await _Delivering(self, held, subscription, caller=caller, row=rows[0]).run()


class _Delivering:
    """One subscription in the hands of this process."""

    def __init__(
        self,
        deliverer: Deliverer,
        held: Holding,
        subscription: Subscription,
        caller: Caller,
        row: SubscriptionPlace,
    ) -> None:
        self._all, self._held, self._subscription = deliverer, held, subscription
        self._caller, self._row, self._clock = caller, row, deliverer.clock
        self._filters, self._since, self._count = subscription.filters, self._clock(), 0
        self._passed = 0
        """Events that the bookmark in the database has not passed yet."""

    async def run(self) -> None:
        """Deliver what is under way, then what is new, again and again."""
        try:
            self._place = await self._read_place(self._row.cursor)
        except InvalidFeedCursorError:
            await self._pause("bookmark not in the log")
        # A claim that writes nothing counts as one in vain.
        await self._write()
        now, times = asyncio.get_running_loop().time, self._all.times
        while True:
            await self._settle_open()
            look_at = now() + times.look
            while now() < look_at:
                if not await self._deliver_new():
                    self._held.require_held()
                    await self._all.follower.news(min(times.wait, max(look_at - now(), 0.001)))
            if self._passed:
                await self._write()

    async def _settle_open(self) -> None:
        """Deliver what an earlier worker began, or what somebody wants to be sent again."""
        where = {"subscription_id": self._subscription.id, "status": DeliveryStatus.SENDING}
        rows = await self._all.store.rows(DELIVERIES, where)
        for row in sorted(rows, key=lambda row: (row.first_at, row.event_id)):
            try:
                position = (await self._read_place(row.cursor)).position
            except (InvalidFeedCursorError, MalformedRequestError):
                now = self._clock()
                lost = replace(row, status=DeliveryStatus.REFUSED, at=now, error="EventNotFound")
                await self._write(lost)
                continue
            before = Position(position.tx, position.position - 1)
            (event,) = (await self._all.reader.log.page(LogQuery(1, after=before))).events
            await self._permit()
            await self._deliver(row, *await self._all.follower.published([event]))

    async def _deliver_new(self) -> bool:
        """Deliver the next events, if there are any; return whether any were looked at."""
        follower = self._all.follower
        events = follower.after(self._place, AT_ONCE)
        if events is None:
            wanted, reached, looked_at = await self._page()
        else:
            wanted, looked = await asked_for(events, self._filters, follower.facilities)
            reached, looked_at = looked[-1].place if looked else self._place, len(looked)
            if wanted and (sight := await self._permit()):
                wanted = await self._all.owners.own(wanted, sight)
        if not looked_at and reached.position < follower.head.position:
            # The directory has not followed the next events yet.
            self._held.require_held()
            await asyncio.sleep(ASK_SECONDS)
            return True
        async for event in self._permitted(wanted):
            now = self._clock()
            row = EventDelivery(
                subscription_id=self._subscription.id,
                event_id=event.place.event_id,
                event_type=event.event_type,
                stream_type=event.stream_type,
                stream_id=event.stream_id,
                cursor=self._all.reader.cursors.write(event.place),
                status=DeliveryStatus.SENDING,
                attempt=0,
                first_at=now,
                at=now,
            )
            await self._deliver(row, event)
        if reached.position > self._place.position:
            self._place = reached
            self._passed += looked_at
            if self._passed >= AT_ONCE:
                await self._write()
        return looked_at > 0

    async def _page(self) -> tuple[Sequence[PublishedEvent], LogPlace, int]:
        """Return a page of events that are no longer kept in memory, and how many it passed."""
        head, sight = self._all.follower.head, await self._permit()
        page = await self._all.reader.read(self._filters, sight, self._place, BATCH)
        # A page that reached the end has looked at everything up to the head there was before it,
        # unless it ended where the directory does.
        is_whole = not page.more and self._filters.facility_code is None
        ends: list[LogPlace] = [head] if is_whole else []
        reached = max([page.reached or self._place, *ends])
        moved = reached.position > self._place.position
        return await self._all.follower.published(page.events), reached, AT_ONCE if moved else 0

    async def _permitted(self, wanted: Sequence[PublishedEvent]) -> AsyncGenerator[PublishedEvent]:
        """Yield events, and ask for the permission of the owner again after each batch."""
        for number, event in enumerate(wanted, 1):
            yield event
            if number % BATCH == 0 and number < len(wanted):
                await self._permit()

    async def _permit(self) -> Sight | None:
        """Return whose objects the owner may see; None for all. Pause it when that is nobody's."""
        self._held.require_held()
        try:
            admitted = await self._all.service.admission.admit(PERMISSION, self._caller)
        except UnauthorizedError:
            await self._pause("owner may not see")
        return sight_of(admitted.standing.principal_id, admitted.scope)

    async def _deliver(self, row: EventDelivery, event: PublishedEvent) -> None:
        """Send one event, as often as it takes."""
        while row.status is DeliveryStatus.SENDING:
            await self._wait_until(row.due_at)
            row = replace(row, attempt=row.attempt + 1, at=self._clock(), due_at=None)
            await self._write(row)
            row = await self._attempt(row, event)
            if row.status is DeliveryStatus.SENDING:
                await self._write(row)
                if row.http_status == GONE:
                    await self._pause("gone")
                if self._clock() - row.first_at >= GIVES_UP_AFTER:
                    await self._pause("no delivery for 24 hours")
        if event.place.position > self._place.position:
            self._place, self._passed = event.place, 0
        await self._write(row)
        self._all.telemetry.count_delivery(
            row.subscription_id, row.status, (self._clock() - event.recorded_at).total_seconds()
        )
        await self._require_few()

    async def _attempt(self, row: EventDelivery, event: PublishedEvent) -> EventDelivery:
        """Send one event once, and return what became of it."""
        content_type, body = body_of(self._subscription.format, event.cloud_event)
        url, secrets = await self._address()
        message = WebhookMessage(
            id=event.place.event_id,
            sent_at=row.at,
            content_type=content_type,
            body=body,
            secrets=secrets,
        )
        try:
            answered = await self._all.webhooks.post(url, message)
        except UnreachableError as error:
            return failed(row, self._clock(), str(error))
        return judged(row, answered, self._clock())

    async def _address(self) -> tuple[str, tuple[str, ...]]:
        """Return the address of the receiver and the secrets that sign at present."""
        id, keeper = self._subscription.id, self._all.keeper
        if not (rows := await self._all.store.rows(SECRETS, {"subscription_id": id})):
            raise StoppedError
        (row,) = rows
        sealed = [row.secret]
        if row.previous and row.rotated_at and self._clock() - row.rotated_at < OLD_SECRET_SIGNS:
            sealed.append(row.previous)
        return keeper.open(row.url, id), tuple(keeper.open(each, id) for each in sealed)

    async def _write(self, row: EventDelivery | None = None) -> None:
        """Write the bookmark, and with it a delivery, while this process holds the work."""
        self._held.require_held()
        cursor = self._all.reader.cursors.write(self._place)
        self._row, self._passed = replace(self._row, cursor=cursor), 0
        append = fenced_rows(
            self._held.work.fence,
            BOOKMARKS.replace(self._row),
            *([DELIVERIES.upsert(row)] if row else []),
            at=self._clock(),
            correlation_id=self._caller.correlation_id,
        )
        await self._all.store.append(append)

    async def _pause(self, reason: str) -> NoReturn:
        command = PauseSubscription(subscription_id=self._subscription.id, reason=reason)
        log.warning("subscription paused", subscription_id=str(command.subscription_id), why=reason)
        with suppress(Cannot):
            await self._all.service.sender.send(command, as_=SYSTEM)
        raise StoppedError

    async def _require_few(self) -> None:
        """Pause a subscription that has had too many deliveries for an hour."""
        self._count += 1
        passed = self._clock() - self._since
        if passed >= MEASURED_FOR:
            if self._count > MOST_A_SECOND * passed.total_seconds():
                await self._pause("too many")
            self._since, self._count = self._clock(), 0

    async def _wait_until(self, due_at: datetime | None) -> None:
        while due_at and (left := (due_at - self._clock()).total_seconds()) > 0:
            self._held.require_held()
            await asyncio.sleep(min(left, self._all.times.wait))
        self._held.require_held()

    async def _read_place(self, cursor: str) -> LogPlace:
        place = await self._all.reader.place(cursor)
        assert place is not None, "a cursor names a place"  # noqa: S101
        return place


def judged(row: EventDelivery, answered: Answered, now: datetime) -> EventDelivery:
    """Return what an answer makes of a delivery."""
    status = answered.status
    row = replace(row, at=now, http_status=status, error=None, answer=None)
    if 200 <= status < 300:
        return replace(row, status=DeliveryStatus.DELIVERED)
    if status in (401, 403):
        return failed(row, now, "CredentialRefused", answered)
    if status == GONE:
        return replace(row, error="Gone")
    if status in RETRYABLE or status >= 500:
        return failed(row, now, "Busy" if status < 500 else "ServerError", answered)
    if status < 400:
        # No redirect is followed; somebody must register the new address.
        return failed(row, now, "Redirected", answered)
    return replace(row, status=DeliveryStatus.REFUSED, error="Refused", answer=answered.text)


def failed(
    row: EventDelivery, now: datetime, error: str, answered: Answered | None = None
) -> EventDelivery:
    """Return a delivery that is attempted again later."""
    delay = DELAYS[min(row.attempt, len(DELAYS)) - 1]
    if answered and answered.retry_after is not None:
        delay = max(DELAYS[0], min(answered.retry_after, LONGEST_RETRY_AFTER))
    status = answered.status if answered else None
    due_at = now + timedelta(seconds=delay)
    return replace(row, at=now, http_status=status, error=error, due_at=due_at)
