#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""private_stacks.py: which BPF programs on uprobes use stacks per CPU?

To be run while ioprobe records. Looks at the machine code of all loaded programs. Prints "uprobes: NAME..." for programs on uprobes
(type kprobe) with such a stack, and "others: N", the number of other programs with one: 0 on kernels without private stacks.
"""
import ctypes
import re
import struct

BPF, GET_NEXT_ID, GET_FD, GET_INFO = 321, 11, 13, 15
INFO_BYTES, KPROBE = 256, 2
OURS = {"call_entry", "call_return", "call_session", "linker_rendezvo", "unwinder_entry", "guard_unwinder"}
# movabs $ADDRESS,%r9; add %gs:OFFSET,%r9: what x86's JIT compiler begins a function with that has a private stack
PROLOGUE = re.compile(rb"\x49\xb9.{8}\x65\x4c\x03\x0c\x25", re.DOTALL)
libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes, 128)
    return libc.syscall(BPF, command, buffer, len(buffer)), buffer


def programs():
    """Yields type, name and machine code."""
    last = 0
    while True:
        ret, buffer = bpf(GET_NEXT_ID, struct.pack("II", last, 0))
        if ret < 0:
            return
        last = struct.unpack_from("I", buffer.raw, 4)[0]
        fd, _ = bpf(GET_FD, struct.pack("II", last, 0))
        if fd < 0:
            continue
        info = ctypes.create_string_buffer(INFO_BYTES)
        bpf(GET_INFO, struct.pack("IIQ", fd, INFO_BYTES, ctypes.addressof(info)))
        kind, size = struct.unpack_from("I", info.raw)[0], struct.unpack_from("I", info.raw, 16)[0]
        name = info.raw[64:80].split(b"\0")[0].decode()
        code = ctypes.create_string_buffer(size or 1)
        info = ctypes.create_string_buffer(INFO_BYTES)
        struct.pack_into("I", info, 16, size)
        struct.pack_into("Q", info, 24, ctypes.addressof(code))
        bpf(GET_INFO, struct.pack("IIQ", fd, INFO_BYTES, ctypes.addressof(info)))
        yield kind, name, code.raw
        libc.close(fd)


uprobes, others, seen = set(), 0, set()
for kind, name, code in programs():
    seen.add(name)
    if not PROLOGUE.search(code):
        continue
    if kind == KPROBE and name in OURS:
        uprobes.add(name)
    elif kind != KPROBE:
        others += 1
assert seen & OURS, "no program of ioprobe is loaded"
print("uprobes:", *sorted(uprobes))
print("others:", others)
