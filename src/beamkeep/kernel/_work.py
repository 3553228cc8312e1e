"""Durable work: a row written with the event that asks for it, and done later by one worker."""

from uuid import UUID

from ._record import Record
from ._table import Table


class Work(Record):
    """Work that a worker does once it has claimed this row."""

    work_id: UUID
    kind: str
    subject_id: UUID


WORK = Table("work", Work, key=("work_id",))


class Fenced(Record):
    """A condition: the outcome is written only while this claim on the work holds."""

    work_id: UUID
    claim: int
    owner: UUID
    """The worker process that holds the claim."""
