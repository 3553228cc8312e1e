"""Who calls, what they may call on this surface, and until when."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import Question, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Request, UnauthorizedError
from beamkeep.runtime.tokens import VerifiedPrincipal
from beamkeep.testing.service import by, call, enrol, memory_service, permit

pytestmark = pytest.mark.anyio


@pytest.fixture
async def service() -> Service:
    return (await memory_service())[0]


async def asked(service: Service, subject: str = "ada", **more: Any) -> dict[str, Any]:
    question = CATALOGUE.named["get_self"]
    assert isinstance(question, Question)
    found = await service.queries.ask(question, Request(by(subject, **more), {}))
    return json.loads(found.body)


async def test_an_administrator_is_shown_that_everything_is_permitted(service: Service):
    told = await asked(service)
    assert (told["kind"], told["own_only"]) == ("human", [])
    assert told["permitted_commands"] == sorted(CATALOGUE.named)
    assert told["surface"]["surface_id"] == str(seeded.SURFACES[SurfaceKind.HTTP])
    assert told["surface"]["kind"] == "HTTP"
    assert told["facility"]["timezone"] == "UTC"


async def test_everybody_else_is_shown_what_is_permitted_here_and_what_shows_only_their_own(
    service: Service,
):
    otto = await enrol(service, "otto", "get_self", "define_zone")
    await permit(service, otto, "list_zones", scope="Own")
    told = await asked(service, "otto")
    assert told["actor_id"] == str(otto)
    assert told["permitted_commands"] == ["define_zone", "get_self", "list_zones"]
    assert told["own_only"] == ["list_zones"]


async def test_everybody_is_shown_the_surfaces_on_which_they_may_ask(service: Service):
    await enrol(service, "otto", "get_self")
    http = str(seeded.SURFACES[SurfaceKind.HTTP])
    assert (await asked(service, "otto"))["surface_ids"] == [http]
    assert {*(await asked(service))["surface_ids"]} == {*map(str, seeded.SURFACES.values())}


async def test_the_question_needs_a_grant_like_every_other(service: Service):
    await enrol(service, "otto", "define_zone")
    with pytest.raises(UnauthorizedError):
        await asked(service, "otto")


async def test_a_surface_is_that_of_the_call(service: Service):
    told = await asked(service, transport=SurfaceKind.MCP_STREAMABLE_HTTP)
    assert told["surface"]["kind"] == "MCP_STREAMABLE_HTTP"


async def test_the_name_is_that_of_the_profile_at_this_moment(service: Service):
    otto = await enrol(service, "otto", "get_self")
    renamed = {"actor_id": str(otto), "name": "Otto Hahn"}
    await call(service, "update_actor_profile", renamed)
    assert (await asked(service, "otto"))["name"] == "Otto Hahn"


async def test_the_end_of_the_token_is_shown(service: Service):
    ends = datetime(2030, 1, 31, 8, tzinfo=UTC)
    assert (await asked(service))["token_expires_at"] is None
    told = await asked(service, token_ends_at=ends)
    assert datetime.fromisoformat(told["token_expires_at"]) == ends


def test_a_token_that_ends_after_every_calendar_has_no_end():
    assert VerifiedPrincipal("i", "s", expires_at=1e18).ends_at is None
    then = VerifiedPrincipal("i", "s", expires_at=0.0).ends_at
    assert then == datetime(1970, 1, 1, tzinfo=UTC)
