"""A fuzzer that learns: an input that reaches a new line of ours is kept, and changed further."""

import signal
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import count
from random import Random
from types import CodeType, FrameType, ModuleType

from beamkeep.kernel import Record

TOOL = 4
"""A place among the watchers of the interpreter that no well-known tool takes."""
LONGEST_INPUT = 4096
LONGEST_SECONDS = 1.0
"""Of the processor's time, so that a machine that stalls fails nothing."""

# What readers of JSON and of the texts within it trip over.
# fmt: off
PIECES = (
    *(b'{}[]",:\\', b"null", b"true", b"NaN", b"-0", b"1e999", b"1e-999", b"9007199254740993"),
    *(b"-1", b"0.1", b"9" * 400, b"9" * 4400, b'"\\u0000"', b'"\\ud800"', b"\xff", b"\xed\xa0\x80"),
    *(b"\xef\xbb\xbf", b"\x00", b"[" * 100, b'{"":' * 100, b'""', b"{}", b"[]", b'"0"', b"=="),
    *(b"2030-01-31T07:30:00Z", b"9999-12-31T23:59:60+99:99", b"-_", b"\xe2\x80\xae", b"\n"),
)
# fmt: on


class TooSlowError(BaseException):
    """One input took longer than any may; no `except Exception` on the way hides it."""


class Found(Record):
    """An input that came to another end than it may."""

    data: bytes
    error: BaseException


class Fuzzed(Record):
    """What a search came to."""

    executions: int
    lines: int
    kept: int
    slowest_seconds: float
    found: Found | None


class Target(Record):
    """Something that reads whatever it is sent, and may only refuse it in the declared ways."""

    read: Callable[[bytes], None]
    declared: tuple[type[Exception], ...]
    modules: tuple[ModuleType, ...]
    """Whose lines are counted."""
    seeds: tuple[bytes, ...]
    pieces: tuple[bytes, ...] = ()
    """What this reader in particular may trip over."""


def fuzz(target: Target, seconds: float, dice: Random) -> Fuzzed:
    """Send ever new inputs until the time is over or one comes to an end that it may not."""
    corpus, pieces = list(target.seeds), (*PIECES, *target.pieces)
    slowest, kept = 0.0, 0
    with lines_of(target.modules) as reached, bounded():
        until = time.monotonic() + seconds
        for number in count(1):
            fresh = number <= len(target.seeds)
            data = corpus[number - 1] if fresh else changed(dice, corpus, pieces)
            before, since = len(reached), time.thread_time()
            error = outcome(target, data)
            slowest = max(slowest, time.thread_time() - since)
            if len(reached) > before and not fresh:
                corpus.append(data)
                kept += 1
            if error or time.monotonic() > until:
                found = Found(data, error) if error else None
                return Fuzzed(number, len(reached), kept, round(slowest, 3), found)
    raise AssertionError


def outcome(target: Target, data: bytes) -> BaseException | None:
    """The error that is none of the declared, if it came to one."""
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_SECONDS)
    try:
        target.read(data)
    except target.declared:
        return None
    except (Exception, TooSlowError) as error:
        return error
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return None


def changed(dice: Random, corpus: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    """One of the corpus, changed in one to four places; what was kept last is chosen more often."""
    recent = corpus[-16:] if dice.random() < 0.5 else corpus
    data = bytearray(dice.choice(recent))
    for _ in range(dice.choice((1, 1, 2, 4))):
        start = dice.randrange(len(data) + 1)
        end = min(len(data), start + dice.choice((0, 1, 1, 2, 8, 64)))
        match dice.randrange(6):
            case 0:
                data[start:end] = dice.choice(pieces)
            case 1:
                data[start:start] = dice.choice(pieces)
            case 2:
                del data[start:end]
            case 3:
                data[start:start] = data[start:end] * dice.choice((1, 2, 50))
            case 4:
                other = dice.choice(corpus)
                data[start:] = other[dice.randrange(len(other) + 1) :]
            case _ if data:
                data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            case _:
                pass
    return bytes(data[:LONGEST_INPUT])


@contextmanager
def lines_of(modules: Sequence[ModuleType]) -> Generator[set[tuple[str, int]]]:
    """The lines of these modules that are reached from now on, as they are reached."""
    watch, ours = sys.monitoring, {module.__file__ for module in modules}
    reached: set[tuple[str, int]] = set()

    def noted(code: CodeType, line: int) -> object:
        if code.co_filename in ours:
            reached.add((code.co_filename, line))
        return watch.DISABLE  # each line is told once, and costs nothing from then on

    watch.use_tool_id(TOOL, "fuzzing")
    watch.register_callback(TOOL, watch.events.LINE, noted)
    watch.set_events(TOOL, watch.events.LINE)
    watch.restart_events()
    try:
        yield reached
    finally:
        watch.set_events(TOOL, watch.events.NO_EVENTS)
        watch.register_callback(TOOL, watch.events.LINE, None)
        watch.free_tool_id(TOOL)


@contextmanager
def bounded() -> Generator[None]:
    """Lets the timer that `outcome` sets raise."""

    def over(number: int, frame: FrameType | None) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, over)
    try:
        yield
    finally:
        signal.signal(signal.SIGVTALRM, before)
