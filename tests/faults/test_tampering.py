"""Envelopes that somebody has changed on their way: none of them is taken."""

from collections import Counter
from typing import Any

import pytest

from beamkeep.kernel import Refusal
from beamkeep.runtime.parsing import parse_body
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.service import AdminClient, memory_service
from tests.faults.conftest import Report
from tests.faults.report import asked
from tests.postgres.runtime.test_exchanges import listed, pointing, with_anchor
from tests.support.examples.exchange import import_artifact
from tests.support.tampering import tampered

pytestmark = [pytest.mark.faults, pytest.mark.anyio]
REFUSALS = {
    "MalformedRequestError",
    "InvalidArtifactEnvelopeError",
    "ArtifactAlreadyImportedError",
}


async def test_no_tampered_envelope_is_taken(report: Report):
    count, draw, found = asked("TAMPERED", 2_000), dice(seed(), "tampering"), Counter[str]()
    do = AdminClient(*await memory_service())
    sent: dict[str, Any] = await import_artifact(do)
    sent = pointing(sent, await with_anchor(do, sent), "ab" * 32)
    await do("import_artifact", sent)
    permit_id = sent.pop("permit_id")
    for _ in range(count):
        change, body = tampered(sent, draw)
        try:
            await do("import_artifact", {**parse_body(body), "permit_id": permit_id})
        except Refusal as refusal:
            found[type(refusal).__name__] += 1
        else:
            raise AssertionError(f"{change} was taken: {body[:500]!r}")
    report("tampered envelopes", {"refused": dict(found)})
    assert found.total() == count
    assert found.keys() == REFUSALS
    assert len(await listed(do, permit_id)) == 1
