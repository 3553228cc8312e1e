"""Signers: where the private keys of the own site are, and how they sign."""
