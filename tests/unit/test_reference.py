"""The reference says of every command what it is answered with."""

import re

from docs.generate import operations

ROW = re.compile(r"^\| `(\w+)` \| `[A-Z]+ \S+` \| \w+ \| (\d+) \|", re.MULTILINE)


def test_the_status_of_a_command_follows_its_answer():
    told = dict(ROW.findall("\n".join(operations())))
    expected = {
        "start_run": "201",
        "append_run_logbook_entry": "201",
        "adjust_run": "200",
        "append_observations": "200",
        "hold_run": "204",
        "get_run": "200",
    }
    assert {name: told[name] for name in expected} == expected
