"""External ids: the DOIs of datasets and editions, who holds them, and the work of minting them."""

import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Protocol
from uuid import UUID, uuid5

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.work import WORK_STATES, WORK_TURNS, WorkTurn
from beamkeep.kernel import (
    WORK,
    Accepted,
    Call,
    Cannot,
    Command,
    Delete,
    Fenced,
    Insert,
    Invalid,
    Record,
    Refusal,
    SideWrite,
    Work,
    claim,
    free,
    replace,
)

MINTING = "external-id"
"""The kind of the durable work by which a DOI is registered or hidden."""
CLAIMED = "external-id"
"""The scope of the claims by which one DOI names one object."""
END_OF_TIME = datetime.max.replace(tzinfo=UTC)
DOI = re.compile(r"10\.[0-9]{4,9}/\S+")


class ExternalIdState(StrEnum):
    PENDING = "Pending"
    FINDABLE = "Findable"
    HIDDEN = "Hidden"


class DoiNamespace(StrEnum):
    DOI = "doi"


class ExternalIdMinterUnavailableError(Refusal, status=503):
    """The deployment has no registry of DOIs; assign a DOI that was registered elsewhere."""


class Citable(Protocol):
    """A dataset or an edition, of which a DOI may be registered."""

    @property
    def id(self) -> UUID: ...
    @property
    def external_id(self) -> str | None: ...
    @property
    def external_id_state(self) -> ExternalIdState | None: ...
    @property
    def pending_external_id(self) -> str | None: ...


type DoiText = Annotated[str, MinLen(1), MaxLen(200)]


class MintedId(Accepted):
    """The DOI that is being registered."""

    external_id: str


class IdentifierWork(Record):
    """What is known of the minting of one object."""

    prefix: str | None
    """The prefix of the DOIs that this deployment registers, if it registers any."""
    has_row: bool
    """Whether the object already has a row of work."""

    def doi(self, id: UUID) -> str:
        """Return the DOI of an object. Raise ExternalIdMinterUnavailableError without a prefix."""
        if self.prefix is None:
            raise ExternalIdMinterUnavailableError
        return f"{self.prefix}/{id}"

    def begun(self, id: UUID, call: Call) -> SideWrite:
        """Return the row of work; an object has one, which is offered again each time."""
        work_id = work_id_of(id)
        if self.has_row:
            return WORK_TURNS.replace(WorkTurn(work_id, ended_at=None, due_at=call.now))
        return WORK.insert(Work(work_id, MINTING, id))

    def settled(self, id: UUID, call: Call) -> list[SideWrite]:
        """Return the end of work that was left to people, now that a person has settled it."""
        if not self.has_row:
            return []
        turn = WorkTurn(work_id_of(id), ended_at=call.now, due_at=call.now)
        return [WORK_TURNS.replace(turn)]

    def is_own(self, doi: str) -> bool:
        """Return whether this deployment can change the DOI at its registry."""
        return self.prefix is not None and doi.startswith(f"{self.prefix}/")


class SettleExternalId(Command):
    """What a worker reports of one claim of the work."""

    claim: int
    owner: UUID
    status: int | None = None
    """The status of the registry's answer, if it refused for good."""

    def fence(self, id: UUID) -> Fenced:
        """Return the condition under which the worker may write."""
        ends = self.status is None
        return Fenced(work_id_of(id), self.claim, self.owner, ends=ends)


def work_id_of(id: UUID) -> UUID:
    """Return the id of the row of work of one dataset or edition."""
    return uuid5(id, MINTING)


async def identifier_work(id: UUID, read: Reader) -> IdentifierWork:
    """Return what is known of the minting of one object."""
    rows = await read.rows(WORK_STATES, work_id=work_id_of(id))
    return IdentifierWork(read.facts.doi_prefix, bool(rows))


def require_doi(given: str, refusal: type[Invalid]) -> str:
    """Return a DOI in lower case; raise the refusal when the text is none."""
    if not DOI.fullmatch(given) or not given.isprintable():
        raise refusal(f"The value is {given[:200]!r}.")
    return given.lower()


def claim_doi(doi: str, holder: UUID, loser: type[Cannot]) -> Insert:
    """Return the claim of a DOI for one object."""
    return claim(CLAIMED, DoiNamespace.DOI, doi, holder=holder, loser=loser)


def free_doi(doi: str) -> Delete:
    """Return the end of a claim of a DOI."""
    return free(CLAIMED, DoiNamespace.DOI, doi)


def claims_of(citable: Citable, loser: type[Cannot]) -> tuple[Insert, ...]:
    """Return the claim of the DOI that an object has or waits for."""
    doi = citable.external_id or citable.pending_external_id
    return (claim_doi(doi, citable.id, loser),) if doi else ()


def require_nameless(citable: Citable, refusal: type[Cannot]) -> None:
    """Raise the refusal when an object has a DOI or waits for one."""
    if citable.external_id_state is ExternalIdState.PENDING:
        raise refusal("One is being registered.")
    if citable.external_id:
        raise refusal(f"It has {citable.external_id}.")


def require_findable(citable: Citable, refusal: type[Cannot]) -> str:
    """Return the DOI of an object; raise the refusal when it cannot be found by its DOI."""
    if citable.external_id is None or citable.external_id_state is not ExternalIdState.FINDABLE:
        raise refusal(f"The state of the identifier is {citable.external_id_state or 'none'}.")
    return citable.external_id


def requested[C: Record](citable: C, doi: str) -> C:
    """Return an object that waits for a DOI."""
    state = ExternalIdState.PENDING
    return replace(citable, external_id_state=state, pending_external_id=doi)


def refused[C: Record](citable: C) -> C:
    """Return an object whose DOI was not registered."""
    return replace(citable, external_id_state=None, pending_external_id=None)


def assigned[C: Record](citable: C, doi: str, namespace: DoiNamespace) -> C:
    """Return an object that can be found by its DOI."""
    named = replace(citable, external_id=doi, external_id_namespace=namespace)
    return replace(named, external_id_state=ExternalIdState.FINDABLE, pending_external_id=None)


def hidden[C: Record](citable: C) -> C:
    """Return an object whose DOI is hidden from search."""
    return replace(citable, external_id_state=ExternalIdState.HIDDEN)
