"""How the relay is wired into a deployment."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from pydantic import SecretStr

from beamkeep.adapters.extras import MissingExtraError
from beamkeep.adapters.postgres.lease import PostgresLease
from beamkeep.parts.wiring import Core, Wiring
from beamkeep.runtime.clock import now
from beamkeep.workers.supervision import Loop, while_held

from .postgres_places import PostgresRelayPlaces
from .relay import BusUnavailableError, MessageBus, Relay
from .settings import RelaySettings


def message_bus(own: RelaySettings, nats_url: SecretStr) -> MessageBus:
    """Return the bus to which events are relayed. Raise when its library is not installed."""
    try:
        from .jetstream import JetStreamBus, StreamLimits
    except ImportError:
        raise MissingExtraError("NATS_URL is set. Install beamkeep[nats].") from None
    limits = StreamLimits(
        replicas=own.nats_replicas,
        max_age_seconds=own.nats_max_age_days * 24 * 3600,
        max_bytes=own.nats_max_bytes or -1,
    )
    return JetStreamBus(nats_url.get_secret_value(), own.nats_stream, limits)


def loops(core: Core, own: RelaySettings) -> Sequence[Loop]:
    """Return the loop that publishes events to the message bus, if the settings name one."""
    if own.nats_url is None:
        return []
    bus, wake = message_bus(own, own.nats_url), asyncio.Event()
    core.notices.on_notice.append(wake.set)
    places = PostgresRelayPlaces(core.following, own.nats_stream)

    async def run() -> None:
        relay = Relay(core.reader, bus, places, clock=now, telemetry=core.telemetry, wake=wake)
        await relay.run()

    return [while_held(PostgresLease(core.url, "relay", [0]), "relay", run)]


async def checks(own: RelaySettings) -> AsyncGenerator[str]:
    """Yield what keeps the message bus from being reached."""
    if own.nats_url:
        try:
            await message_bus(own, own.nats_url).try_connection()
        except BusUnavailableError as error:
            yield f"NATS_URL: {error} Check the address, and that the server runs with JetStream."


WIRING = Wiring(RelaySettings, loops=loops, checks=checks)
