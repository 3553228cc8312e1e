"""A CloudEvent from an event of the log."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from beamkeep.contexts.seams.log import CloudEvent
from beamkeep.feed.directory.seam import Directory, PublishedObject
from beamkeep.kernel import Catalogue, event_types
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import Envelope

from .cursors import FeedCursors
from .log import place_of

UNKNOWN = PublishedObject(None, None, facility_code=None, team_id=None, visit_id=None)


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
        objects = await self.objects(events)
        return [self.of(event, objects.get(event.stream_id, UNKNOWN)) for event in events]

    async def objects(self, events: Sequence[Envelope]) -> Mapping[UUID, PublishedObject]:
        """Return what is known now of the objects of events."""
        ids = sorted({event.stream_id for event in events})
        return await self.directory.published(ids) if self.directory and ids else {}

    def of(self, envelope: Envelope, about: PublishedObject = UNKNOWN) -> CloudEvent:
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
            subject=about.name if about.kind == name and about.name else str(id),
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
            teamid=about.team_id,
            visitid=about.visit_id,
        )
