"""Nobody sees what is another's: every read, on every surface, for every kind of principal."""

import json
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints
from uuid import uuid4

import httpx2
import msgspec
import pytest
from tests.support.examples import EXAMPLES
from tests.support.examples.trust import an_actor
from tests.system.calling import As, Principal, callers, permit, registered
from tests.system.canaries import FREE, PERSONAL, Canaries

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import (
    Aggregate,
    Entries,
    Event,
    History,
    Many,
    One,
    Operation,
    Question,
    SideWrite,
    SurfaceKind,
    View,
)
from beamkeep.runtime.admission import UnauthorizedError
from beamkeep.runtime.store import Stream
from beamkeep.surfaces.problem import problem
from beamkeep.testing.appends import on_record
from beamkeep.testing.calling import Calling, Mcp, Rest, SurfaceAnswer
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import LocalDeployment, Server, deployment, serving
from beamkeep.testing.service import CALLERS

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

# What never changes has one event, and its history one page.
CHANGING = {each.aggregate.name for each in CATALOGUE.operations if not each.genesis}


def every(holds: Callable[[Question], object]) -> pytest.MarkDecorator:
    """Every question of which this is true."""
    chosen = [each for each in CATALOGUE.questions if holds(each)]
    return pytest.mark.parametrize("question", chosen, ids=lambda each: each.name)


def is_paged(question: Question) -> bool:
    """Whether the answer goes on with a cursor; one list of entries stands for all of them."""
    match question.source:
        case Many():
            return True
        case Entries():
            return question.aggregate.name == "Conduit"
        case History():
            return question.aggregate.name in CHANGING
        case _:
            return False


ON_REST = pytest.mark.parametrize("surface", [Rest])
BOTH_SURFACES = pytest.mark.parametrize("surface", [Rest, Mcp])


@dataclass(frozen=True)
class People:
    """Everybody the tests need, and the surface at hand."""

    here: Calling
    elsewhere: Calling
    admin: As
    p1: Principal
    p2: Principal
    p3: Principal
    p4: Principal
    others: dict[str, str]

    def on(self, principal: Principal) -> As:
        """A principal, calling on the surface at hand."""
        return As(self.here, principal.token, self.others)

    def freely(self, principal: Principal) -> As:
        """A principal where it may do everything with the objects of everybody."""
        return As(self.elsewhere, principal.token, self.others)

    async def permit(self, principal: Principal, command: str, scope: str) -> str:
        """Permit a principal one call on the surface at hand; the policy's id."""
        return await permit(self.admin, principal, [command], scope, self.here.surface_id)

    async def let_own_all(self, principal: Principal) -> None:
        """Permit a principal everything: with its own here, with everybody's elsewhere."""
        await self.permit(principal, "*", "Own")
        await permit(self.admin, principal, ["*"], "All", self.elsewhere.surface_id)


@pytest.fixture(scope="module")
async def http(server: Server) -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=server.url, timeout=30) as http:
        yield http


@pytest.fixture(scope="module")
def known() -> dict[tuple[str, type[Calling]], People]:
    return {}


@pytest.fixture
async def people(
    request: pytest.FixtureRequest,
    known: dict[tuple[str, type[Calling]], People],
    server: Server,
    surface: type[Calling],
    http: httpx2.AsyncClient,
) -> People:
    """Everybody, once for all rows of a test: a row permits only the call that it is about."""
    key = request.function.__name__, surface
    if key not in known:
        known[key] = await everybody(server, surface, http)
    return known[key]


async def everybody(server: Server, surface: type[Calling], http: httpx2.AsyncClient) -> People:
    """P1 may do everything and sees its own, here; the others may do nothing yet."""
    other = Mcp if surface is Rest else Rest
    admin, here = As(Rest(http), server.admin), surface(http)
    several = [await registered(server, admin, str(uuid4())) for _ in range(4)]
    await permit(admin, several[0], ["*"], "Own", here.surface_id)
    # An administrator may define policies on surfaces where it holds nothing itself.
    await permit(admin, several[0], ["*"], "All", other(http).surface_id)
    return People(here, other(http), admin, *several, others=await callers(server, admin))


