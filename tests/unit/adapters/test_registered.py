"""Actions and advisors of installed distributions, and those that are built in."""

import asyncio
import sys
from pathlib import Path
from uuid import UUID

import pytest

from beamkeep.adapters.extras import BrokenEntryPointError
from beamkeep.contexts.seams.installation import ActionEntry
from beamkeep.parts.conducting.bodies import ActionCall, ActionCancelledError, params_fault
from beamkeep.parts.conducting.conduct.advising import grid_walk
from beamkeep.parts.conducting.control import ControlReading
from beamkeep.parts.conducting.registered import PAUSE, registered_actions, registered_advisors
from beamkeep.schemas import Json, JsonObject

pytestmark = pytest.mark.anyio

MODULE = """
from beamkeep.contexts.seams.installation import ActionEntry
from beamkeep.contexts.operation.loop import AdviceVerdict, SteeringAdvice
from beamkeep.parts.conducting.bodies import RegisteredAction

async def body(call):
    return {"found": True}

HOME = RegisteredAction(ActionEntry("home"), body)
PAUSE = RegisteredAction(ActionEntry("pause"), body)
SHAPELESS = RegisteredAction(ActionEntry("shapeless", {"type": "object"}), body)

def stop(evidence):
    return SteeringAdvice(AdviceVerdict.STOP)
"""


class Site:
    """Distributions as an installer leaves them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "beamline_bodies.py").write_text(MODULE)

    def installs(self, group: str, line: str, name: str = "beamline") -> None:
        info = self._folder / f"{name}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{line}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    # Another test may have loaded the module from another folder.
    monkeypatch.delitem(sys.modules, "beamline_bodies", raising=False)
    return Site(tmp_path)


def test_what_is_built_in_is_there():
    assert {*registered_actions()} == {"pause"}
    assert {*registered_advisors()} == {"grid_walk", "bayesian"}
    assert registered_advisors()["grid_walk"] is grid_walk
    assert registered_actions()["pause"].entry.inline


def test_an_installed_action_is_registered(site: Site):
    site.installs("beamkeep.actions", "home = beamline_bodies:HOME")
    assert registered_actions()["home"].entry == ActionEntry("home")


def test_an_installed_advisor_is_registered(site: Site):
    site.installs("beamkeep.advisors", "stop = beamline_bodies:stop")
    assert {*registered_advisors()} == {"grid_walk", "bayesian", "stop"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("home = no_such_module:HOME", "fails to load: ModuleNotFoundError"),
        ("home = beamline_bodies:GONE", "fails to load: AttributeError"),
        ("home = beamline_bodies:body", "is a function, not a RegisteredAction"),
        ("go_home = beamline_bodies:HOME", "has an action with another name, 'home'"),
        ("pause = beamline_bodies:PAUSE", "has the name of one of beamkeep"),
        ("shapeless = beamline_bodies:SHAPELESS", "a params schema that is not allowed"),
    ],
)
def test_an_action_that_cannot_be_used_is_named_with_its_distribution(
    site: Site, line: str, why: str
):
    site.installs("beamkeep.actions", line)
    name = line.partition(" ")[0]
    with pytest.raises(BrokenEntryPointError, match=why) as raised:
        registered_actions()
    assert f"entry point '{name}'" in str(raised.value)
    assert "distribution beamline 1.2" in str(raised.value)


def test_an_advisor_that_cannot_be_called_is_named(site: Site):
    site.installs("beamkeep.advisors", "stop = beamline_bodies:HOME")
    with pytest.raises(BrokenEntryPointError, match="RegisteredAction, which cannot be called"):
        registered_advisors()


def test_two_distributions_cannot_register_one_name(site: Site):
    site.installs("beamkeep.advisors", "stop = beamline_bodies:stop")
    site.installs("beamkeep.advisors", "stop = beamline_bodies:stop", "other")
    with pytest.raises(BrokenEntryPointError, match=r"other 1\.2 has the name of one of beamline"):
        registered_advisors()


PARAMS: list[tuple[JsonObject, str]] = [
    ({"duration": 1.5}, ""),
    ({"duration": 3600}, ""),
    ({"duration": 3601}, "$.duration: the value does not satisfy `maximum`"),
    ({"duration": -1}, "$.duration: the value does not satisfy `minimum`"),
    ({"duration": "long"}, "$.duration: the value does not satisfy `type`"),
    ({}, "`duration` is required"),
    ({"duration": 1, "speed": 2}, "`speed` is not declared"),
]


@pytest.mark.parametrize(("params", "why"), PARAMS)
def test_params_follow_the_schema_of_the_action(params: JsonObject, why: str):
    found = params_fault(PAUSE.entry, params)
    assert why in found
    assert bool(found) is bool(why)


class NoControl:
    """A pause touches nothing."""

    async def read(self, address: str, timeout: float = 10.0) -> ControlReading:
        raise AssertionError(address)

    async def write(self, address: str, value: Json, timeout: float = 30.0) -> None:
        raise AssertionError(address)


def call(duration: float) -> ActionCall:
    return ActionCall({"duration": duration}, NoControl(), print, asyncio.Event(), UUID(int=1))


async def test_a_pause_ends_after_its_duration():
    assert await PAUSE.body(call(0.001)) is None


async def test_a_pause_ends_at_once_when_it_is_cancelled():
    cancelled = call(3600)
    cancelled.cancelled.set()
    with pytest.raises(ActionCancelledError):
        await asyncio.wait_for(PAUSE.body(cancelled), 60)
