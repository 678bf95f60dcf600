# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What a recording must not leave behind in the kernel and in its targets: BPF objects, breakpoints, stopped threads, leaked
uprobes.

Other recordings may run on the machine. An object counts as left behind only if it is new and no living process holds it, or its
program: links of a living recording are pinned, and held by no descriptor. A breakpoint counts only if this process, which nobody
records, does not have it."""
import ctypes
import glob
import os
import re
import struct
import subprocess
import time

SYS_BPF = {"x86_64": 321, "aarch64": 280, "ppc64le": 361, "riscv64": 280}[os.uname().machine]
PROG_NEXT, MAP_NEXT, PROG_FD, OBJECT_INFO, LINK_FD, LINK_NEXT = 11, 12, 13, 15, 30, 31
NEXT = {"prog": PROG_NEXT, "map": MAP_NEXT, "link": LINK_NEXT}

libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    """The buffer after the call, or None with errno."""
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    result = libc.syscall(SYS_BPF, command, buffer, len(attributes))
    return (result, buffer.raw) if result >= 0 else (None, ctypes.get_errno())


def ids(kind):
    found, at = set(), 0
    while len(found) < 100000:
        result, raw = bpf(NEXT[kind], struct.pack("=IIII", at, 0, 0, 0))
        if result is None:
            return found
        at = struct.unpack_from("=I", raw, 4)[0]
        found.add(at)
    return found


def all_ids():
    return {kind: ids(kind) for kind in NEXT}


def fill_info(command, number, info):
    """What the kernel says about an object, into info; False if it is gone meanwhile."""
    fd, _ = bpf(command, struct.pack("=III", number, 0, 0))
    if fd is None:
        return False
    try:
        return bpf(OBJECT_INFO, struct.pack("=IIQ", fd, len(info), ctypes.addressof(info)))[0] is not None
    finally:
        os.close(fd)


def maps_of_program(prog):
    """Ids of the maps that a program uses."""
    room, info = ctypes.create_string_buffer(4 * 256), ctypes.create_string_buffer(232)
    struct.pack_into("=IQ", info, 52, 256, ctypes.addressof(room))
    if not fill_info(PROG_FD, prog, info):
        return set()
    n = struct.unpack_from("=I", info, 52)[0]
    return set(struct.unpack_from(f"={min(n, 256)}I", room))


def program_of_link(link):
    """The program's id; None if the link is gone meanwhile."""
    info = ctypes.create_string_buffer(64)
    return struct.unpack_from("=I", info, 8)[0] if fill_info(LINK_FD, link, info) else None


def held_ids():
    """What living processes hold by descriptors, and what those objects hold in turn."""
    held = {kind: set() for kind in NEXT}
    for path in glob.glob("/proc/[0-9]*/fdinfo/*"):
        try:
            with open(path) as file:
                text = file.read()
        except OSError:
            continue
        for kind, number in re.findall(r"^(prog|map|link)_id:\s*(\d+)", text, re.M):
            held[kind].add(int(number))
    for prog in list(held["prog"]):
        held["map"] |= maps_of_program(prog)
    return held


def left_behind(before, seconds=20):
    """Objects that are new since before and that nobody holds, all this time. Others' that are just being torn down come and go."""
    left, end = None, time.monotonic() + seconds
    while True:
        now, held = all_ids(), held_ids()
        unheld = {kind: now[kind] - before[kind] - held[kind] for kind in NEXT}
        unheld["link"] = {link for link in unheld["link"] if program_of_link(link) not in held["prog"] | {None}}
        left = {kind: v & left[kind] for kind, v in unheld.items()} if left else unheld
        if not any(left.values()) or time.monotonic() > end:
            return {kind: sorted(v) for kind, v in left.items() if v}
        time.sleep(0.2)


def leaked_uprobes():
    """How many lines of the kernel's log are of a uprobe that could not be unregistered."""
    text = subprocess.run(["dmesg"], capture_output=True, text=True, errors="replace").stdout
    return text.count("leaking uprobe")


# ---- targets ----

def changed_text(pid):
    """Places where a process' code differs from its files: breakpoints. [] too if the process is gone."""
    places = []
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for line in maps:
                fields = line.split(None, 5)
                if "x" not in fields[1] or int(fields[4]) == 0:
                    continue
                start, end = (int(x, 16) for x in fields[0].split("-"))
                with open(f"/proc/{pid}/map_files/{fields[0]}", "rb") as file:
                    file.seek(int(fields[2], 16))
                    wanted = file.read(end - start)
                memory.seek(start)
                found = memory.read(len(wanted))
                if found != wanted:
                    places += [(fields[5].strip(), hex(int(fields[2], 16) + i)) for i in range(len(wanted))
                               if found[i] != wanted[i]]
    except OSError:
        return []
    return places


def breakpoints_left(pid, seconds=10):
    end = time.monotonic() + seconds
    while (places := changed_text(pid)) and time.monotonic() < end:
        if not (places := sorted(set(places) - set(changed_text(os.getpid())))):
            break
        time.sleep(0.2)
    return places


def thread_states(pid):
    states = {}
    for path in glob.glob(f"/proc/{pid}/task/[0-9]*/stat"):
        try:
            with open(path) as file:
                states[path.split("/")[4]] = file.read().rpartition(")")[2].split()[0]
        except OSError:
            pass
    return states


def stuck_threads(pid, seconds=3):
    """Threads that are stopped, traced, or in an uninterruptible sleep all this time."""
    stuck, end = None, time.monotonic() + seconds
    while time.monotonic() < end:
        now = {tid for tid, state in thread_states(pid).items() if state in "tTD"}
        stuck = now if stuck is None else stuck & now
        if not stuck:
            return []
        time.sleep(0.1)
    return sorted(stuck)


def children(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/[0-9]*/children"):
        try:
            with open(path) as file:
                found += [int(x) for x in file.read().split()]
        except OSError:
            pass
    return found


def runs_program(pid, program):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)
    except OSError:
        return False


def processes_with(text, removers=False):
    """Processes whose command line has the text, except this one. removers False: without the processes that remove a recording's
    perf events for some minutes after its end; True: only these."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        pid = int(path.split("/")[2])
        try:
            with open(path, "rb") as file, open(f"/proc/{pid}/comm", encoding="utf-8") as name:
                if text.encode() in file.read() and pid != os.getpid() and (name.read() == "ioprobe-remover\n") == removers:
                    found.append(pid)
        except OSError:
            pass
    return found
