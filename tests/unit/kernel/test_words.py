"""Names, comments and texts use the words of the field."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
INSTEAD = {
    "told": "message, detail, answer, payload; reported, shown, distinguished",
    "beside": "with, next to, in addition to",
    "anew": "again, rebuilt",
    "whoever": "the caller who, the worker that",
    "sown": "seeded",
    "go on": "continue",
    "goes on": "continues",
}
"""Words that are not used, and what is said instead."""
IN_NAMES = INSTEAD | {
    "kept": "stored, remaining, page, in memory",
    "in person": "first hand, never proposed",
}
"""Words that no name has; `kept` is plain in a sentence that says how long."""
READ = (
    "src/beamkeep",
    "client/src",
    "gate",
    "benchmarks",
    "demo",
    "docs",
    "requirements",
    "hatch_build.py",
    "tests/support",
    "tests/corpus",
    *(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").glob("*.py")),
)
READ_OF_CONSOLE = "console/src", "console/tests", "console/scripts"
RECIPES = "Makefile", ".ci/run", ".ci/night", ".ci/install"
ALLOWED = {
    "src/beamkeep/kernel/_aggregate.py": {"beside": "is in stored proposals and in answers"},
    "src/beamkeep/contexts/data/custody_reads.py": {
        "KeptCopy": "is in answers",
        "kept_by": "is in answers",
    },
    "client/src/beamkeep_client/typed_answers.py": {"kept_by": "is in answers"},
    "src/beamkeep/runtime/proposing.py": {"beside": "is in stored proposals and in answers"},
    "console/src/features/data/DatasetPanel.tsx": {"kept_by": "is in answers"},
}
"""Names that stay, by file, and why."""


def words_of(name: str) -> str:
    """Return the words of a name, such as `row kept at` of `row_kept_at` and of `RowKeptAt`."""
    return " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)).lower()


def found(text: str, words: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong with a text."""
    for word in re.findall(rf"\b({'|'.join(words)})\b", " ".join(text.lower().split())):
        yield f"«{word}»: {words[word]}"


def faults(path: str, text: str) -> Iterator[str]:
    """Yield the words of a Python file that are not used, with their lines."""
    allowed = ALLOWED.get(path, {})
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        at, said = f"{path}:{token.start[0]}: {token.string}", token.string
        if token.type == tokenize.NAME and said not in allowed:
            yield from (f"{at} {each}" for each in found(words_of(said), IN_NAMES))
        if token.type == tokenize.COMMENT:
            yield from (f"{at} {each}" for each in found(said, INSTEAD))
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Constant(value=str(said)):
                yield from (f"{path}:{node.lineno}: {each}" for each in found(said, INSTEAD))
            case _:
                pass


def faults_of_console(path: str, text: str) -> Iterator[str]:
    """Yield the words of a TypeScript file that are not used, in names and in sentences.

    A name has several words, or a sign after it that no sentence has there.
    """
    allowed = ALLOWED.get(path, {})
    for name in re.findall(r"\b(?:\w+[A-Z_]\w*|\w+(?=\s*[=(}[]|: \w|\?\.))", text):
        if name not in allowed:
            yield from (f"{path}: {name} {each}" for each in found(words_of(name), IN_NAMES))
    yield from (f"{path}: {each}" for each in found(re.sub(r"\n\s*(\*|//)", " ", text), INSTEAD))


def python(*folders: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of the Python files in folders."""
    for folder in folders:
        for path in [folder] if folder.is_file() else sorted(folder.rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text()


def test_names_comments_and_texts_use_the_words_of_the_field():
    places = [ROOT / name for name in READ]
    assert [each for path, text in python(*places) for each in faults(path, text)] == []


def test_the_console_uses_the_words_of_the_field_in_names_and_sentences():
    wrong: list[str] = []
    for folder in READ_OF_CONSOLE:
        for path in sorted((ROOT / folder).rglob("*.*")):
            if path.suffix in {".ts", ".tsx", ".js"} and not path.name.endswith(".d.ts"):
                name = path.relative_to(ROOT).as_posix()
                wrong += faults_of_console(name, path.read_text())
    assert wrong == []


def test_recipes_use_the_words_of_the_field():
    texts = {name: re.sub(r"\n\s*#", " ", (ROOT / name).read_text()) for name in RECIPES}
    assert [(name, each) for name, text in texts.items() for each in found(text, INSTEAD)] == []


def test_names_of_tests_use_the_words_of_the_field():
    wrong: list[str] = []
    for path, text in python(ROOT / "tests"):
        names = [Path(path).stem, *re.findall(r"def (test_\w+)", text)]
        wrong += [f"{path}: {n} {each}" for n in names for each in found(words_of(n), IN_NAMES)]
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    [
        "told = 1\n",
        "def row_kept_at(): ...\n",
        "class KeptWork: ...\n",
        "send(beside=1)\n",
        "KEPT = 1\n",
        "worker.go_on()\n",
        "# The worker\n# goes on.\nx = 1  # it goes on\n",
        '"""Say to whoever\nasks."""\n',
        'x = 1\n"""Made anew."""\n',
        'click.echo("The conduct goes on.")\n',
        "in_person = True\n",
    ],
)
def test_a_word_that_is_not_used_is_found(text: str):
    assert [*faults("a.py", text)] != []


@pytest.mark.parametrize(
    "text",
    [
        "const isKept = true;",
        "let kept = 1;",
        "read({ kept: row });",
        "import { told } from './told';",
        "/** The run\n * goes on. */",
        "// Whoever\n  // asks.",
        "<p>Write it anew.</p>",
        'const text = "The run goes on.";',
    ],
)
def test_a_word_that_is_not_used_is_found_in_the_console(text: str):
    assert [*faults_of_console("a.ts", text)] != []


def test_a_sentence_of_the_console_may_use_the_plain_verb():
    text = '<em>kept until this page is closed</em>{"Recorded data are kept."}'
    assert [*faults_of_console("a.tsx", text)] == []


def test_a_sentence_may_use_the_plain_verb():
    text = '"""How long answers are kept."""\nlast = "What is kept."  # kept until the end\n'
    assert [*faults("a.py", text)] == []


def test_each_allowed_name_is_still_in_its_file():
    for path, names in ALLOWED.items():
        text = (ROOT / path).read_text()
        assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []
