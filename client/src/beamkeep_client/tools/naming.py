"""Objects by name for commands that are no verb, and how such commands end when they fail."""

from collections.abc import Generator
from contextlib import contextmanager

from beamkeep_client.calling import REFUSED, UNREACHABLE, stop
from beamkeep_client.http import ATTEMPTS, ServiceError
from beamkeep_client.references import Reference, is_id
from beamkeep_client.synchronous.http import HttpClient
from beamkeep_client.synchronous.references import found
from beamkeep_client.terminal import printable


def object_id(client: HttpClient, text: str, kind: str, attempts: int = ATTEMPTS) -> str:
    """Return the id of an object that is called by its name or its id.

    Raise AmbiguousNameError when the name does not mean one object, ServiceError when the caller
    may not see objects of this kind.
    """

    return text if is_id(text) else found(client, Reference(text, kind), attempts)["id"]


@contextmanager
def printed_failures(*unusable: type[Exception]) -> Generator[None]:
    """Print why a command fails and exit: for a call to the service, or one of these errors."""
    try:
        yield
    except unusable as error:
        stop("\n".join(map(printable, str(error).splitlines())), REFUSED)
    except ServiceError as error:
        stop(printable(str(error)), UNREACHABLE if error.status is None else REFUSED)
