"""Requests to read: one object, a page, a list with its filters."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import Ge, Le, MaxLen
from pydantic import BaseModel, ConfigDict, field_validator

from .values import Timestamp

DECLARED = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, defer_build=True)


class Query(BaseModel):
    """A request to read something. It writes nothing."""

    model_config = DECLARED

    names: bool = False
    """Answer as `names` also the names of the objects in the answer, by id."""


class Fresh(Query):
    """A request to read what lists show, which may lag behind the log."""

    min_token: Annotated[str, MaxLen(64)] | None = None
    """The `Position-Token` of an answer. This answer includes that change."""


class Get(Query):
    as_of: Annotated[int, Ge(1)] | Timestamp | None = None
    """Return the object as it was at this version or time."""


class Page(Query):
    cursor: Annotated[str, MaxLen(500)] | None = None
    """The `next_cursor` of the page before."""
    limit: Annotated[int, Ge(1), Le(100)] = 50


class Order(StrEnum):
    NEWEST = "newest"
    OLDEST = "oldest"


class UnnamedListing(Page, Fresh):
    """A list. Each further field is a filter; objects are listed that equal every one given."""

    order: Order = Order.NEWEST
    """Which objects come first: the newest or the oldest."""
    owner_id: UUID | None = None
    """Only objects that this principal created."""
    created_after: Timestamp | None = None
    """Only objects created at this time or later."""
    created_before: Timestamp | None = None
    """Only objects created before this time."""
    count: bool = False
    """Answer the `total` number of objects as well, up to 10,000."""

    # Clients that name one status give a text; several are given as a list.
    @field_validator("status", "permit_status", "current_status", mode="before", check_fields=False)
    @classmethod
    def _as_several(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value


class Listing(UnnamedListing):
    """A list of objects that have a name."""

    name: Annotated[str, MaxLen(200)] | None = None
    """Only objects of this name; case and accents do not count."""
