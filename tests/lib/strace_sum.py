#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""strace_sum.py [--path TEXT [--only-data]] LOG [ARCHIVE]: sums the calls, failures and bytes of each system call in a log of
strace -f.

With an archive, compares: one line per difference, exit status 1 if there is one. --path keeps calls whose line (strace -y) has
TEXT, and in the archive those on files whose path has it; --only-data compares reads and writes alone."""
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

MOVING = {"read", "pread64", "readv", "preadv", "preadv2", "write", "pwrite64", "writev", "pwritev", "pwritev2"}
SOCKETS = {"sendto", "recvfrom", "sendmsg", "recvmsg"}
OF_SOCKETS = SOCKETS | {"socket", "socketpair", "bind", "listen", "accept", "accept4", "connect", "shutdown"}
COPYING = {"sendfile", "copy_file_range", "splice"}     # what is read is written, too
COMPARED = MOVING | COPYING | {"open", "openat", "creat", "close", "lseek", "dup", "dup2", "dup3", "fsync", "fdatasync", "unlink",
                               "unlinkat",
                     "rename", "mkdir", "rmdir", "ftruncate", "io_setup", "io_destroy", "io_submit", "io_getevents", "io_cancel",
                     "io_uring_setup",
                     "io_uring_register"}

BEGUN = re.compile(r"^(\d+) +(\w+)\((.*)$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)$")
RESULT = re.compile(r"\) += (-?\d+|\?|0x[0-9a-f]+)(<[^>]*>)?(?: ([A-Z]\w+))?[^=]*$")


def sums(lines, path=None):
    """{name: [calls, failed, bytes, unfinished]}; bytes of asynchronous operations are not in it. A call that was interrupted to be
    restarted counts as failed, as in the kernel."""
    total, begun = collections.defaultdict(lambda: [0, 0, 0, 0]), {}
    for line in lines:
        line = line.rstrip("\n")
        m = RESUMED.match(line)
        if m:
            name, text = m.group(2), begun.pop(m.group(1), "") + m.group(3)
        else:
            m = BEGUN.match(line)
            if not m:
                continue
            name, text = m.group(2), m.group(3)
            if text.endswith("<unfinished ...>"):
                begun[m.group(1)] = text
                continue
        count(total[name], name, text, path)
    return {n: t for n, t in total.items() if t[0]}


def count(row, name, text, path):
    result = RESULT.search(text)
    if not result or (path and path not in text):
        return
    row[0] += 1
    value, error = result.group(1), result.group(3)
    if value == "?" and not error:
        row[3] += 1
    elif value == "?" or value.startswith("-"):
        row[1] += 1
    elif name in MOVING | SOCKETS:
        row[2] += int(value, 0)
    elif name in COPYING:
        row[2] += 2 * int(value, 0)


def compare(found, archive, path, names):
    import tracefile as reader
    words = reader.queries(reader.Trace(archive))
    pattern = f"*{path}*" if path else None
    different = []
    if "SOCKET" in words["paradigms"]:
        names = names | OF_SOCKETS
    for name in sorted(names):
        calls, failed, moved, unfinished = found.get(name, [0, 0, 0, 0])
        strace = [calls, failed + unfinished, moved]    # of a killed thread's last call only the kernel knows a result
        calls = words["select"](name, path=pattern)
        trace = [len(calls), sum(c.failed or c.abandoned for c in calls),
                 words["read"](name, path=pattern) + words["written"](name, path=pattern)]
        for what, a, b in zip(("calls", "failed", "bytes"), trace, strace):
            if a != b and not (path and what == "failed") and not (what == "bytes" and name.startswith("io_")):
                different.append(f"{name}: {what} {a}, strace {b}")
    return different


def main():
    args, path, names = sys.argv[1:], None, COMPARED
    if args[:1] == ["--path"]:
        path, args = args[1], args[2:]
    if args[:1] == ["--only-data"]:
        names, args = MOVING, args[1:]
    if len(args) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    with open(args[0], errors="replace") as log:
        found = sums(log, path)
    if len(args) == 1:
        print(json.dumps({n: dict(zip(("calls", "failed", "bytes", "unfinished"), t)) for n, t in sorted(found.items())}, indent=1))
        return 0
    different = compare(found, args[1], path, names)
    print("\n".join(different[:8]))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
