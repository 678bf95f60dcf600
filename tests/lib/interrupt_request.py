#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: interrupt_request.py hang|crash READY PID...

Waits until one of these processes has received a message (recvmsg). hang: it stays where it is, and does not count as stopped for
its parent. crash: it is sent SIGABRT then, which a sanitizer does not catch. READY is made when all are watched. Ends with the
processes; prints how many had received a message."""
import ctypes
import os
import signal
import struct
import sys

DETACH, SYSCALL, SEIZE, INTERRUPT, GET_SYSCALL_INFO = 17, 24, 0x4206, 0x4207, 0x420e
TRACESYSGOOD = 1                                # an option: stops at system calls are of signal SIGTRAP | 0x80
ENTRY, EXIT, RECVMSG = 1, 2, 47
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, pid, address=0, data=0):
    result = libc.ptrace(request, pid, address, data)
    if result < 0:
        raise OSError(ctypes.get_errno(), "ptrace %#x of %d" % (request, pid))
    return result


def wait_for_stop(pid):
    _, status = os.waitpid(pid, 0x40000000)     # __WALL
    assert os.WIFSTOPPED(status), "%d is not stopped: %#x" % (pid, status)


def system_call(pid):
    """ENTRY and its number, or EXIT and its result."""
    info = ctypes.create_string_buffer(88)      # struct ptrace_syscall_info
    ptrace(GET_SYSCALL_INFO, pid, len(info), ctypes.addressof(info))
    return struct.unpack_from("B23xq", info)


def main(what, ready, *pids):
    pids = [int(pid) for pid in pids]
    assert pids, "no process"
    for pid in pids:
        ptrace(SEIZE, pid, data=TRACESYSGOOD)
        ptrace(INTERRUPT, pid)
        wait_for_stop(pid)
        ptrace(SYSCALL, pid)
    open(ready, "w").close()
    number = {}                                 # of the system call in which each is
    received = 0
    while pids:
        pid, status = os.waitpid(-1, 0x40000000)
        if not os.WIFSTOPPED(status):
            pids.remove(pid)
            continue
        if os.WSTOPSIG(status) != signal.SIGTRAP | 0x80:
            ptrace(SYSCALL, pid, data=0 if status >> 16 else os.WSTOPSIG(status))
            continue
        kind, value = system_call(pid)
        if kind == EXIT and number.get(pid) == RECVMSG and value > 0:
            received += 1
            if what == "crash":
                ptrace(DETACH, pid, data=signal.SIGABRT)
                pids.remove(pid)
            continue
        number[pid] = value if kind == ENTRY else None
        ptrace(SYSCALL, pid)
    print(received)


main(*sys.argv[1:])
