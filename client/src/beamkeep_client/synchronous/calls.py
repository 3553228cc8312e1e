# Written from `asynchronous`; `make reference` writes it again.
"""Calls of operations and questions, with typed answers."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from beamkeep_client.answers import Answer, answered, refusals, table_of
from beamkeep_client.synchronous.events import followed
from beamkeep_client.synchronous.http import HttpClient
from beamkeep_client.synchronous.references import found
from beamkeep_client.catalogue import Entry, catalogue, request_of
from beamkeep_client.http import ATTEMPTS
from beamkeep_client.references import unresolved, with_ids
from beamkeep_client.times import with_times

if TYPE_CHECKING:
    import httpx2
    import pandas as pd
    import polars as pl

PAGE = 100


class Calls:
    """Calls the operations and questions of one service; objects may be given by their names."""

    def __init__(self, client: HttpClient) -> None:
        self.client = client

    def ask[A: Answer](self, name: str, kind: type[A], arguments: Mapping[str, object]) -> A:
        """Return the answer to a question."""
        return answered(kind, self.request(catalogue()[name], arguments))

    def items[A: Answer](
        self, name: str, kind: type[A], arguments: Mapping[str, object]
    ) -> list[A]:
        """Return the rows of a list without pages."""
        response = self.request(catalogue()[name], arguments)
        return [kind(row) for row in response.json()["items"]]

    def pages[R: Answer](
        self, name: str, kind: type[R], arguments: Mapping[str, object]
    ) -> "Pages[R]":
        """Return a list, which is fetched when it is read."""
        return Pages(self, catalogue()[name], kind, arguments)

    def follow[E: Answer](
        self, kind: type[E], arguments: Mapping[str, object]
    ) -> Iterator[E]:
        """Yield events as they happen."""
        given = with_times(catalogue()["list_events"], arguments)
        with refusals():
            for event in followed(self.client, given):
                yield kind(event)

    def command[A: Answer](
        self,
        name: str,
        kind: type[A],
        arguments: Mapping[str, object],
        *,
        dry_run: bool,
        if_match: int | None = None,
        note: str | None,
        idempotency_key: str | None,
    ) -> A:
        """Return the answer to a command; without a key of the caller, it has a key of its own."""
        response = self.request(
            catalogue()[name],
            arguments,
            dry_run=dry_run,
            if_match=if_match,
            proposal_note=note,
            idempotency_key=idempotency_key or uuid4().hex,
        )
        return answered(kind, response)

    def request(
        self, entry: Entry, arguments: Mapping[str, object], dry_run: bool = False, **options: Any
    ) -> "httpx2.Response":
        """Return the response to a call that is safe to repeat."""
        with refusals():
            given = self.identified(entry, arguments)
            method, path, content = request_of(entry, given, dry_run)
            return self.client.request(method, path, attempts=ATTEMPTS, **content, **options)

    def identified(self, entry: Entry, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Return the arguments as the service takes them, with ids in place of names."""
        given = with_times(entry, arguments)
        ids = {
            each: (found(self.client, each, ATTEMPTS))["id"]
            for each in unresolved(entry, given)
        }
        return with_ids(entry, given, ids)


class Pages[R: Answer]:
    """The rows of a list, fetched page by page while they are read."""

    def __init__(
        self, calls: Calls, entry: Entry, kind: type[R], arguments: Mapping[str, object]
    ) -> None:
        self._calls, self._entry, self._kind = calls, entry, kind
        self._arguments = {name: each for name, each in arguments.items() if each is not None}

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._arguments.items())
        return f"<{self._entry.name}({given}): rows are fetched while you iterate>"

    def __iter__(self) -> Iterator[R]:
        entry = self._entry
        with refusals():
            given = self._calls.identified(entry, {"limit": PAGE, **self._arguments})
            _, path, content = request_of(entry, given)
            for page in self._calls.client.pages(path, content["params"], entry.cursor):
                for row in page["items"]:
                    yield self._kind(row)

    def to_pandas(self) -> "pd.DataFrame":
        """Return all rows as a pandas data frame; times are timestamps in UTC."""
        from beamkeep_client.frames import pandas_frame  # noqa: PLC0415

        return pandas_frame([row for row in self], self._kind)

    def to_polars(self) -> "pl.DataFrame":
        """Return all rows as a polars data frame; times are timestamps in UTC."""
        from beamkeep_client.frames import polars_frame  # noqa: PLC0415

        return polars_frame([row for row in self], self._kind)

    def _repr_html_(self) -> str:
        # Only a notebook of the synchronous client can wait for the rows.
        asked = {"limit": PAGE, **self._arguments, "names": True}
        page = (self._calls.request(self._entry, asked)).json()
        names = {id: each["name"] for id, each in page.get("names", {}).items()}
        return table_of(self._entry.columns, page["items"], names)
