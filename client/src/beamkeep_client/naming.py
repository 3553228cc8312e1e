"""Objects by name for commands that are no verb, and how such commands end when they fail."""

from collections.abc import Generator
from contextlib import contextmanager

from .calling import ATTEMPTS, REFUSED, UNREACHABLE, stop
from .http import HttpClient, ServiceError
from .references import Reference, chosen, is_id, search_for
from .terminal import printable


def object_id(client: HttpClient, text: str, kind: str, attempts: int = ATTEMPTS) -> str:
    """Return the id of an object that is called by its name or its id.

    Raise AmbiguousNameError when the name does not mean one object.
    """
    if is_id(text):
        return text
    reference = Reference(text, kind)
    entry, asked = search_for(*reference)
    hits = client.request("GET", entry.path, params=asked, attempts=attempts).json()["items"]
    return chosen(*reference, hits)["id"]


@contextmanager
def told_failures(*unusable: type[Exception]) -> Generator[None]:
    """Print why a command fails and exit: for a call to the service, or one of these errors."""
    try:
        yield
    except unusable as error:
        stop("\n".join(map(printable, str(error).splitlines())), REFUSED)
    except ServiceError as error:
        stop(printable(str(error)), UNREACHABLE if error.status is None else REFUSED)
