"""Runs a program under the system call rules of a unit: `python sandbox.py RULES.json PROGRAM...`, as root.

systemd itself cannot be asked to where it is not the first process. The rules are those of seccomp that its manual
describes for SystemCallFilter=, RestrictAddressFamilies=, MemoryDenyWriteExecute=, RestrictRealtime= and
RestrictNamespaces=; file system, devices and control groups are not in it. Root loses its capabilities; those that the
rules keep stand for limits that not every root may raise.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import resource
import socket
import struct
import sys
from pathlib import Path

HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
_CAPBSET_DROP, _SET_SECCOMP, _SET_NO_NEW_PRIVS = 24, 22, 38
_CAPABILITIES = 41

_LOAD, _JUMP_EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_ARCH_X86_64, _ALLOW, _ERRNO, _KILL = 0xC000003E, 0x7FFF0000, 0x00050000, 0x80000000
_WRITE, _EXEC, _SHM_EXEC = 2, 4, 0o100000


def numbers() -> dict[str, int]:
    """Numbers of the system calls."""
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)", HEADER.read_text())}


def _argument(index: int) -> int:
    return 16 + 8 * index


def _when(call: int, body: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    return [(_JUMP_EQUAL, 0, len(body) + 1, call), *body, (_LOAD, 0, 0, 0)]


def _refuse_bits(index: int, bits: int) -> list[tuple[int, int, int, int]]:
    return [
        (_LOAD, 0, 0, _argument(index)),
        (_AND, 0, 0, bits),
        (_JUMP_EQUAL, 0, 1, bits),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
    ]


def program(rules: dict[str, object]) -> bytes:
    """The filter, as the kernel takes it."""
    number = numbers()
    code = [(_LOAD, 0, 0, 4), (_JUMP_EQUAL, 1, 0, _ARCH_X86_64), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if rules["deny_write_execute"]:
        code += _when(number["mmap"], _refuse_bits(2, _WRITE | _EXEC))
        code += _when(number["mprotect"], _refuse_bits(2, _EXEC))
        code += _when(number["pkey_mprotect"], _refuse_bits(2, _EXEC))
        code += _when(number["shmat"], _refuse_bits(2, _SHM_EXEC))
    if rules["restrict_realtime"]:
        # Under this rule systemd lets only the ordinary policies through.
        body = [(_LOAD, 0, 0, _argument(1))]
        for policy in (os.SCHED_FIFO, os.SCHED_RR, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK):
            body += [(_JUMP_EQUAL, 0, 1, policy), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]
        code += _when(number["sched_setscheduler"], body)
    families = rules["families"]
    if isinstance(families, list):
        body = [(_LOAD, 0, 0, _argument(0))]
        for index, family in enumerate(families):
            body.append((_JUMP_EQUAL, len(families) - index, 0, int(getattr(socket, family))))
        body.append((_RETURN, 0, 0, _ERRNO | errno.EAFNOSUPPORT))
        code += _when(number["socket"], body)
    if rules["restrict_namespaces"]:
        code += _when(number["clone3"], [(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)])
    calls = rules["calls"]
    assert isinstance(calls, list)
    for call in calls:
        if call in number:
            code += [(_JUMP_EQUAL, 0, 1, number[call]), (_RETURN, 0, 0, _ALLOW)]
    code.append((_RETURN, 0, 0, _ERRNO | errno.EPERM))
    return b"".join(struct.pack("HBBI", *one) for one in code)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def enter(rules: dict[str, object]) -> None:
    """Give up what the unit's processes do not have, for good."""
    limits, kept = rules["limits"], rules["capabilities"]
    assert isinstance(limits, dict)
    assert isinstance(kept, list)
    for name, value in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
    libc = ctypes.CDLL(None, use_errno=True)
    code = program(rules)
    buffer = ctypes.create_string_buffer(code, len(code))
    given = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    drops = [(_CAPBSET_DROP, number, 0, 0, 0) for number in range(_CAPABILITIES) if number not in kept]
    last = (_SET_SECCOMP, 2, ctypes.byref(given), 0, 0)
    for call in (*drops, (_SET_NO_NEW_PRIVS, 1, 0, 0, 0), last):
        if libc.prctl(*call) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    enter(json.loads(Path(sys.argv[1]).read_text()))
    os.execv(sys.argv[2], sys.argv[2:])