def test_every_read_has_a_case():
    assert {question.name for question in CATALOGUE.questions} <= EXAMPLES.keys()
    listed = {q.aggregate.name for q in CATALOGUE.questions if isinstance(q.source, Many)}
    shown = {q.aggregate.name for q in CATALOGUE.questions if isinstance(q.source, One)}
    assert listed == shown == CATALOGUE.aggregates.keys()
    neither = {q.name for q in CATALOGUE.questions if not (q.about or isinstance(q.source, Many))}
    # Their own tests hold them to the object rule.
    assert neither == {
        *("get_shift_handover", "get_status", "list_events", "search", "resolve_names"),
        *("get_self", "get_provenance", "list_custody", "get_custody_summary"),
        *("get_custody_report", "list_at_risk_results", "get_event_proof", "list_checkpoints"),
    }


AGENTS, PROPOSALS = CATALOGUE.aggregates["Agent"], CATALOGUE.aggregates["Proposal"]


def read(name: str) -> Question:
    """The read of this name."""
    row = CATALOGUE.named[name]
    assert isinstance(row, Question)
    return row


def command(name: str) -> Operation:
    """The operation of this name."""
    row = CATALOGUE.named[name]
    assert isinstance(row, Operation)
    return row


@BOTH_SURFACES
@every(lambda each: each.about or isinstance(each.source, Many))
async def test_a_read_shows_an_object_only_to_whom_a_policy_shows_it(
    question: Question, people: People
):
    p1, p2, p3, p4 = (people.on(who) for who in (people.p1, people.p2, people.p3, people.p4))
    arguments, id = await an_object_of(p1, question)
    absent = with_id(question, arguments, str(uuid4()))

    # Without a policy, and with one for another surface only.
    await permit(people.admin, people.p4, [question.name], "All", people.elsewhere.surface_id)
    for nobody in (p2, p4):
        for asked in (arguments, absent):
            require_denied(await nobody.send(question.name, asked))
    elsewhere = As(people.elsewhere, people.p4.token)
    await require_shown(elsewhere, question, arguments, id, p1.position_token)

    # Own: only the owner.
    await people.permit(people.p2, question.name, "Own")
    await require_hidden(p2, people.p2, question, arguments, absent, p1.position_token)
    await require_shown(p1, question, arguments, id, p1.position_token)

    # All: everybody's, until it is taken away.
    policy_id = await people.permit(people.p3, question.name, "All")
    await require_shown(p3, question, arguments, id, p1.position_token)
    left = {"permitted_principal_id": str(people.p3.id), "reason": "Left"}
    await people.admin("revoke_grant", {"policy_id": policy_id, **left})
    for asked in (arguments, absent):
        require_denied(await p3.send(question.name, asked))


@BOTH_SURFACES
@every(lambda each: isinstance(each.source, Many))
async def test_no_filter_finds_what_is_anothers(question: Question, people: People):
    p1, p2 = people.on(people.p1), people.on(people.p2)
    _, id = await an_object_of(p1, question)
    await people.permit(people.p2, question.name, "Own")
    id_field, token = question.aggregate.id_field, p1.position_token
    rows = await p1.listed(question.name, token)
    (row,) = [row for row in rows if row[id_field] == id]
    fields = question.query.model_fields
    for name, text in filters_of(view_of(question), row).items():
        value = [text] if "frozenset" in str(fields[name].annotation) else text
        found = await p1.listed(question.name, token, **{name: value})
        assert id in {row[id_field] for row in found}, name
        hidden = await p2.listed(question.name, token, **{name: value})
        assert id not in {row[id_field] for row in hidden}, name


@BOTH_SURFACES
@every(lambda each: isinstance(each.source, Many) and each.source.view.tree)
async def test_no_way_along_a_tree_leads_to_what_is_anothers(question: Question, people: People):
    p1, p2 = people.on(people.p1), people.on(people.p2)
    await people.permit(people.p2, question.name, "Own")
    above = await EXAMPLES[f"register_{question.aggregate.noun}"](p1)
    below = (await p1(f"register_{question.aggregate.noun}", above))[question.aggregate.id_field]
    token = p1.position_token
    for along in {"below": above["parent_id"]}, {"above": below}:
        assert len(await p1.listed(question.name, token, **along)) == 1
        assert await p2.listed(question.name, token, **along) == []


