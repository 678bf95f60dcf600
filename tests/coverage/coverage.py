#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""coverage.py check LAYER PROBES RESULT ARCHIVE EXPECTED...: compares the calls that golden() made, of one layer, with what the
program prints about them. PROBES: output of ioprobe probes --json, of the layer's library where it has one. RESULT is written for
the table. coverage.py table RESULT...: functions of each layer: in the table, in the library, traced and checked; and what is not,
with the reason.

A line of EXPECTED is a call, "FUNCTION [!ERROR] [EVENT...]" as Call.line() writes it; "*" matches any events. Where
there are several ranks, the file's name ends with the rank. Lines are compared per function in their order. Sizes may be unknown
(?) in the layers where the library's arguments do not contain them, and must be where the size has a "?" before it; what the trace
has must be right everywhere. Exit status 1 if a call differs."""
import collections
import ctypes
import json
import os
import re
import sys

sys.dont_write_bytecode = True

# Functions that the others instrument: Darshan 3.5, Recorder, Score-P.
OTHERS = {"POSIX": (55, 59, 46), "ISOC": (30, 13, 37), "MPI-IO": (32, 32, 59), "HDF5": (16, 74, None), "PnetCDF": (560, None, None),
          "netCDF": (0, None, None)}
SIZES_OF_ALL = {"POSIX", "MPI-IO", "PnetCDF", "AIO", "SOCKET"}
UNKNOWN = (1 << 64) - 1
ENDBR64 = b"\xf3\x0f\x1e\xfa"           # begins functions that were compiled with -fcf-protection
KERNEL = "by the kernel's own thread"      # where ioprobe probes says that such rows are


# ---- what the trace has ----

class Call:
    def __init__(self, name, parent):
        self.name, self.parent, self.error, self.events = name, parent, "", []

    def line(self):
        return " ".join([self.name] + ([self.error] if self.error else []) + self.events)


def number(value):
    return "?" if value == UNKNOWN else str(value)


class Reader:
    """Calls with their own events as words, in the order of their entry, per location group."""

    def __init__(self, path):
        import otf2
        self.otf2, self.stacks, self.operations = otf2, collections.defaultdict(list), {}
        self.calls = collections.defaultdict(list)
        with otf2.reader.open(path) as reader:
            for location, event in reader.events:
                self.event(location, event, type(event).__name__)

    def event(self, location, event, kind):
        stack = self.stacks[location]
        if kind == "Enter":
            stack.append(Call(event.region.name, stack[-1] if stack else None))
            self.calls[location.group.name].append(stack[-1])
        elif kind == "Leave":
            self.leave(stack.pop(), {a.name: v for a, v in (event.attributes or {}).items()})
        elif stack:
            self.io(stack[-1], event, kind)

    @staticmethod
    def leave(call, attributes):
        if "errno" in attributes:
            call.error = "!%d" % attributes["errno"]
        elif "Failed" in attributes or "Abandoned" in attributes:
            call.error = "!abandoned" if "Abandoned" in attributes else "!"

    def io(self, call, event, kind):
        words = {"IoCreateHandle": "create", "IoDestroyHandle": "destroy", "IoDuplicateHandle": "dup", "IoDeleteFile": "delete",
                 "IoChangeStatusFlags": "flags", "IoAcquireLock": "lock", "IoReleaseLock": "unlock", "IoTryLock": "trylock"}
        if kind in words:
            call.events.append(words[kind])
        elif kind == "IoSeek":
            call.events.append("seek:" + number(event.offset_result))
        elif kind == "IoOperationBegin":
            self.begin(call, event)
        elif kind == "IoOperationIssued":
            call.events[self.operations[event.matching_id][1]] = "issue-" + call.events[self.operations[event.matching_id][1]]
        elif kind == "IoOperationComplete":
            self.complete(call, event)
        elif kind == "IoOperationCancelled":
            call.events.append("cancelled")
        elif kind == "IoOperationTest":
            call.events.append("test")

    def begin(self, call, event):
        modes = self.otf2.IoOperationMode
        mode = {modes.READ: "read", modes.WRITE: "write"}.get(event.mode, "flush")
        offset = next((v for a, v in (event.attributes or {}).items() if a.name == "Offset"), None)
        text = ("all-" if event.operation_flags & self.otf2.IoOperationFlag.COLLECTIVE else "") + mode
        if mode != "flush":
            text += ":%s" % number(event.bytes_request)
        self.operations[event.matching_id] = (call, len(call.events), mode, "" if offset is None else "@%d" % offset)
        call.events.append(text + self.operations[event.matching_id][3])

    def complete(self, call, event):
        began, index, mode, offset = self.operations.pop(event.matching_id)
        if began is not call:
            call.events.append("done:%s" % number(event.bytes_result))
        elif mode != "flush":
            text = call.events[index]
            call.events[index] = "%s/%s%s" % (text[:len(text) - len(offset)], number(event.bytes_result), offset)


def golden_calls(calls, functions):
    """Of those that golden() itself made, the calls of these functions, by name."""
    found = collections.defaultdict(list)
    for call in calls:
        if call.parent and call.parent.name == "golden" and call.name in functions:
            found[call.name].append(call.line())
    return found


# ---- comparing ----

SIZE = re.compile(r":([0-9]+|[?][0-9]*)(?:/([0-9]+|[?][0-9]*))?")


def same(expected, found, lenient, sizes):
    """Word by word; counts the sizes that are known in the trace."""
    wanted, has = expected.split(), found.split()
    if "*" in wanted:
        wanted, has = wanted[:wanted.index("*")], has[:wanted.index("*")]
    if len(wanted) != len(has):
        return False
    return all(same_word(w, h, lenient, sizes) for w, h in zip(wanted, has))


def same_word(wanted, has, lenient, sizes):
    w, h = SIZE.findall(wanted), SIZE.findall(has)
    for a, b in zip(sum(w, ()), sum(h, ())):
        if a in ("", "?") or wanted.startswith("seek"):
            continue
        sizes["all"] += 1
        sizes["known"] += b != "?"
    wanted = re.sub(r"[?][0-9]+", "?", wanted)
    if wanted == has:
        return True
    if not lenient or len(w) != len(h) or SIZE.sub("", wanted) != SIZE.sub("", has):
        return False
    return all(a == b or b == "?" for a, b in zip(sum(w, ()), sum(h, ())))


def compare(expected, found, layer, name, result):
    different = []
    for function in sorted(set(expected) | set(found)):
        wanted, has = expected.get(function, []), found.get(function, [])
        bad = ["%s, expected %s" % (h, w) for w,
               h in zip(wanted, has) if not same(w, h, layer not in SIZES_OF_ALL, result["sizes"])]
        if len(wanted) != len(has):
            bad.append("%s: %d calls, expected %d" % (function, len(has), len(wanted)))
        different += ["%s%s" % (name, b) for b in bad]
        result["calls"] += len(has)
        result["wrong" if bad else "checked"].append(function)
    return different


def addresses_of(library, function):
    """Where the function is and, if it is nothing but a jump, where that leads. None if the library does not have it."""
    try:
        address = ctypes.cast(getattr(library, function), ctypes.c_void_p).value
    except AttributeError:
        return None
    code = ctypes.string_at(address, 9)
    start = len(ENDBR64) if code.startswith(ENDBR64) else 0
    end = start + 5
    if code[start] != 0xe9:
        return address, None
    return address, address + end + int.from_bytes(code[start + 1:end], "little", signed=True)


class Aliases:
    """Two names of one address are one probe: the table's first. What only jumps to a function is probed there, under that one's
    name."""

    def __init__(self, library, functions):
        handle = ctypes.CDLL(library) if library else None
        found = {f: addresses_of(handle, f) if handle else (f, None) for f in functions}
        found = {f: addresses for f, addresses in found.items() if addresses}
        first = {}
        for function, (address, _) in found.items():
            first.setdefault(address, function)
        self.names = {f: first.get(target, first[address]) for f, (address, target) in found.items()}

    def of(self, function):
        return self.names.get(function, function)


def lines_of(path, aliases, called):
    lines = collections.defaultdict(list)
    with open(path) as file:
        for line in file:
            name, *rest = line.split()
            called.add(name)
            lines[aliases.of(name)].append(" ".join([aliases.of(name)] + rest))
    return lines


def table_of(path, layer):
    """The functions of the table, those that cannot be probed with the reasons, and the library, None where there is none."""
    with open(path) as file:
        data = json.load(file)
    if "points" not in data[0]:
        # inquiries that only teach sizes are nothing in the trace (probes/README.md), and what the kernel's own threads do is no
        # call
        return [d["name"] for d in data if d["layer"] == layer and d["operation"] != "learn" and d["where"] != KERNEL], {}, None
    missing = {m["function"]: m["reason"] for m in data[0]["missing"] if m["layer"] == layer}
    return None, missing, data[0]["file"]


def check(layer, tables, probes, result_path, archive, expected_paths):
    functions = table_of(tables, layer)[0]
    _, missing, library = table_of(probes, layer)
    missing = {f: reason for f, reason in missing.items() if f in functions}
    aliases = Aliases(library, functions)
    if library:         # "probes" lists as missing what this version of the library should have
        missing = {**{f: "not in this version of the library" for f in functions if f not in aliases.names}, **missing}
    result = {"layer": layer, "table": len(functions), "missing": missing, "library": library, "calls": 0, "checked": [],
              "wrong": [],
              "sizes": {"all": 0, "known": 0}}
    groups, called, different = Reader(archive).calls, set(), []
    for path in expected_paths:
        rank = re.search(r"\.(\d+)$", path)
        chosen = [g for n, g in groups.items() if not rank or n == "MPI Rank " + rank.group(1)]
        found = golden_calls([c for g in chosen for c in g], set(functions))
        different += compare(lines_of(path, aliases, called), found, layer, "rank %s: " % rank.group(1) if rank else "", result)
    good = set(result["checked"]) - set(result["wrong"])
    result["checked"] = [f for f in functions if f in called and aliases.of(f) in good]
    result["untested"] = {f: missing.get(f, "no golden call") for f in functions if f not in result["checked"]}
    with open(result_path, "w") as file:
        json.dump(result, file, indent=1)
    print("\n".join(different[:12]) if different
          else "%s: %d functions, %d calls" % (layer, len(result["checked"]), result["calls"]))
    return 1 if different else 0


# ---- the table ----

def table(paths):
    results = [json.load(open(p)) for p in paths]
    print("%-8s %9s %11s %8s %8s %15s %10s %9s %8s"
          % ("layer", "in table", "in library", "checked", "calls", "sizes known", "Darshan 3.5",
                                                   "Recorder", "Score-P"))
    status = 0
    for r in results:
        others = OTHERS.get(r["layer"], (None,) * 3)
        n = len(r["checked"])
        print("%-8s %9d %11d %8d %8d %15s %10s %9s %8s" % (
            r["layer"], r["table"], r["table"] - len(r["missing"]), n, r["calls"],
            "%d of %d" % (r["sizes"]["known"], r["sizes"]["all"]),
            *("-" if o is None else o for o in others)))
        status |= any(o is not None and n <= o for o in others)
    for r in results:
        for reason in sorted(set(r["untested"].values())):
            functions = [f for f, why in r["untested"].items() if why == reason]
            print("%s, untested, %s: %s" % (r["layer"], reason, " ".join(functions)))
    return status


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "table":
        return table(sys.argv[2:])
    if len(sys.argv) > 7 and sys.argv[1] == "check":
        return check(*sys.argv[2:7], sys.argv[7:])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
