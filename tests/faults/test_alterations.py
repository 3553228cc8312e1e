"""The record behind the owner's back: whatever was altered is found and named."""

from collections import Counter
from pathlib import Path

import psycopg
import pytest

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.seeds import dice, seed
from tests.faults.conftest import Report
from tests.faults.report import rounds
from tests.witness.altering import ALTERATIONS, UNGUARDED
from tests.witness.test_verifying import Witnessed

pytestmark = pytest.mark.faults


def test_every_alteration_is_found_and_named(cluster: Cluster, tmp_path: Path, report: Report):
    witnessed, kinds = Witnessed(cluster, tmp_path), list(ALTERATIONS)
    missed, done = list[object](), Counter[str]()
    for number in rounds("ALTERATIONS", 2 * len(kinds), len(kinds), 40.0):
        kind, database = kinds[number % len(kinds)], witnessed.copy()
        database.ask(UNGUARDED)
        named = ALTERATIONS[kind](database, dice(seed(), kind, number), witnessed.tx)
        found = witnessed.verified(database)
        if not any(named in each for each in found):
            missed.append((number, kind, named, found))
        done[kind] += 1
        with psycopg.connect(cluster.url(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {database.name}".encode())
    figures = {"alterations": done.total(), "kinds": len(done), "lost": len(missed)}
    report("T34 alterations", figures)
    assert missed == []
    assert done.keys() == {*kinds}
