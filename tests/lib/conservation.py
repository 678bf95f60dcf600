#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: conservation.py STREAM SUMMARY.json

Whether all intervals of a stream (lines of JSON, or an SQLite store whose name ends in .db) add up to the summary, field by field: per process and
layer, per file, layer and process. Prints what differs; status 1 then."""
import collections
import json
import sqlite3
import sys

CALLS = ["calls", "failed", "time_ns", "system_time_ns"]
COUNTS = ["reads", "writes", "bytes_read", "bytes_written", "reads_of_known_size", "writes_of_known_size", "reads_of_unknown_size",
          "writes_of_unknown_size", "reads_failed", "writes_failed"]
HANDLES = COUNTS + ["opens", "time_ns", "metadata_time_ns"]


def rows_of_store(name):
    db = sqlite3.connect(f"file:{name}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    for table, kind in (("process", "process"), ("file", "file"), ("calls", "calls"), ("operations", "operations"), ("interval", "interval")):
        for row in db.execute(f"SELECT * FROM {table}"):
            yield {"type": kind, **dict(row)}
    for row in db.execute("SELECT complete, records_lost FROM job"):
        yield {"type": "end", **dict(row)}


def rows_of_lines(name):
    with open(name, encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def add(sums, key, row, fields):
    for field in fields:
        sums[key][field] += row[field]


class Stream:
    def __init__(self, name):
        self.calls = collections.defaultdict(collections.Counter)       # process, layer
        self.layers = collections.defaultdict(collections.Counter)      # process, layer
        self.files = collections.defaultdict(collections.Counter)       # path, layer, process
        paths, operations, intervals = {}, [], []
        self.processes, self.ended = {}, False
        for row in rows_of_store(name) if name.endswith(".db") else rows_of_lines(name):
            if row["type"] == "process":
                self.processes[row["process"]] = row
            elif row["type"] == "file":
                paths[row["file"]] = row
            elif row["type"] == "calls":
                add(self.calls, (row["process"], row["layer"]), row, CALLS)
            elif row["type"] == "operations":
                add(self.layers, (row["process"], row["layer"]), row, COUNTS)
                operations.append(row)
            elif row["type"] == "interval":
                intervals.append((row["interval"], bool(row["last"])))
            elif row["type"] == "end":
                self.ended = True
        for row in operations:
            file = paths[row["file"]]
            if not file["special"]:
                add(self.files, (file["path"], row["layer"], row["process"]), row, HANDLES)
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
    stream = Stream(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        summary = json.load(file)
    errors = stream.errors
    calls, layers, files = (collections.defaultdict(collections.Counter) for _ in range(3))
    for process in summary["process_list"]:
        for layer in process["layers"]:
            key = process["index"], layer["name"]
            known = {**layer, "system_time_ns": layer["system_time_ns"] or 0}
            add(calls, key, known, CALLS)
            add(layers, key, layer, COUNTS)
        seen = stream.processes.get(process["index"])
        if seen and (seen["name"], seen["rank"], seen["pid"]) != (process["name"], process["rank"], process["pid"]):
            errors.append(f"process {process['index']} is {seen['name']} in the stream, {process['name']} in the summary")
    for file in summary["files"]:
        for layer in file["layers"]:
            for process in layer["processes"]:
                add(files, (file["path"], layer["name"], process["process"]), process, HANDLES)
    compare("calls of", stream.calls, calls, CALLS, errors)
    compare("operations of", stream.layers, layers, COUNTS, errors)
    compare("file", stream.files, files, HANDLES, errors)
    if not stream.ended:
        errors.append("the stream has no end")
    if not calls:
        errors.append("nothing was compared")
    print("\n".join(errors[:10]))
    sys.exit(bool(errors))


main()
