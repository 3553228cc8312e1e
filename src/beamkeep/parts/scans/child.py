"""The process that parses HDF5: closed before it gets a file, and ended after one scan.

It answers on standard output, one JSON object in each line. Files come as descriptors over a
socket, whose number is its only argument.
"""

import io
import json
import os
import socket
import sys
from typing import Any

import h5py
import numpy as np

from .facts import read_scan_file
from .hdf5 import BeingWrittenError, ScanError, ScanFile
from .sandbox import close_process

MOST_ANSWERED = 256 << 10
MOST_ASKED = 4096


class Channel:
    """The two ways to the process that started this one."""

    def __init__(self, files: socket.socket, answers: int) -> None:
        self._files, self._answers = files, answers

    def receive(self) -> tuple[dict[str, Any], int]:
        """Return a request and the descriptor that came with it."""
        text, descriptors, _, _ = socket.recv_fds(self._files, MOST_ASKED, 1)
        return json.loads(text), descriptors[0]

    def open_part(self, name: str) -> ScanFile:
        """Return another file, which the other process opens by its name."""
        self.answer({"open": name})
        _, descriptor = self.receive()
        return ScanFile(io.FileIO(descriptor))

    def answer(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, allow_nan=False).encode() + b"\n"
        if len(line) > MOST_ANSWERED:
            line = b'{"refused": "The answer would be too long."}\n'
        while line:
            line = line[os.write(self._answers, line) :]


def serve(channel: Channel) -> None:
    """Close the process, read one scan, and answer what was found."""
    channel.answer({"landlock": close_process()})
    request, descriptor = channel.receive()
    try:
        file = ScanFile(io.FileIO(descriptor))
        channel.answer({"scan": read_scan_file(file, request.get("entry"), channel.open_part)})
    except ScanError as error:
        channel.answer({"refused": str(error)})
    except BeingWrittenError:
        channel.answer({"being_written": True})
    except Exception:
        channel.answer({"refused": "The file is damaged."})


def rehearse() -> None:
    """Read a scan in memory, so that everything that reading loads is loaded before the closing."""
    held = io.BytesIO()
    with h5py.File(held, "w") as file:
        entry = file.create_group("entry")
        entry.attrs["NX_class"] = np.bytes_("NXentry")
        entry["definition"] = "NXtomo"
        entry["start_time"] = np.bytes_("2026-01-01T00:00:00Z")
        frames = entry.create_dataset(
            "instrument/detector/data", data=np.zeros((2, 2, 2)), chunks=True, compression="gzip"
        )
        frames.parent["image_key"] = [0, 1]
        angles = entry.create_dataset("sample/rotation_angle", data=[0.0, 1.0], compression="lzf")
        angles.attrs["units"] = "deg"
        entry["sample/x_pixel_size"] = 1.0
    read_scan_file(ScanFile(held), None, lambda _: ScanFile(held))


def main() -> None:
    rehearse()
    serve(Channel(socket.socket(fileno=int(sys.argv[1])), sys.stdout.fileno()))


if __name__ == "__main__":
    try:
        main()
    finally:
        # Nothing of the file is cleaned up by its own program text.
        os._exit(0)
