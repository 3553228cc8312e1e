"""A real Slurm cluster of one node on loopback, without cgroups and without accounting."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from getpass import getuser
from pathlib import Path
from tempfile import TemporaryDirectory

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sacct")
DEADLINE = 60.0

CONFIGURATION = """
ClusterName=beamkeep
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={base}/munge/socket
CredType=cred/munge
StateSaveLocation={base}/state
SlurmdSpoolDir={base}/spool
SlurmctldPidFile={base}/slurmctld.pid
SlurmdPidFile={base}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
KillWait=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing_programs() -> str:
    """Return what a cluster needs and this machine does not have."""
    return ", ".join(each for each in PROGRAMS if not shutil.which(each, path=_path()))


@contextmanager
def slurm_cluster() -> Generator[Path]:
    """Run a cluster and yield its configuration, which SLURM_CONF names to its programs."""
    with TemporaryDirectory(prefix="slurm-") as made, ExitStack() as stack:
        base = Path(made)
        base.chmod(0o755)
        for name in ("munge", "state", "spool"):
            (base / name).mkdir(mode=0o711)
        key = base / "munge/key"
        key.touch(mode=0o400)
        key.chmod(0o600)
        key.write_bytes(secrets.token_bytes(1024))
        configuration, host = base / "slurm.conf", socket.gethostname().split(".")[0]
        configuration.write_text(
            CONFIGURATION.format(
                host=host, ports=_free_ports(), user=getuser(), base=base, cpus=os.cpu_count()
            )
        )
        munge = {
            name: f"{base}/munge/{name}" for name in ("socket", "pid-file", "log-file", "seed-file")
        }
        options = [f"--{name}={value}" for name, value in munge.items()]
        stack.enter_context(_daemon(base, "munged", "--foreground", f"--key-file={key}", *options))
        _await("munged", (base / "munge/socket").exists, base)
        stack.enter_context(_daemon(base, "slurmctld", "-D", "-c"))
        stack.enter_context(_daemon(base, "slurmd", "-D", "-N", host))
        _await("a node", lambda: "idle" in _printed(base, "sinfo", "--noheader"), base)
        yield configuration


@contextmanager
def _daemon(base: Path, *command: str) -> Generator[None]:
    with (base / f"{command[0]}.out").open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=_environment(base))
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _printed(base: Path, *command: str) -> str:
    found = subprocess.run(
        command, env=_environment(base), capture_output=True, text=True, check=False
    )
    return found.stdout


def _await(what: str, holds: Callable[[], bool], base: Path) -> None:
    deadline = time.monotonic() + DEADLINE
    while not holds():
        logs = {log.name: log.read_text()[-2000:] for log in base.glob("*.out")}
        assert time.monotonic() < deadline, f"in vain: {what}: {logs}"
        time.sleep(0.05)


def _environment(base: Path) -> dict[str, str]:
    return os.environ | {"SLURM_CONF": str(base / "slurm.conf"), "PATH": _path()}


def _path() -> str:
    # The daemons are where a user's PATH does not lead on Debian.
    return f"{os.environ['PATH']}:/usr/sbin:/sbin"


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return one.getsockname()[1], two.getsockname()[1]
