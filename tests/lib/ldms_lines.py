#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: ldms_lines.py LINES STORE SUMMARY.json

Whether lines are those of Darshan's connector to LDMS: the format that its code prints, the types that the store behind it asks
for, the lengths that ldmsd_stream_publish takes, record ids that are Darshan's hash of the names; and whether the store's view
darshan_data has the same, row by row. The store's events, all of them, must add up to the summary. Prints what is wrong; status 1
then."""
import json
import re
import sqlite3
import sys

# As in darshan-ldms.c, but for the hdf5 fields.
FORMAT = ('{"schema":"%s", "uid":%ld, '
          '"exe":"%s","job_id":%ld,"rank":%ld,"ProducerName":"%s","file":"%s","record_id":%lu,"module":"%s","type":"%s",'
          '"max_byte":%ld,"switches":%ld,"flushes":%ld,"cnt":%ld,"op":"%s",'
          '"seg":[{"pt_sel":%ld,"irreg_hslab":%ld,"reg_hslab":%ld,"ndims":%ld,"npoints":%ld,'
          '"off":%ld,"len":%ld,"start":%0.6f,"dur":%0.6f,"total":%0.6f,"timestamp":%lu.%.6lu}]}\n')
PATTERNS = {"%s": r'((?:[^"\\\x00-\x1f]|\\["\\]|\\u[0-9a-f]{4})*)', "%ld": r"(-1|0|[1-9][0-9]*)", "%lu": r"([0-9]+)",
            "%0.6f": r"([0-9]+\.[0-9]{6})",
            "%lu.%.6lu": r"([0-9]+\.[0-9]{6})"}
LINE = re.compile("".join(PATTERNS.get(part, re.escape(part)) for part in re.split(r"(%lu\.%\.6lu|%0\.6f|%ld|%lu|%s)", FORMAT)))
COLUMNS = ("schema uid exe job_id rank ProducerName file record_id module type max_byte switches flushes cnt op pt_sel irreg_hslab "
           "reg_hslab ndims npoints "
           "off len start dur total timestamp").split()
MASK = (1 << 64) - 1
# as in Darshan's logs
STREAMS = {"<STDIN>": 14734109647742566553, "<STDOUT>": 15920181672442173319, "<STDERR>": 7238257241479193519}


def record_id(name, level=0):
    """Bob Jenkins' lookup8."""
    def mix(a, b, c):
        for right, left, last in ((43, 9, 8), (38, 23, 5), (35, 49, 11), (12, 18, 22)):
            a = (a - b - c & MASK) ^ c >> right
            b = b - c - a & MASK
            b ^= a << left & MASK
            c = c - a - b & MASK
            c ^= b >> last
        return a, b, c
    word = lambda part: int.from_bytes(part, "little")
    name, a, b, c = name.encode("utf-8", "surrogateescape"), level, level, 0x9e3779b97f4a7c13
    whole = len(name) // 24 * 24
    for i in range(0, whole, 24):
        a, b, c = mix(a + word(name[i:i + 8]) & MASK, b + word(name[i + 8:i + 16]) & MASK, c + word(name[i + 16:i + 24]) & MASK)
    rest = name[whole:]
    return mix(a + word(rest[:8]) & MASK, b + word(rest[8:16]) & MASK, c + len(name) + (word(rest[16:]) << 8) & MASK)[2]


def check_line(number, raw, errors):
    found = LINE.fullmatch(raw.decode("utf-8", "surrogateescape"))
    if not found or len(raw) >= 4095:
        errors.append(f"line {number} is not a line of the connector, or too long ({len(raw)} bytes): {raw[:200]}")
        return None
    row = dict(zip(COLUMNS, found.groups()))
    met = row["op"] == "open"
    if row["module"] not in ("POSIX", "STDIO", "MPIIO", "H5F", "H5D") or row["op"] not in ("open", "read", "write", "close"):
        errors.append(f"line {number}: module {row['module']}, op {row['op']}")
    if (row["type"], row["schema"]) != (("MET", "darshan_data") if met else ("MOD", "N/A")) or (row["file"] == "N/A") == met:
        errors.append(f"line {number}: an {row['op']} is of type {row['type']}, schema {row['schema']}, file {row['file']}")
    if met and int(row["record_id"]) != record_id(json.loads(f'"{row["file"]}"')):
        errors.append(f"line {number}: {row['file']} is not {row['record_id']}")
    json.loads(raw)
    return row


def same(line, column, value):
    if column == "rank" and line == "0":         # not known yet when the line was written
        return True
    if column in ("start", "dur", "total", "timestamp"):
        return abs(float(line) - value) < 2e-6
    return line == str(value) if column != "file" else json.loads(f'"{line}"') == value


def compare_view(rows, db, errors):
    cursor = db.execute("SELECT * FROM darshan_data")
    names = [column[0] for column in cursor.description]
    if names != COLUMNS[1:]:
        errors.append(f"the view has the columns {names}")
    view = cursor.fetchall()
    if len(view) != len(rows):
        errors.append(f"{len(view)} rows in the view, {len(rows)} lines")
    for number, (row, values) in enumerate(zip(rows, view), 1):
        for column, value in zip(names, values):
            if row and not same(row[column], column, value):
                errors.append(f"line {number}: {column} is {row[column]}, in the view {value}")


def compare_summary(db, summary, errors):
    for layer in summary["layers"]:
        for op, operations, moved in (("read", "reads", "bytes_read"), ("write", "writes", "bytes_written")):
            n, total = db.execute("SELECT coalesce(sum(weight), 0), coalesce(sum(moved), 0) FROM event WHERE layer = ? AND op = ?",
                                  (layer["name"], op)).fetchone()
            if n != layer[operations] or total != layer[moved]:
                errors.append(f"{layer['name']}: events have {n} {operations}, {total} bytes, the summary {layer[operations]}, "
                              f"{layer[moved]}")


def main():
    errors = [f"{name}: {record_id(name)}" for name, known in STREAMS.items() if record_id(name) != known]
    with open(sys.argv[1], "rb") as lines:
        rows = [check_line(number, line, errors) for number, line in enumerate(lines, 1)]
    db = sqlite3.connect(f"file:{sys.argv[2]}?mode=ro", uri=True)
    compare_view(rows, db, errors)
    with open(sys.argv[3], encoding="utf-8") as file:
        compare_summary(db, json.load(file), errors)
    modules = {row["module"] for row in rows if row}
    if modules != {"POSIX", "STDIO", "MPIIO", "H5F", "H5D"}:
        errors.append(f"only modules {modules} were seen")
    ranks = {row["rank"] for row in rows if row}
    if len(ranks) < 2:
        errors.append(f"only ranks {ranks} were seen")
    print("\n".join(errors[:10]))
    sys.exit(bool(errors))


main()
