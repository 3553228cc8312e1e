"""A closed process can use what it has open, and nothing else."""

import json
import resource
import subprocess
import sys

from beamkeep.parts.scans import sandbox
from beamkeep.parts.scans.reading import ENVIRONMENT

PROGRAM = """
import ctypes, json, mmap, os, signal, socket, sys
from beamkeep.parts.scans.sandbox import close_process

held = os.open("/etc/hostname", os.O_RDONLY)
version = close_process()

def outcome(attempt):
    try:
        attempt()
    except OSError as error:
        return type(error).__name__
    except BaseException as error:
        return repr(error)
    return "done"

tried = {
    "open": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "create": lambda: os.open("/tmp/made", os.O_WRONLY | os.O_CREAT),
    "read a link": lambda: os.readlink("/proc/self/exe"),
    "look at a file": lambda: os.stat("/etc/passwd"),
    "list": lambda: os.listdir("/"),
    "open again": lambda: os.open(f"/proc/self/fd/{held}", os.O_RDONLY),
    "connect": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    "fork": os.fork,
    "run": lambda: os.execv("/bin/true", ["true"]),
    "signal": lambda: os.kill(os.getppid(), 0),
    "map program text": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC),
    "map memory": lambda: mmap.mmap(-1, 4096),
    "read what is open": lambda: os.read(held, 1),
}
sys.stdout.write(json.dumps({"landlock": version} | {k: outcome(v) for k, v in tried.items()}))
sys.stdout.flush()
os._exit(0)
"""


def run(program: str) -> str:
    command = [sys.executable, "-I", "-c", program]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_closed_process_opens_connects_and_starts_nothing() -> None:
    told = json.loads(run(PROGRAM))
    told.pop("landlock")
    allowed = {name for name, outcome in told.items() if outcome == "done"}
    assert allowed == {"map memory", "read what is open"}
    assert {told[name] for name in told if name not in allowed} == {"PermissionError"}


def test_landlock_alone_refuses_files_where_the_kernel_has_it() -> None:
    """Without the list of calls, Landlock must refuse what it knows."""
    told = run(
        "import os\n"
        "from beamkeep.parts.scans import sandbox\n"
        "sandbox._restrict_calls = lambda: None\n"
        "version = sandbox.close_process()\n"
        "try:\n    os.open('/etc/passwd', os.O_RDONLY); opened = True\n"
        "except PermissionError: opened = False\n"
        "print(version > 0, opened)"
    )
    assert told.split() in (["True", "False"], ["False", "True"])


def test_a_process_with_a_second_thread_is_not_closed() -> None:
    told = run(
        "import threading\n"
        "from beamkeep.parts.scans.sandbox import close_process\n"
        "stop = threading.Event()\n"
        "threading.Thread(target=stop.wait).start()\n"
        "try:\n    close_process()\n"
        "except OSError as error: print(error)\n"
        "stop.set()"
    )
    assert "one thread" in told


def test_the_limits_are_those_that_are_documented() -> None:
    assert sandbox.LIMITS == {
        resource.RLIMIT_AS: 1 << 30,
        resource.RLIMIT_CPU: 10,
        resource.RLIMIT_NOFILE: 16,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    assert sandbox.X86_64.keys() == sandbox.AARCH64.keys()
