"""What must hold of every operation and every question that the contexts declare."""

import re
from collections.abc import Callable
from inspect import signature
from typing import get_type_hints

from beamkeep.contexts import OPERATIONS, QUESTIONS
from beamkeep.kernel import INTERNAL, Many, Operation, Question

ROUTE = re.compile(rf"(POST|GET) (/[a-z0-9-]+|/\{{[a-z_]+\}})+|{INTERNAL}.*")
ROWS: tuple[Operation | Question, ...] = (*OPERATIONS, *QUESTIONS)


def breaking[R: Operation | Question](rows: tuple[R, ...], rule: Callable[[R], bool]) -> list[str]:
    return [row.name for row in rows if not rule(row)]


def test_a_route_is_a_method_and_a_path_in_kebab_case():
    assert breaking(ROWS, lambda row: ROUTE.fullmatch(str(row.route)) is not None) == []


def test_a_refusal_ends_in_error_and_says_why():
    refusals = {refusal for row in ROWS for refusal in row.refusals}
    assert {r for r in refusals if not (r.__name__.endswith("Error") and r.__doc__)} == set()


def test_a_path_names_fields_of_its_command():
    def sound(row: Operation) -> bool:
        return row.command.model_fields.keys() >= {*row.route.fields}

    assert breaking(OPERATIONS, sound) == []


def test_a_change_names_its_target_and_a_creation_does_not():
    def sound(row: Operation) -> bool:
        fields = row.command.model_fields if row.route.is_internal else row.route.fields
        return (row.aggregate.id_field in fields) is not row.genesis

    assert breaking(OPERATIONS, sound) == []


def test_a_command_is_named_like_its_rule():
    def sound(row: Operation) -> bool:
        name = row.command.__name__
        words = "".join(word.capitalize() for word in row.name.split("_"))
        return words in {name, name.replace(row.aggregate.name, "", 1)}

    assert breaking(OPERATIONS, sound) == []


def test_a_rule_takes_what_its_loader_returns():
    def sound(row: Operation) -> bool:
        """The state of a change, the command, what is loaded, if anything, and the call."""
        takes = 2 + (not row.genesis) + (row.given is not None)
        return len(signature(row.rule).parameters) == takes

    assert breaking(OPERATIONS, sound) == []


def test_a_question_is_about_a_field_of_its_path_or_its_query():
    def sound(row: Question) -> bool:
        return row.about in {None, *row.route.fields, *row.query.model_fields}

    assert breaking(QUESTIONS, sound) == []


def test_a_filter_is_a_field_of_the_state_or_a_facet():
    for view in [row.source.view for row in QUESTIONS if isinstance(row.source, Many)]:
        state = get_type_hints(get_type_hints(view.aggregate.begin)["return"])
        assert {*state, *view.facets, *view.expanded} >= {*view.filters}
