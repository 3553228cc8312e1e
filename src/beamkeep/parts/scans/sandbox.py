"""Closes the current process: from then on it can use open descriptors and memory, no more."""

import ctypes
import os
import resource
import struct

MEMORY = 1 << 30
PROCESSOR_SECONDS = 10
OPEN_FILES = 16

LIMITS = {
    resource.RLIMIT_AS: MEMORY,
    resource.RLIMIT_CPU: PROCESSOR_SECONDS,
    resource.RLIMIT_NOFILE: OPEN_FILES,
    resource.RLIMIT_NPROC: 0,
    resource.RLIMIT_FSIZE: 0,
    resource.RLIMIT_CORE: 0,
}

# Linux: the value in seccomp's `arch`, then the number of each allowed call.
X86_64 = {
    "read": 0, "write": 1, "close": 3, "lseek": 8, "mmap": 9, "munmap": 11, "brk": 12,
    "rt_sigprocmask": 14, "rt_sigreturn": 15, "pread64": 17, "sched_yield": 24, "mremap": 25,
    "madvise": 28, "getpid": 39, "recvmsg": 47, "exit": 60, "gettid": 186, "futex": 202,
    "clock_gettime": 228, "exit_group": 231, "getrandom": 318,
}  # fmt: skip
AARCH64 = {
    "read": 63, "write": 64, "close": 57, "lseek": 62, "mmap": 222, "munmap": 215, "brk": 214,
    "rt_sigprocmask": 135, "rt_sigreturn": 139, "pread64": 67, "sched_yield": 124, "mremap": 216,
    "madvise": 233, "getpid": 172, "recvmsg": 212, "exit": 93, "gettid": 178, "futex": 98,
    "clock_gettime": 113, "exit_group": 94, "getrandom": 278,
}  # fmt: skip
ARCHITECTURES = {"x86_64": (0xC000003E, X86_64), "aarch64": (0xC00000B7, AARCH64)}

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000  # refuse with EPERM
LOAD, EQUAL, HAS_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
CALL_NUMBER, ARCHITECTURE, THIRD_ARGUMENT, PROT_EXEC = 0, 4, 32, 4

LANDLOCK_CREATE, LANDLOCK_RESTRICT = 444, 446  # the same on every architecture
LANDLOCK_VERSION = 1
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""How many rights to files each version of Landlock knows, from the version that added some."""

libc = ctypes.CDLL(None, use_errno=True)


def close_process() -> int:
    """Give up every right but those of open descriptors; return the version of Landlock, or 0.

    Raise OSError when a part other than Landlock cannot be set up.
    """
    if len(os.listdir("/proc/self/task")) != 1:
        raise OSError("The rights of one thread only would be given up.")
    for limit, value in LIMITS.items():
        resource.setrlimit(limit, (value, value))
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    version = _restrict_files_and_network()
    _restrict_calls()
    return version


def landlock_version() -> int:
    """Return the version of Landlock that the kernel has, or 0."""
    return max(0, _call(LANDLOCK_CREATE, None, 0, LANDLOCK_VERSION))


def _restrict_files_and_network() -> int:
    """Let Landlock refuse every right it knows; return its version, or 0 without Landlock."""
    if (version := landlock_version()) == 0:
        return 0
    files = FILE_RIGHTS[max(known for known in FILE_RIGHTS if known <= version)]
    handled = [(1 << files) - 1]
    if version >= 4:
        handled.append(0b11)  # connect and bind TCP
    if version >= 6:
        handled.append(0b11)  # abstract sockets and signals
    rules = struct.pack(f"{len(handled)}Q", *handled)
    descriptor = _call(LANDLOCK_CREATE, rules, len(rules), 0)
    if descriptor < 0 or _call(LANDLOCK_RESTRICT, descriptor, 0):
        raise OSError(ctypes.get_errno(), "Landlock")
    os.close(descriptor)
    return version


def _restrict_calls() -> None:
    """Let seccomp allow the calls of the table; nothing that is mapped may be executed."""
    architecture, calls = ARCHITECTURES[os.uname().machine]
    program = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, CALL_NUMBER),
        (EQUAL, 0, 4, calls["mmap"]),
        (LOAD, 0, 0, THIRD_ARGUMENT),
        (HAS_BIT, 0, 1, PROT_EXEC),
        (RETURN, 0, 0, REFUSE),
        (RETURN, 0, 0, ALLOW),
    ]
    for number in calls.values():
        program += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    program.append((RETURN, 0, 0, REFUSE))
    packed = b"".join(struct.pack("HBBI", *each) for each in program)
    code = ctypes.create_string_buffer(packed, len(packed))
    head = struct.pack("HP", len(program), ctypes.addressof(code))
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head)


def _prctl(option: int, value: int, more: bytes | int = 0) -> None:
    if libc.prctl(*_words(option, value, more, 0, 0)):
        raise OSError(ctypes.get_errno(), "prctl")


def _call(*arguments: bytes | int | None) -> int:
    return int(libc.syscall(*_words(*arguments)))


def _words(*arguments: bytes | int | None) -> list[ctypes.c_long | bytes | None]:
    """Return arguments for a variadic function: numbers fill a register."""
    return [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
