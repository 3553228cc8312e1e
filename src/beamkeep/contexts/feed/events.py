"""Events: the log of all objects, page by page."""

from beamkeep.contexts.federation.facility import facilities
from beamkeep.contexts.seams.installation import installation
from beamkeep.contexts.seams.log import (
    EventPage,
    InvalidFeedCursorError,
    ListEvents,
    UnknownEventTypeError,
    require_known,
)
from beamkeep.kernel import Reader, answers


async def list_events(query: ListEvents, read: Reader) -> EventPage:
    """Return the events that the caller may see."""
    events = installation(read).events
    assert events is not None, "a service has a log"  # noqa: S101
    require_known(events, query.type, query.stream_type)
    page = await events.page(query, read.only)
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
