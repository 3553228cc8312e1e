"""Compute systems: programs of this machine, jobs of Slurm, and a twin in memory for tests."""
