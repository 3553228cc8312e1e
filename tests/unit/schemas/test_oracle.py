"""Our validator against another implementation of Draft 2020-12."""

from random import Random
from typing import Any, cast

from jsonschema import Draft202012Validator
from tests.support.schemas import any_schema, near_object

from beamkeep.kernel import Invalid
from beamkeep.schemas import declare
from beamkeep.schemas.validating import violation


class InvalidSchemaError(Invalid):
    """The schema must be one of the supported subset."""


type Node = dict[str, Any]


def shut(node: Any) -> Any:
    """The node with every level that has properties closed, as the page says."""
    if not isinstance(node, dict):
        return node
    inner: dict[str, Any] = {name: shut(value) for name, value in cast("Node", node).items()}
    return {**inner, "additionalProperties": False} if "properties" in node else inner


def test_two_validators_agree_on_two_thousand_pairs():
    rng, verdicts = Random(12), [0, 0]  # noqa: S311
    for _ in range(2_000):
        declared = any_schema(rng)
        assert declare(declared, InvalidSchemaError) is declared
        value = near_object(rng, declared)
        ours = violation(value, declared) is None
        theirs = not list(Draft202012Validator(shut(declared)).iter_errors(value))  # pyright: ignore[reportUnknownMemberType]
        assert ours == theirs, (value, declared)
        verdicts[ours] += 1
    assert min(verdicts) >= 400, verdicts
