"""A search for operations by words, which also knows the words of beamlines."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from functools import cached_property
from math import log
from typing import NamedTuple

THINGS: Mapping[str, str] = {
    "account": "actor",
    "backup": "distribution",
    "beam": "supply",
    "beamtime": "visit",
    "chat": "subscription",
    "copy": "distribution",
    "coordinate": "frame placement",
    "cryogen": "supply",
    "crystal": "subject",
    "detector": "asset",
    "device": "asset",
    "doi": "external id",
    "door": "enclosure",
    "elog": "run logbook entry",
    "equipment": "asset",
    "esaf": "clearance",
    "experiment": "campaign",
    "file": "dataset distribution",
    "form": "clearance",
    "gas": "supply",
    "hardware": "asset",
    "hazard": "caution clearance",
    "hutch": "enclosure",
    "instrument": "asset",
    "interlock": "enclosure",
    "log": "run logbook entry",
    "login": "identity",
    "motor": "asset",
    "nitrogen": "supply",
    "note": "append run logbook entry",
    "optimise": "advised",
    "optimize": "advised",
    "permission": "grant policy",
    "person": "actor",
    "persistent": "pidinst",
    "position": "placement",
    "protocol": "recipe",
    "ready": "readiness",
    "sample": "subject",
    "scan": "run",
    "serial": "alternate identifier",
    "shutter": "supply",
    "slot": "mount",
    "specimen": "subject",
    "storage": "supply custody",
    "tape": "distribution",
    "user": "actor",
    "utility": "supply",
    "vacuum": "supply",
    "warning": "caution",
    "water": "supply",
    "webhook": "subscription",
}
"""What people at beamlines call a thing, and the words of the catalogue for it."""

ACTIONS: Mapping[str, str] = {
    "add": "register append",
    "back": "restore recovering",
    "begin": "start",
    "broken": "fault",
    "continue": "resume",
    "correct": "revision update",
    "create": "register define",
    "delete": "discard remove decommission custody",
    "edit": "update",
    "emergency": "abort",
    "erase": "forget",
    "finish": "complete",
    "kill": "abort",
    "lost": "unavailable",
    "modify": "update",
    "move": "relocate",
    "new": "register define",
    "pause": "hold",
    "record": "append",
    "repair": "maintenance",
    "reopen": "resume",
    "service": "maintenance",
    "sign": "approve",
    "tune": "adjust",
    "unpause": "resume",
    "verify": "attestation",
    "withdraw": "revoke",
    "write": "append",
}
"""What people call an action."""

QUESTIONS: Mapping[str, str] = {
    "all": "list",
    "denied": "denial",
    "audit": "history events",
    "changed": "history",
    "happened": "handover history",
    "past": "history",
    "read": "list get",
    "show": "get list",
    "which": "list",
    "whoami": "self",
    "why": "evaluate readiness",
}
"""How people ask."""

GLOSSARY: Mapping[str, str] = {**THINGS, **ACTIONS, **QUESTIONS}
"""All of them: the searches use it, and the page of the glossary shows it."""

NOUNS: Mapping[str, str] = {
    "acquisition": "The fact that an asset captured a dataset, with its settings.",
    "actor": "A person, an agent or a machine account that calls the service.",
    "agent": "A software agent: its model, its tools, its budget and whether it may act.",
    "asset": "A piece of equipment in the tree of a beamline: a unit, a component or a device.",
    "attestation": "The report of a check on one copy of a dataset.",
    "calibration": "A measured constant of an asset, stored as a list of revisions.",
    "campaign": "A group of runs that belong together.",
    "capability": "What a kind of operation provides, and which parameters it takes.",
    "caution": "What operators know about a quirk of equipment; it warns and blocks nothing.",
    "clearance": "A reviewed safety form that allows work on assets and subjects for a time.",
    "conduit": "A permitted path for calls from one zone to another.",
    "credential": "A key of a facility for one audience and purpose; it signs or verifies.",
    "dataset": "One product of the facility, named by the checksum of its bytes.",
    "decision": "A recorded choice: who decided what, from which inputs, and why.",
    "distribution": "One copy of a dataset's bytes at one place.",
    "edition": "A package of datasets that is sealed, published and cited.",
    "enclosure": "A room behind an interlock, such as a hutch, and the permit reported for it.",
    "facility": "A site or an area with a code that all deployments share.",
    "family": "A class of devices, such as rotary stage or camera.",
    "frame": "A coordinate frame in which assets are placed.",
    "method": "A technique: the device families and supplies that it needs.",
    "model": "An entry of a vendor's catalogue; an asset can be an instance of it.",
    "mount": "A slot in which one asset at a time is installed.",
    "permit": "One direction of an exchange with another facility, and the keys it allows.",
    "plan": "A practice bound to real assets; a run is started from a plan.",
    "policy": "A list of actors and of the operations that they may call on a surface.",
    "practice": "A method as one site performs it.",
    "procedure": "Work on equipment that leaves no dataset, done by hand or by a conductor.",
    "proposal": "A command that one caller asks for and somebody else approves.",
    "recipe": "The ordered list of steps from which a procedure is conducted.",
    "run": "One execution of a plan.",
    "subject": "What is measured: a sample, a specimen or a part.",
    "seal": "The signed pointer by which peers see that the register of the site is fresh.",
    "subscription": "An address to which events are sent, such as a chat room.",
    "supply": "A resource that work needs, such as beam, vacuum or gas, and its status.",
    "surface": "A place at which calls arrive, such as the console of a beamline.",
    "team": "The people behind one accepted proposal, who see what is measured for them.",
    "visit": "The stay of a user group, and its control of a surface.",
    "zone": "A part of the network with one level of trust.",
}
"""What the nouns of the catalogue mean."""

IGNORED = frozenset(
    re.findall(
        r"\w+",
        """a about an and any are as at be by can could do does for from has have how i if in into
        is it its me my now of off on one or our please so some that the their them then there
        these they this to up us was we were what when where who will with would you your""",
    )
)
NAME, DOC, PARAMETER = 3.0, 1.5, 0.5
"""How much a word counts, by where it was found."""
FURTHER = 0.2
"""How much the further words count that mean the same as one word."""
SYNONYM = 0.85
"""How much a word of the glossary counts, compared with the word itself."""
ITSELF = 0.5
"""How much a word counts for which the catalogue has another: the few texts with it mislead."""


class OperationTexts(NamedTuple):
    """The texts by which an operation is found."""

    name: str
    doc: str
    parameters: str


class OperationIndex:
    """The words of every operation and question, by name."""

    def __init__(self, operations: Mapping[str, OperationTexts]) -> None:
        self._words = {name: _weights(texts) for name, texts in operations.items()}

    @cached_property
    def _rarity(self) -> Mapping[str, float]:
        """A word that few operations have says more."""
        times = Counter(word for words in self._words.values() for word in words)
        return {word: log(1 + len(self._words) / count) for word, count in times.items()}

    def find(self, text: str, among: Collection[str], limit: int) -> list[str]:
        """Return the names that match best, the best first; none where no word matches."""
        wanted = _query(text)
        scores = {name: self._score(name, wanted) for name in self._words if name in among}
        # Of equals, a list comes first: it also gives the ids that the others need.
        best = sorted(scores, key=lambda name: (-scores[name], not name.startswith("list_")))
        return [name for name in best if scores[name] > 0][:limit]

    def _score(self, name: str, wanted: list[dict[str, float]]) -> float:
        words, rarity = self._words[name], self._rarity
        scores = [
            [weight * words.get(word, 0.0) * rarity.get(word, 0.0) for word, weight in each.items()]
            for each in wanted
        ]
        return sum(max(each) + FURTHER * (sum(each) - max(each)) for each in scores)


def _query(text: str) -> list[dict[str, float]]:
    """Return for each word the words that mean the same, and how much each of them counts."""
    found = [word for word in _split(text) if word not in IGNORED]
    return [
        {_stem(word): ITSELF if _stem(word) in _THINGS else 1.0}
        | {_stem(other): SYNONYM for other in _split(_SYNONYMS.get(_stem(word), ""))}
        for word in dict.fromkeys(found)
    ]


def _weights(texts: OperationTexts) -> dict[str, float]:
    by_weight = {PARAMETER: texts.parameters, DOC: texts.doc, NAME: texts.name}
    weights: dict[str, float] = {}
    for weight, text in by_weight.items():
        weights |= {_stem(word): weight for word in _split(text) if word not in IGNORED}
    return weights


def _split(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _stem(word: str) -> str:
    """Return a word without its ending, so that `stopped`, `stopping` and `stops` are one."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for endings in (("es", "s"), ("ing", "ed")):
        found = [end for end in endings if word.endswith(end) and len(word) - len(end) >= 3]
        if found and not word.endswith("ss"):
            word = word.removesuffix(found[0])
    if len(word) > 3 and word[-1] == word[-2]:
        return word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


_SYNONYMS = {_stem(word): meant for word, meant in GLOSSARY.items()}
_THINGS = {_stem(word) for word in THINGS}
