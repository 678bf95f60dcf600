# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Runs inside gdb: stops at every call of the functions and system calls in $WANTED (JSON: functions, syscalls, recorded) that is
not made inside a recorded function, and writes the number of calls per chain of callers to $STOPS."""
import collections
import json
import os

import gdb

with open(os.environ["WANTED"], encoding="utf-8") as file:
    WANTED = json.load(file)
counts = collections.Counter()
mappings = []


def read_mappings(pid):
    mappings.clear()
    with open(f"/proc/{pid}/maps", encoding="utf-8") as lines:
        for line in lines:
            fields = line.split(None, 5)
            begin, end = (int(part, 16) for part in fields[0].split("-"))
            mappings.append((begin, end, int(fields[2], 16), os.path.basename(fields[5].strip()) if len(fields) > 5 else ""))


def place(pc):
    """Module and offset in its file."""
    for _ in range(2):
        for begin, end, offset, name in mappings:
            if begin <= pc < end:
                return name, pc - begin + offset
        read_mappings(gdb.selected_inferior().pid)      # a library has come since
    return "", pc


def plain(name):
    """libc's internal names of its functions."""
    for prefix in ("__GI_", "_IO_new_", "_IO_"):
        name = name[len(prefix):] if name.startswith(prefix) else name
    return name


def chain_from(frame):
    """The frames outside of the C library; None if one of them, or of the library's, is a recorded function: the call is inside
    another one."""
    chain = []
    while frame is not None and frame.is_valid():
        name = frame.name() or ""
        if plain(name) in WANTED["recorded"]:
            return None
        module, offset = place(frame.pc())
        if not module.startswith(("libc.so", "ld-linux")):
            chain.append([name, f"{module}+{offset:#x}"])
        frame = frame.older()
    return chain


def count(what, frame):
    chain = chain_from(frame)
    if chain is not None:
        counts[json.dumps([what, chain])] += 1


class Function(gdb.Breakpoint):
    def stop(self):
        """A function may begin with inlined code of others, which gdb shows as frames above it, or not."""
        newest = frame = gdb.newest_frame()
        for _ in range(4):
            if frame is None or plain(frame.name() or "") == self.location:
                break
            frame = frame.older()
        else:
            frame = newest
        count(self.location, (frame or newest).older())
        return False


def on_stop(event):
    """A system call's entry; gdb reports entry and return."""
    if isinstance(event, gdb.StopEvent) and not isinstance(event, gdb.SignalEvent):
        thread = gdb.selected_thread().num
        state["entered"] ^= {thread}
        if thread in state["entered"]:
            number = int(gdb.parse_and_eval("$orig_rax"))
            count(WANTED["syscalls"].get(str(number), str(number)), gdb.newest_frame())


def on_exit(event):
    state["running"], state["status"] = False, getattr(event, "exit_code", None)


state = {"entered": set(), "running": True}
for setting in ("pagination off", "confirm off", "debuginfod enabled off", "breakpoint pending on", "print inferior-events off",
                "startup-with-shell off", "backtrace past-main on",
                "detach-on-fork on", "follow-fork-mode parent"):
    gdb.execute(f"set {setting}")
gdb.execute("handle all nostop noprint pass", to_string=True)
for name in WANTED["functions"]:
    Function(name)
if WANTED["syscalls"]:
    gdb.execute("catch syscall " + " ".join(WANTED["syscalls"]), to_string=True)
gdb.events.stop.connect(on_stop)
gdb.events.exited.connect(on_exit)
gdb.execute("run", to_string=True)
while state["running"]:
    gdb.execute("continue", to_string=True)
with open(os.environ["STOPS"], "w", encoding="utf-8") as file:
    json.dump({"status": state["status"], "stops": [[*json.loads(key), n] for key, n in counts.items()]}, file)
