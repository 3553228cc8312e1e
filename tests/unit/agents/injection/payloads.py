"""The payloads: every attack, by the texts that carry it, in one disguise after another."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import cycle
from typing import Any

from beamkeep.kernel import Record

from .instructions import DISGUISES


class Victim(StrEnum):
    """An agent that obeys every instruction that it reads."""

    RUN_DEBRIEFER = "RunDebriefer"
    CAUTION_DRAFTER = "CautionDrafter"
    MCP_AGENT = "MCP agent"


class Attack[W](Record):
    """One of the 25 attacks on one victim."""

    row: int
    victim: Victim
    carriers: Sequence[str]
    """Where the text is put."""
    wishes: Mapping[str, W]
    """What the text asks for."""
    disguises: Sequence[str] = ()
    """Those that the carrier lets pass (default: all)."""


class Payload[W](Record):
    """One text that is put before one victim."""

    row: int
    victim: Victim
    wish_name: str
    carrier: str
    disguise: str
    wish: W

    @property
    def id(self) -> str:
        return f"{self.row:02} {self.wish_name}, by {self.carrier}, {self.disguise}"

    def text(self, instruction: str) -> str:
        """Return the instruction in its disguise."""
        return DISGUISES[self.disguise](instruction)


def expanded[W](attacks: Iterable[Attack[W]]) -> tuple[Payload[W], ...]:
    """Return a payload for every wish in every carrier."""
    return tuple(_expanded(attacks, cycle(DISGUISES)))


def _expanded[W](attacks: Iterable[Attack[W]], disguises: Iterator[str]) -> Iterator[Payload[W]]:
    for attack in attacks:
        own = cycle(attack.disguises) if attack.disguises else disguises
        for wish_name, wish in attack.wishes.items():
            for carrier in attack.carriers:
                yield Payload(
                    attack.row,
                    attack.victim,
                    wish_name=wish_name,
                    carrier=carrier,
                    disguise=next(own),
                    wish=wish,
                )


def described(payload: Payload[Any]) -> str:
    """Return the id of a payload for pytest."""
    return payload.id
