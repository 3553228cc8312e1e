"""Real control systems, a real `beamkeep work`, a real database: what a hutch does is on record."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest
from tests.devices.channels.benches import (
    ProcessBench,
    channel_access_bench,
    pv_access_bench,
    tango_bench,
)
from tests.support.examples.federation import OWN_SITE

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.ioc import loopback_network
from beamkeep.testing.server import Server, running_server

pytestmark = pytest.mark.postgres

BENCHES = {
    "epics_ca": channel_access_bench,
    "epics_pva": pv_access_bench,
    "tango": tango_bench,
}
DENIED, GRANTED = 0.0, 1.0
SILENCE, STALE, PATIENCE = 7.0, 20.0, 120.0


class Site:
    """One hutch and one supply that follow the server of one control system."""

    def __init__(self, server: Server, substrate: str, bench: ProcessBench) -> None:
        self.bench, self._substrate = bench, substrate
        headers = {"Authorization": f"Bearer {server.admin}"}
        self._http = httpx2.Client(base_url=server.url, headers=headers)
        hutch = {"name": f"Hutch {substrate}", "facility_code": OWN_SITE}
        self.enclosure_id = self._made("/enclosures", hutch)["enclosure_id"]
        beam = {"kind": "photon_beam", "name": f"Beam {substrate}", "facility_code": OWN_SITE}
        self.supply_id = self._made("/supplies", beam)["supply_id"]
        self.let_in(DENIED)
        self.bench.put("integer", 1)

    def enclosure_signal(self) -> dict[str, Any]:
        """Return the declaration of the signal of the hutch."""
        mapped = {"permitted": ["1"], "not_permitted": ["0"], "enclosure_id": self.enclosure_id}
        return {"signal": self.bench.address("number"), "substrate": self._substrate, **mapped}

    def supply_signal(self) -> dict[str, Any]:
        """Return the declaration of the signal of the supply."""
        mapped = {"recovering": ["1"], "supply_id": self.supply_id}
        return {"signal": self.bench.address("integer"), "substrate": self._substrate, **mapped}

    def let_in(self, permit: float) -> None:
        """Give the signal of the hutch a value."""
        self.bench.put("number", permit)

    def permits(self) -> list[str]:
        """Return every permit on record, in order."""
        return [e["payload"]["to_permit_status"] for e in self._history("enclosures")]

    def enclosure(self) -> Any:
        """Return the hutch as the service shows it."""
        return self._http.get(f"/enclosures/{self.enclosure_id}").raise_for_status().json()

    def supplies(self) -> list[str]:
        """Return every change of the supply on record, in order."""
        return [event["event_type"] for event in self._history("supplies")]

    def restore(self) -> None:
        """Say that the supply is back, as an operator does."""
        path = f"/supplies/{self.supply_id}/restore"
        self._http.post(path, json={"reason": "200 mA"}).raise_for_status()

    def reported_at(self) -> str | None:
        """Return when the supply was last reported of."""
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


type Worker = subprocess.Popen[bytes]


@pytest.fixture(scope="module")
def sites(cluster: Cluster) -> Generator[tuple[dict[str, Site], Worker]]:
    with ExitStack() as stack:
        network = stack.enter_context(loopback_network(servers=3))
        benches = {name: stack.enter_context(make(network)) for name, make in BENCHES.items()}
        server = stack.enter_context(
            running_server(cluster, enclosure_stale_after_seconds=str(STALE))
        )
        sites = {name: Site(server, name, bench) for name, bench in benches.items()}
        found_by = {k: v for bench in benches.values() for k, v in bench.environment.items()}
        settings = {
            "OBSERVER_SILENCE_SECONDS": str(SILENCE),
            "OBSERVER_REPEAT_SECONDS": "1",
            "OBSERVED_ENCLOSURES": json.dumps([each.enclosure_signal() for each in sites.values()]),
            "OBSERVED_SUPPLIES": json.dumps([each.supply_signal() for each in sites.values()]),
        }
        worker = subprocess.Popen(
            [sys.executable, "-m", "beamkeep", "work"],
            cwd=server.folder,
            env=server.environment(**found_by, **settings),
            stdout=(log := server.log.open("ab")),
            stderr=log,
        )
        try:
            # A worker that is stopped before it listens to signals would end by the signal.
            until(lambda: all(site.permits() for site in sites.values()))
            yield sites, worker
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(PATIENCE) == 0
        finally:
            worker.kill()
            worker.wait(PATIENCE)
            log.close()
            for site in sites.values():
                site.close()


@pytest.fixture(params=BENCHES)
def site(request: pytest.FixtureRequest, sites: tuple[dict[str, Site], Worker]) -> Site:
    return sites[0][request.param]


def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "in vain"
        time.sleep(0.02)


def test_every_change_of_a_signal_is_an_event_in_order(site: Site):
    until(lambda: site.permits() == ["NotPermitted"])
    for value, permit in [(GRANTED, "Permitted"), (DENIED, "NotPermitted")] * 5:
        site.let_in(value)
        until(lambda: site.permits()[-1] == permit)  # noqa: B023
    assert site.permits() == ["NotPermitted", *["Permitted", "NotPermitted"] * 5]


def test_an_alarm_that_makes_the_value_worthless_is_unknown(site: Site):
    before = site.permits()
    site.bench.alarm("number", "INVALID")
    until(lambda: site.permits() == [*before, "Unknown"])
    assert "Bad: INVALID" in site.enclosure()["last_observed_reason"]
    site.bench.alarm("number", "NO")
    until(lambda: site.permits() == [*before, "Unknown", "NotPermitted"])


def test_a_supply_follows_its_signal_down_and_back(site: Site):
    site.bench.put("integer", 0)
    until(lambda: site.supplies() == ["SupplyMarkedUnavailable"])
    site.bench.put("integer", 1)
    until(lambda: site.supplies() == ["SupplyMarkedUnavailable", "SupplyMarkedRecovering"])


def test_a_supply_that_was_restored_by_hand_is_followed_again_at_the_next_repetition(site: Site):
    site.restore()
    until(lambda: site.reported_at() is not None)
    first = site.reported_at()
    until(lambda: site.reported_at() != first)
    assert site.supplies()[-1] == "SupplyRestored"


def test_a_dead_server_is_unknown_and_a_restarted_one_is_followed_again(site: Site):
    before, supplied = site.permits(), site.supplies()
    site.bench.kill()
    until(lambda: site.permits() == [*before, "Unknown"])
    until(lambda: site.supplies() == [*supplied, "SupplyMarkedUnavailable"])
    site.bench.start()
    site.let_in(DENIED)
    site.bench.put("integer", 1)
    until(lambda: site.permits()[-1] == "NotPermitted")
    until(lambda: site.supplies()[-1] == "SupplyMarkedRecovering")


def test_a_frozen_server_is_unknown_until_it_answers_again(site: Site):
    until(lambda: site.permits()[-1] == "NotPermitted")
    before = len(site.permits())
    site.bench.freeze()
    try:
        # A slow machine may lose the server for a moment before it is frozen.
        until(lambda: site.permits()[before:][-1:] == ["Unknown"])
    finally:
        site.bench.thaw()
    until(lambda: site.permits()[-1] == "NotPermitted")
    assert "Permitted" not in site.permits()[before:]


def test_the_reports_of_a_silent_worker_count_as_unknown(
    sites: tuple[dict[str, Site], Worker],
):
    every, worker = sites[0].values(), sites[1]
    for site in every:
        site.let_in(GRANTED)
    for site in every:
        until(lambda: site.permits()[-1] == "Permitted")  # noqa: B023
    worker.send_signal(signal.SIGSTOP)
    try:
        for site in every:
            until(lambda: site.permits()[-1] == "Unknown")  # noqa: B023
            assert site.enclosure()["last_monitor_ref"] == "staleness-watch"
    finally:
        worker.send_signal(signal.SIGCONT)
    for site in every:
        until(lambda: site.permits()[-1] == "Permitted")  # noqa: B023
