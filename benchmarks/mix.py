"""What the users of a facility ask for, mixed: six commands to four reads."""

from collections import deque
from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

import msgspec

COMMANDS = 0.6
REMEMBERED = 2000
REASON = {"reason": "The shutter of the hutch does not close."}

# Each verb that is possible from a status, the status it leads to, and what must be sent with it.
VISIT: Mapping[str, tuple[tuple[str, str, Mapping[str, str]], ...]] = {
    "Planned": (("record-arrival", "Arrived", {}),),
    "Arrived": (("start", "InProgress", {}),),
    "InProgress": (("hold", "OnHold", REASON), ("complete", "", {})),
    "OnHold": (("resume", "InProgress", {}),),
}
ASSET: Mapping[str, tuple[tuple[str, str, Mapping[str, str]], ...]] = {
    "Commissioned": (("activate", "Active", {}),),
    "Active": (("enter-maintenance", "Maintenance", {}),),
    "Maintenance": (("exit-maintenance", "Active", {}),),
}
ACTOR: Mapping[str, tuple[tuple[str, str, Mapping[str, str]], ...]] = {
    "Known": (("update-profile", "Known", {}),),
}
MOVES = {"/visits": VISIT, "/assets": ASSET, "/actors": ACTOR}
CREATED = {"/visits": "Planned", "/assets": "Commissioned", "/actors": "Known"}


class Asked(NamedTuple):
    """One request, and what its success would make of the thing it is about."""

    kind: str
    method: str
    path: str
    body: bytes = b""
    home: str = ""
    about: str = ""
    leads_to: str = ""


class EntryPoint(NamedTuple):
    """A surface with a policy on it, and an asset that others stand under."""

    surface_id: str
    policy_id: str
    asset_id: str
    family_id: str


class Mix:
    """Draws requests about things that exist; nothing is changed by two requests at once."""

    def __init__(self, dice: Random, place: EntryPoint) -> None:
        self._dice, self._place = dice, place
        self._known: dict[str, deque[str]] = {
            home: deque(maxlen=REMEMBERED) for home in ("/zones", *CREATED)
        }
        self._free: dict[str, deque[tuple[str, str]]] = {
            home: deque(maxlen=REMEMBERED) for home in CREATED
        }

    def next(self) -> Asked:
        """The next request."""
        dice = self._dice
        if dice.random() < COMMANDS:
            home = dice.choices(("/zones", *CREATED), (1, 9, 5, 5))[0]
            free = self._free.get(home)
            if free and dice.random() < 0.6:
                return self._move(home, *free.popleft())
            return Asked("command", "POST", home, self._new(home), home)
        home = dice.choice(tuple(self._known))
        kind = dice.choices(("get", "list", "history"), (5, 3, 2))[0]
        known = self._known[home]
        if kind == "list" or not known:
            return Asked("list", "GET", home)
        path = f"{home}/{dice.choice(known)}"
        return Asked(kind, "GET", path + "/history" * (kind == "history"))

    def learn(self, asked: Asked, body: bytes) -> None:
        """Remember what an acknowledged command made or moved."""
        if asked.kind != "command":
            return
        id, status = asked.about, asked.leads_to
        if not id:
            (id,) = msgspec.json.decode(body, type=dict[str, str]).values()
            status = CREATED.get(asked.home, "")
            self._known[asked.home].append(id)
        if status:
            self._free[asked.home].append((id, status))

    def _move(self, home: str, id: str, status: str) -> Asked:
        verb, leads_to, details = self._dice.choice(MOVES[home][status])
        arguments = details or ({"phone": str(self._dice.random())} if home == "/actors" else {})
        body = msgspec.json.encode(arguments) if arguments else b""
        return Asked("command", "POST", f"{home}/{id}/{verb}", body, home, id, leads_to)

    def _new(self, home: str) -> bytes:
        number = f"{self._dice.getrandbits(32):08x}"
        arguments: dict[str, Any] = {"name": f"Number {number}"}
        if home == "/assets":
            arguments |= {"tier": "Device", "parent_id": self._place.asset_id}
            arguments["family_ids"] = [self._place.family_id]
        elif home == "/visits":
            arguments = {
                "policy_id": self._place.policy_id,
                "parent_surface_id": self._place.surface_id,
                "type": "user",
                "planned_start_at": "2030-01-31T07:30:00Z",
                "planned_end_at": "2030-02-01T07:30:00Z",
                "external_refs": {"proposal": number, "cycle": "2030-1"},
            }
        return msgspec.json.encode(arguments)
