"""The process that runs one program, apart from the worker that started it.

    runner.py <lock> <directory of slots> <number of slots> <timeout or 0> <program> <arguments>...

The worker starts this file in the directory of the job, with a lock on it that the worker has
taken. The runner and its program hold that lock while they live, so that every other process can
see whether the job is alive, also after this runner was killed. It imports no other module of
Beamkeep: a job must not wait for that.
"""

import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

LOOK_SECONDS = 0.1
GRACE_SECONDS = 5.0
"""How long a program may take to end after SIGTERM."""
CANCEL = Path("cancel")


def main() -> None:
    lock, (slots, at_once, timeout), command = int(sys.argv[1]), sys.argv[2:5], sys.argv[5:]
    if os.fork():
        os._exit(0)  # The worker has no child to wait for.
    write("runner.json", {"host": socket.gethostname(), "pid": os.getpid()})
    slot = taken_slot(Path(slots), int(at_once))
    if slot is None:
        write("status.json", {"state": "Cancelled"})
        return
    write("started.json", {"at": time.time()})
    write("status.json", outcome(command, float(timeout), (lock, slot)))


def taken_slot(slots: Path, at_once: int) -> int | None:
    """Return the file of a slot once one is free; None when the job is cancelled before."""
    slots.mkdir(exist_ok=True)
    while not CANCEL.exists():
        for number in range(at_once):
            slot = os.open(slots / str(number), os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(slot)
            else:
                return slot
        time.sleep(LOOK_SECONDS)
    return None


def outcome(command: list[str], timeout: float, held: tuple[int, ...]) -> dict[str, object]:
    """Run a program and return how it ended."""
    with open("stdout", "wb") as out, open("stderr", "wb") as err:
        try:
            process = subprocess.Popen(  # noqa: S603 - the deployment's own catalogue
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                pass_fds=held,
            )
        except OSError as error:
            return {"state": "Failed", "because": str(error)}
    ended, deadline = os.pidfd_open(process.pid), time.monotonic() + (timeout or float("inf"))
    state, kill_at = None, None
    while not select.select([ended], [], [], LOOK_SECONDS)[0]:
        now = time.monotonic()
        if state is None and (CANCEL.exists() or now > deadline):
            state, kill_at = "TimedOut" if now > deadline else "Cancelled", now + GRACE_SECONDS
            os.killpg(process.pid, signal.SIGTERM)
        elif kill_at is not None and now > kill_at:
            os.killpg(process.pid, signal.SIGKILL)
    # What the program left running ends, too. Its number is its own until `wait`.
    os.killpg(process.pid, signal.SIGKILL)
    code = process.wait()
    return {"state": state or ("Failed" if code else "Succeeded"), "exit_code": code}


def write(name: str, content: dict[str, object]) -> None:
    """Write a file of the job whole or not at all."""
    new = Path(f"{name}.new")
    with new.open("w") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(name)


if __name__ == "__main__":
    main()
