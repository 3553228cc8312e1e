"""Objects by name for commands that are no verb, and how such commands end when they fail."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from beamkeep_client.calling import ATTEMPTS, REFUSED, UNREACHABLE, request_of, stop
from beamkeep_client.catalogue import Entry
from beamkeep_client.http import HttpClient, ServiceError
from beamkeep_client.references import Reference, found, is_id
from beamkeep_client.terminal import printable


def object_id(client: HttpClient, text: str, kind: str, attempts: int = ATTEMPTS) -> str:
    """Return the id of an object that is called by its name or its id.

    Raise AmbiguousNameError when the name does not mean one object, ServiceError when the caller
    may not see objects of this kind.
    """

    def ask(entry: Entry, arguments: Mapping[str, Any]) -> Any:
        method, path, content = request_of(entry, arguments)
        return client.request(method, path, **content, attempts=attempts).json()

    return text if is_id(text) else found(Reference(text, kind), ask)["id"]


@contextmanager
def told_failures(*unusable: type[Exception]) -> Generator[None]:
    """Print why a command fails and exit: for a call to the service, or one of these errors."""
    try:
        yield
    except unusable as error:
        stop("\n".join(map(printable, str(error).splitlines())), REFUSED)
    except ServiceError as error:
        stop(printable(str(error)), UNREACHABLE if error.status is None else REFUSED)
