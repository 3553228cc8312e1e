"""What options of the command line accept besides the types of Click."""

import json
from typing import Any

import click

from .times import FORMS, time_of


class JsonParameter(click.ParamType[Any]):
    """A parameter written as JSON; with `or_text`, what is not JSON is taken as a string."""

    name = "json"

    def __init__(self, or_text: bool = False) -> None:
        self._or_text = or_text

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            return value if self._or_text else self.fail("The value is not JSON.", param, ctx)


class TimeParameter(click.ParamType[str]):
    """A time, sent as the service reads it."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        meant = time_of(str(value))
        return meant.isoformat() if meant else self.fail(f"Write a time as {FORMS}.", param, ctx)
