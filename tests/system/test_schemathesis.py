"""The service keeps every promise of its own OpenAPI document, whatever it is sent."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from math import ceil
from typing import Any, cast

import httpx2
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis import checks as general
from schemathesis.specs.openapi import checks as openapi
from tests.faults.report import asked, size
from tests.support.examples import EXAMPLES
from tests.system.calling import As, callers

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import SurfaceKind
from beamkeep.testing.calling import Rest
from beamkeep.testing.server import ADMINISTRATOR, Server
from beamkeep.testing.service import CALLERS

pytestmark = pytest.mark.faults

# A slow machine sends fewer once the seconds are over, but each operation gets some.
REQUESTS, FEWEST_REQUESTS, SECONDS = asked("REQUESTS", 5000), 1000, 120.0
DOCUMENT_SECONDS = 120.0
"""The first request makes the document, which takes long on a machine with other work."""
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
# Its types are left half open, so its operations and cases are Any here.
GENERAL: Any = general
OPENAPI: Any = openapi
CHECKS = [
    GENERAL.not_a_server_error,
    OPENAPI.status_code_conformance,
    OPENAPI.content_type_conformance,
    OPENAPI.response_headers_conformance,
    OPENAPI.response_schema_conformance,
]
# Without these nearly every call would be turned away at the door.
AT_THE_DOOR = {"X-Surface-Id": str(seeded.SURFACES[SurfaceKind.HTTP]), "If-Match": "*"}
# A mode may have fewer cases than asked for, so a few more are asked for.
EACH = ceil(REQUESTS * 1.04 / (len(CATALOGUE.named) * len(MODES) * 2))
AT_LEAST = ceil(FEWEST_REQUESTS * 1.1 / (len(CATALOGUE.named) * len(MODES) * 2))


class Tried:
    """How often each operation answered with each status."""

    def __init__(self) -> None:
        self.by_status: Counter[int] = Counter()
        self.succeeded: set[str] = set()
        self.refused: set[str] = set()
        self._until = time.monotonic() + size("REQUESTS", REQUESTS, SECONDS)[1]

    def is_late(self) -> bool:
        """Whether the time for all requests is over."""
        return time.monotonic() > self._until

    def add(self, name: str, status: int) -> None:
        self.by_status[status] += 1
        (self.succeeded if status < 300 else self.refused).add(name)


def test_no_request_made_from_the_document_or_against_it_breaks_a_promise_of_the_document(
    server: Server, capsys: pytest.CaptureFixture[str]
):
    schema: Any = schemathesis.openapi.from_url(
        f"{server.url}/openapi.json", timeout=DOCUMENT_SECONDS
    )
    examples = asyncio.run(made(server))
    tried = Tried()
    with requests.Session() as session:
        try:
            for operation in described(schema):
                subject = CALLERS.get(name_of(operation), ADMINISTRATOR)
                session.headers["Authorization"] = f"Bearer {server.token(subject)}"
                known = examples[name_of(operation)]
                for mode in MODES:
                    attempt(operation, mode, {}, {}, session, tried)
                    attempt(operation, mode, known, AT_THE_DOOR, session, tried)
        except Exception as error:
            error.add_note(server.log.read_text()[-4000:])
            raise
    with capsys.disabled():
        print(f"\n{tried.by_status.total()} requests, {dict(sorted(tried.by_status.items()))}")
    assert tried.by_status.total() >= (FEWEST_REQUESTS if tried.is_late() else REQUESTS)
    assert tried.succeeded == tried.refused == CATALOGUE.named.keys()


def described(schema: Any) -> Iterator[Any]:
    """Every operation of the document, which holds all of the catalogue."""
    found = [each.ok() for each in schema.get_all_operations()]
    assert {name_of(operation) for operation in found} == CATALOGUE.named.keys()
    yield from found


def name_of(operation: Any) -> str:
    """The name of an operation in the catalogue."""
    return operation.definition.raw["operationId"]


async def made(server: Server) -> dict[str, dict[str, Any]]:
    """Arguments with which each operation would succeed."""
    async with httpx2.AsyncClient(base_url=server.url) as http:
        admin = As(Rest(http), server.admin)
        admin = As(admin.calling, admin.token, await callers(server, admin))
        return {name: await example(admin) for name, example in EXAMPLES.items()}


def attempt(
    operation: Any,
    mode: GenerationMode,
    known: dict[str, Any],
    headers: dict[str, str],
    session: requests.Session,
    tried: Tried,
) -> None:
    """Send one operation many requests; those that may be good name things that exist."""
    called = name_of(operation)
    fields = CATALOGUE.named[called].route.fields
    path = {name: value for name, value in known.items() if name in fields}
    rest = {name: value for name, value in known.items() if name not in fields}
    strategy = operation.as_strategy(
        generation_mode=mode, path_parameters=path or None, headers=headers or None
    )

    @settings(
        max_examples=AT_LEAST if tried.is_late() else EACH,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(case=strategy)
    def send(case: Any) -> None:
        if known and mode is GenerationMode.POSITIVE:
            # Each succeeds once, however few are sent.
            exactly = called not in tried.succeeded or tried.by_status.total() % 3 == 0
            refer(case, rest, exactly)
        response = case.call(session=session)
        tried.add(called, response.status_code)
        case.validate_response(response, checks=CHECKS)

    try:
        send()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE


def refer(case: Any, known: dict[str, Any], exactly: bool) -> None:
    """Let a generated request refer to things that exist, or say exactly what is known to work."""
    if exactly and known and case.method == "POST":
        case.body, case.query = known, {}
    elif exactly and known:
        case.query = known
    for container in (case.body, case.query):
        if isinstance(container, dict):
            members = cast("dict[str, Any]", container)
            for name in members.keys() & known.keys():
                if name.endswith(("_id", "_ids")):
                    members[name] = known[name]
