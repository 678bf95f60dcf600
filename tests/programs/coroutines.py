# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Two greenlets, which share the thread's stack by copying. Each makes 10 fwrites on an unbuffered cookie stream (ctypes); the
callback below switches to the other greenlet before its os.write to the file that argv[1] names. Exit status 46."""
import ctypes
import os
import sys

import greenlet

CALLS = 10
libc = ctypes.CDLL(None)
WRITE = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)


class Functions(ctypes.Structure):
    _fields_ = [("read", ctypes.c_void_p), ("write", WRITE), ("seek", ctypes.c_void_p), ("close", ctypes.c_void_p)]


libc.fopencookie.restype = ctypes.c_void_p
libc.fopencookie.argtypes = [ctypes.c_void_p, ctypes.c_char_p, Functions]
libc.setvbuf.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
libc.fwrite.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
libc.fwrite.restype = ctypes.c_size_t

out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
lets, returned, running = [], [], [0, 1]


def switch(index):
    if 1 - index in running:
        lets[1 - index].switch()


def callback_of(index):
    def callback(cookie, data, size):
        switch(index)
        return os.write(out, data[:size])
    return WRITE(callback)


def deeper(depth, call):
    """At different depths, so that the slices of the stack that are exchanged differ."""
    return call() if not depth else deeper(depth - 1, call)


def body(index):
    stream = libc.fopencookie(None, b"w", Functions(None, callbacks[index], None, None))
    libc.setvbuf(stream, None, 2, 0)
    for i in range(CALLS):
        text = b"%c%d\n" % (b"ab"[index], i)
        assert deeper(i * 3 * index, lambda: libc.fwrite(text, 1, len(text), stream)) == len(text)
        returned.append("ab"[index])
    running.remove(index)
    switch(index)


callbacks = [callback_of(0), callback_of(1)]
lets += [greenlet.greenlet(lambda: body(0)), greenlet.greenlet(lambda: body(1))]
lets[0].switch()
while running:
    lets[running[0]].switch()
with open(sys.argv[1]) as written:
    os.write(1, ("%s, %d lines\n" % ("".join(returned), len(written.readlines()))).encode())
os._exit(46)
