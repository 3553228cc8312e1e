"""The settings of subscriptions."""

from pathlib import Path
from typing import Self

from pydantic import (
    model_validator,
)

from beamkeep.contexts.seams.receivers import ReceiverHosts
from beamkeep.parts.settings import CoreSettings, HostEntry

from .sealing import AesSecretKeeper, secret_keeper


class SubscriptionSettings(CoreSettings):
    """The settings of subscriptions."""

    subscription_hosts: tuple[HostEntry, ...] = ()
    """Hosts that subscriptions may send events to, as a JSON list of `host`, `host:port` or
    `*.suffix`; without a port, the usual port of the address applies. Default: none."""
    subscription_plain_hosts: tuple[HostEntry, ...] = ()
    """Those hosts of SUBSCRIPTION_HOSTS that may have an http address, and a loopback or link-local
    IP address, as a JSON list. Default: none."""
    subscription_key_file: Path | None = None
    """File with the key that encrypts the secrets of subscriptions: 32 random bytes in base64, for
    example from `openssl rand -base64 32`. Required to register subscriptions and to send."""

    @model_validator(mode="after")
    def secrets_can_be_stored(self) -> Self:
        """Raise ValueError when the key of subscriptions cannot be read."""
        self.secret_keeper()
        return self

    @property
    def receivers(self) -> ReceiverHosts:
        """The hosts that subscriptions may send to."""
        return ReceiverHosts(self.subscription_hosts, self.subscription_plain_hosts)

    def secret_keeper(self) -> AesSecretKeeper | None:
        """Return what keeps the secrets of subscriptions, if there is a key for it."""
        path = self.subscription_key_file
        try:
            return secret_keeper(path) if path else None
        except (OSError, ValueError) as error:
            raise ValueError(
                f"SUBSCRIPTION_KEY_FILE {path} cannot be used: {error} Write 32 random bytes in"
                " base64 to it, for example with `openssl rand -base64 32`."
            ) from None
