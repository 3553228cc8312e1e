"""The house rules that a machine can check."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click
import pytest

import beamkeep
from beamkeep import __main__ as service
from beamkeep.contexts import OPERATIONS, QUESTIONS
from beamkeep.kernel import Operation
from beamkeep.settings import Settings
from beamkeep_client.cli import command_line

HOUSE, ROOT = Path(beamkeep.__file__).parent, Path(__file__).parents[2]
FORBIDDEN = {"manager", "handler", "helper", "util", "utils", "common", "base", "misc"}


def modules(*packages: str) -> list[Path]:
    return sorted(path for package in packages for path in (HOUSE / package).rglob("*.py"))


def lines(*packages: str) -> int:
    """Lines that are not blank."""
    texts = (path.read_text() for path in modules(*packages))
    return sum(bool(line.strip()) for text in texts for line in text.splitlines())


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def named(path: Path) -> str:
    return path.relative_to(HOUSE).as_posix()


def assigned(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return None


def defined(tree: ast.Module) -> Iterator[str]:
    """Every name a module makes up itself; what it takes from elsewhere is named there."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case _:
                pass


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


CONTEXTS = modules("contexts")
AGGREGATES = [
    path for path in CONTEXTS if path.name != "__init__.py" and "Aggregate(" in path.read_text()
]


def types(tree: ast.Module) -> Iterator[str]:
    """The names of the classes and type aliases of a module."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.TypeAlias(name=ast.Name(id=name)):
                yield name
            case _:
                pass


EVERYTHING = modules(".")
TYPES = Counter(name for path in EVERYTHING for name in types(parsed(path)))
VARIADIC = {"Axis"}
"""Constructors that take a table row per argument."""
DOUBLE = set[str]()
"""Type names that still stand for two things; none may be added."""


def test_a_type_name_stands_for_one_thing():
    assert {name for name, times in TYPES.items() if times > 1} == DOUBLE


@pytest.mark.parametrize("path", EVERYTHING, ids=named)
def test_a_constructor_call_with_more_than_three_arguments_names_them(path: Path):
    calls = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
    found = [
        (called, node.lineno)
        for node in calls
        if (called := ast.unparse(node.func).rpartition(".")[2]) in TYPES.keys() - VARIADIC
        and len(node.args) > 3
    ]
    assert found == []


@pytest.mark.parametrize(
    "path",
    [path for folder in ("benchmarks", "demo", "docs") for path in (ROOT / folder).rglob("*.py")],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_what_is_run_beside_the_tests_imports_nothing_of_them(path: Path):
    imported = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.ImportFrom)]
    assert [node.module for node in imported if (node.module or "").startswith("tests")] == []


def test_the_kernel_stays_small():
    assert lines("kernel") < 1_230


def test_everything_between_the_contexts_and_the_outside_stays_small():
    assert lines("kernel", "runtime", "surfaces") < 5_321


SENTENCES = re.compile(r"[A-Z`].*\.", re.DOTALL)
INCOMPLETE = {"RegisterSupply.kind"}
"""Help texts that are still incomplete; none may be added."""


def declared_texts() -> Iterator[tuple[str, str]]:
    """Yield the texts of operations, questions, their fields and the settings, by name."""
    for row in (*OPERATIONS, *QUESTIONS):
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
    commands = [group.commands[name] for name in sorted(group.commands)]
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
        "contexts/trust/visit.py",
        "contexts/trust/zone.py",
    ]


@pytest.mark.parametrize("path", AGGREGATES, ids=named)
def test_an_aggregate_ends_with_its_operations_and_then_its_questions(path: Path):
    body = parsed(path).body
    order = [assigned(statement) for statement in body]
    assert order[-1] == "QUESTIONS"
    after = body[order.index("OPERATIONS") + 1 :]
    kinds = [ast.unparse(base) for s in after if isinstance(s, ast.ClassDef) for base in s.bases]
    assert set(kinds) <= {"Listing", "Page", "Query", "Record", "UnnamedListing"}


@pytest.mark.parametrize("path", CONTEXTS, ids=named)
def test_a_context_knows_the_type_of_everything(path: Path):
    used = {node.id for node in ast.walk(parsed(path)) if isinstance(node, ast.Name)}
    assert "Any" not in used


@pytest.mark.parametrize("path", [*CONTEXTS, *modules("kernel")], ids=named)
def test_a_name_says_what_it_is(path: Path):
    made_up = [path.stem, *path.parent.parts[len(HOUSE.parts) :], *defined(parsed(path))]
    assert not [name for name in made_up if words(name) & FORBIDDEN]


def test_words_are_found_in_every_spelling():
    assert words("EventHandler") == {"event", "handler"}
    assert words("_base_path") == {"base", "path"}
    assert words("MISC") == {"misc"}
    assert words("JWTManager") == {"jwt", "manager"}
    assert words("database") == {"database"}
