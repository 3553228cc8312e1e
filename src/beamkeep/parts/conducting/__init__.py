"""Conducts: control systems, observers, the walk, compute, actions and advisors."""
