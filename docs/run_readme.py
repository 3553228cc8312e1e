"""Carry out the commands of README.md, word for word and in order, in a clean copy of the project.

Text after `$` in a console block is a command, which continues on the next line after a backslash.
What follows it, if anything, is its answer, in which … stands for whatever is there. A comment
before a block may say that it stays until stopped, that its commands are refused, or what every
answer in it holds.
"""

import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

from docs import tour

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(?:<!-- ([^\n]*) -->\n)?```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STAYS = re.compile(r"stays; ready when it prints: (.+)")
HOLDS = re.compile(r"every answer holds: (.+)")
REFUSED = "every command is refused"
NOT_OURS = frozenset({"VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"})
SECONDS = 300.0
WRONG_USAGE = 64
PATIENCE = 30.0
ADDRESS = re.compile(r"http://\S+/console/")
END = "-- end of the answer, status "
COLUMNS, LINES = 80, 24
VARYING = (
    r"…?\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|…[0-9a-f]{8}\b",
    r"\b\d{4}-\d\d-\d\d(T[^\s\"]+)?",
    r"\b\d\d:\d\d(:\d\d)?Z?\b",
    r"\b\d+(\.\d)? ?(ms|s|m|h|d)\b",
)
"""Ids, dates, times and ages: what differs from one run to the next."""


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
    refused: bool


def blocks(text: str) -> Iterator[Block]:
    """The console blocks of a page."""
    for comment, body in BLOCK.findall(text):
        steps: list[Step] = []
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, answer = part.partition("\n")
            while command.endswith("\\"):
                line, _, answer = answer.partition("\n")
                command += f"\n{line}"
            steps.append(Step(command, answer.strip()))
        stays, holds, refused = (
            STAYS.fullmatch(comment),
            HOLDS.fullmatch(comment),
            comment == REFUSED,
        )
        if comment and not (stays or holds or refused):
            raise ReadmeError(f"nobody knows what this comment means: {comment}")
        yield Block(
            steps=tuple(steps),
            ready=stays and stays[1],
            holds=holds and holds[1],
            refused=refused,
        )


def steady(text: str) -> str:
    """Return a text without what differs from one run to the next, and with single spaces."""
    for each in VARYING:
        text = re.sub(each, "-", text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


class Shell:
    """A shell as a reader has it open, in which one command follows another."""

    def __init__(self, where: Path, terminal: bool = False) -> None:
        own = {n: v for n, v in os.environ.items() if n not in NOT_OURS and "BEAMKEEP" not in n}
        # A background job ignores Ctrl-C, and all that it starts would ignore it too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # The shell reads commands from a pipe of its own, so that programs can have a terminal.
        script, commands = os.pipe()
        if terminal:
            ours, theirs = pty.openpty()
            fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
            own = {n: v for n, v in own.items() if n not in {"COLUMNS", "LINES"}}
            own |= {"NO_COLOR": "1", "TERM": "xterm"}
        else:
            ours, theirs = os.pipe()
        self._process = subprocess.Popen(
            ["bash", "--norc", f"/dev/fd/{script}"],
            cwd=where,
            env=own,
            stdin=theirs if terminal else subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs if terminal else None,
            pass_fds=(script,),
            start_new_session=True,
        )
        for each in (script, theirs):
            os.close(each)
        self._commands, self._printed = os.fdopen(commands, "w"), os.fdopen(ours, "rb")
        self._lines: Queue[str] = Queue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def run(self, command: str) -> str:
        """What a command prints; it must succeed."""
        status, answer = self.ask(command)
        if status:
            raise ReadmeError(f"{command}: exit status {status}\n{answer}")
        return answer

    def ask(self, command: str) -> tuple[int, str]:
        """Run a command and return its exit status and what it printed."""
        self.begin(f'{command}\nprintf "\\n{END}%s\\n" "$?"')
        *lines, status = self.until(END)
        return int(status.removeprefix(END)), "\n".join(lines).strip()

    def begin(self, command: str) -> None:
        """Send a command without waiting for it."""
        self._commands.write(f"{command}\n")
        self._commands.flush()

    def until(self, text: str) -> list[str]:
        """The lines up to one that begins with a text."""
        deadline, lines = time.monotonic() + SECONDS, list[str]()
        while not (lines and lines[-1].startswith(text)):
            try:
                lines.append(self._lines.get(timeout=max(0, deadline - time.monotonic())))
            except Empty:
                output = "\n".join(lines)
                raise ReadmeError(f"waited in vain for {text!r}:\n{output}") from None
        return lines

    def _read(self) -> None:
        # A terminal whose programs have all ended fails to read.
        with self._printed as lines, suppress(OSError):
            for line in lines:
                self._lines.put(line.decode().rstrip("\r\n"))

    def close(self) -> None:
        """Press Ctrl-C, and leave."""
        os.killpg(self._process.pid, signal.SIGINT)
        self._commands.close()
        try:
            self._process.wait(SECONDS)
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
                printed = "\n".join(shells[-1].until(block.ready))
                if found := ADDRESS.search(printed):
                    tour.follow(found[0], page)
                continue
            carry_out(block, shells[0])
    finally:
        for shell in reversed(shells):
            shell.close()


def carry_out(
    block: Block, shell: Shell, is_question: Callable[[str], bool] = lambda _: False
) -> None:
    """Run the commands of a block, and compare what each answers with what the page shows.

    Lists follow the events, and nobody types as fast as this: a question is asked again until its
    answer is the one shown, and so is a command that names something no list shows yet.
    """
    for step in block.steps:
        print(f"$ {step.command}", flush=True)
        deadline = time.monotonic() + PATIENCE
        while True:
            status, answer = shell.ask(step.command)
            try:
                _require_shown(block, step, status, answer)
                break
            except ReadmeError:
                again = status == WRONG_USAGE or is_question(step.command)
                if not again or time.monotonic() > deadline:
                    raise


def _require_shown(block: Block, step: Step, status: int, answer: str) -> None:
    if bool(status) is not block.refused:
        raise ReadmeError(f"{step.command}: exit status {status}\n{answer}")
    require(step.command, answer, step.answer)
    if block.holds and not step.command.startswith(". ") and block.holds not in answer:
        raise ReadmeError(f"{step.command}\nanswered\n{answer}\nwithout {block.holds}")


def require(command: str, answer: str, wanted: str) -> None:
    """Compare an answer with the one the page shows, in which … stands for anything."""
    pattern = ".*".join(re.escape(part) for part in steady(wanted).split("…"))
    if wanted and not re.fullmatch(pattern, steady(answer), re.DOTALL):
        raise ReadmeError(f"{command}\nanswered\n{answer}\nand not\n{wanted}")


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
