"""The relay alone, but it publishes whatever the last message of the stream is."""

from beamkeep.parts.relay import jetstream
from tests.faults.relay_worker import main

headers_of = jetstream.headers_of


def unconditional(message: jetstream.BusMessage, after: int) -> dict[str, str]:
    """The headers without the condition."""
    headers = headers_of(message, after)
    del headers["Nats-Expected-Last-Sequence"]
    return headers


if __name__ == "__main__":
    jetstream.headers_of = unconditional
    main()
