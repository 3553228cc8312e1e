"""Events: the log of all objects, page by page."""

from beamkeep.contexts.federation.facility import facilities
from beamkeep.contexts.seams.installation import Reader, present
from beamkeep.contexts.seams.log import (
    EventPage,
    InvalidFeedCursorError,
    ListEvents,
    UnknownEventTypeError,
    require_known,
)
from beamkeep.kernel import answers


async def list_events(query: ListEvents, read: Reader) -> EventPage:
    """Return the events that the caller may see."""
    events = present(read.readers.events)
    require_known(events, query.type, query.stream_type)
    page = await events.page(query, read.sight)
    read.seen.extend((each.streamtype, each.streamid, each.streamversion) for each in page.items)
    return page


QUESTIONS = (
    answers(
        "GET /events",
        ListEvents,
        list_events,
        EventPage,
        InvalidFeedCursorError,
        UnknownEventTypeError,
        of=facilities,
        about=None,
    ),
)
