"""The verb of the relay."""

import sys

import click

from beamkeep.parts.verbs import BROKEN, carry_out, configure


@click.command()
@click.option(
    "--from",
    "cursor",
    required=True,
    help="Cursor after which the relay continues, or `now` for the end of the log (required).",
)
def relay(cursor: str) -> None:
    """Decide where the relay to NATS continues.

    Use it after the database was restored to an earlier time. The first message after it has the
    header Beamkeep-Break.
    """
    from beamkeep.adapters.postgres.connections import Connections
    from beamkeep.adapters.postgres.event_log import PostgresEventLog
    from beamkeep.adapters.postgres.event_store import PostgresEventStore
    from beamkeep.contexts.catalogue import CATALOGUE
    from beamkeep.contexts.seams.log import InvalidFeedCursorError
    from beamkeep.feed.log import START
    from beamkeep.feed.reading import log_reader
    from beamkeep.runtime.codec import Codec
    from beamkeep.runtime.parsing import MalformedRequestError

    from .postgres_places import PostgresRelayPlaces
    from .settings import RelaySettings

    settings = configure(RelaySettings)
    if settings.nats_url is None:
        click.echo("NATS_URL is not set: this deployment has no relay.", err=True)
        sys.exit(BROKEN)

    async def run() -> None:
        url = settings.database_url.get_secret_value()
        connections = Connections(url, 2)
        try:
            reader = log_reader(
                PostgresEventLog(connections),
                CATALOGUE,
                Codec(CATALOGUE.aggregates.values()),
                cursor_key=await PostgresEventStore(connections, url).cursor_key(),
                base_url=settings.base_url,
            )
            place = await reader.place(cursor)
            await PostgresRelayPlaces(connections, settings.nats_stream).decide(place or START)
        finally:
            await connections.close()

    try:
        carry_out(run())
    except (InvalidFeedCursorError, MalformedRequestError) as refused:
        click.echo(f"The relay was not moved: {refused}", err=True)
        sys.exit(1)
    click.echo(f"The relay to {settings.nats_stream} continues there.")


VERBS = (relay,)
