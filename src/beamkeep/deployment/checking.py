"""What `check` finds wrong with a deployment, in addition to what its record says."""

import difflib
import os
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple

import httpx2

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.fence import faults
from beamkeep.adapters.postgres.heartbeats import PostgresHeartbeats
from beamkeep.adapters.postgres.ledger import ledger
from beamkeep.adapters.postgres.probing import APP, PROJECTOR, READER, WITNESS, Trial, probe
from beamkeep.contexts.trust.administrators import administrators
from beamkeep.workers.auditing import differences
from beamkeep.workers.heartbeats import PROJECTOR as PROJECTING
from beamkeep.workers.heartbeats import silent_workers
from beamkeep.workers.staleness import REF

from .composition import Deployment
from .parts import wirings
from .settings import ServerSettings, Settings
from .web import verifier

CLOSE = 0.85
"""How similar a name must be to that of a setting to be taken for a misspelled one."""
OTHERS = frozenset(
    {
        *("BEAMKEEP_URL", "BEAMKEEP_TOKEN", "BEAMKEEP_PROFILE", "BEAMKEEP_HOST_NAME"),
        *("BEAMKEEP_CONSOLE", "HOSTNAME"),
    }
)
"""Names of other programs, and of other parts of Beamkeep."""
HAS_BEGUN = "SELECT EXISTS (SELECT FROM bk.events)"
NO_ADMINISTRATOR = (
    "No administrator can log in at a provider in IDENTITY_PROVIDERS. Set BOOTSTRAP_ADMIN_ISSUER,"
    " BOOTSTRAP_ADMIN_SUBJECT and BOOTSTRAP_ADMIN_NAME to a login that works, and restart `serve`."
)
WORK = "Check that `beamkeep work` runs."


class DeploymentFault(NamedTuple):
    """What keeps a deployment from its work."""

    text: str
    hides_record: bool = False
    """Whether the record cannot be read before it is mended."""


async def deployment_faults(settings: ServerSettings) -> AsyncGenerator[DeploymentFault]:
    """Yield everything that keeps the deployment from its work."""
    for each in unknown_settings([*os.environ, *_names(Path(".env"))]):
        yield DeploymentFault(each)
    is_fit = True
    for name, url in settings.database_urls.items():
        for each in await faults(url.get_secret_value()):
            is_fit = False
            yield DeploymentFault(f"{name}: {each}", hides_record=True)
    # A database with faults may have no tables to try.
    for name, (url, trials) in _roles(settings).items() if is_fit else ():
        for each in await probe(url, trials):
            hides_record = name in settings.database_urls
            is_fit = is_fit and not hides_record
            yield DeploymentFault(f"{name}: {each}", hides_record)
    async for each in _outside_faults(settings):
        yield DeploymentFault(each)
    if is_fit:
        async for each in _running_faults(settings):
            yield DeploymentFault(each)


async def record_faults(settings: ServerSettings) -> AsyncGenerator[str]:
    """Yield what contradicts itself in the record."""
    async with ledger(settings.database_url.get_secret_value()) as opened:
        async for each in differences(opened):
            yield each
    for wiring in wirings():
        if wiring.record_checks:
            async for each in wiring.record_checks(settings):
                yield each


async def _outside_faults(settings: ServerSettings) -> AsyncGenerator[str]:
    """Yield what is wrong with identity providers, and what keeps parts from their work."""
    async with httpx2.AsyncClient() as http:
        for each in await verifier(settings, http).faults():
            yield f"IDENTITY_PROVIDERS: {each}"
    for wiring in wirings():
        if wiring.checks:
            async for each in wiring.checks(settings):
                yield each


def unknown_settings(names: Iterable[str]) -> Iterator[str]:
    """Yield a sentence about each name that resembles that of a setting and is none."""
    known = {name.upper() for name in Settings.model_fields} | OTHERS
    for name in dict.fromkeys(each.upper() for each in names):
        close = difflib.get_close_matches(name, known - OTHERS, n=1, cutoff=CLOSE)
        if close and name not in known:
            yield f"{name} is not a setting, and has no effect. Did you mean {close[0]}?"


def _names(file: Path) -> list[str]:
    """Return the names that a file of settings has."""
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError):
        return []
    lines = [line.strip().removeprefix("export ") for line in text.splitlines()]
    return [line.partition("=")[0].strip() for line in lines if "=" in line and line[0] != "#"]


def _roles(settings: ServerSettings) -> dict[str, tuple[str, Sequence[Trial]]]:
    projecting = settings.projector_database_url
    if projecting is None and settings.project_in_serve:
        projecting = settings.database_url
    by_name = {
        "DATABASE_URL": (settings.database_url, APP),
        "PROJECTOR_DATABASE_URL": (projecting, PROJECTOR),
        "WITNESS_DATABASE_URL": (settings.witness_database_url, WITNESS),
        "READER_DATABASE_URL": (settings.reader_database_url, READER),
    }
    return {
        name: (url.get_secret_value(), trials) for name, (url, trials) in by_name.items() if url
    }


async def _running_faults(settings: ServerSettings) -> AsyncGenerator[str]:
    """Yield what is missing in a deployment that has been started before."""
    deployment = Deployment(settings)
    connections = Connections(settings.database_url.get_secret_value(), 1)
    try:
        if not (await connections.read(HAS_BEGUN))[0][0]:
            return
        if not await administrators(await deployment.reading()):
            yield NO_ADMINISTRATOR
        ages = {PROJECTING: inf} | dict(await PostgresHeartbeats(connections, REF).ages())
        if problem := silent_workers(ages, WORK):
            yield problem
    finally:
        await connections.close()
        await deployment.close()
