"""Whoever restores a database: follows a how-to page word by word, on a machine of their own."""

import asyncio
import os
import pwd
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from beamkeep.adapters.postgres.fence import faults
from beamkeep.parts.witness.proving import anchor_trees
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.waiting import until
from tests.faults.ground import Ground
from tests.faults.report import ROOT

PAGE = ROOT / "docs/how-to/restore.md"
SECTION = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.MULTILINE)
BLOCK = re.compile(r"^ *```(console|ini|sql)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
PORT = 5432
SECONDS = 300.0


class Step(NamedTuple):
    """Something the page says to do, and the answer it shows, in which … stands for anything."""

    command: str
    answer: str = ""

    def fits(self, answer: str) -> bool:
        """Whether this is the answer the page shows."""
        pattern = ".*".join(re.escape(part.strip("\n")) for part in self.answer.split("…"))
        return not self.answer or re.fullmatch(pattern, answer, re.DOTALL) is not None


def sections() -> dict[str, list[Step]]:
    """The sections of the page that say what to do, each with its steps."""
    found = {name: [*_steps(text)] for name, text in SECTION.findall(PAGE.read_text())}
    return {name: steps for name, steps in found.items() if steps}


def _steps(section: str) -> Generator[Step]:
    for kind, indented in BLOCK.findall(section):
        text = dedent(indented)
        match kind:
            case "ini":
                yield Step(f"cat >> \"$PGCONFIG/postgresql.conf\" <<'END'\n{text}END")
            case "sql":
                yield Step(f"psql -q beamkeep <<'END'\n{text}END")
            case _:
                for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                    command, _, answer = part.partition("\n")
                    yield Step(command, answer.strip())


def run_in_shell(
    command: str, environment: Mapping[str, str], folder: Path | None = None, *, ours: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a command as the user of PostgreSQL, unless it is of our own programs."""
    account = pwd.getpwnam("postgres") if os.geteuid() == 0 and not ours else None
    return subprocess.run(
        ["bash", "-u", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        user=account and account.pw_uid,
        group=account and account.pw_gid,
        extra_groups=[] if account else None,
    )


class Operator:
    """Somebody with a shell on a machine that has one cluster, and a disk for backups."""

    def __init__(self, cluster: Cluster, backup: Path, **variables: str) -> None:
        self.ground = Ground(cluster)
        self._cluster, self.variables = cluster, variables
        self.said = {"/backup": str(backup)}
        """What the page says, and what is meant here."""

    @classmethod
    @contextmanager
    def beside(cls, cluster: Cluster) -> Generator["Operator"]:
        """The operator of a cluster that runs."""
        operator = cls(cluster, cluster.home / "backup")
        try:
            operator.run(Step("mkdir -p /backup"))
            operator.move_in()
            yield operator
        finally:
            operator.leave()

    @contextmanager
    def neighbour(self, name: str) -> Generator["Operator"]:
        """The operator of another machine, on which there is no cluster yet."""
        home = self._cluster.home / name
        self.run(Step(f"mkdir {home} {home}/sockets"))
        other = Cluster(home, home / "sockets")
        other.port = PORT
        primary = f"host={self._cluster.sockets} port={self._cluster.port} user=postgres"
        operator = Operator(other, Path(self.said["/backup"]), PRIMARY=primary)
        try:
            yield operator
        finally:
            operator.leave()

    def move_in(self) -> None:
        """Have the server be found where this machine's is, whoever starts it."""
        where = {
            "port": self._cluster.port,
            "unix_socket_directories": self._cluster.sockets,
            "listen_addresses": "",
        }
        lines = "".join(f"{name} = '{value}'\n" for name, value in where.items())
        self.run(Step(f"cat >> \"$PGDATA/postgresql.conf\" <<'END'\n{lines}END"))

    async def follow(self, heading: str) -> None:
        """Do what a section of the page says."""
        async for _ in self.following(heading):
            pass

    async def following(self, heading: str) -> AsyncGenerator[str]:
        """Do what a section of the page says, and tell of each command that was done."""
        for step in sections()[heading]:

            async def done(step: Step = step) -> str | None:
                answer = await self._answer(step)
                # A question is asked again until the server has come as far as the page says.
                return step.command if step.fits(self._as_said(answer)) else None

            yield await until(done, f"{step.command}\nanswers\n{step.answer}")

    async def _answer(self, step: Step) -> str:
        if step.command == "beamkeep check":
            # Asked here: to start the program for it takes longer than all the rest.
            urls = self.ground.settings().database_urls.items()
            told = [(name, await faults(url.get_secret_value())) for name, url in urls]
            found = [f"{name}: {each}" for name, several in told for each in several]
            return "\n".join(found) or "nothing is wrong"
        if step.command.startswith("beamkeep anchor"):
            settings = self.ground.settings()
            return "\n".join(await anchor_trees(settings, "Restored", is_diverged=False))
        return await asyncio.to_thread(self.run, step)

    def run(self, step: Step) -> str:
        """What a command answers; it must succeed."""
        command = step.command
        for said, meant in self.said.items():
            command = command.replace(said, meant)
        # Our own program may be closed to the user that runs PostgreSQL.
        ours = re.search(r"(^|; do )beamkeep ", command)
        ran = run_in_shell(command, self._environment(), self._cluster.home, ours=bool(ours))
        # The role postgres is there already, and so are some of the forgotten forgotten.
        may_fail = "roles.sql" in command or "forget-actor" in command
        assert ran.returncode == 0 or may_fail, f"{command}\n{ran.stdout}{ran.stderr}"
        return ran.stdout.strip()

    def leave(self) -> None:
        """Stop the server without ceremony, if it runs."""
        self.run(Step('! pg_ctl status -D "$PGDATA" || pg_ctl stop -m immediate -D "$PGDATA"'))

    def _as_said(self, answer: str) -> str:
        for said, meant in self.said.items():
            answer = answer.replace(meant, said)
        return answer

    def _environment(self) -> Mapping[str, str]:
        programs = subprocess.run(
            ["pg_config", "--bindir"], capture_output=True, text=True, check=True
        ).stdout.strip()
        folders = [os.environ.get("PG_BINDIR", programs), str(Path(sys.executable).parent)]
        own = {n: v for n, v in os.environ.items() if not n.startswith("PG")}
        return {
            **own,
            **self.variables,
            "PATH": os.pathsep.join([*folders, os.environ["PATH"]]),
            "PGDATA": str(self._cluster.data),
            "PGCONFIG": str(self._cluster.data),
            "PGHOST": str(self._cluster.sockets),
            "PGPORT": str(self._cluster.port),
            "PGUSER": "postgres",
            "TZ": "UTC",
        }
