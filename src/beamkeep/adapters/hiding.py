"""What this process keeps from other processes of its user, such as compute jobs."""

import ctypes
import os

PR_SET_DUMPABLE = 4


def hide_process() -> None:
    """Let no other process of this user read the environment or the memory of this one."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
