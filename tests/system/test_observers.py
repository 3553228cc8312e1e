"""A real IOC, a real `beamkeep work`, a real database: what the hutch says is on record."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from itertools import cycle, islice
from typing import Any

import httpx2
import pytest
from tests.support.examples.federation import OWN_SITE

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.ioc import Ioc, IocRecord, loopback_network
from beamkeep.testing.server import Server, running_server

pytestmark = pytest.mark.postgres

PERMIT, BEAM = "PSS:PERMIT", "SR:BEAM"
DENIED, GRANTED = 0, 1
RECORDS = (
    IocRecord(PERMIT, "boolOut", DENIED, ("Denied", "Granted")),
    IocRecord(BEAM, "longOut", 1),
)
SILENCE, PATIENCE = 7.0, 60.0


class Site:
    """One hutch and one supply, with the IOC that tells of them and the service that listens."""

    def __init__(self, server: Server, ioc: Ioc) -> None:
        self.server, self.ioc = server, ioc
        headers = {"Authorization": f"Bearer {server.admin}"}
        self._http = httpx2.Client(base_url=server.url, headers=headers)
        hutch = {"name": "Hutch A", "facility_code": OWN_SITE}
        self.enclosure_id = self._made("/enclosures", hutch)["enclosure_id"]
        beam = {"kind": "photon_beam", "name": "Beam", "facility_code": OWN_SITE}
        self.supply_id = self._made("/supplies", beam)["supply_id"]

    def permits(self) -> list[str]:
        """Every permit on record, in order."""
        return [e["payload"]["to_permit_status"] for e in self._history("enclosures")]

    def supplies(self) -> list[str]:
        """Every change of the supply on record, in order."""
        return [event["event_type"] for event in self._history("supplies")]

    def restore(self) -> None:
        """Say that the supply is back, as an operator does."""
        path = f"/supplies/{self.supply_id}/restore"
        self._http.post(path, json={"reason": "200 mA"}).raise_for_status()

    def reported_at(self) -> str | None:
        """When the supply was last reported of."""
        answer = self._http.get(f"/supplies/{self.supply_id}")
        return answer.raise_for_status().json()["last_reported_at"]

    def _made(self, path: str, body: dict[str, Any]) -> Any:
        return self._http.post(path, json=body).raise_for_status().json()

    def _history(self, kind: str) -> list[Any]:
        id = self.enclosure_id if kind == "enclosures" else self.supply_id
        answer = self._http.get(f"/{kind}/{id}/history", params={"limit": 100})
        return answer.raise_for_status().json()["items"][1:]

    def close(self) -> None:
        self._http.close()


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Generator[Site]:
    with (
        loopback_network() as network,
        Ioc(network.ports[0], *RECORDS) as ioc,
        running_server(cluster) as server,
    ):
        site = Site(server, ioc)
        worker = subprocess.Popen(
            [sys.executable, "-m", "beamkeep", "work"],
            cwd=server.folder,
            env=server.environment(
                **network.environment,
                OBSERVER_SILENCE_SECONDS=str(SILENCE),
                OBSERVER_REPEAT_SECONDS="1",
                OBSERVED_ENCLOSURES=json.dumps(
                    [
                        {
                            "signal": PERMIT,
                            "enclosure_id": site.enclosure_id,
                            "permitted": ["Granted"],
                            "not_permitted": ["Denied"],
                        }
                    ]
                ),
                OBSERVED_SUPPLIES=json.dumps(
                    [{"signal": BEAM, "supply_id": site.supply_id, "recovering": ["1"]}]
                ),
            ),
            stdout=(log := server.log.open("ab")),
            stderr=log,
        )
        try:
            yield site
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(PATIENCE) == 0
        finally:
            worker.kill()
            worker.wait(PATIENCE)
            log.close()
            site.close()


def until(holds: Callable[[], bool], seconds: float = PATIENCE) -> float:
    """Wait for it, and say how long it took."""
    since = time.monotonic()
    while not holds():
        assert time.monotonic() < since + seconds, "it did not come to pass"
        time.sleep(0.02)
    return time.monotonic() - since


def test_fifty_flips_of_a_process_variable_are_fifty_events_in_order(site: Site):
    until(lambda: site.permits() == ["NotPermitted"])
    site.ioc.put(PERMIT, *islice(cycle([GRANTED, DENIED]), 50))
    until(lambda: len(site.permits()) >= 51)
    assert site.permits() == ["NotPermitted", *["Permitted", "NotPermitted"] * 25]


def test_an_alarm_that_makes_the_value_worthless_is_unknown(site: Site):
    before = site.permits()
    site.ioc.alarm(PERMIT, "INVALID", "LINK")
    until(lambda: site.permits() == [*before, "Unknown"])
    site.ioc.alarm(PERMIT, "NO")
    until(lambda: site.permits() == [*before, "Unknown", "NotPermitted"])


def test_a_supply_follows_its_signal_down_and_back(site: Site):
    site.ioc.put(BEAM, 0, 1)
    until(lambda: site.supplies() == ["SupplyMarkedUnavailable", "SupplyMarkedRecovering"])


def test_a_supply_that_was_restored_by_hand_is_followed_again_at_the_next_repetition(site: Site):
    site.restore()
    until(lambda: site.reported_at() is not None)
    first = site.reported_at()
    until(lambda: site.reported_at() != first)
    assert site.supplies()[-1] == "SupplyRestored"


def test_a_dead_server_is_unknown_and_a_restarted_one_is_followed_again(site: Site):
    before, supplied = site.permits(), site.supplies()
    site.ioc.kill()
    took = until(lambda: site.permits() == [*before, "Unknown"])
    assert took < SILENCE
    until(lambda: site.supplies() == [*supplied, "SupplyMarkedUnavailable"])
    site.ioc.start()
    until(lambda: site.permits() == [*before, "Unknown", "NotPermitted"])
    until(lambda: site.supplies()[-1] == "SupplyMarkedRecovering")


def test_a_frozen_server_is_unknown_within_the_time_set(site: Site):
    before = site.permits()
    site.ioc.freeze()
    try:
        took = until(lambda: site.permits() == [*before, "Unknown"])
    finally:
        site.ioc.thaw()
    assert took < SILENCE + 5
    until(lambda: site.permits()[-1] == "NotPermitted")
