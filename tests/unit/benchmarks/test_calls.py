"""What a call over HTTP may cost, in figures that do not depend on the load."""

import pytest
from benchmarks.calls import BUDGETS, Budget, counted, module_of, over

BUDGET = Budget(2, 1, 1000, {"runtime": 100, "telemetry": 20})


def test_a_call_within_a_tenth_of_its_budget_is_not_over_it():
    used = Budget(2, 1, 1100, {"runtime": 90, "telemetry": 42})
    assert over("command", used, BUDGET) == []


def test_a_call_over_its_budget_is_named_with_the_step_that_grew_most():
    used = Budget(2, 1, 1000, {"runtime": 105, "telemetry": 40})
    assert over("command", used, BUDGET) == [
        "command: 145 instructions; the budget is 120. telemetry has 20 more: 40 in place of 20"
    ]


@pytest.mark.parametrize(
    ("used", "found"),
    [
        (BUDGET._replace(statements=3), "command: 3 statements; the budget is 2"),
        (BUDGET._replace(transaction_ids=2), "command: 2 transaction ids; the budget is 1"),
        (BUDGET._replace(log_bytes=1101), "command: 1101 log bytes; the budget is 1000"),
    ],
)
def test_what_the_database_does_for_a_call_has_a_budget(used: Budget, found: str):
    assert over("command", used, BUDGET) == [found]


def test_a_get_and_a_list_take_no_transaction_id():
    assert [BUDGETS[name].transaction_ids for name in ("get", "list")] == [0, 0]


@pytest.mark.anyio
async def test_the_same_step_takes_the_same_instructions_each_time():
    async def step() -> None:
        module_of("/usr/lib/python3.13/uuid.py")

    assert await counted(step) == await counted(step)


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("/home/x/src/beamkeep/runtime/dispatch.py", "runtime"),
        ("/home/x/src/beamkeep/surfaces/http/edge.py", "surfaces/http"),
        ("/home/x/src/beamkeep/adapters/http_server.py", "adapters/http_server"),
        ("/home/x/src/beamkeep/telemetry.py", "telemetry"),
        ("/x/lib/python3.13/site-packages/asyncpg/connection.py", "asyncpg"),
        ("/x/lib/python3.13/uuid.py", "Python"),
        ("/home/x/benchmarks/in_process.py", "benchmarks"),
    ],
)
def test_a_file_belongs_to_a_module(file: str, module: str):
    assert module_of(file) == module
