"""The restore page is followed on the cluster that the install page makes, twice in a row."""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import jwt
import pytest
from docs.run_install import Host, playing, provider_key
from docs.run_readme import Shell, require
from tests.faults.operating import PAGE, Step, run_in_shell, sections

from beamkeep.testing.cluster import free_port
from beamkeep.testing.waiting import until

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not shutil.which("pg_createcluster"), reason="needs Debian's clusters"),
]

PROVING = PAGE.with_name("prove-an-event.md")
SIGNED = re.compile(r"/events-\d+\n(\d+)$", re.MULTILINE)
ACCEPTED = re.compile(r"--accept (\S+?)\.$", re.MULTILINE)
SECONDS = 300.0
MOMENT = "2030-03-04 12:00:00+00"
SETTINGS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KEY = re.compile(r"^\$ (beamkeep witness-key .*)$", re.MULTILINE)
PASSWORD = re.compile(r"^# (sudo .*bk_witness')$", re.MULTILINE)
PAGE_VERSION = "15"
"""The version of PostgreSQL on the pages."""
ARCHIVE, BACKUP, LIST, RECOVER, AGAIN, AT_LAST = (
    "Keep an archive",
    "Back up",
    "Write down who was forgotten",
    "Recover to a moment",
    "Forget again",
    "Check the service",
)
HBA = """\
local all all trust
local replication all trust
host all all 127.0.0.1/32 scram-sha-256
"""


class Machine(Host):
    """A Debian host in a folder, with a cluster of Debian's own tools."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, folder / "run", free_port())
        programs = ["pg_config", "--bindir"]
        found = subprocess.run(programs, capture_output=True, text=True, check=True).stdout.strip()
        self.programs = os.environ.get("PG_BINDIR", found)
        self.version = Path(self.programs).parent.name
        self.here |= {
            "/usr/lib/postgresql/15/bin": self.programs,
            f"postgresql/{PAGE_VERSION}/": f"postgresql/{self.version}/",
            f"pg_createcluster {PAGE_VERSION} ": f"pg_createcluster {self.version} ",
            "/backup": str(folder / "backup"),
        }
        self.clusters = folder / "etc" / "postgresql"
        self.backup = folder / "backup"
        self.checkpoints = folder / "var/lib/beamkeep/checkpoints"
        self.played = {**self.played, "pg_createcluster": self._create()}

    def furnish(self) -> None:
        """Make the folders in which Debian keeps clusters."""
        super().furnish()
        common = self.folder / "etc" / "postgresql-common"
        lines = {
            "data_directory": f"{self.folder}/var/lib/postgresql/%v/%c",
            "initdb_options": "--username=postgres",
            "add_include_dir": "conf.d",
        }
        common.mkdir()
        written = "".join(f"{name} = '{value}'\n" for name, value in lines.items())
        (common / "createcluster.conf").write_text(written)
        for owned in (self.clusters, self.folder / "var/lib/postgresql", self.folder / "backup"):
            owned.mkdir()
            if os.geteuid() == 0:
                shutil.chown(owned, "postgres", "postgres")

    def _create(self) -> str:
        """Debian's own program, told where this host is, and whom the server lets in."""
        config = f"{self.clusters}/{self.version}/beamkeep"
        return f"""set -e
export PG_CLUSTER_CONF_ROOT={self.clusters} PGSYSCONFDIR={self.folder}/etc/postgresql-common
/usr/bin/pg_createcluster -s {self.folder}/run -l {self.folder}/postgresql.log "$@"
printf '%s' '{HBA}' > {config}/pg_hba.conf
/usr/bin/pg_ctlcluster {self.version} beamkeep reload"""


def token() -> str:
    """An access token of the administrator that the install page names."""
    now = int(time.time())
    claims = {
        "iss": "https://login.facility.example",
        "aud": "https://beamkeep.facility.example",
        "sub": "ada",
        "client_id": "console",
        "jti": str(uuid4()),
        "iat": now,
        "exp": now + 3600,
    }
    headers = {"typ": "at+jwt", "kid": "k"}
    return jwt.encode(claims, provider_key(), algorithm="RS256", headers=headers)


