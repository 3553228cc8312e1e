"""A pvAccess server in its own process, with the channels that the contract is about.

One JSON array a line comes in, and `done` goes out for each; the end of input is its end.
"""
# pyright: basic

import json
import os
import sys
import threading
import time

import numpy as np
from p4p.nt import NTEnum, NTNDArray, NTScalar, NTTable
from p4p.server import Server
from p4p.server.thread import SharedPV

SEVERITIES = {"NO": 0, "MINOR": 1, "MAJOR": 2, "INVALID": 3}
SHUTTER = {"index": 0, "choices": ["Closed", "Open"]}


class Puts:
    """Logs every put, refuses those to `locked`, and confirms those to `slow` when told to."""

    def __init__(self, name: str, released: threading.Condition) -> None:
        self._name, self._released = name, released

    def put(self, pv, operation) -> None:
        value = operation.value()
        raw = value.raw["value"] if hasattr(value, "raw") else value["value"]
        raw = raw["index"] if hasattr(raw, "getID") else raw
        with open(os.environ["PUT_LOG"], "a") as log, self._released:
            print(json.dumps([self._name, np.asarray(raw).tolist()]), file=log, flush=True)
            if self._name.endswith("slow"):
                self._released.wait()
        if self._name.endswith("locked"):
            operation.done(error="locked")
            return
        pv.post(value, timestamp=time.time())
        operation.done()


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    port, released = json.loads(sys.stdin.readline())[0], threading.Condition()
    number, shutter = NTScalar("d"), NTEnum()
    table = NTTable([("x", "d"), ("y", "d"), ("z", "d")])
    served = {
        "pva:number": (number, 1.5),
        "pva:single": (NTScalar("f"), 1.5),
        "pva:integer": (NTScalar("i"), 7),
        "pva:text": (NTScalar("s"), "Si 111"),
        "pva:shutter": (shutter, SHUTTER),
        "pva:curve": (NTScalar("ad"), [1.0, 2.0, 3.0]),
        "pva:locked": (number, 1.5),
        "pva:slow": (number, 1.5),
        "pva:image": (NTNDArray(), np.zeros((4, 6), np.uint16)),
        "pva:table": (table, [{"x": 1.0, "y": 2.0, "z": 3.0}] * 2),
    }
    pvs = {
        name: SharedPV(handler=Puts(name, released), nt=kind, initial=initial)
        for name, (kind, initial) in served.items()
    }
    address = {"EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1", "EPICS_PVAS_SERVER_PORT": str(port)}
    silent = {"EPICS_PVAS_AUTO_BEACON_ADDR_LIST": "NO", "EPICS_PVAS_BROADCAST_PORT": str(port)}
    server = Server(providers=[pvs], conf=address | silent, useenv=False)
    print("done", file=answers, flush=True)
    for line in sys.stdin:
        match json.loads(line):
            case ["put", name, *values]:
                for value in values:
                    pvs[name].post(value, timestamp=time.time())
            case ["alarm", name, severity, _]:
                pvs[name].post(pvs[name].current(), severity=SEVERITIES[severity], message="SOFT")
            case ["release"]:
                with released:
                    released.notify_all()
            case unknown:
                raise ValueError(unknown)
        print("done", file=answers, flush=True)
    server.stop()
    os._exit(0)


if __name__ == "__main__":
    main()
