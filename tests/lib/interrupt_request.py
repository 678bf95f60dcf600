#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: interrupt_request.py hang|crash READY PID...

Waits until one of these processes, which wait for a message, has received one. hang: it stays where it is, and does not count as
stopped for its parent. crash: it is sent SIGABRT then, which a sanitizer does not catch. READY is made when all are watched. Ends
with the processes; prints how many had received a message."""
import ctypes
import os
import signal
import sys

CONT, DETACH, SYSCALL, SEIZE, INTERRUPT = 7, 17, 24, 0x4206, 0x4207
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, pid, data=0):
    if libc.ptrace(request, pid, None, data):
        raise OSError(ctypes.get_errno(), "ptrace %#x of %d" % (request, pid))


def wait_for_stop(pid):
    _, status = os.waitpid(pid, 0x40000000)     # __WALL
    assert os.WIFSTOPPED(status), "%d is not stopped: %#x" % (pid, status)


def main(what, ready, *pids):
    pids = [int(pid) for pid in pids]
    assert pids, "no process"
    for pid in pids:
        ptrace(SEIZE, pid)
        ptrace(INTERRUPT, pid)
        wait_for_stop(pid)
        ptrace(SYSCALL, pid)
        wait_for_stop(pid)                      # it waits again: the system call was interrupted, and begins anew
        ptrace(SYSCALL, pid)
    open(ready, "w").close()
    received = 0
    while pids:
        pid, status = os.waitpid(-1, 0x40000000)
        if not os.WIFSTOPPED(status):
            pids.remove(pid)
            continue
        if os.WSTOPSIG(status) != signal.SIGTRAP:
            ptrace(CONT, pid, os.WSTOPSIG(status))
            continue
        received += 1
        if what == "crash":
            ptrace(DETACH, pid, signal.SIGABRT)
            pids.remove(pid)
    print(received)


main(*sys.argv[1:])
