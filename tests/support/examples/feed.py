"""Examples of reading the log, and of subscriptions."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from beamkeep.contexts.feed.subscription import DELIVERIES, DeliveryStatus, EventDelivery
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import SurfaceKind
from beamkeep.testing.examples import CallExample, Do, changed, given, made
from beamkeep.testing.installation import RECEIVER_HOST
from beamkeep.testing.waiting import until
from tests.support.examples.run import a_held_run

AT = datetime(2030, 1, 31, 7, 30, tzinfo=UTC)
"""Deliveries that were refused long ago are forgotten."""
MOST_LEFT = 5
HTTP = seeded.SURFACES[SurfaceKind.HTTP]


async def list_events(do: Do) -> dict[str, Any]:
    await a_held_run(do)
    return {"type": ["RunHeld"], "stream_type": ["Run"], "limit": 5}


async def a_checkpoint(do: Do) -> dict[str, Any]:
    """The witness of a service signs what it found when it began, and then every minute."""

    async def newest() -> Any:
        return (await do("list_checkpoints", {"tree": "events"}))["items"]

    return (await until(newest, "a checkpoint"))[0]


async def list_checkpoints(do: Do) -> dict[str, Any]:
    await a_checkpoint(do)
    return {"tree": "events", "limit": 1}


async def get_event_proof(do: Do) -> dict[str, Any]:
    await a_checkpoint(do)
    return {"stream_type": "Surface", "stream_id": str(HTTP), "version": 1}


async def register_subscription(do: Do) -> dict[str, Any]:
    # A principal may have 20 of them, and a service outlives many examples.
    for status in ("Active", "Paused"):
        found = (await do("list_subscriptions", {"status": status}))["items"]
        for row in found[:-MOST_LEFT]:
            one = {"subscription_id": row["subscription_id"]}
            # The list may be a moment behind.
            if (await do("get_subscription", one))["status"] != "Retired":
                await do("retire_subscription", {**one, "reason": "not needed"})
    return {
        "name": "Shift chat",
        "url": f"https://{RECEIVER_HOST}/services/T1?room=4",
        "format": "Text",
        "types": ["RunHeld", "RunAborted"],
        "stream_types": ["Run"],
        "stream_ids": [str(uuid4())],
    }


a_subscription = made("register_subscription", register_subscription, "subscription_id")
pause_subscription = given(subscription_id=a_subscription, reason="maintenance")
a_paused_subscription = changed("pause_subscription", pause_subscription, "subscription_id")

retire_subscription = given(subscription_id=a_subscription, reason="the room is closed")
a_retired_subscription = changed("retire_subscription", retire_subscription, "subscription_id")


async def a_refused_delivery(do: Do) -> dict[str, Any]:
    """What only a worker writes; nothing is delivered while the subscription is paused."""
    delivery = EventDelivery(
        subscription_id=UUID(await a_paused_subscription(do)),
        event_id=uuid4(),
        event_type="RunHeld",
        stream_type="Run",
        stream_id=uuid4(),
        cursor="",
        status=DeliveryStatus.REFUSED,
        attempt=1,
        first_at=AT,
        at=AT,
        http_status=422,
        error="Refused",
        answer="no such room",
    )
    await do.put(DELIVERIES.insert(delivery))
    return {"subscription_id": str(delivery.subscription_id), "event_id": str(delivery.event_id)}


async def skip_delivery(do: Do) -> dict[str, Any]:
    return {**await a_refused_delivery(do), "reason": "the room is closed"}


async def list_deliveries(do: Do) -> dict[str, Any]:
    refused = await a_refused_delivery(do)
    return {"subscription_id": refused["subscription_id"], "status": "Refused"}


EXAMPLES: dict[str, CallExample] = {
    "list_events": list_events,
    "get_event_proof": get_event_proof,
    "list_checkpoints": list_checkpoints,
    "register_subscription": register_subscription,
    "pause_subscription": pause_subscription,
    "resume_subscription": given(
        subscription_id=a_paused_subscription, **{"from": "where_it_stopped"}
    ),
    "rotate_subscription_secret": given(subscription_id=a_subscription),
    "retire_subscription": retire_subscription,
    "retry_delivery": a_refused_delivery,
    "skip_delivery": skip_delivery,
    "get_subscription": given(subscription_id=a_paused_subscription),
    "get_subscription_history": given(subscription_id=a_paused_subscription),
    "list_subscriptions": given(status="Active", format="Text"),
    "list_deliveries": list_deliveries,
}
