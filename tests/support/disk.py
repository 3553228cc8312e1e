"""Small disks: a file system in an image, which can be filled up, and copied as it is."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

IMAGE, FILLER = "image", "filler"
ROOM, BLOCK = 4 * 2**30, 4096
DEADLINE = 30.0
USABLE = os.geteuid() == 0 and Path("/dev/loop-control").exists() and bool(shutil.which("mke2fs"))
"""Whether this machine lets us make and mount file systems of our own."""


class Disk:
    """A mounted ext4 file system whose device is a file.

    What is written to it stays in the memory of the kernel until the kernel writes it back or
    somebody asks for it with fsync; only then is it in the image. Of a disk in an image on another
    disk, even what the kernel has written back is in the outer image only once the inner disk was
    asked to flush, as it is with a real disk that has a cache of its own.
    """

    def __init__(self, image: Path, path: Path) -> None:
        self.image, self.path = image, path

    @classmethod
    @contextmanager
    def made(cls, directory: Path, megabytes: int, *options: str) -> Generator[Self]:
        """An empty disk of some size, its image in this directory, mounted with these options."""
        image = directory / IMAGE
        with image.open("wb") as file:
            file.truncate(megabytes * 2**20)
        _do("mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", str(image))
        with cls.found(image, *options) as disk:
            yield disk

    @classmethod
    @contextmanager
    def found(cls, image: Path, *options: str) -> Generator[Self]:
        """The disk in an image."""
        path = Path(tempfile.mkdtemp(prefix="bk-disk-"))
        try:
            # The loop device goes with the mount, whatever becomes of us.
            _do("mount", "-o", ",".join(("loop", *options)), str(image), str(path))
            try:
                path.chmod(0o755)
                yield cls(image, path)
            finally:
                _unmount(path)
        finally:
            path.rmdir()

    def copy(self, to: Path) -> None:
        """Copy the image as it is at one instant."""
        deadline = time.monotonic() + DEADLINE
        while True:
            before = self._written()
            _do("cp", "--sparse=auto", str(self.image), str(to))
            # The kernel may write back of its own accord in the middle of a copy.
            if before[-1] == 0 and self._written() == before:
                return
            if time.monotonic() > deadline:
                raise TimeoutError("the disk was never quiet for as long as a copy takes")

    def fill(self) -> None:
        """Take all room there is."""
        piece = 2**26
        with (self.path / FILLER).open("ab") as file:
            while piece >= BLOCK:
                try:
                    os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), piece)
                except OSError:
                    piece //= 2

    def empty(self) -> None:
        """Give the room back."""
        (self.path / FILLER).unlink()

    def _written(self) -> tuple[str | int, ...]:
        """How much the device was given so far, and how much is on its way."""
        number = self.path.stat().st_dev
        stat = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat")
        fields = stat.read_text().split()
        return fields[4], fields[6], int(fields[8])


@contextmanager
def workshop() -> Generator[Path]:
    """A directory for images, in memory if there is room."""
    memory = Path("/dev/shm")  # noqa: S108
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > ROOM
    with tempfile.TemporaryDirectory(prefix="bk-", dir=memory if roomy else None) as name:
        yield Path(name)


def _unmount(path: Path) -> None:
    deadline = time.monotonic() + DEADLINE
    while subprocess.run(["umount", str(path)], capture_output=True, check=False).returncode:
        if time.monotonic() > deadline:
            # Out of sight now, and gone with the last process that uses it.
            _do("umount", "--lazy", str(path))
            return
        time.sleep(0.05)


def _do(*command: str) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise OSError(f"{' '.join(command)}: {ran.stderr.strip()}")
