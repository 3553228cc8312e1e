"""A throwaway PostgreSQL cluster, made from the installed binaries and removed afterwards."""

import argparse
import os
import pwd
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql

SETTINGS = {
    "max_connections": "100",
    "shared_buffers": "128MB",
    "max_prepared_transactions": "0",
    "log_min_messages": "warning",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_error_verbosity": "terse",
}
DEADLINE = 60.0
LONGEST_SOCKET_DIRECTORY = 80
# Below Linux's ephemeral range: nobody's outgoing connection takes the port while the server is
# down, and a client that keeps trying the closed port can never connect to itself.
PORTS = range(20_000, 32_000)
PORT_ATTEMPTS = 5


class ClusterError(RuntimeError):
    """A command of the cluster failed."""


class Cluster:
    """One PostgreSQL server with its own data, port and socket, which can be crashed at will."""

    def __init__(self, home: Path, sockets: Path) -> None:
        self.home = home
        self.sockets = sockets
        self.data = home / "data"
        # It says why the server ended, also after the disk of the data was full.
        self.log = sockets / "log"
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def start(cls, directory: Path | None = None, **settings: str) -> Self:
        """Create and start a new cluster in its own directory under `directory`."""
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
            if not _reachable(directory.resolve()):
                raise ClusterError(f"{directory} is closed to the user that runs PostgreSQL")
        short = _short_directory()
        cluster = cls(_own_directory(directory or short), _own_directory(short))
        try:
            cluster._initialise(settings)
            cluster._start_on_a_free_port()
        except BaseException:
            cluster.close()
            raise
        return cluster

    @classmethod
    def found(cls, home: Path) -> Self:
        """Start a cluster on the data of another cluster whose machine went down."""
        cluster = cls(home, _own_directory(_short_directory()))
        try:
            # It names a process of the machine that went down, whose number is taken here.
            (cluster.data / "postmaster.pid").unlink(missing_ok=True)
            cluster._start_on_a_free_port()
        except BaseException:
            cluster.close()
            raise
        return cluster

    @property
    def pid(self) -> int:
        """Return the process id of the running postmaster."""
        return self._running().pid

    def url(self, database: str = "postgres", user: str = "postgres", tcp: bool = False) -> str:
        """Return the address of a database, over the socket or, with `tcp`, over TCP."""
        name, path = quote(user, safe=""), quote(database, safe="")
        if tcp:
            return f"postgresql://{name}@127.0.0.1:{self.port}/{path}"
        where = urlencode({"host": str(self.sockets), "port": self.port})
        return f"postgresql://{name}@/{path}?{where}"

    def databases(self) -> set[str]:
        """Return the names of all databases."""
        with psycopg.connect(self.url()) as connection:
            return {name for (name,) in connection.execute("SELECT datname FROM pg_database")}

    def create_database(self, name: str, template: str | None = None) -> str:
        """Create a database, as a copy of `template` if given, and return its address."""
        statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template is not None:
            statement += sql.SQL(" TEMPLATE {}").format(sql.Identifier(template))
        # A copy has everything but the privileges on the database itself.
        revoke = sql.SQL("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC").format(sql.Identifier(name))
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement)
            if template is not None:
                connection.execute(revoke)
        return self.url(name)

    def kill(self) -> None:
        """Crash the server: SIGKILL to the postmaster, then to each of its children."""
        process = self._running()
        # Stopped, the postmaster neither forks nor reaps, so no listed pid can change its owner.
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        children = [os.pidfd_open(pid) for pid in _children(process.pid)]
        try:
            process.kill()
            for child in children:
                _kill_pidfd(child)
            process.wait(DEADLINE)
            _await_exits(children)
        finally:
            for child in children:
                os.close(child)
            self._process = None

    def pause(self) -> None:
        """Pause every process of the server, and return when all are paused."""
        process = self._running()
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        children = _children(process.pid)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGSTOP)
        await_paused(children)

    def unpause(self) -> None:
        """Resume a paused server."""
        process = self._running()
        for pid in (*_children(process.pid), process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def shut_down(self) -> None:
        """Shut down with a checkpoint."""
        process = self._running()
        process.send_signal(signal.SIGINT)
        if process.wait(DEADLINE):
            raise ClusterError(f"PostgreSQL did not end well:\n{self.log.read_text()[-4000:]}")
        self._process = None

    def ended(self) -> bool:
        """Return whether the server has ended by itself; `resume` starts it again."""
        if self._process is not None and self._process.poll() is not None:
            self._process = None
        return self._process is None

    def damage(self) -> str:
        """Return the faults that `pg_amcheck` finds in the tables and indexes of all databases."""
        where = ("--host", str(self.sockets), "--port", str(self.port), "--username", "postgres")
        how = ("--all", "--install-missing", "--heapallindexed")
        ran = subprocess.run(
            [_binary("pg_amcheck"), *where, *how], capture_output=True, text=True, check=False
        )
        return ran.stdout + ran.stderr if ran.returncode else ""

    def torn_pages(self) -> str:
        """Return the faults that `pg_checksums` finds in the pages of a stopped cluster."""
        before = self.log.stat().st_size
        code = self._run("pg_checksums", "--check").wait(DEADLINE)
        return self.log.read_text()[before:] if code else ""

    def stop(self) -> None:
        """Shut down at once and without a checkpoint; do nothing if it is already down."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            try:
                self._process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                self.kill()
        self._process = None

    def resume(self) -> None:
        """Start again after `kill` or `stop`, and return once connections are accepted."""
        if self._process is not None:
            raise ClusterError("the cluster is already running")
        where = ("-p", str(self.port), "-k", str(self.sockets))
        process = self._process = self._run("postgres", *where)
        deadline = time.monotonic() + DEADLINE
        while not self._accepts_connections():
            if process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise ClusterError(f"PostgreSQL did not start:\n{self.log.read_text()[-4000:]}")
            time.sleep(0.005)

    def restart(self) -> None:
        """Stop if running, then start again."""
        self.stop()
        self.resume()

    def close(self) -> None:
        """Stop and remove everything the cluster left on disk."""
        try:
            self.stop()
        finally:
            for directory in (self.home, self.sockets):
                shutil.rmtree(directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _initialise(self, settings: dict[str, str]) -> None:
        """Run initdb and write the settings into the configuration file."""
        options = ("--data-checksums", "--auth=trust", "--username=postgres")
        locale = ("--locale=C.UTF-8", "--encoding=UTF8")
        if self._run("initdb", *options, *locale).wait(DEADLINE):
            raise ClusterError(f"initdb failed:\n{self.log.read_text()}")
        own = {"listen_addresses": "127.0.0.1"}
        with (self.data / "postgresql.conf").open("a") as file:
            for name, value in (SETTINGS | own | settings).items():
                file.write("{} = '{}'\n".format(name, value.replace("'", "''")))
            file.flush()
            os.fsync(file.fileno())

    def _start_on_a_free_port(self) -> None:
        """Start on a free port; try another if the first was taken meanwhile."""
        for remaining in reversed(range(PORT_ATTEMPTS)):
            self.port = free_port()
            try:
                return self.resume()
            except ClusterError:
                if not remaining or "Address already in use" not in self.log.read_text():
                    raise
        return None

    def _running(self) -> subprocess.Popen[bytes]:
        """Return the postmaster's process. Raise when it is not running."""
        if self._process is None:
            raise ClusterError("the cluster is not running")
        return self._process

    def _accepts_connections(self) -> bool:
        """Return whether the postmaster has reported in its file that it is ready."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    def _run(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        """Run a PostgreSQL program on the data, never as root, in a directory its user can read."""
        account = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [_binary(program), "-D", str(self.data), *options],
                cwd=self.home,
                env=environment | {"TZ": "UTC"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=account and account.pw_uid,
                group=account and account.pw_gid,
                extra_groups=[] if account else None,
            )


def _binary(name: str) -> str:
    """Return the path of an installed PostgreSQL program; PG_BINDIR selects the version."""
    directory = os.environ.get("PG_BINDIR")
    if directory is None:
        asked = subprocess.run(
            ["pg_config", "--bindir"], capture_output=True, text=True, check=True
        )
        directory = asked.stdout.strip()
    path = Path(directory, name)
    if not path.exists():
        raise ClusterError(f"there is no {name} in {directory!r}; set PG_BINDIR")
    return str(path)


def _own_directory(parent: Path) -> Path:
    """Return a new private directory of the user that runs PostgreSQL."""
    made = Path(tempfile.mkdtemp(prefix="bk-", dir=parent)).resolve()
    if os.geteuid() == 0:
        shutil.chown(made, "postgres", "postgres")
    return made


def _short_directory() -> Path:
    """Return a temporary directory of PostgreSQL's user, short enough for a socket path."""
    for name in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"):  # noqa: S108
        path = Path(name).resolve()
        if len(str(path)) <= LONGEST_SOCKET_DIRECTORY and path.is_dir() and _reachable(path):
            return path
    raise ClusterError("no temporary directory is open to the user that runs PostgreSQL")


def _reachable(path: Path) -> bool:
    """Return whether PostgreSQL's user may enter every directory down to `path`."""
    if os.geteuid() != 0:
        return os.access(path, os.X_OK)
    account = pwd.getpwnam("postgres")
    return all(_passable(each.stat(), account) for each in (path, *path.parents))


def _passable(status: os.stat_result, account: pwd.struct_passwd) -> bool:
    """Return whether the execute bit that applies to the account is set."""
    if status.st_uid == account.pw_uid:
        return bool(status.st_mode & 0o100)
    if status.st_gid == account.pw_gid:
        return bool(status.st_mode & 0o010)
    return bool(status.st_mode & 0o001)


def free_port() -> int:
    """Return a free port."""
    for port in random.sample(PORTS, 200):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise ClusterError("no free port was found")


def _children(parent: int) -> list[int]:
    """Return the process ids of the living children of a process."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            state, of = _status(int(entry.name))
            if of == parent and state != "Z":
                found.append(int(entry.name))
    return found


def await_paused(processes: Sequence[int]) -> None:
    """Return when these processes are paused or have ended."""
    deadline = time.monotonic() + DEADLINE
    while any(_state(each) not in "TtZX" for each in processes):
        if time.monotonic() > deadline:
            raise ClusterError("a process did not stop")
        time.sleep(0.001)


def _state(pid: int) -> str:
    """Return the letter of a process's state; that of a dead process if it is gone."""
    return _status(pid)[0]


def _status(pid: int) -> tuple[str, int]:
    """Return the state of a process and its parent."""
    try:
        # The name in brackets may itself hold spaces and brackets.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return "X", 0
    return fields[0], int(fields[1])


def _kill_pidfd(pidfd: int) -> None:
    """Kill a process that may have gone by itself when its parent died."""
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except ProcessLookupError:
        return


def _await_exits(pidfds: list[int]) -> None:
    """Wait until none of the processes holds memory or files of the cluster any more."""
    deadline = time.monotonic() + DEADLINE
    for pidfd in pidfds:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise ClusterError("a server process outlived SIGKILL")


def _leave(number: int, frame: FrameType | None) -> None:
    """Turn SIGTERM into an ordinary exit, which closes the cluster."""
    sys.exit(0)


def main() -> None:
    """Start a cluster, print its address, and keep it until standard input closes."""
    parser = argparse.ArgumentParser(prog="python -m beamkeep.testing.cluster", description=__doc__)
    parser.add_argument("--hold", action="store_true", required=True, help=main.__doc__)
    parser.parse_args()
    signal.signal(signal.SIGTERM, _leave)
    try:
        with Cluster.start() as cluster:
            print(cluster.url(), flush=True)
            sys.stdin.read()
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
