#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: conservation.py STREAM SUMMARY.json

Whether all intervals of a stream (lines of JSON, or an SQLite store whose name ends in .db: of a job's store the
recording that has the summary's processes) add up to the summary, field by field: per process and
layer, per file, layer and process; sizes, longest calls, what filters skipped, losses. No interval has more time in calls than it
is long, times the threads. Prints what differs; status 1 then."""
import collections
import json
import sqlite3
import sys

CALLS = ["calls", "failed", "time_ns", "system_time_ns"]
COUNTS = ["reads", "writes", "bytes_read", "bytes_written", "reads_of_known_size", "writes_of_known_size", "reads_of_unknown_size",
          "writes_of_unknown_size", "reads_failed", "writes_failed"]
HANDLES = COUNTS + ["opens", "time_ns", "metadata_time_ns"]
SKIPPED = ["calls", "bytes_read", "bytes_written", "calls_of_unknown_size", "time_ns"]
LIMITS = [100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30, None]
SIZES = [(way, i) for way in ("read", "written") for i in range(len(LIMITS))]


def rows_of_store(name, pids):
    db = sqlite3.connect(f"file:{name}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    node, = {row["node"] for row in db.execute("SELECT node, pid FROM process") if row["pid"] in pids}
    for table in ("process", "file", "calls", "sizes", "operations", "skipped", "interval"):
        for row in map(dict, db.execute(f"SELECT * FROM {table}")):
            if row.get("node", row.get("process", row.get("file", 0)) >> 32) == node:
                yield {"type": table, **row, **{key: row[key] - (node << 32) for key in ("process", "file") if key in row}}
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
        self.skipped = collections.defaultdict(collections.Counter)     # filter, layer
        self.times = collections.Counter()                              # interval, process, layer
        self.lost, self.length = 0, 0
        paths, operations, intervals = {}, [], []
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
            elif row["type"] == "sizes":
                key, i = (row["process"], row["layer"]), LIMITS.index(row["up_to"])
                self.sizes[key]["read", i] += row["reads"]
                self.sizes[key]["written", i] += row["writes"]
            elif row["type"] == "skipped":
                add(self.skipped, (row["filter"], row["layer"]), row, SKIPPED)
            elif row["type"] == "operations":
                add(self.layers, (row["process"], row["layer"]), row, COUNTS)
                operations.append(row)
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
        self.errors = [] if len(set(intervals)) == len(intervals) else ["an interval is there twice"]
        if [number for number, _ in intervals] != list(range(intervals[0][0], intervals[0][0] + len(intervals))):
            self.errors.append(f"intervals are not one after the other: {intervals}")


def compare(what, stream, summary, fields, errors):
    for key in sorted(set(stream) | set(summary), key=repr):
        for field in fields:
            if stream[key][field] != summary[key][field]:
                errors.append(f"{what} {key}: {field} {stream[key][field]} in the stream, {summary[key][field]} in the summary")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[2], encoding="utf-8") as file:
        summary = json.load(file)
    stream = Stream(sys.argv[1], {process["pid"] for process in summary["process_list"]})
    errors = stream.errors
    calls, layers, files, sizes, skipped = (collections.defaultdict(collections.Counter) for _ in range(5))
    threads = {}
    for process in summary["process_list"]:
        threads[process["index"]] = process["threads"]
        for layer in process["layers"]:
            key = process["index"], layer["name"]
            known = {**layer, "system_time_ns": layer["system_time_ns"] or 0}
            add(calls, key, known, CALLS)
            longest(calls, key, layer)
            for i, (read, written) in enumerate(zip(layer["read_sizes"], layer["write_sizes"])):
                sizes[key].update({("read", i): read, ("written", i): written})
            add(layers, key, layer, COUNTS)
        seen = stream.processes.get(process["index"])
        if seen and (seen["name"], seen["rank"], seen["pid"]) != (process["name"], process["rank"], process["pid"]):
            errors.append(f"process {process['index']} is {seen['name']} in the stream, {process['name']} in the summary")
    for file in summary["files"]:
        for layer in file["layers"]:
            for process in layer["processes"]:
                key = file["path"], layer["name"], process["process"]
                add(files, key, process, HANDLES)
                longest(files, key, process)
    for row in summary["left_out"]:
        if row["layer"] and not row["whole_layer"]:
            add(skipped, (row["filter"], row["layer"]), row, SKIPPED)
    compare("calls of", stream.calls, calls, CALLS + ["longest_call_ns"], errors)
    compare("operations of", stream.layers, layers, COUNTS, errors)
    compare("sizes of", stream.sizes, sizes, SIZES, errors)
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
    print("\n".join(errors[:10]))
    sys.exit(bool(errors))


main()
