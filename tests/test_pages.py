"""What the pages count is what there is."""

import re
from collections import Counter
from pathlib import Path
from types import ModuleType

from beamkeep.contexts import CATALOGUE
from beamkeep.kernel import Operation
from beamkeep.testing.scenario import run_sentences

DOCS = Path(__file__).parents[1] / "docs"
ROW = re.compile(r"^\| (\w+) \| `(\w+) (/\S+)` \| (\w+) \| (\w+) \| (\w+) \| \d+ \|$", re.MULTILINE)
TOTAL = re.compile(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[decision (\d+)\]\(\S*?decisions/(\d{4})-")


def test_the_page_of_the_catalogue_has_every_operation_and_counts_them():
    text = (DOCS / "domain/catalogue.md").read_text()
    rows = ROW.findall(text)
    assert {(name, f"{method} {path}") for name, method, path, *_ in rows} == {
        (name, str(row.route)) for name, row in CATALOGUE.named.items()
    }
    counted = Counter((context, kind == "query") for *_, context, _, kind in rows)
    contexts = dict.fromkeys(context for _, _, _, context, _, _ in rows)
    expected = [(each, counted[each, False], counted[each, True]) for each in contexts]
    is_command = [isinstance(row, Operation) for row in CATALOGUE.named.values()]
    expected.append(("all", sum(is_command), len(is_command) - sum(is_command)))
    told = [(name, int(a), int(b), int(total)) for name, a, b, total in TOTAL.findall(text)]
    assert told == [(name, a, b, a + b) for name, a, b in expected]


def test_a_decision_is_named_by_the_number_it_has():
    for page in DOCS.rglob("*.md"):
        for number, file in LINK.findall(page.read_text()):
            assert int(number) == int(file), page


def test_the_tests_that_the_how_to_page_shows_pass():
    page = (DOCS / "how-to/test-an-operation.md").read_text()
    module = ModuleType("shown")
    exec("".join(EXAMPLE.findall(page)), vars(module))  # noqa: S102
    run_sentences(module)
    assert len([name for name in vars(module) if name.startswith("test_")]) == 6
