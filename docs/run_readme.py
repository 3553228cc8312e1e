"""Carry out the commands of README.md, word for word and in order, in a clean copy of the project.

Text after `$` in a console block is a command; what follows it, if anything, is its answer, in
which … stands for whatever is there. A comment before a block may say that it stays until stopped,
or what every answer in it holds.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(?:<!-- ([^\n]*) -->\n)?```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STAYS = re.compile(r"stays; ready when it prints: (.+)")
HOLDS = re.compile(r"every answer holds: (.+)")
NOT_OURS = frozenset({"VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"})
SECONDS = 300.0
END = "-- end of the answer, status "


class ReadmeError(Exception):
    """The README promises something that does not happen."""


@dataclass(frozen=True)
class Step:
    """One command with the answer shown for it."""

    command: str
    answer: str


@dataclass(frozen=True)
class Block:
    """Commands a reader copies together."""

    steps: tuple[Step, ...]
    ready: str | None
    holds: str | None


def blocks(text: str) -> Iterator[Block]:
    """The console blocks of a page."""
    for told, body in BLOCK.findall(text):
        steps: list[Step] = []
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, answer = part.partition("\n")
            steps.append(Step(command, answer.strip()))
        stays, holds = STAYS.fullmatch(told), HOLDS.fullmatch(told)
        if told and not (stays or holds):
            raise ReadmeError(f"nobody knows what this comment means: {told}")
        yield Block(tuple(steps), stays and stays[1], holds and holds[1])


class Shell:
    """A shell as a reader has it open, in which one command follows another."""

    def __init__(self, where: Path) -> None:
        own = {n: v for n, v in os.environ.items() if n not in NOT_OURS and "BEAMKEEP" not in n}
        self._process = subprocess.Popen(
            ["bash", "--norc"],
            cwd=where,
            env=own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,
        )
        self._lines: Queue[str] = Queue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def run(self, command: str) -> str:
        """What a command prints; it must succeed."""
        self.begin(f'{command}\nprintf "\\n{END}%s\\n" "$?"')
        lines = self.until(END)
        status = lines.pop().removeprefix(END)
        if status != "0":
            raise ReadmeError(f"{command}: exit status {status}\n{''.join(lines)}")
        return "\n".join(lines).strip()

    def begin(self, command: str) -> None:
        """Send a command without waiting for it."""
        assert self._process.stdin, "it is a pipe"  # noqa: S101
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()

    def until(self, text: str) -> list[str]:
        """The lines up to one that begins with a text."""
        deadline, lines = time.monotonic() + SECONDS, list[str]()
        while not (lines and lines[-1].startswith(text)):
            try:
                lines.append(self._lines.get(timeout=max(0, deadline - time.monotonic())))
            except Empty:
                told = "\n".join(lines)
                raise ReadmeError(f"waited in vain for {text!r}:\n{told}") from None
        return lines

    def _read(self) -> None:
        assert self._process.stdout, "it is a pipe"  # noqa: S101
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line.rstrip("\n"))

    def close(self) -> None:
        """Press Ctrl-C, and leave."""
        os.killpg(self._process.pid, signal.SIGINT)
        assert self._process.stdin, "it is a pipe"  # noqa: S101
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            raise ReadmeError("it does not stop at Ctrl-C") from None
        self._reader.join()


def follow(page: str, where: Path) -> None:
    """Do what the page says."""
    shells = [Shell(where)]
    try:
        for block in blocks(page):
            if block.ready:
                shells.append(Shell(where))
                for step in block.steps:
                    print(f"$ {step.command}", flush=True)
                    shells[-1].begin(step.command)
                shells[-1].until(block.ready)
                continue
            for step in block.steps:
                print(f"$ {step.command}", flush=True)
                _require(step, shells[0].run(step.command), block.holds)
    finally:
        for shell in reversed(shells):
            shell.close()


def _require(step: Step, answer: str, holds: str | None) -> None:
    pattern = ".*".join(re.escape(part) for part in step.answer.split("…"))
    if step.answer and not re.fullmatch(pattern, answer, re.DOTALL):
        raise ReadmeError(f"{step.command}\nanswered\n{answer}\nand not\n{step.answer}")
    if holds and not step.command.startswith(". ") and holds not in answer:
        raise ReadmeError(f"{step.command}\nanswered\n{answer}\nwithout {holds}")


def clean_copy(where: Path) -> None:
    """The project as a clone would have it: nothing that is ignored, nothing installed."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, where / name)


def main() -> int:
    """Follow the README, and say how long it took."""
    since = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="beamkeep-readme-") as folder:
        clean_copy(Path(folder))
        try:
            follow((ROOT / "README.md").read_text(), Path(folder))
        except ReadmeError as error:
            print(error, file=sys.stderr)
            return 1
    print(f"the README does what it says, in {time.monotonic() - since:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