class Operator:
    """Somebody with a terminal as root, one as the user of PostgreSQL, and one at a desk."""

    def __init__(self, machine: Machine, root: Shell) -> None:
        self._machine, self._root, self.said = machine, root, dict[str, str]()
        ours, self._alias = SETTINGS.findall(sections_before())
        self._entry = machine.placed(ours)
        # A shell that reads a script knows no aliases otherwise.
        root.run("shopt -s expand_aliases")
        root.run(machine.placed(self._alias))

    def follow(self, heading: str) -> None:
        """Do what a section of the page says."""
        for step in sections()[heading]:
            print(f"$ {step.command}", flush=True)
            if "; do beamkeep" in step.command:
                self._forget(step)
            elif step.command.startswith("beamkeep anchor"):
                require(step.command, self._root.run(self._meant(step.command)), step.answer)
            else:
                is_ours = step.command.startswith("beamkeep")

                # Servers and workers come as far as the page says some time after their start.
                def done(step: Step = step, is_ours: bool = is_ours) -> bool:
                    if is_ours:
                        return step.fits(self._root.ask(self._meant(step.command))[1])
                    return step.fits(self.run(step.command))

                wait_for(done, f"{step.command}\nanswers\n{step.answer}")

    def run(self, command: str) -> str:
        """What a command answers to the user of PostgreSQL; it must succeed."""
        known = {name: os.environ[name] for name in ("PATH", "PGHOST")}
        ran = run_in_shell(self._entry + self._meant(command), known | {"PGUSER": "postgres"})
        assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
        return ran.stdout.strip()

    def witness(self) -> str:
        """Configure a witness as its page says, and return its verifier key."""
        page = PROVING.read_text()
        (make,), (password,) = (each.findall(page) for each in (KEY, PASSWORD))
        key = self._root.run(self._meant(make))
        self._machine.do(self._root, password)
        with self._machine.environment.open("a") as lines:
            lines.write(self._machine.placed(SETTINGS.findall(page)[0]))
        return key

    def verify(self, key: str) -> None:
        """See that the record is the one that was signed, once what was done to it is accepted."""
        keys = self._machine.folder / "keys"
        keys.write_text(f"{key}\n")
        command = f"beamkeep verify --checkpoints {self._machine.checkpoints} --keys {keys}"
        status, told = self._root.ask(command)
        names = ACCEPTED.findall(told)
        # The tree of rows goes on where no row is lost.
        assert (status, names[:2]) == (1, ["events-2", "events-3"]), told
        status, told = self._root.ask(" ".join([command, *(f"--accept {each}" for each in names)]))
        assert (status, told.splitlines()[-1]) == (0, "nothing is wrong"), told

    def _forget(self, step: Step) -> None:
        way_in = f"export BEAMKEEP_URL={self._machine.url} BEAMKEEP_TOKEN={token()}"
        program = f"PATH={self._machine.folder}/opt/bin:$PATH"
        ran = subprocess.run(
            ["bash", "-c", f"{way_in} {program}\n{self._meant(step.command)}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        known = ("ActorCannotForgetError", "ActorNotFoundError")
        assert [each for each in ran.stderr.splitlines() if not each.startswith(known)] == []

    def _meant(self, command: str) -> str:
        for said, meant in self.said.items():
            command = command.replace(said, meant)
        return self._machine.placed(command)


def sections_before() -> str:
    """The section of the page that says who runs what."""
    return PAGE.read_text().partition("## Keep an archive")[0]


def wait_for(found: Callable[[], object], what: str) -> None:
    """Wait until something is true."""
    asyncio.run(until(found, what))


class Used:
    """The service in use, by its administrator."""

    def __init__(self, machine: Machine, operator: Operator, http: httpx2.Client) -> None:
        self._machine, self._operator, self._http = machine, operator, http

    def post(self, path: str, **body: object) -> dict[str, Any]:
        """Make a change."""
        answer = self._http.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else {}

    def zone(self) -> str:
        """A zone that is defined now."""
        return self.post("/zones", name="Hutch")["zone_id"]

    def status_of(self, zone_id: str) -> int:
        """Whether there is a zone: 200 or 404."""
        return self._http.get(f"/zones/{zone_id}").status_code

    def person(self) -> str:
        """A person who is registered now."""
        return self.post("/actors", name="Grace", email="grace@lab.test")["actor_id"]

    def name_of(self, actor_id: str) -> str | None:
        """How a person is called."""
        return self._http.get(f"/actors/{actor_id}").json()["name"]

    def until_signed(self) -> None:
        """Wait until the witness has signed all that was written."""
        written = int(self._operator.run("psql -At beamkeep -c 'SELECT count(*) FROM bk.events'"))

        def signed() -> bool:
            notes = SIGNED.findall(self._machine.checkpoints.read_text())
            return bool(notes) and int(notes[-1]) >= written

        wait_for(signed, f"{written} events are signed")

    def now(self) -> str:
        """The time of the server."""
        return self._operator.run("psql -At -c 'SELECT clock_timestamp()'")


@contextmanager
def in_use(machine: Machine, operator: Operator) -> Generator[Used]:
    """The service and its worker while they run."""
    headers = {"Authorization": f"Bearer {token()}"}
    with (
        machine.units(),
        httpx2.Client(base_url=machine.url, headers=headers, timeout=SECONDS) as http,
    ):
        yield Used(machine, operator, http)


@pytest.fixture
def machine() -> Generator[Machine]:
    """A host that is removed afterwards; its folders are open to the user of PostgreSQL."""
    folder = Path(tempfile.mkdtemp(prefix="bk-", dir="/tmp"))
    folder.chmod(0o755)
    machine = Machine(folder)
    try:
        machine.furnish()
        yield machine
    finally:
        shutil.rmtree(folder)


@contextmanager
def installed(machine: Machine) -> Generator[Operator]:
    """The service, installed with a witness; nothing of it runs afterwards."""
    with playing(machine) as root:
        try:
            machine.install(root)
            operator = Operator(machine, root)
            yield operator
        finally:
            stop = '! pg_ctl status -D "$PGDATA" || pg_ctl stop -m immediate -D "$PGDATA"'
            Operator(machine, root).run(stop)


def restore_once(machine: Machine, operator: Operator) -> None:
    """Follow the page from the archive to a service that is in use again."""
    operator.follow(ARCHIVE)
    with in_use(machine, operator) as used:
        person = used.person()
        before = set(machine.backup.glob("base-*"))
        operator.follow(BACKUP)
        (base,) = set(machine.backup.glob("base-*")) - before
        kept = used.zone()
        operator.said |= {"base-20300303T020000Z": base.name, MOMENT: used.now()}
        lost = used.zone()
        used.post(f"/actors/{person}/forget")
        # The log is shorter then than what was signed.
        used.until_signed()
    operator.follow(LIST)
    operator.follow(RECOVER)
    with in_use(machine, operator) as used:
        assert used.name_of(person) == "Grace"
        operator.follow(AGAIN)
        assert used.name_of(person) != "Grace"
        assert (used.status_of(kept), used.status_of(lost)) == (200, 404)
        used.until_signed()
        operator.follow(AT_LAST)


def test_a_cluster_is_restored_twice_as_the_page_says(machine: Machine):
    with installed(machine) as operator:
        key = operator.witness()
        for _ in range(2):
            restore_once(machine, operator)
        operator.verify(key)
