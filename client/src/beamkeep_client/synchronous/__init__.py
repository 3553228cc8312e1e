# Written from `asynchronous`; `make reference` writes it again.
"""Everything that calls the service. `make reference` writes `synchronous` from it."""
