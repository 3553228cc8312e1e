"""The command line: a client of a running service, made from the same declarations."""
