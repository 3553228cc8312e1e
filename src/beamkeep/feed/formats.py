"""What a subscription sends: the event itself, or a sentence about it."""

import re
from typing import Any

import msgspec

from beamkeep.contexts.feed.subscription import SubscriptionFormat
from beamkeep.runtime.codec import encode

MOST_BYTES, MOST_CHARACTERS = 256 * 1024, 3_000
ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
JSON, CLOUD_EVENT = "application/json", "application/cloudevents+json"

type EventObject = dict[str, Any]
"""A CloudEvent as JSON."""


def body_of(format: SubscriptionFormat, cloud_event: bytes) -> tuple[str, bytes]:
    """Return the content type and the body in which an event is sent."""
    if format is SubscriptionFormat.CLOUD_EVENT and len(cloud_event) <= MOST_BYTES:
        return CLOUD_EVENT, cloud_event
    event: EventObject = msgspec.json.decode(cloud_event)
    match format:
        case SubscriptionFormat.CLOUD_EVENT:
            # Too large to be sent: the receiver reads it where it is.
            del event["data"]
            return CLOUD_EVENT, encode(event | {"dataref": f"{event['source']}/history"})
        case SubscriptionFormat.TEXT:
            text = f"{sentence(event)[:MOST_CHARACTERS]} {event['source']} [{event['id'][-8:]}]"
            return JSON, encode({"text": text.translate(ESCAPED)})
        case SubscriptionFormat.CARD:
            return JSON, encode({"type": "message", "attachments": [_card(event)]})


def sentence(event: EventObject) -> str:
    """Return what happened in words: the kind and name of the object, the change, the reason."""
    happened = event["type"].removeprefix("beamkeep.").removeprefix(event["streamtype"])
    text = f"{_words(event['streamtype']).capitalize()} {subject_of(event)} {_words(happened)}"
    reason = event["data"].get("reason")
    return f"{text}: {reason.rstrip('.')}." if isinstance(reason, str) else f"{text}."


def subject_of(event: EventObject) -> str:
    """Return the name of the object that an event is about."""
    return event["subject"]


def _card(event: EventObject) -> EventObject:
    text = f"{sentence(event)[:MOST_CHARACTERS]} [{event['id'][-8:]}]"
    return {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "content": {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "body": [{"type": "TextBlock", "text": text, "wrap": True}],
            "actions": [{"type": "Action.OpenUrl", "title": "Open", "url": event["source"]}],
        },
    }


def _words(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()
