"""The house rules that a machine can check."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from inspect import cleandoc
from pathlib import Path
from typing import NamedTuple

import click
import grimp
import pytest

import beamkeep
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.deployment import verbs as service
from beamkeep.deployment.settings import Settings
from beamkeep.kernel import Operation
from beamkeep_client.cli import ON_HOSTS, command_line

HOUSE, ROOT = Path(beamkeep.__file__).parent, Path(__file__).parents[3]
FORBIDDEN = {"manager", "handler", "helper", "util", "utils", "common", "base", "misc"}


def modules(*packages: str) -> list[Path]:
    return sorted(path for package in packages for path in (HOUSE / package).rglob("*.py"))


def lines(*packages: str, without: tuple[str, ...] = ()) -> int:
    """Lines that are not blank."""
    left_out = [HOUSE / each for each in without]
    found = [path for path in modules(*packages) if not {*left_out} & {*path.parents}]
    texts = (path.read_text() for path in found)
    return sum(bool(line.strip()) for text in texts for line in text.splitlines())


class Facts(NamedTuple):
    """What the rules ask about a file."""

    types: tuple[str, ...]
    """The names of its classes and type aliases."""
    made_up: tuple[str, ...]
    """Every name that it makes up itself; what it takes from elsewhere is named there."""
    used: frozenset[str]
    imported: tuple[str, ...]
    """The modules from which it imports names."""
    long_calls: tuple[tuple[str, int], ...]
    """What it calls with more than three positional arguments, and the line."""


@cache
def facts(path: Path) -> Facts:
    """Return the facts about a file, which is parsed once for all rules."""
    types, made_up, imported = list[str](), list[str](), list[str]()
    used, long_calls = set[str](), list[tuple[str, int]]()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.ClassDef(name=name):
                types.append(name)
                made_up.append(name)
            case ast.TypeAlias(name=ast.Name(id=name)):
                types.append(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
                made_up.append(name)
            case ast.Name(id=name):
                used.add(name)
                if isinstance(node.ctx, ast.Store):
                    made_up.append(name)
            case ast.ImportFrom(module=module):
                imported.append(module or "")
            case ast.Call(func=func, args=[_, _, _, _, *_]):
                long_calls.append((ast.unparse(func).rpartition(".")[2], node.lineno))
            case _:
                pass
    return Facts(
        types=tuple(types),
        made_up=tuple(made_up),
        used=frozenset(used),
        imported=tuple(imported),
        long_calls=tuple(long_calls),
    )


def named(path: Path) -> str:
    return path.relative_to(HOUSE).as_posix()


def assigned(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return None


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


CONTEXTS = modules("contexts")
AGGREGATES = [
    path for path in CONTEXTS if path.name != "__init__.py" and "Aggregate(" in path.read_text()
]


EVERYTHING = modules(".")
VARIADIC = {"Axis"}
"""Constructors that take a table row per argument."""
DOUBLE = set[str]()
"""Type names that still stand for two things; none may be added."""


@cache
def types() -> Counter[str]:
    """Return every type name of the house, and how often it is defined."""
    return Counter(name for path in EVERYTHING for name in facts(path).types)


def test_a_type_name_stands_for_one_thing():
    assert {name for name, times in types().items() if times > 1} == DOUBLE


def test_a_constructor_call_with_more_than_three_arguments_names_them(subtests: pytest.Subtests):
    constructors = types().keys() - VARIADIC
    for path in EVERYTHING:
        with subtests.test(named(path)):
            assert [call for call in facts(path).long_calls if call[0] in constructors] == []


def test_programs_of_the_tests_import_nothing_of_them(subtests: pytest.Subtests):
    folders = [ROOT / name for name in ("benchmarks", "demo", "docs")]
    for path in [path for folder in folders for path in folder.rglob("*.py")]:
        with subtests.test(path.relative_to(ROOT).as_posix()):
            assert [name for name in facts(path).imported if name.startswith("tests")] == []


def test_the_kernel_stays_small():
    # Teams: a scope between all objects and the own ones, and what an object's team follows from.
    assert lines("kernel") <= 1_140


def test_an_operation_needs_few_lines_of_the_contexts():
    """The page on the architecture says what these lines are."""
    # Twelve kinds of objects say from what their team follows.
    assert lines("contexts") / len(CATALOGUE.named) <= 64.8


def test_everything_between_the_contexts_and_the_outside_stays_small():
    aside = "surfaces/http", "surfaces/tools"
    # Teams, of which the runtime asks the store, and ways around what most calls do not need.
    assert lines("kernel", "runtime", "surfaces", without=aside) <= 4_160


SENTENCES = re.compile(r"[A-Z`].*\.", re.DOTALL)
INCOMPLETE = {"RegisterSupply.kind"}
"""Help texts that are still incomplete; none may be added."""


def declared_texts() -> Iterator[tuple[str, str]]:
    """Yield the texts of operations, questions, their fields and the settings, by name."""
    for row in (*CATALOGUE.by_command.values(), *CATALOGUE.questions):
        yield row.name, row.doc
        model = row.command if isinstance(row, Operation) else row.query
        for name, field in model.model_fields.items():
            if field.description:
                yield f"{model.__name__}.{name}", field.description
    for name, setting in Settings.model_fields.items():
        yield name, setting.description or ""


def command_line_texts(command: click.Command, path: str) -> Iterator[tuple[str, str]]:
    """Yield the help of a command, of its options and of the commands below it."""
    context = click.Context(command)
    yield path, command.help or ""
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option):
            yield f"{path} {parameter.opts[0]}", parameter.help or ""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if below := command.get_command(context, name):
                yield from command_line_texts(below, f"{path} {name}")


def incomplete(texts: Iterator[tuple[str, str]]) -> set[str]:
    return {name for name, text in texts if not SENTENCES.fullmatch(cleandoc(text))}


def test_every_declared_help_text_is_complete():
    assert incomplete(declared_texts()) <= INCOMPLETE


def test_every_help_text_of_the_command_line_is_complete():
    group = command_line()
    named = [group.get_command(click.Context(group), name) for name in {*group.commands, *ON_HOSTS}]
    commands = [command for command in named if command]
    commands += [each for each in vars(service).values() if isinstance(each, click.Command)]
    texts = [text for each in commands for text in command_line_texts(each, each.name or "")]
    texts += [(o.opts[0], o.help or "") for o in group.params if isinstance(o, click.Option)]
    assert len(commands) > 7
    assert incomplete(iter(texts)) == set()


def test_the_aggregates_are_found():
    assert [named(path) for path in AGGREGATES] == [
        "contexts/access/actor.py",
        "contexts/agent/agent.py",
        "contexts/calibration/calibration.py",
        "contexts/campaign/campaign.py",
        "contexts/caution/caution.py",
        "contexts/data/acquisition.py",
        "contexts/data/attestation.py",
        "contexts/data/dataset.py",
        "contexts/data/distribution.py",
        "contexts/data/edition.py",
        "contexts/decision/decision.py",
        "contexts/enclosure/enclosure.py",
        "contexts/equipment/asset.py",
        "contexts/equipment/family.py",
        "contexts/equipment/frame.py",
        "contexts/equipment/model.py",
        "contexts/equipment/mount.py",
        "contexts/federation/credential.py",
        "contexts/federation/facility.py",
        "contexts/federation/permit.py",
        "contexts/federation/seal.py",
        "contexts/feed/subscription.py",
        "contexts/operation/procedure.py",
        "contexts/proposal/proposal.py",
        "contexts/recipe/capability.py",
        "contexts/recipe/method.py",
        "contexts/recipe/plan.py",
        "contexts/recipe/practice.py",
        "contexts/recipe/recipe.py",
        "contexts/run/run.py",
        "contexts/safety/clearance.py",
        "contexts/subject/subject.py",
        "contexts/supply/supply.py",
        "contexts/trust/conduit.py",
        "contexts/trust/policy.py",
        "contexts/trust/surface.py",
        "contexts/trust/team.py",
        "contexts/trust/visit.py",
        "contexts/trust/zone.py",
    ]


def test_an_aggregate_ends_with_its_operations_and_then_its_questions(subtests: pytest.Subtests):
    for path in AGGREGATES:
        with subtests.test(named(path)):
            body = ast.parse(path.read_text()).body
            order = [assigned(statement) for statement in body]
            assert order[-1] == "QUESTIONS"
            after = body[order.index("OPERATIONS") + 1 :]
            kinds = [
                ast.unparse(base) for s in after if isinstance(s, ast.ClassDef) for base in s.bases
            ]
            assert set(kinds) <= {"Listing", "OfTeam", "Page", "Query", "Record", "UnnamedListing"}


def test_a_context_knows_the_type_of_everything(subtests: pytest.Subtests):
    for path in CONTEXTS:
        with subtests.test(named(path)):
            assert "Any" not in facts(path).used


def test_a_name_says_what_it_is(subtests: pytest.Subtests):
    for path in [*CONTEXTS, *modules("kernel")]:
        with subtests.test(named(path)):
            made_up = [path.stem, *path.parent.parts[len(HOUSE.parts) :], *facts(path).made_up]
            assert not [name for name in made_up if words(name) & FORBIDDEN]


def test_words_are_found_in_every_spelling():
    assert words("EventHandler") == {"event", "handler"}
    assert words("_base_path") == {"base", "path"}
    assert words("MISC") == {"misc"}
    assert words("JWTManager") == {"jwt", "manager"}
    assert words("database") == {"database"}


def test_the_house_has_thirteen_rooms_at_most():
    rooms = {each.name for each in HOUSE.iterdir()} - {"__init__.py", "__pycache__", "py.typed"}
    assert len(rooms) <= 13, rooms


def test_no_module_depends_on_itself_through_others():
    graph = grimp.build_graph("beamkeep", "beamkeep_client", cache_dir=None)
    imports = {each: graph.find_modules_directly_imported_by(each) for each in graph.modules}
    TopologicalSorter(imports).prepare()


LONG_MODULES = {
    # One aggregate each, which is read as one.
    *("contexts/operation/procedure.py", "contexts/equipment/asset.py", "contexts/data/edition.py"),
    *("contexts/data/distribution.py", "contexts/data/dataset.py", "contexts/safety/clearance.py"),
    "contexts/feed/subscription.py",
    # The five ways to conduct a procedure, with what each of them requires.
    "contexts/starting/conducting.py",
}


def test_a_module_has_at_most_600_lines():
    long = {path for path in HOUSE.rglob("*.py") if len(path.read_text().splitlines()) > 600}
    assert {str(path.relative_to(HOUSE)) for path in long} == LONG_MODULES


def test_a_function_has_at_most_60_lines():
    long = {
        f"{path.relative_to(HOUSE)} {node.name}"
        for path in HOUSE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= 60
    }
    # The metrics, one after the other, are data.
    assert long == {"telemetry.py __init__"}


def test_the_composition_stays_small():
    assert len((HOUSE / "deployment/composition.py").read_text().splitlines()) <= 350
