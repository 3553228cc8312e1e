"""The settings of the relay to a message bus."""

from typing import Annotated
from urllib.parse import urlsplit

from annotated_types import Ge, Le
from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
)

from beamkeep.contexts.seams.addresses import is_loopback
from beamkeep.parts.settings import CoreSettings


def _private_bus(url: SecretStr) -> SecretStr:
    parts = urlsplit(url.get_secret_value())
    if not parts.hostname or parts.scheme not in {"nats", "tls"}:
        raise ValueError("must be like tls://user:password@nats.example.org:4222")
    if parts.scheme == "nats" and not is_loopback(parts.hostname):
        raise ValueError("events would be sent unencrypted. Write tls:// instead of nats://")
    return url


class RelaySettings(CoreSettings):
    """The settings of the relay to a message bus."""

    nats_url: Annotated[SecretStr, AfterValidator(_private_bus)] | None = None
    """Address of a NATS server with JetStream to which `work` publishes every event, such as
    tls://user:password@nats.example.org:4222. nats:// is accepted only for this machine. Everybody
    who may read the stream sees all events. Requires beamkeep[nats]. Default: no relay."""
    nats_stream: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] = "BEAMKEEP"
    """Name of the JetStream stream to which events are published. It is created if it is absent,
    and must have no other publisher."""
    nats_replicas: Annotated[int, Ge(1), Le(5)] = 1
    """Number of replicas with which the stream is created."""
    nats_max_age_days: Annotated[float, Ge(0)] = 0
    """Days after which the stream removes a message, set when the stream is created; 0 for no
    limit."""
    nats_max_bytes: Annotated[int, Ge(0)] = 0
    """Size in bytes above which the stream removes its oldest messages, set when the stream is
    created; 0 for no limit."""
