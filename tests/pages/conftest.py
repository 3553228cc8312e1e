"""The tests here call a service that runs."""

from tests.support.serving import cluster, server

__all__ = ["cluster", "server"]
