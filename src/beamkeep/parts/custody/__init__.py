"""Custody: how well data are kept, and checks of their copies."""
