#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: conservation.py STREAM SUMMARY.json

Whether all intervals of a stream (lines of JSON, or an SQLite store whose name ends in .db: of a job's store the
recording that has the summary's processes) add up to the summary, field by field: per process and
layer, per file, layer and process; the same by class; sizes, longest calls, what filters skipped of each process, losses.
No interval has more time in calls than it is long, times the threads. Prints what differs; status 1 then."""
import collections
import json
import sqlite3
import sys

CALLS = ["calls", "failed", "time_ns", "system_time_ns"]
COUNTS = ["reads", "writes", "bytes_read", "bytes_written", "reads_of_known_size", "writes_of_known_size", "reads_of_unknown_size",
          "writes_of_unknown_size", "reads_failed", "writes_failed"]
HANDLES = COUNTS + ["opens", "time_ns", "metadata_time_ns"]
CLASS = ["calls", "failed", "time_ns"]
SKIPPED = ["calls", "bytes_read", "bytes_written", "calls_of_unknown_size", "time_ns"]
LIMITS = [100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30, None]
WAYS = {"read": "read", "write": "written"}
SIZES = [(way, i) for way in ("read", "written") for i in range(len(LIMITS))]


def rows_of_store(name, pids):
    db = sqlite3.connect(f"file:{name}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    node, = {row["node"] for row in db.execute("SELECT node, pid FROM process") if row["pid"] in pids}
    for table in ("process", "file", "calls", "sizes", "class_calls", "operations", "class_operations", "file_sizes", "skipped",
                  "interval"):
        for row in map(dict, db.execute(f"SELECT * FROM {table}")):
            if row.get("node", (row.get("process") or row.get("file", 0)) >> 32) == node:
                yield {"type": table, **row,
                       **{key: row[key] - (node << 32) for key in ("process", "file") if row.get(key) is not None}}
    for row in db.execute("SELECT complete, records_lost FROM job WHERE node = ? AND end_ns IS NOT NULL", (node,)):
        yield {"type": "end", **dict(row)}


def rows_of_lines(name):
    with open(name, encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def add(sums, key, row, fields):
    for field in fields:
        sums[key][field] += row[field]


def longest(sums, key, row):
    sums[key]["longest_call_ns"] = max(sums[key]["longest_call_ns"], row["longest_call_ns"])


class Stream:
    def __init__(self, name, pids):
        self.calls = collections.defaultdict(collections.Counter)       # process, layer
        self.layers = collections.defaultdict(collections.Counter)      # process, layer
        self.files = collections.defaultdict(collections.Counter)       # path, layer, process
        self.sizes = collections.defaultdict(collections.Counter)       # process, layer
        self.classes = collections.defaultdict(collections.Counter)     # process, layer, class
        self.file_classes = collections.defaultdict(collections.Counter)        # path, layer, process, class
        self.file_sizes = collections.defaultdict(collections.Counter)  # process, layer
        self.skipped = collections.defaultdict(collections.Counter)     # process (None: not known), filter, layer
        self.times = collections.Counter()                              # interval, process, layer
        self.lost, self.length = 0, 0
        paths, operations, intervals, classes = {}, [], [], []
        self.processes, self.ended = {}, False
        for row in rows_of_store(name, pids) if name.endswith(".db") else rows_of_lines(name):
            if row["type"] == "process":
                self.processes[row["process"]] = row
            elif row["type"] == "file":
                paths[row["file"]] = row
            elif row["type"] == "calls":
                key = row["process"], row["layer"]
                add(self.calls, key, row, CALLS)
                longest(self.calls, key, row)
                self.times[(row["interval"], *key)] += row["time_ns"]
                for way, name in (("read", "read_sizes"), ("written", "write_sizes")):
                    for i, n in enumerate(row.get(name, ())):
                        self.sizes[key][way, i] += n
                for name, values in row.get("classes", {}).items():
                    self.add_class(self.classes, (*key, name), values)
            elif row["type"] == "class_calls":
                self.add_class(self.classes, (row["process"], row["layer"], row["class"]), row)
            elif row["type"] == "class_operations":
                classes.append((row, row["class"], row))
            elif row["type"] == "file_sizes":
                self.file_sizes[row["process"], row["layer"]][WAYS[row["class"]], row["size"]] += row["operations"]
            elif row["type"] == "sizes":
                key, i = (row["process"], row["layer"]), LIMITS.index(row["up_to"])
                self.sizes[key]["read", i] += row["reads"]
                self.sizes[key]["written", i] += row["writes"]
            elif row["type"] == "skipped":
                add(self.skipped, (row["process"], row["filter"], row["layer"]), row, SKIPPED)
            elif row["type"] == "operations":
                add(self.layers, (row["process"], row["layer"]), row, COUNTS)
                operations.append(row)
                for name, values in row["classes"].items() if isinstance(row["classes"], dict) else ():
                    classes.append((row, name, values))
                    for i, n in enumerate(values.get("sizes", ())):
                        self.file_sizes[row["process"], row["layer"]][WAYS[name], i] += n
            elif row["type"] == "interval":
                intervals.append((row["interval"], bool(row["last"])))
                self.lost += row["records_lost"]
                begin, end = (row[k] if k in row else int(row[k[:-3]].replace(".", "")) for k in ("begin_ns", "end_ns"))
                self.length = end - begin
            elif row["type"] == "end":
                self.ended = True
        for row in operations:
            file = paths[row["file"]]
            if not file["special"]:
                key = file["path"], row["layer"], row["process"]
                add(self.files, key, row, HANDLES)
                longest(self.files, key, row)
        for row, name, values in classes:
            if not paths[row["file"]]["special"]:
                self.add_class(self.file_classes, (paths[row["file"]]["path"], row["layer"], row["process"], name), values)
        self.errors = [] if len(set(intervals)) == len(intervals) else ["an interval is there twice"]
        if [number for number, _ in intervals] != list(range(intervals[0][0], intervals[0][0] + len(intervals))):
            self.errors.append(f"intervals are not one after the other: {intervals}")

    @staticmethod
    def add_class(sums, key, values):
        add(sums, key, values, CLASS)
        longest(sums, key, values)


def compare(what, stream, summary, fields, errors):
    for key in sorted(set(stream) | set(summary), key=repr):
        for field in fields:
            if stream[key][field] != summary[key][field]:
                errors.append(f"{what} {key}: {field} {stream[key][field]} in the stream, {summary[key][field]} in the summary")


def differences(name, summary_name):
    """What differs."""
    with open(summary_name, encoding="utf-8") as file:
        summary = json.load(file)
    stream = Stream(name, {process["pid"] for process in summary["process_list"]})
    errors = stream.errors
    calls, layers, files, sizes, skipped, classes, file_classes = (collections.defaultdict(collections.Counter) for _ in range(7))
    threads = {}
    for process in summary["process_list"]:
        threads[process["index"]] = process["threads"]
        for layer in process["layers"]:
            key = process["index"], layer["name"]
            known = dict(layer)
            if layer["system_time_ns"] is None:         # not all system calls were recorded: the stream has the time of those
                known["system_time_ns"] = stream.calls[key]["system_time_ns"]
            add(calls, key, known, CALLS)
            longest(calls, key, layer)
            for i, (read, written) in enumerate(zip(layer["read_sizes"], layer["write_sizes"])):
                sizes[key].update({("read", i): read, ("written", i): written})
            add(layers, key, layer, COUNTS)
            for name, values in layer["classes"].items():
                Stream.add_class(classes, (*key, name), values)
            if [sum(values[field] for values in layer["classes"].values()) for field in CLASS] != [layer[field] for field in CLASS]:
                errors.append(f"the classes of {key} do not add up to it: {layer}")
        seen = stream.processes.get(process["index"])
        if seen and (seen["name"], seen["rank"], seen["pid"]) != (process["name"], process["rank"], process["pid"]):
            errors.append(f"process {process['index']} is {seen['name']} in the stream, {process['name']} in the summary")
    for file in summary["files"]:
        for layer in file["layers"]:
            for process in layer["processes"]:
                key = file["path"], layer["name"], process["process"]
                add(files, key, process, HANDLES)
                longest(files, key, process)
                for name, values in process["classes"].items():
                    Stream.add_class(file_classes, (*key, name), values)
    for row in summary["left_out"]:
        if row["layer"] and not row["whole_layer"]:
            add(skipped, (None, row["filter"], row["layer"]), row, SKIPPED)
    for process in summary["process_list"]:
        for row in process.get("left_out", ()):
            add(skipped, (process["index"], row["filter"], row["layer"]), row, SKIPPED)
            for field in SKIPPED:                       # what is left is of processes that are not known
                skipped[None, row["filter"], row["layer"]][field] -= row[field]
    compare("calls of", stream.calls, calls, CALLS + ["longest_call_ns"], errors)
    compare("operations of", stream.layers, layers, COUNTS, errors)
    compare("sizes of", stream.sizes, sizes, SIZES, errors)
    compare("sizes by file, all files of", stream.file_sizes, sizes, SIZES, errors)
    compare("class", stream.classes, classes, CLASS + ["longest_call_ns"], errors)
    compare("class of file", stream.file_classes, file_classes, CLASS + ["longest_call_ns"], errors)
    compare("file", stream.files, files, HANDLES + ["longest_call_ns"], errors)
    compare("skipped by", stream.skipped, skipped, SKIPPED, errors)
    for (interval, process, layer), time in sorted(stream.times.items(), key=repr):
        if not 0 <= time <= stream.length * threads[process]:
            errors.append(f"process {process} has {time} ns in calls of {layer} in interval {interval}, which has {stream.length}")
    if stream.lost != summary["records_lost"]:
        errors.append(f"{stream.lost} records lost in the stream, {summary['records_lost']} in the summary")
    if not stream.ended:
        errors.append("the stream has no end")
    if not calls:
        errors.append("nothing was compared")
    return errors


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    errors = differences(*sys.argv[1:])
    print("\n".join(errors[:10]))
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
