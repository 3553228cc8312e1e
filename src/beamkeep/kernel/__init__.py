"""The vocabulary every context speaks. Pure: no clock, no database, no network."""

# pyright: reportUnusedImport=false

from msgspec.structs import replace

from ._aggregate import (
    INTERNAL,
    Accepted,
    Advice,
    Aggregate,
    AnyAggregate,
    AnyReader,
    Appended,
    ApprovedCommand,
    Call,
    CallReader,
    Command,
    Created,
    Enricher,
    Identified,
    Operation,
    Outcome,
    Outside,
    Preview,
    Reply,
    Route,
    Sources,
    WrittenStream,
    snake,
    unchanging,
)
from ._authorization import (
    DENIALS,
    EVERY_COMMAND,
    ActorKind,
    Allow,
    AuthzResult,
    Denial,
    DenialReason,
    Deny,
    Grant,
    ObjectScope,
    Propose,
    Sight,
    Standing,
    SurfaceKind,
    authorize,
)
from ._axis import Axis
from ._cannot import Cannot
from ._catalogue import (
    Catalogue,
    Context,
    event_types,
    events_of,
    members,
    reply_of,
    warns,
)
from ._event import Event, MayContainPersonalData, Upcast
from ._query import Fresh, Get, Listing, Order, Page, Query, UnnamedListing
from ._record import Record
from ._refusal import NOT_SHOWN, Blank, Invalid, NotFound, Refusal
from ._table import (
    CLAIMS,
    WORK,
    Claim,
    Delete,
    Fenced,
    Insert,
    Lock,
    Replace,
    Rows,
    SideWrite,
    Table,
    Upsert,
    Work,
    claim,
    claim_key,
    free,
)
from ._view import (
    ALONG,
    Answer,
    DirectoryEntry,
    Entries,
    History,
    Listed,
    Many,
    One,
    Period,
    Question,
    View,
    answers,
    entries,
    facet,
    listed,
    reads,
)
