"""A Tango device server without a database, with the attributes that the contract is about.

One JSON array a line comes in, and `done` goes out for each; the end of input is its end.
"""
# pyright: basic

import json
import os
import sys
import threading
import time

import numpy as np
import tango
from tango import AttrDataFormat, AttrQuality, AttrWriteType, CmdArgType
from tango.server import Device, attribute, run

QUALITIES = {
    "NO": AttrQuality.ATTR_VALID,
    "MINOR": AttrQuality.ATTR_WARNING,
    "MAJOR": AttrQuality.ATTR_ALARM,
    "INVALID": AttrQuality.ATTR_INVALID,
}
SCALAR, SPECTRUM, IMAGE = AttrDataFormat.SCALAR, AttrDataFormat.SPECTRUM, AttrDataFormat.IMAGE
READ, BOTH = AttrWriteType.READ, AttrWriteType.READ_WRITE
RELEASED = threading.Condition()
DEVICES = []


class Channels(Device):
    """Attributes whose writes are logged."""

    def init_device(self) -> None:
        super().init_device()
        DEVICES.append(self)
        self.values = {
            "number": 1.5,
            "single": 1.5,
            "polled": 1.5,
            "integer": 7,
            "text": "Si 111",
            "shutter": 0,
            "curve": [1.0, 2.0, 3.0],
            "locked": 1.5,
            "slow": 1.5,
            "image": np.zeros((4, 6), np.uint16),
        }
        self.qualities = {}
        self.declare("number", CmdArgType.DevDouble, change_events=True)
        self.declare("polled", CmdArgType.DevDouble)
        self.declare("single", CmdArgType.DevFloat)
        self.declare("integer", CmdArgType.DevLong)
        self.declare("text", CmdArgType.DevString)
        self.declare("shutter", CmdArgType.DevEnum, enum_labels=["Closed", "Open"])
        self.declare("curve", CmdArgType.DevDouble, dformat=SPECTRUM, max_dim_x=8)
        self.declare("locked", CmdArgType.DevDouble, max_value=10)
        self.declare("slow", CmdArgType.DevDouble)
        image = {"dformat": IMAGE, "max_dim_x": 8, "max_dim_y": 8, "access": READ}
        self.declare("image", CmdArgType.DevUShort, **image)

    def declare(self, name, kind, *, change_events=False, access=BOTH, **properties) -> None:
        made = attribute(
            name=name,
            dtype=kind,
            access=access,
            fget="value_of",
            **({"fset": "take"} if access is BOTH else {}),
            **properties,
        )
        self.add_attribute(made)
        if change_events:
            self.set_change_event(name, True, False)

    def value_of(self, found):
        name = found.get_name()
        quality = self.qualities.get(name, AttrQuality.ATTR_VALID)
        return self.values[name], time.time(), quality

    def take(self, written) -> None:
        name, value = written.get_name(), written.get_write_value()
        with open(os.environ["PUT_LOG"], "a") as log, RELEASED:
            print(json.dumps([name, np.asarray(value).tolist()]), file=log, flush=True)
            if name == "slow":
                RELEASED.wait()
        self.change(name, value)

    def change(self, name, value, quality=None) -> None:
        self.values[name] = value
        if quality is not None:
            self.qualities[name] = quality
        if name == "number":
            stated = self.qualities.get(name, AttrQuality.ATTR_VALID)
            self.push_change_event(name, value, time.time(), stated)


def serve(answers) -> None:
    with tango.EnsureOmniThread():
        (device,) = DEVICES
        print("done", file=answers, flush=True)
        for line in sys.stdin:
            match json.loads(line):
                case ["put", name, *values]:
                    for value in values:
                        device.change(name, value)
                case ["alarm", name, severity, _]:
                    device.change(name, device.values[name], QUALITIES[severity])
                case ["release"]:
                    with RELEASED:
                        RELEASED.notify_all()
                case unknown:
                    raise ValueError(unknown)
            print("done", file=answers, flush=True)
    os._exit(0)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    port, published = json.loads(sys.stdin.readline())
    arguments = ["Channels", "test", "-nodb", "-dlist", "test/channels/1"]
    arguments += ["-ORBendPoint", f"giop:tcp:127.0.0.1:{port}"]
    # Where clients find it, which may be a proxy before it.
    arguments += ["-ORBendPointPublish", f"giop:tcp:127.0.0.1:{published}"]
    started = lambda: threading.Thread(target=serve, args=[answers], daemon=True).start()  # noqa: E731
    run([Channels], arguments, post_init_callback=started)


if __name__ == "__main__":
    main()
