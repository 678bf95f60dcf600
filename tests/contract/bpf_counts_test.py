#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The counters of the BPF programs (COUNT in bpf/state.bpf.h) are changed by atomic instructions only: programs are preempted, and
run in interrupts inside of others, so that a plain addition would lose counts without a sign. Looks at the compiled objects: behind
each look-up of the map "counters" comes an atomic addition to what was found, and no plain store.

Needs no root. BUILD names the directory of the objects."""
import glob
import os
import struct
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("BUILD", os.path.join(TOP, "build"))
ATOMIC, STORE = 0xdb, 0x7b      # of 64 bits
JUMP, EXIT = 0x05, 0x95
BEHIND = 12                     # instructions behind a look-up's first one


def lookups(path):
    """Section and offset of each."""
    text = subprocess.run(["readelf", "-rW", path], capture_output=True, text=True, check=True).stdout
    section = None
    for line in text.splitlines():
        words = line.split()
        if line.startswith("Relocation section"):
            section = words[2].strip("'").removeprefix(".rel")
        elif words and words[-1] == "counters" and not section.startswith((".debug", ".BTF")):
            yield section, int(words[0], 16)


def code_of(path, section):
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["objcopy", "-I", "elf64-little", "-O", "binary", "-j", section, "--set-section-flags",
                        f"{section}=alloc,load,contents", path, out.name], check=True, stderr=subprocess.DEVNULL)
        return out.read()


def behind(code, at):
    """Opcodes and destinations of the next instructions; a jump that is always taken is followed."""
    for _ in range(BEHIND):
        kind, registers, offset = struct.unpack_from("<BBh", code, at)
        yield kind, registers & 15
        if kind == EXIT:
            return
        at += 8 + (8 * offset if kind == JUMP else 0)


def faults(path):
    codes, found = {}, 0
    for section, at in lookups(path):
        if section not in codes:
            codes[section] = code_of(path, section)
        kinds = list(behind(codes[section], at))
        found += 1
        if not any(kind == ATOMIC for kind, _ in kinds):
            yield f"{section}+{at:#x}: no atomic addition"
        if (STORE, 0) in kinds:
            yield f"{section}+{at:#x}: a plain store"
    if found < 10:
        yield f"{found} look-ups only"


def main():
    objects = sorted(glob.glob(os.path.join(BUILD, "ioprobe-*.bpf.o")) or
                     glob.glob(os.path.join(TOP, "build/ioprobe-*.bpf.o")))      # with SANITIZE=1 they are not in BUILD
    failed = 0
    for path in objects:
        wrong = list(faults(path))
        failed += bool(wrong)
        print(f"not ok {os.path.basename(path)}: {'; '.join(wrong[:5])}" if wrong else f"ok {os.path.basename(path)}, counters")
    print(f"{len(objects) - failed} passed, {failed} failed")
    sys.exit(bool(failed) or not objects)


if __name__ == "__main__":
    main()
