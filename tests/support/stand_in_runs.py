"""A stand-in for the service's runs, over real HTTP, that fails on cue.

It keeps the promises the recorder rests on (idempotency keys, duplicate observation ids, statuses)
and nothing else; what the service itself does is shown by `tests/system/test_bluesky.py`.
"""

import json
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, Literal
from uuid import uuid4

type Fault = Literal["drop", "lose", "garble"] | tuple[int, str]
"""Close before doing it, close after doing it, answer as no service does, or refuse like this."""

ENDED = {"complete": "Completed", "stop": "Stopped", "abort": "Aborted", "truncate": "Truncated"}
TOKEN = "sesame"


class Refusal(Exception):
    """A refused call."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status, self.code = status, code


@dataclass
class Run:
    """One run, as it was reported."""

    body: dict[str, Any]
    status: str = "Running"
    ending: dict[str, Any] | None = None
    observations: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    duplicates: int = 0


@dataclass
class Runs:
    """What was recorded, and what is to go wrong."""

    runs: dict[str, Run] = field(default_factory=dict[str, Run])
    calls: list[str] = field(default_factory=list[str])
    fault: Callable[[str], Fault | None] = lambda _: None
    url: str = ""
    answers: dict[str, tuple[str, int, Any]] = field(
        default_factory=dict[str, tuple[str, int, Any]]
    )
    lock: Lock = field(default_factory=Lock)

    @property
    def only(self) -> Run:
        """The one run there is."""
        (run,) = self.runs.values()
        return run

    def called(self, path: str, body: Any, key: str | None) -> tuple[int, Any]:
        """Carry out one call, or give again the answer it had."""
        said = json.dumps([path, body], sort_keys=True)
        if key in self.answers:
            before, status, answer = self.answers[key]
            if before != said:
                raise Refusal(422, "IdempotencyConflictError")
            return status, answer
        status, answer = self._carried_out(path, body)
        if key:
            self.answers[key] = said, status, answer
        return status, answer

    def _carried_out(self, path: str, body: Any) -> tuple[int, Any]:
        match path.strip("/").split("/"):
            case ["runs"]:
                if "plan_id" not in body:
                    raise Refusal(422, "MalformedRequestError")
                run_id = str(uuid4())
                self.runs[run_id] = Run(body)
                return 201, {"run_id": run_id, "acknowledged_cautions": [], "advisories": []}
            case ["runs", run_id, "observations", "append"]:
                return 200, self._appended(self._run(run_id), body["entries"])
            case ["runs", run_id, verb]:
                run = self._run(run_id)
                if run.status != "Running":
                    raise Refusal(409, f"RunCannot{verb.capitalize()}Error")
                run.status, run.ending = ENDED[verb], body
                return 204, None
            case _:
                raise Refusal(404, "NoSuchPathError")

    def _run(self, run_id: str) -> Run:
        if run_id not in self.runs:
            raise Refusal(404, "RunNotFoundError")
        return self.runs[run_id]

    def _appended(self, run: Run, entries: list[dict[str, Any]]) -> dict[str, int]:
        ids = [entry["observation_id"] for entry in entries]
        if not 1 <= len(entries) <= 500:
            raise Refusal(422, "MalformedRequestError")
        if run.status != "Running":
            raise Refusal(409, "RunCannotAppendObservationsError")
        if len({*ids}) < len(ids):
            raise Refusal(400, "InvalidRunObservationError")
        if any(id in each.observations for id in ids for each in self.runs.values() if each != run):
            raise Refusal(409, "RunObservationIdTakenError")
        new = [entry for entry in entries if entry["observation_id"] not in run.observations]
        run.observations |= {entry["observation_id"]: entry for entry in new}
        run.duplicates += len(entries) - len(new)
        return {"appended_count": len(new), "duplicate_count": len(entries) - len(new)}


@contextmanager
def serving_runs(runs: Runs, port: int = 0) -> Generator[Runs]:
    """Answer on a port of this machine; afterwards nobody answers there; what is stored stays."""
    gone = Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with runs.lock:
                runs.calls.append(self.path)
                fault = "drop" if gone.is_set() else runs.fault(self.path)
                if fault == "drop":
                    return self._cut()
                try:
                    if isinstance(fault, tuple):
                        raise Refusal(*fault)
                    if self.headers["Authorization"] != f"Bearer {TOKEN}":
                        raise Refusal(401, "InvalidTokenError")
                    status, answer = runs.called(self.path, body, self.headers["Idempotency-Key"])
                except Refusal as refusal:
                    status = refusal.status
                    answer = {"status": status, "code": refusal.code, "detail": "No."}
            if fault == "lose":
                return self._cut()
            content = b"" if status == 204 else json.dumps(answer).encode()
            if fault == "garble":
                status, content = 200, b"<h1>Log in to the guest network</h1>"
            self.send_response(status)
            if status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            return None

        def _cut(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        def log_message(self, format: str, *args: Any) -> None: ...

    class Listener(ThreadingHTTPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, request: Any, client_address: Any) -> None: ...

    with Listener(("127.0.0.1", port), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        runs.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield runs
        finally:
            gone.set()
            server.shutdown()
            thread.join()
