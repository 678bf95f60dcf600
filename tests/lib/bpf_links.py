# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""bpf_links.py PID...: the ids of the tracepoint links that these processes hold, each once. --programs: of all their programs.
--alive ID...: those of these links that the kernel still has. --slots PID: the ids of the recordings whose slots are open in the
set of programs that this process uses (by bpftool)."""
import ctypes
import glob
import json
import os
import subprocess
import sys

SYS_BPF, BPF_LINK_GET_FD_BY_ID = 321, 30


def entries(pid):
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            with open(path) as file:
                yield dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
        except OSError:
            continue


def ids(pids, key, kind=None):
    found = {int(e[key]) for pid in pids for e in entries(pid) if key in e
             and (kind is None or e.get("link_type", "").strip() == kind)}
    return sorted(found)


def is_alive(link_id):
    attr = ctypes.create_string_buffer(link_id.to_bytes(4, "little"), 128)
    fd = ctypes.CDLL(None, use_errno=True).syscall(SYS_BPF, BPF_LINK_GET_FD_BY_ID, attr, 128)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def bpftool(*words):
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    return json.loads(subprocess.run(["bpftool", "-j", *words], env={"PATH": path}, stdout=subprocess.PIPE, check=True).stdout)


def open_slots(pid):
    for map_id in ids([pid], "map_id"):
        if bpftool("map", "show", "id", str(map_id))["name"].endswith(".bss"):
            sections = bpftool("map", "dump", "id", str(map_id))[0]["formatted"]["value"]
            variables = [v for section in sections.values() for v in section]
            return [r["id"] for v in variables for r in v.get("recordings", ()) if r["id"]]
    sys.exit(f"process {pid} uses no set of programs")


if sys.argv[1] == "--slots":
    print(*open_slots(sys.argv[2]))
elif sys.argv[1] == "--alive":
    print(*[i for i in map(int, sys.argv[2:]) if is_alive(i)])
elif sys.argv[1] == "--programs":
    print(*ids(sys.argv[2:], "prog_id"))
else:
    print(*ids(sys.argv[1:], "link_id", "raw_tracepoint"))
