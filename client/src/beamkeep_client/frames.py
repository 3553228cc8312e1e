"""Lists of answers as data frames of pandas or polars."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .answers import Answer

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def pandas_frame(rows: Sequence[Answer], kind: type[Answer]) -> "pd.DataFrame":
    """Return rows as a data frame that has the columns of their kind, even without rows."""
    import pandas as pd  # noqa: PLC0415

    frame = pd.DataFrame([dict(row) for row in rows], columns=_columns(rows, kind))
    times = [name for name, type in _types(kind).items() if type == "Time"]
    meant = {name: pd.to_datetime(frame[name], utc=True, format="ISO8601") for name in times}
    return frame.assign(**meant)


def polars_frame(rows: Sequence[Answer], kind: type[Answer]) -> "pl.DataFrame":
    """Return rows as a data frame that has the columns of their kind, even without rows."""
    import polars as pl  # noqa: PLC0415

    known: Mapping[str, Any] = {
        "Time": pl.Datetime("us", "UTC"),
        "bool": pl.Boolean,
        "float": pl.Float64,
        "int": pl.Int64,
        "str": pl.String,
    }
    types = _types(kind)

    def column(name: str) -> pl.Series:
        declared = types.get(name, "")
        values = [_cell(row.get(name), is_time=declared == "Time") for row in rows]
        try:
            return pl.Series(name, values, dtype=known.get(declared), strict=declared in known)
        except TypeError:
            # A newer service answers another type. Numbers and texts together become texts.
            return pl.Series(name, values, strict=False)

    return pl.DataFrame([column(name) for name in _columns(rows, kind)])


def _cell(value: Any, is_time: bool) -> Any:
    return datetime.fromisoformat(value) if is_time and value else value


def _columns(rows: Sequence[Answer], kind: type[Answer]) -> list[str]:
    """Return the fields of a kind, and those that only a newer service has."""
    return [*dict.fromkeys([*_types(kind), *(name for row in rows for name in row)])]


def _types(kind: type[Answer]) -> dict[str, str]:
    """Return the declared type of each field that has one type, apart from None."""
    declared = {name: str(type) for name, type in kind.__annotations__.items()}
    plain = {name: type.removesuffix(" | None") for name, type in declared.items()}
    return {name: "str" if type.startswith("Literal[") else type for name, type in plain.items()}
