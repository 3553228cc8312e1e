"""A CloudEvent from an event of the log."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from beamkeep.contexts.seams.log import CloudEvent
from beamkeep.feed.directory.entries import Entry
from beamkeep.feed.directory.seam import Directory
from beamkeep.kernel import Catalogue, event_types
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import Envelope

from .cursors import FeedCursors
from .log import place_of


class CloudEvents:
    """Makes the CloudEvents of one deployment."""

    def __init__(
        self,
        catalogue: Catalogue,
        codec: Codec,
        cursors: FeedCursors,
        base_url: str,
        directory: Directory | None = None,
    ) -> None:
        self.directory = directory
        self._codec, self._cursors, self._base_url = codec, cursors, base_url.rstrip("/")
        self._paths = {
            name: question.route.path.rpartition("/")[0]
            for name, question in catalogue.gets.items()
        }
        self._newest = {
            (aggregate.name, event.__name__): 1
            + sum(upcast.event_type == event.__name__ for upcast in aggregate.upcasts)
            for aggregate in catalogue.aggregates.values()
            for event in event_types(aggregate)
        }

    async def page(self, events: Sequence[Envelope]) -> list[CloudEvent]:
        """Return the CloudEvents of a page, whose objects are looked up together."""
        entries = await self.entries(events)
        return [self.of(event, entries.get(event.stream_id)) for event in events]

    async def entries(self, events: Sequence[Envelope]) -> Mapping[UUID, Entry]:
        """Return what the directory knows now of the objects of events."""
        ids = sorted({event.stream_id for event in events})
        found = await self.directory.entries(ids) if self.directory and ids else ()
        return {entry.id: entry for entry in found}

    def of(self, envelope: Envelope, entry: Entry | None = None) -> CloudEvent:
        """Return the CloudEvent of an event, with its data in the newest form."""
        place = place_of(envelope)
        name, id = envelope.stream_type, envelope.stream_id
        newest = self._newest[name, envelope.event_type]
        if envelope.schema_version == newest:
            data = msgspec.json.decode(envelope.payload)
        else:
            (current,) = self._codec.decode(name, [envelope.recorded])
            data = msgspec.to_builtins(current, order="deterministic")
        return CloudEvent(
            specversion="1.0",
            id=envelope.event_id,
            source=f"{self._base_url}{self._paths[name]}/{id}",
            type=f"beamkeep.{envelope.event_type}",
            subject=entry.name if entry and entry.kind == name and entry.name else str(id),
            time=envelope.occurred_at,
            dataschema=f"{self._base_url}/events/schemas/{envelope.event_type}/{newest}",
            datacontenttype="application/json",
            streamtype=name,
            streamid=id,
            streamversion=envelope.version,
            recordedtime=envelope.recorded_at,
            principalid=envelope.principal_id,
            commandname=envelope.command_name,
            correlationid=envelope.correlation_id,
            cursor=self._cursors.write(place),
            positiontoken=str(place.position),
            data=data,
            causationid=envelope.causation_id,
        )
