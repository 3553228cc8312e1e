"""The gate: which suites there are, which of them a change needs, and how they are run."""
