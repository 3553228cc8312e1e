"""Proposal: commands that somebody asks for and somebody else approves."""

from . import proposal

OPERATIONS = proposal.OPERATIONS
QUESTIONS = proposal.QUESTIONS
