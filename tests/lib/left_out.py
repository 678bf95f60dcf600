#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""left_out.py SUMMARY FILTER LAYER EXPRESSION: it must be true of the entry e for what a filter excluded of a layer, and of
processes, the same entries of all processes, which must add up to it.
left_out.py SUMMARY LOG: recorded and excluded calls together must be those of strace. SUMMARY is ioprobe's --json, LOG one of
strace -f of the same program with all system calls of probes/posix.probes. One line per difference, exit status 1 if there is
one."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import strace_sum

READING = {"read", "pread64", "readv", "preadv", "preadv2"}


def without_memory(lines):
    """A mapping of anonymous memory has no file. Its line may be in two parts."""
    unfinished = set()
    for line in lines:
        thread = line.split(" ", 1)[0]
        if "MAP_ANONYMOUS" in line:
            if "<unfinished" in line:
                unfinished.add(thread)
        elif "mmap resumed" in line and thread in unfinished:
            unfinished.remove(thread)
        else:
            yield line


def straced(path):
    """Calls, bytes read, bytes written. What is copied is both read and written."""
    with open(path, errors="replace") as log:
        sums = strace_sum.sums(without_memory(log))
    copied = sum(sums[n][2] for n in strace_sum.COPYING & sums.keys()) // 2
    read = sum(t[2] for n, t in sums.items() if n in READING) + copied
    written = sum(t[2] for n, t in sums.items() if n in strace_sum.MOVING - READING) + copied
    return {"calls": sum(t[0] for t in sums.values()), "bytes_read": read, "bytes_written": written}


def ask(summary, option, layer, expression):
    entries = [e for e in summary["left_out"] if e["filter"].startswith(option) and e["layer"] == layer]
    processes = [e for p in summary["process_list"] for e in p.get("left_out", ()) if e["filter"].startswith(option) and
                 e["layer"] == layer]
    sums = all(sum(p[key] for p in processes) == value for key, value in entries[0].items() if type(value) is int) if entries else 0
    if len(entries) == 1 and sums and eval(expression, {"e": entries[0], "processes": processes}):
        return 0
    print(entries, processes)
    return 1


def main():
    with open(sys.argv[1]) as file:
        summary = json.load(file)
    if len(sys.argv) == 5:
        return ask(summary, *sys.argv[2:])
    layers = [l for l in summary["layers"] if l["name"] == "POSIX"]
    filtered = [l for l in summary["left_out"] if l["layer"] == "POSIX" and not l["whole_layer"]]
    different = 0
    for key, seen in straced(sys.argv[2]).items():
        recorded, left_out = sum(l[key] for l in layers), sum(l[key] for l in filtered)
        if recorded + left_out != seen:
            print(f"{key}: {recorded} recorded, {left_out} excluded, strace {seen}")
            different = 1
    return different


if __name__ == "__main__":
    sys.exit(main())
