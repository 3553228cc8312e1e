"""The throwaway cluster answers, and a crash loses nothing that was committed."""

import psycopg
import pytest

from beamkeep.testing.cluster import Cluster

pytestmark = pytest.mark.postgres


def test_a_cluster_answers_over_its_socket_and_over_tcp_with_durability_on():
    with Cluster.start(max_connections="20") as cluster:
        home, sockets = cluster.home, cluster.sockets
        for url in (cluster.url(), cluster.url(tcp=True), cluster.create_database("copy")):
            with psycopg.connect(url) as connection:
                shown = [
                    connection.execute(f"SHOW {name}").fetchone()
                    for name in ("fsync", "synchronous_commit", "data_checksums", "max_connections")
                ]
            assert shown == [("on",), ("on",), ("on",), ("20",)]
    assert not home.exists()
    assert not sockets.exists()


def test_committed_rows_survive_a_crash_and_open_transactions_do_not():
    with Cluster.start() as cluster:
        pid, url = cluster.pid, cluster.url()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept (value int)")
            connection.execute("INSERT INTO kept VALUES (1)")
        lost = psycopg.connect(url)
        lost.execute("INSERT INTO kept VALUES (2)")

        cluster.kill()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)
        with pytest.raises(psycopg.OperationalError):
            lost.commit()
        lost.close()
        cluster.resume()

        assert cluster.pid != pid
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT value FROM kept").fetchall() == [(1,)]