@BOTH_SURFACES
@every(is_paged)
async def test_nobody_continues_where_anothers_page_ended(question: Question, people: People):
    p1, p3 = people.on(people.p1), people.on(people.p3)
    await people.permit(people.p3, question.name, "All")
    arguments, cursor = await a_cursor_of(p1, question, people.on(people.p4))
    refused = await p3.send(question.name, {**arguments, "cursor": cursor})
    assert refused.status == 422
    assert refused.body["code"] == "MalformedRequestError"
    assert (await p1.send(question.name, {**arguments, "cursor": cursor})).status == 200


@BOTH_SURFACES
async def test_an_answer_is_not_given_again_to_another_principal_or_on_another_surface(
    people: People,
):
    p1, p2, p3 = (people.on(who) for who in (people.p1, people.p2, people.p3))
    await permit(people.admin, people.p1, ["define_zone"], "Own", people.elsewhere.surface_id)
    policy_id = await people.permit(people.p3, "define_zone", "All")
    zone, key = ("define_zone", {"name": "Hutch"}), {"idempotency_key": "the-same"}
    first = await p1.send(*zone, **key)
    again = await p1.send(*zone, **key)
    assert (again.body, again.replayed, first.replayed) == (first.body, True, False)

    require_denied(await p2.send(*zone, **key))
    for another in (p3, As(people.elsewhere, people.p1.token)):
        answer = await another.send(*zone, **key)
        assert answer.ok
        assert not answer.replayed
        assert answer.body != first.body

    left = {"permitted_principal_id": str(people.p3.id), "reason": "Left"}
    await people.admin("revoke_grant", {"policy_id": policy_id, **left})
    require_denied(await p3.send(*zone, **key))


@BOTH_SURFACES
async def test_what_another_may_do_is_not_shown_to_one_who_may_see_only_its_own(people: People):
    p2 = people.on(people.p2)
    name = "evaluate_authorization"
    await people.permit(people.p2, name, "Own")
    asked = {
        "command_name": "get_visit",
        "conduit_id": str(seeded.ENTRY),
        "surface_id": people.here.surface_id,
    }
    of_itself = await p2(name, {**asked, "principal_id": str(people.p2.id)})
    assert of_itself["decision"] == "Deny"
    question = read(name)
    of_another = await asked_for(p2, question, {**asked, "principal_id": str(people.p1.id)})
    of_nobody = await asked_for(p2, question, {**asked, "principal_id": str(uuid4())})
    assert of_another == of_nobody
    assert of_another.body["code"] == "ActorNotFoundError"


@BOTH_SURFACES
async def test_denials_are_shown_to_the_owner_of_the_conduit_they_happened_on(people: People):
    p1, p2, p4 = (people.on(who) for who in (people.p1, people.p2, people.p4))
    name = "list_conduit_denials"
    await people.permit(people.p2, name, "Own")
    zones = [(await p1("define_zone", {"name": "Z"}))["zone_id"] for _ in range(2)]
    ends = {"source_zone_id": zones[0], "target_zone_id": zones[1]}
    conduit = await p1("define_conduit", {"name": "Gate", **ends})
    console = {"name": "Console", "kind": people.here.kind, **conduit}
    surface_id = (await p1("define_surface", console))["surface_id"]
    require_denied(await p4.send("list_visits", {}, surface_id=surface_id))

    (denial,) = (await p1(name, conduit))["items"]
    assert (denial["principal_id"], denial["command_name"]) == (str(people.p4.id), "list_visits")
    assert denial["reason_code"] == "no_matching_policy"
    for hidden_from, conduit_id in ((p2, conduit["conduit_id"]), (p1, str(seeded.ENTRY))):
        refused = await asked_for(hidden_from, read(name), {"conduit_id": conduit_id})
        missing = await asked_for(hidden_from, read(name), {"conduit_id": str(uuid4())})
        assert refused == missing
        assert refused.body["code"] == "ConduitNotFoundError"


