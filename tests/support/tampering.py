"""Tampered envelopes: changes of a signed envelope that nobody may take."""

import copy
import json
import random
from collections.abc import Callable, Iterable
from typing import Any, cast

type Sent = dict[str, Any]
"""An envelope and its signature, as a peer sends them."""
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
VALUES: tuple[Any, ...] = (None, True, 0, -1, 7, 2**53, 1.5, 1e308, "", "x", "0" * 64, [], {}, [[]])


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the path of every member and item below a value."""
    steps: Iterable[tuple[str | int, Any]] = (
        cast("dict[str, Any]", value).items()
        if isinstance(value, dict)
        else enumerate(cast("list[Any]", value))
    )
    found: list[tuple[str | int, ...]] = []
    for step, held in steps:
        found.append((*path, step))
        if isinstance(held, dict | list):
            found += places(held, (*path, step))
    return found


def parent_of(sent: Sent, path: tuple[str | int, ...]) -> Any:
    """Return the container that the last step of a path leads from."""
    held: Any = sent
    for step in path[:-1]:
        held = held[step]
    return held


def any_value(sent: Sent, draw: random.Random) -> bytes:
    path = draw.choice(places(sent))
    parent_of(sent, path)[path[-1]] = draw.choice(VALUES)
    return written(sent)


def left_out(sent: Sent, draw: random.Random) -> bytes:
    path = draw.choice(places(sent))
    del parent_of(sent, path)[path[-1]]
    return written(sent)


def added(sent: Sent, draw: random.Random) -> bytes:
    inner = [sent, sent["envelope"], sent["envelope"]["content"], sent["envelope"]["seal_pointer"]]
    draw.choice(inner)[draw.choice(("alg", "kid", "note", "x"))] = draw.choice(VALUES)
    return written(sent)


def one_character(sent: Sent, draw: random.Random) -> bytes:
    """Change one character of a text; of a signature or fingerprint, most often the last."""
    texts = [path for path in places(sent) if isinstance(parent_of(sent, path)[path[-1]], str)]
    path = draw.choice(texts)
    text = parent_of(sent, path)[path[-1]] or "x"
    place = draw.choice((0, len(text) // 2, len(text) - 1))
    character = draw.choice(ALPHABET)
    parent_of(sent, path)[path[-1]] = text[:place] + character + text[place + 1 :]
    return written(sent)


def truncated(sent: Sent, draw: random.Random) -> bytes:
    whole = written(sent)
    return whole[: draw.randrange(1, len(whole) - 1)]


def twice(sent: Sent, draw: random.Random) -> bytes:
    """Give one member twice, with two values."""
    name = draw.choice(("format", "artifact_id", "content_hash", "exported_at"))
    text = written(sent).decode()
    return text.replace(f'"{name}":', f'"{name}":"x","{name}":', 1).encode()


def too_deep(sent: Sent, draw: random.Random) -> bytes:
    value: Any = 1
    for _ in range(draw.randrange(31, 60)):
        value = {"a": value}
    sent["envelope"]["content"]["deep"] = value
    return written(sent)


def too_large(sent: Sent, draw: random.Random) -> bytes:
    sent["envelope"]["content"]["long"] = "x" * draw.randrange(524_288, 600_000)
    return written(sent)


def reformatted(sent: Sent, draw: random.Random) -> bytes:
    """The same values in another text, which an earlier import has taken already."""
    return json.dumps(
        sent, indent=draw.choice((None, 1, 4)), ensure_ascii=draw.random() < 0.5
    ).encode()


def raw_bytes(sent: Sent, draw: random.Random) -> bytes:
    whole = bytearray(written(sent))
    whole[draw.randrange(len(whole))] = draw.randrange(256)
    return bytes(whole)


CHANGES: tuple[Callable[[Sent, random.Random], bytes], ...] = (
    any_value,
    left_out,
    added,
    one_character,
    one_character,
    one_character,
    truncated,
    twice,
    too_deep,
    too_large,
    reformatted,
    raw_bytes,
)


def written(sent: Sent) -> bytes:
    return json.dumps(sent, separators=(",", ":"), ensure_ascii=False).encode()


def tampered(sent: Sent, draw: random.Random) -> tuple[str, bytes]:
    """Return one change of what was sent, and its name."""
    change = draw.choice(CHANGES)
    return change.__name__, change(copy.deepcopy(sent), draw)
