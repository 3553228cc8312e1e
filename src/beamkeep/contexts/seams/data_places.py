"""Which directories of data belong to whom, and what a caller may name in them."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit
from uuid import UUID

from beamkeep.kernel import Record

NOT_YOURS = (
    "It lies in the data of this deployment, and not in a directory that DATA_OWNERS gives to"
    " you. An administrator can add you there"
)


class DataPlaces(Record):
    """The directories that the deployment reads, and those of them that belong to principals."""

    roots: tuple[str, ...] = ()
    owners: Mapping[str, frozenset[UUID]] = {}

    def open_to(self, only: UUID | None) -> "PermittedPlaces":
        """Return what a caller may name: everything, or what belongs to one principal."""
        own = tuple(sorted(each for each, owners in self.owners.items() if only in owners))
        return PermittedPlaces(self.roots, own if only and self.roots else None)


class PermittedPlaces(Record):
    """What one caller may name in the data of the deployment."""

    roots: tuple[str, ...] = ()
    own: tuple[str, ...] | None = None
    """The directories of a caller that has the scope Own; None if all are permitted."""

    def permits(self, path: str) -> bool:
        """Return whether the caller may name a path; what is in no data root is not guarded."""
        return self.own is None or lies_in(path, self.own) or not lies_in(path, self.roots)

    def permits_address(self, uri: str) -> bool:
        """Return whether the caller may name an address, of whatever host."""
        split = urlsplit(uri)
        return split.scheme.lower() != "file" or self.permits(unquote(split.path))


def lies_in(path: str, directories: tuple[str, ...]) -> bool:
    """Return whether a path is one of these directories, or lies in one."""
    return any(PurePosixPath(path).is_relative_to(each) for each in directories)