class Marking(As):
    """A principal whose every text can be found again."""

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        return await super().__call__(name, Canaries().into(name, arguments), **options)

    async def by_account(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return await super().by_account(name, Canaries().into(name, arguments))


def streams_of(part: Event | SideWrite) -> list[Stream]:
    """The streams that a part on record begins."""
    return [event.stream for event in on_record(part).events]


class Mixed:
    """Makes calls for an example: one object is of one principal, all else of another.

    Nothing that is said of the one object is marked.
    """

    def __init__(
        self, people: People, owner: As, another: As, of: Aggregate[Any, Any, Any], own: int
    ) -> None:
        self._owner, self._another, self._of, self._own = owner, another, of, own
        self._admin = As(people.here, people.admin.token)
        self.ids: list[str] = []
        """Of every object of this kind, in the order they were made."""

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        row = CATALOGUE.named[name]
        if isinstance(row, Question):
            return await self._admin(name, arguments, **options)
        made = PROPOSALS if "proposal_note" in options else row.aggregate
        if made is not self._of:
            return await self._another(name, arguments, **options)
        if not row.genesis:
            own = arguments[self._of.id_field] in self.ids[self._own :][:1]
            return await (self._owner if own else self._another)(name, arguments, **options)
        mine = len(self.ids) == self._own
        answer = await (self._owner if mine else self._another)(name, arguments, **options)
        self.ids.append(answer[self._of.id_field])
        return answer

    async def by_account(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return await self._another.by_account(name, arguments)

    async def put(self, part: Event | SideWrite, *, owned: bool = False) -> None:
        begun = [str(id) for kind, id in streams_of(part) if kind == self._of.name]
        mine = bool(begun) and len(self.ids) == self._own
        await (self._owner if mine or not begun else self._another).put(part, owned=owned)
        self.ids += begun

    async def facility(self, code: str) -> str:
        return await self._admin.facility(code)


# Reads of what is one's own that are refused because of what is another's.
REFUSED = {
    "get_asset_pidinst": "AssetPidinstIncompleteError",
    "get_edition_manifest": "EditionCannotExportError",
    "get_plan_readiness": "SubjectNotFoundError",
}


@ON_REST
@every(lambda each: each.about)
async def test_a_read_of_what_is_ones_own_tells_nothing_of_what_is_anothers(
    question: Question, people: People
):
    # With scope Own, neither could work on what is the other's, or copy it.
    p1 = Marking(people.elsewhere, people.p1.token, people.others)
    p2, owner = people.on(people.p2), people.freely(people.p2)
    await people.let_own_all(people.p2)
    own = await which_is_asked_about(question, people)
    arguments = await EXAMPLES[question.name](Mixed(people, owner, p1, question.aggregate, own))
    answer = await p2.send(question.name, arguments)
    assert (answer.body.get("code") if not answer.ok else None) == REFUSED.get(question.name)
    require_unmarked(answer)


# Nobody decides on a proposal of their own, and so nobody with the scope Own decides on any.
DECIDES_ON_OTHERS = {"approve_proposal", "reject_proposal"}


# What only a machine account may do is not tried by a person.
TRIED = [each for each in CATALOGUE.operations if not each.genesis and each.name not in CALLERS]


@ON_REST
@pytest.mark.parametrize("done", [False, True])
async def test_a_command_tells_nothing_of_what_is_anothers(
    done: bool, people: People, subtests: pytest.Subtests
):
    await people.let_own_all(people.p2)
    for operation in TRIED:
        with subtests.test(operation.name):
            await require_untold(operation, done, people)


async def require_untold(operation: Operation, done: bool, people: People) -> None:
    """Require that an object of P1 is absent for P2, whether P1 has done this or not."""
    p1 = Marking(people.here, people.p1.token, people.others)
    p2 = people.on(people.p2)
    arguments = await EXAMPLES[operation.name](p1)
    admin = As(people.here, people.admin.token, people.others)
    by = admin if operation.name in DECIDES_ON_OTHERS else p1
    if done:
        await by(operation.name, arguments)
    for dry_run in (True, False):
        await require_missed(p2, operation, arguments, dry_run=dry_run)
    if not done:
        own = await by(operation.name, arguments, dry_run=True)
        assert all(event["payload"] is not None for event in own["events"])


async def require_missed(
    by: As, operation: Operation, arguments: dict[str, Any], **options: Any
) -> None:
    """Require the same answer as about an object that does not exist."""
    id_field, told = operation.aggregate.id_field, list[SurfaceAnswer]()
    for id in (arguments[id_field], str(uuid4())):
        answer = await by.send(operation.name, {**arguments, id_field: id}, **options)
        body = json.loads(json.dumps(answer.body).replace(id, "ID"))
        told.append(answer._replace(body=body))
    assert told[0] == told[1]
    assert told[0].body["code"] == operation.aggregate.absent.__name__


# One of each kind of harm.
HARMFUL = (
    "abort_run",
    "amend_clearance",
    "assign_dataset_external_id",
    "discard_subject",
    "publish_edition",
    "rotate_subscription_secret",
    "unbind_actor_identity",
)


@BOTH_SURFACES
@pytest.mark.parametrize("name", HARMFUL)
async def test_nobody_changes_what_is_anothers(name: str, people: People):
    operation = command(name)
    id_field = operation.aggregate.id_field
    p1, p2 = people.on(people.p1), people.on(people.p2)
    await people.let_own_all(people.p2)
    arguments = await EXAMPLES[name](p1)
    read_it = f"get_{operation.aggregate.noun}", {id_field: arguments[id_field]}
    before = await p1(*read_it)
    for options in ({}, {"idempotency_key": "k"}, {"dry_run": True}):
        await require_missed(p2, operation, arguments, **options)
    assert await p1(*read_it) == before
    assert (await p2.send(*read_it)).status == 404
    assert (await p1.send(name, arguments)).ok


@ON_REST
async def test_a_stream_of_events_tells_nothing_of_what_is_anothers(people: People):
    p1, p2 = Marking(people.here, people.p1.token, people.others), people.on(people.p2)
    surface_id = str(seeded.SURFACES[SurfaceKind.HTTP])
    await permit(people.admin, people.p2, ["list_events"], "Own", surface_id)
    await people.permit(people.p2, "define_zone", "Own")
    headers = {"authorization": f"Bearer {p2.token}", "accept": "text/event-stream"}
    http = people.here.http
    async with http.stream("GET", "/events", headers=headers) as live:
        lines = live.aiter_lines()
        while await anext(lines) != "event: beat":
            pass
        for question in CATALOGUE.gets.values():
            await EXAMPLES[question.name](p1)
        mine = (await p2("define_zone", {"name": "Mine"}))["zone_id"]
        told = await told_until(lines, mine)
    # From the beginning, most events are read from the log; above, all are kept in memory.
    beginning = {"since": "2000-01-01T00:00:00Z"}
    async with http.stream("GET", "/events", params=beginning, headers=headers) as past:
        told += await told_until(past.aiter_lines(), mine)
    assert {event["streamid"] for event in told} == {mine, str(people.p2.id)}
    require_unmarked(SurfaceAnswer(200, told))


async def told_until(lines: AsyncIterator[str], id: str) -> list[dict[str, Any]]:
    """The events of a stream up to the first of this object."""
    told: list[dict[str, Any]] = []
    while not told or told[-1]["streamid"] != id:
        while await anext(lines) != "event: event":
            pass
        told.append(json.loads((await anext(lines)).removeprefix("data: ")))
    return told


def require_unmarked(answer: SurfaceAnswer) -> None:
    """Nothing in it was said by another."""
    told = json.dumps(answer.body)
    assert FREE not in told
    assert PERSONAL not in told


async def which_is_asked_about(question: Question, people: People) -> int:
    """Which of the objects of its kind that an example makes a question is about."""
    p1 = people.freely(people.p1)
    nobodys = Mixed(people, p1, p1, question.aggregate, -1)
    arguments = await EXAMPLES[question.name](nobodys)
    id = arguments[question.about or ""]
    return nobodys.ids.index(id) if id in nobodys.ids else len(nobodys.ids) - 1


async def update_of_settings(people: People) -> None:
    """Try to look at the settings of another's asset, and to change them."""
    await people.let_own_all(people.p2)
    await require_untold(command("update_asset_settings"), True, people)


SHOWN = test_a_read_shows_an_object_only_to_whom_a_policy_shows_it
# What must notice a service that has let go of its filters, by what it looks at.
CHECKS: dict[str, Callable[[People], Awaitable[None]]] = {
    "get": partial(SHOWN, read("get_zone")),
    "sub-resource": partial(SHOWN, read("get_zone_history")),
    "entries": partial(SHOWN, read("list_conduit_denials")),
    "list": partial(SHOWN, read("list_zones")),
    "filter": partial(test_no_filter_finds_what_is_anothers, read("list_surfaces")),
    "tree": partial(test_no_way_along_a_tree_leads_to_what_is_anothers, read("list_assets")),
    "cursor": partial(test_nobody_continues_where_anothers_page_ended, read("list_zones")),
    "replayed key": (test_an_answer_is_not_given_again_to_another_principal_or_on_another_surface),
    "another's rights": (test_what_another_may_do_is_not_shown_to_one_who_may_see_only_its_own),
    "command": update_of_settings,
    "beside": partial(
        test_a_read_of_what_is_ones_own_tells_nothing_of_what_is_anothers, read("get_asset_pidinst")
    ),
    "stream of events": test_a_stream_of_events_tells_nothing_of_what_is_anothers,
    "denials": test_denials_are_shown_to_the_owner_of_the_conduit_they_happened_on,
}


class Leaky(LocalDeployment):
    """A service that shows everything to everybody who may ask at all."""

    def start(self) -> subprocess.Popen[bytes]:
        program = Path(__file__).with_name("leaky_service.py")
        with self.log.open("ab") as lines:
            return subprocess.Popen(
                [sys.executable, str(program), "serve"],
                cwd=self.folder,
                env=self.environment(),
                stdout=lines,
                stderr=lines,
            )


@pytest.fixture(scope="module")
def leaky(cluster: Cluster) -> Generator[Server]:
    with deployment(cluster, True, "witnessed") as made:
        same = Leaky(made.database, made.folder, made.url, made.key, made.settings)
        with serving(same) as server:
            yield server


@BOTH_SURFACES
@pytest.mark.parametrize("check", CHECKS)
async def test_a_service_without_its_filters_is_found_out(
    leaky: Server, surface: type[Calling], check: str
):
    async with httpx2.AsyncClient(base_url=leaky.url, timeout=30) as http:
        people = await everybody(leaky, surface, http)
        with pytest.raises(AssertionError) as found:
            await CHECKS[check](people)
    # It is what was shown that is wrong, and not that a call failed.
    assert found.traceback[-1].name != As.__call__.__name__


async def an_object_of(owner: As, question: Question) -> tuple[dict[str, Any], str]:
    """What a read is asked, about an object of this owner, and the object's id."""
    if question.about:
        arguments = await EXAMPLES[question.name](owner)
        return arguments, arguments[question.about]
    shown = EXAMPLES[f"get_{question.aggregate.noun}"]
    return {}, (await shown(owner))[question.aggregate.id_field]


def with_id(question: Question, arguments: dict[str, Any], id: str) -> dict[str, Any]:
    """The same question about another object."""
    return {**arguments, question.about: id} if question.about else arguments


def view_of(question: Question) -> View[Any]:
    assert isinstance(question.source, Many)
    return question.source.view


def filters_of(view: View[Any], row: dict[str, Any]) -> dict[str, str]:
    """Every filter with a value by which this row is found."""
    state_type: type[Any] = get_type_hints(view.aggregate.begin)["return"]
    state = msgspec.convert({**row, "id": row[view.aggregate.id_field]}, state_type)
    return dict(facet.split("=", 1) for facet in view.facets_of(state))


async def a_cursor_of(owner: As, question: Question, denied: As) -> tuple[dict[str, Any], str]:
    """A question of which the owner has seen the first page, and where that page ended."""
    arguments, id = await an_object_of(owner, question)
    match question.source:
        case Many():
            await an_object_of(owner, question)
            arguments["min_token"] = owner.position_token
        case Entries():
            await two_denials_on(owner, id, denied)
        case _:
            await once_more(owner, question.aggregate.name, id)
    asked = {**arguments, "limit": 1}
    page = (await owner.once_fresh(question.name, asked)).body
    assert len(page["items"]) == 1
    return asked, page["next_cursor"]


async def once_more(owner: As, aggregate: str, id: str) -> None:
    """Let something happen to an object that has but one event."""
    if aggregate == "Actor":
        await owner("update_actor_profile", {"actor_id": id, "name": "Grace H."})
    if aggregate == "Agent":
        await owner("version_agent", {"agent_id": id})
    if aggregate == "Proposal":
        await owner("withdraw_proposal", {"proposal_id": id})
    if aggregate == "Team":
        await owner("close_team", {"team_id": id})
    if aggregate == "Policy":
        await owner("add_grant", {"policy_id": id, "permitted_principal_id": await an_actor(owner)})


async def two_denials_on(owner: As, conduit_id: str, denied: As) -> None:
    """Turn somebody away twice on a conduit."""
    console = {"name": "Console", "kind": owner.calling.kind, "conduit_id": conduit_id}
    surface_id = (await owner("define_surface", console))["surface_id"]
    for _ in range(2):
        require_denied(await denied.send("list_visits", {}, surface_id=surface_id))


async def asked_for(by: As, question: Question, arguments: dict[str, Any]) -> SurfaceAnswer:
    """The answer about one object, without the object's id."""
    answer = await by.send(question.name, arguments)
    told = json.dumps(answer.body).replace(arguments[question.about or ""], "ID")
    return answer._replace(body=json.loads(told))


DENIED = re.compile(
    r"You are not permitted to make this call on this surface\."
    r" Call: \w+\. Surface: [\w-]+\. Ask an administrator for a grant\."
)


def require_denied(answer: SurfaceAnswer) -> None:
    """It is told that it may not make this call on this surface, and nothing else."""
    told, general = dict(answer.body), problem(UnauthorizedError())
    detail = told.pop("detail")
    assert (answer.status, told) == (403, {k: v for k, v in general.items() if k != "detail"})
    assert DENIED.fullmatch(detail), detail


async def require_shown(
    by: As, question: Question, arguments: dict[str, Any], id: str, min_token: str
) -> None:
    """The object is answered, or its row is in the list."""
    if question.about:
        assert (await by.send(question.name, arguments)).status == 200
    else:
        # It is among the newest of all that other tests have made.
        async with aclosing(by.rows(question.name, min_token)) as rows:
            async for row in rows:
                if row[question.aggregate.id_field] == id:
                    return
        raise AssertionError(f"{question.name} does not list {id}")


async def require_hidden(
    by: As,
    principal: Principal,
    question: Question,
    arguments: dict[str, Any],
    absent: dict[str, Any],
    min_token: str,
) -> None:
    """The object is answered as one that does not exist, or the list holds only its own."""
    if question.about:
        missing = await asked_for(by, question, absent)
        assert await asked_for(by, question, arguments) == missing
        absence = question.refusals[0] if question.parent_of else question.aggregate.absent
        assert missing.body["code"] == absence.__name__
        if isinstance(question.source, One):
            assert await asked_for(by, question, {**arguments, "as_of": 1}) == missing
    else:
        rows = await by.listed(question.name, min_token)
        itself = str(principal.id)
        id_field, self_owned = question.aggregate.id_field, question.aggregate.self_owned
        is_one = self_owned and question.aggregate is not AGENTS
        assert is_one == (itself in {row[id_field] for row in rows})
        assert all(itself in (row["owner_id"], row[id_field]) for row in rows)
