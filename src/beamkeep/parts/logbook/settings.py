"""The settings of the outside logbook."""

from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    SecretStr,
    model_validator,
)

from beamkeep.parts.settings import CoreSettings, address_of_service, require_whole

from .olog import OlogAccount

type LogbookAddress = Annotated[
    str, AfterValidator(address_of_service("https://olog.example.org/Olog", "password"))
]


class LogbookSettings(CoreSettings):
    """The settings of the outside logbook."""

    logbook_mirror_url: LogbookAddress | None = None
    """Address of a Phoebus Olog to which logbook entries are copied, such as
    https://olog.example.org/Olog. Required, with the three settings below, to copy entries."""
    logbook_mirror_logbook: str | None = None
    """Logbook of the Olog that gets the entries. It must exist there."""
    logbook_mirror_user: str | None = None
    """Account at the Olog, which owns the copies."""
    logbook_mirror_password: SecretStr | None = None
    """Password of the account at the Olog."""

    @model_validator(mode="after")
    def mirror_is_whole(self) -> Self:
        """Raise ValueError when the outside logbook is named in part."""
        parts = {
            "LOGBOOK_MIRROR_URL": self.logbook_mirror_url,
            "LOGBOOK_MIRROR_LOGBOOK": self.logbook_mirror_logbook,
            "LOGBOOK_MIRROR_USER": self.logbook_mirror_user,
            "LOGBOOK_MIRROR_PASSWORD": self.logbook_mirror_password,
        }
        require_whole(parts, "logbook entries are copied with all four.")
        return self

    @property
    def logbook_mirror(self) -> OlogAccount | None:
        """The account by which logbook entries are copied, if there is one."""
        url, logbook, user, password = (
            self.logbook_mirror_url,
            self.logbook_mirror_logbook,
            self.logbook_mirror_user,
            self.logbook_mirror_password,
        )
        if not url or not logbook or not user or not password:
            return None
        return OlogAccount(url, logbook, user=user, password=password.get_secret_value())
