"""The path that every question takes."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Protocol, get_type_hints
from uuid import UUID

import msgspec

from beamkeep import kernel
from beamkeep.kernel import Enricher, Query, Question, Record, Refusal, View, replace

from .admission import Admission, Caller, CallTarget, Request
from .codec import Codec, encode, shown
from .cursors import Cursors
from .evidence import EvidenceKeeper
from .filters import filter_for, holds
from .parsing import MalformedRequestError, parse, parse_id
from .session import Session
from .store import (
    CallContext,
    EventStore,
    ListPage,
    LoadedStream,
    Position,
    ReadModel,
    RowQuery,
    Stream,
)

FRESHNESS_DEADLINE = 1.0
FRESHNESS_STEP = 0.02
MOST_COUNTED, MOST_NAMED = 10_000, 1_000
ID_TEXT = re.compile(rb'"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"')
# Eighteen digits are what a 64-bit integer always holds.
POSITION_TOKEN = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")


class NotFreshYetError(Refusal, status=503, retry_after=1):
    """The list has not yet caught up with the position asked for."""


class Found(Record):
    """The answer to a question; its body is JSON."""

    body: bytes
    version: int | None = None
    seen: Sequence[tuple[str, UUID, int]] | None = None
    """The objects that the answer shows (default: those that were read for it)."""
    basis: object = None
    """The part of the answer that can be read again later (default: none)."""
    after: int | None = None
    """The version after which a history is shown."""


class NameLookup(Protocol):
    """Names objects."""

    async def named(self, ids: Iterable[UUID], read: Session) -> Mapping[UUID, Record]:
        """Return the names of those of the objects that the caller may see."""
        ...


class QueryRunner:
    """Answers questions."""

    def __init__(
        self,
        admission: Admission,
        store: EventStore,
        lists: ReadModel,
        codec: Codec,
        sessions: Callable[[], Session],
        cursors: Cursors,
        views: Sequence[View[Any]],
        evidence: EvidenceKeeper,
        names: NameLookup | None = None,
        previews: Callable[[Caller, UUID], Awaitable[kernel.Preview]] | None = None,
        is_stale: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._is_stale = is_stale
        self._names, self._views = names, views
        self._previews, self._evidence = previews, evidence
        self._admission, self._store, self._lists = admission, store, lists
        self._codec, self._sessions, self._cursors = codec, sessions, cursors

    async def ask(self, question: Question, request: Request) -> Found:
        """Return the answer to one question."""
        # 1-3. Who, where, may it.
        about = parse_id(request.arguments, question.about) if question.about else None
        stream = (question.aggregate.name, about) if about and not question.parent_of else None
        # What was once is folded from the first event.
        past = not isinstance(request.arguments, Refusal) and "as_of" in request.arguments
        target = CallTarget(stream, None if past else self._codec.folds[question.aggregate.name])
        admitted = await self._admission.admit(question.name, request.caller, target)
        if isinstance(request.arguments, Refusal):
            raise request.arguments
        query = self._parse(question, request.arguments, about)

        # 4. What it is about must be there, and be theirs to see.
        permits = partial(self._admission.reach, request.caller)
        session = self._sessions().read_for(admitted.standing.principal_id, admitted.scope, permits)
        session.surface_id = admitted.place.surface_id
        session.caller_proposes = partial(self._admission.proposes, request.caller)
        session.previews = self._previews and partial(self._previews, request.caller)
        session.token_ends_at = request.caller.token_ends_at
        if question.parent_of and about:
            about = await question.parent_of(about, session)
            stream = question.aggregate.name, about
            target = target._replace(stream=stream)
            admitted = await self._admission.admit(question.name, request.caller, target)
        opened = admitted.opened
        if not admitted.sees(opened.owner_id, question.aggregate.self_owned, about):
            if question.parent_of:
                raise question.refusals[0]  # as for a part that does not exist
            opened = replace(opened, loaded=LoadedStream())
        asked = _Asked(question, query, session=session, opened=opened, about=about)
        if question.about and not isinstance(question.source, kernel.One):
            await session.adopt(question.aggregate, about, opened.loaded)

        # 5. Find, and name what was found.
        if isinstance(query, kernel.Fresh) and query.min_token is not None:
            await self._wait_until(question, query.min_token)
        found = await self._find(asked)
        if query.names:
            found = await self._with_names(found, session)

        # 6. What an agent is shown is on record before it is shown.
        if admitted.standing.kind is kernel.ActorKind.AGENT:
            await self._keep(asked, found, request)
        # This is no part of the evidence: the same rows are read again later without it.
        if isinstance(source := question.source, kernel.Many) and self._is_stale(source.view.name):
            found = replace(found, body=b'%b,"stale":true}' % found.body[:-1])
        return found

    async def _keep(self, asked: "_Asked", found: Found, request: Request) -> None:
        session, question, after = asked.session, asked.question, {"after": found.after}
        read = [(*stream, version) for stream, version in session.versions.items()]
        given = asked.query.model_dump(mode="json", by_alias=True, exclude_unset=True)
        assert not isinstance(request.arguments, Refusal), "it was parsed"  # noqa: S101
        path = {field: request.arguments[field] for field in question.route.fields}
        await self._evidence.keep(
            question.name,
            found.body if found.basis is None else found.basis,
            [*read, *session.seen] if found.seen is None else found.seen,
            agent_id=asked.principal_id,
            surface_id=session.surface_id,
            correlation_id=request.caller.correlation_id,
            arguments=path | given | (after if found.after is not None else {}),
        )

    async def _find(self, asked: "_Asked") -> Found:
        query, session = asked.query, asked.session
        match asked.question.source:
            case kernel.One() as one:
                return await self._one(asked, one)
            case kernel.History():
                return await self._history(asked)
            case kernel.Many(view, joined):
                return await self._many(asked, view, joined)
            case kernel.Entries() as entries:
                return await self._entries(asked, entries)
            case kernel.Answer(find):
                return Found(encode(await find(query, session)))
            case kernel.Listed(find):
                at = query.model_copy(update={"cursor": self._place(asked)})
                return self._listed(asked, await find(at, session))

    async def _with_names(self, found: Found, session: Session) -> Found:
        """Return an answer with the names of the objects whose ids are in it."""
        assert self._names, "a service has a directory"  # noqa: S101
        ids = [UUID(text.decode()) for text in dict.fromkeys(ID_TEXT.findall(found.body))]
        named = await self._names.named(ids[:MOST_NAMED], session)
        names = encode({str(id): name for id, name in named.items()})
        more = encode(len(ids) > MOST_NAMED)
        body = b'%b,"names":%b,"names_more":%b}' % (found.body[:-1], names, more)
        return replace(found, body=body)

    def _parse(self, question: Question, arguments: Mapping[str, Any], about: UUID | None) -> Query:
        own, known = dict(arguments), question.query.model_fields
        for field in question.route.fields:
            if field not in known:
                own.pop(field, None)
                if (about if field == question.about else parse_id(arguments, field)) is None:
                    raise MalformedRequestError(f"{field}: it is not a UUID.")
        return parse(question.query, own)

    async def _one(self, asked: "_Asked", source: kernel.One) -> Found:
        assert isinstance(asked.query, kernel.Get)  # noqa: S101
        of, stream, as_of = asked.question.aggregate, asked.stream, asked.query.as_of
        session, id = asked.session, stream[1]
        if as_of is None:
            state = await session.adopt(of, id, asked.opened.loaded)
            version = session.versions[stream]
        else:
            state, version = await session.at(of, id, as_of, asked.opened.loaded)
        folded = shown(of, state, asked.opened.owner_id)
        answer = dict(folded)
        session.shows_past = as_of is not None
        if joined := source.enricher:
            answer |= msgspec.to_builtins((await joined([state.id], session))[state.id])
        if period := source.period:
            answer[period.name] = period.holds_of(state, await self._moment(asked, as_of))
        seen = [(*stream, version)]
        return Found(encode(answer), version, seen=seen, basis=folded)

    async def _moment(self, asked: "_Asked", as_of: int | datetime | None) -> datetime:
        """Return the time as of which an object is shown; for a version, that of its event."""
        if not isinstance(as_of, int):
            return as_of or asked.session.now
        (then,) = await self._store.history(asked.stream, as_of - 1, 1)
        (event,) = self._codec.decode(asked.stream[0], [then.recorded])
        return event.occurred_at

    async def _history(self, asked: "_Asked") -> Found:
        limit, after = asked.page.limit, int(self._place(asked) or 0)
        found = await self._store.history(asked.stream, after, limit + 1)
        items = found[:limit]
        last = str(items[-1].version) if len(found) > limit else None
        page = self._page(asked, [encode(envelope) for envelope in items], last)
        seen = [(*asked.stream, items[-1].version if items else after)]
        return replace(page, seen=seen, basis=items, after=after)

    async def _many(self, asked: "_Asked", view: View[Any], joined: Enricher | None) -> Found:
        page, session = asked.page, asked.session
        assert isinstance(page, kernel.UnnamedListing)  # noqa: S101
        after = UUID(place) if (place := self._place(asked)) else None
        list_filter = await filter_for(view, page, session)
        newest = page.order is kernel.Order.NEWEST
        wanted = ListPage(page.limit + 1, after, newest)
        found = await self._lists.listing(view, list_filter, session.sight, wanted)
        items = found[: page.limit]
        rows, ids = [each.row for each in items], [each.id for each in items]
        if (joined or view.period) and items:
            added: Mapping[UUID, Any] = await joined(ids, session) if joined else {}
            now, shown = session.now, [msgspec.json.decode(row) for row in rows]
            for id, row in zip(ids, shown, strict=True):
                row.update(msgspec.to_builtins(added.get(id, {})))
                if view.period:
                    row[view.period.name] = holds(view.period, row, now)
            rows = [encode(row) for row in shown]
        answer = self._page(asked, rows, str(ids[-1]) if len(found) > page.limit else None)
        seen = [(view.aggregate.name, each.id, each.version) for each in items]
        answer = replace(answer, seen=seen)
        if not page.count:
            return answer
        counted = ListPage(MOST_COUNTED + 1, ids_only=True)
        total = len(await self._lists.listing(view, list_filter, session.sight, counted))
        shown_total = f"{MOST_COUNTED}+" if total > MOST_COUNTED else total
        return replace(answer, body=b'%b,"total":%b}' % (answer.body[:-1], encode(shown_total)))

    async def _entries(self, asked: "_Asked", entries: kernel.Entries) -> Found:
        page, table, place = asked.page, entries.table, self._place(asked)
        fields = type(page).model_fields.keys() - kernel.Page.model_fields.keys()
        given = {n: v for n in fields if (v := getattr(page, n)) is not None}
        concealed = [column for column, n in entries.hidden.items() if not given.pop(n, False)]
        compared = [(*how, given.pop(n)) for n, how in entries.compared.items() if n in given]
        where = {**given, asked.question.aggregate.id_field: asked.about}
        by, hints = entries.by or table.key[:1], get_type_hints(table.row)
        last = msgspec.json.decode(place) if place else ()
        after = tuple(msgspec.convert(v, hints[c]) for v, c in zip(last, by, strict=False))
        wanted = RowQuery(where, tuple(compared), by, newest_first=not entries.by, after=after)
        found = await self._store.entries(table, wanted, page.limit + 1)
        items = [replace(row, **dict.fromkeys(concealed)) for row in found[: page.limit]]
        more = len(found) > page.limit
        last = encode([getattr(items[-1], column) for column in by]).decode() if more else None
        return self._page(asked, [encode(row) for row in items], last)

    def _listed(self, asked: "_Asked", found: Sequence[Any]) -> Found:
        place, limit = self._place(asked), asked.page.limit
        names = [str(getattr(row, row.__struct_fields__[0])) for row in found]
        begin = names.index(place) + 1 if place in names else 0
        items = found[begin : begin + limit]
        last = names[begin + limit - 1] if begin + limit < len(found) else None
        return self._page(asked, [encode(row) for row in items], last)

    def _place(self, asked: "_Asked") -> str | None:
        cursor = asked.page.cursor
        if cursor is None:
            return None
        return self._cursors.read(cursor, asked.principal_id, asked.question.name, asked.filters)

    def _page(self, asked: "_Asked", rows: Sequence[bytes], last: str | None) -> Found:
        asker, name = asked.principal_id, asked.question.name
        cursor = last and self._cursors.write(last, asker, name, asked.filters)
        return Found(b'{"items":[%b],"next_cursor":%b}' % (b",".join(rows), encode(cursor)))

    async def _wait_until(self, question: Question, token: str) -> None:
        """Wait until lists include a position. Raise NotFreshYetError after a second."""
        # What a function answers may come from any list.
        source = question.source
        views = [source.view] if isinstance(source, kernel.Many) else self._views
        wanted = parse_position(token)
        clock = asyncio.get_running_loop().time
        deadline = clock() + FRESHNESS_DEADLINE
        while not await self._lists.follows(views, wanted):
            if clock() > deadline:
                raise NotFreshYetError
            await asyncio.sleep(FRESHNESS_STEP)


class _Asked(Record):
    question: Question
    query: Query
    session: Session
    opened: CallContext
    about: UUID | None

    @property
    def principal_id(self) -> UUID:
        assert self.session.principal_id is not None, "it reads for the caller"  # noqa: S101
        return self.session.principal_id

    @property
    def stream(self) -> Stream:
        assert self.about is not None, "its path names it"  # noqa: S101
        return self.question.aggregate.name, self.about

    @property
    def page(self) -> kernel.Page:
        assert isinstance(self.query, kernel.Page)  # noqa: S101
        return self.query

    @property
    def filters(self) -> dict[str, Any]:
        """The filters of the query, and the object in the path."""
        # Sets stay sets: as lists they would be in another order in another process.
        given = self.query.model_dump(exclude={"count", "cursor", "limit", "min_token", "names"})
        return given | ({"": str(self.about)} if self.about else {})


def parse_position(token: str) -> Position:
    """Return the position of a token. Raise MalformedRequestError when it is not a token."""
    found = POSITION_TOKEN.fullmatch(token)
    if found is None:
        raise MalformedRequestError("min_token: it is not a Position-Token.")
    return Position(int(found[1]), int(found[2]))
