"""The page of the fault tests says what was counted, what never occurred, and what is wrong."""

from tests.faults.report import page

SOUND = {"seed": 7, "seconds": 2.5, "kills": 8, "acknowledged": 598, "lost": 0, "doubled": 0}


def row(key: str, text: str) -> list[str]:
    """The cells of one row."""
    (line,) = (each for each in text.splitlines() if each.startswith(f"| {key} |"))
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def test_a_sound_test_shows_its_seed_what_was_counted_and_what_never_occurred():
    assert row("T1", page({"T1": SOUND})) == [
        "T1",
        "7",
        "2.5",
        "acknowledged 598, kills 8",
        "doubled, lost",
        "nothing",
    ]


def test_what_is_wrong_with_a_test_stands_out():
    text = page({"T1": SOUND | {"lost": 3}, "T5": {"most_effects": 2}})
    assert row("T1", text)[-1] == "**lost 3**"
    assert row("T5", text)[-1] == "**most effects 2**"


def test_a_bad_variant_stands_apart_with_what_it_found():
    known = {
        "T2 fsync off": {"seed": 1, "acknowledged": [9, 8], "lost_at_each": [0, 8]},
        "T12 act, then remember": {"seed": 2, "found": ["doubled: a | b"]},
    }
    _, mutants = page(known).split("## Variants known to be bad")
    assert row("T2 fsync off", mutants)[-1] == "lost at each [0, 8]"
    assert row("T12 act, then remember", mutants)[-1] == "doubled: a \\| b"


def test_a_bad_variant_that_was_not_found_out_stands_out():
    text = page({"T1 without the xmin rule": {"seed": 1, "skipped": 0}})
    assert row("T1 without the xmin rule", text)[-1] == "**nothing**"


def test_a_variant_that_nobody_named_bad_is_judged_as_a_test():
    tests, mutants = page({"T9 something new": {"lost": 1}}).split("## Variants known to be bad")
    assert row("T9 something new", tests)[-1] == "**lost 1**"
    assert "T9" not in mutants


def test_who_loses_a_race_lost_nothing():
    figures = {"won": 109, "lost": 91, "tail_out_of_order": 0}
    assert row("T4 two clients", page({"T4 two clients": figures}))[-1] == "nothing"


def test_tests_stand_in_the_order_of_their_numbers():
    text = page({"T12": SOUND, "T2": SOUND, "T1": SOUND})
    assert text.index("| T1 |") < text.index("| T2 |") < text.index("| T12 |")
