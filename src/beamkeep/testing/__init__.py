"""Support for tests, benchmarks and demonstrations; the service imports nothing of it.

For tests of rules: given-when-then and matrices (`scenario`). For tests of calls: a service in
memory (`service`), a throwaway PostgreSQL cluster (`cluster`, `postgres`), a server (`server`). For
simulations: PostgreSQL imitated in memory (`memory_postgres`). Some modules import pytest and
psycopg, development dependencies that the extra `testing` installs.
"""
