#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""check_summary.py SUMMARY [--text FILE] [EXPRESSION...]: summary.json must fit its schema, its sums must agree, the text of the
same recording must have the same counts, and all expressions must be true of it.

Words of expressions: s, the summary; layer(NAME); files(PATTERN) and processes(PATTERN) by path and executable (glob);
one(LIST): its only entry."""
import fnmatch
import json
import os
import re
import sys

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../user/sink/summary/summary.schema.json")


def check_schema(summary):
    import jsonschema
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    return [f"{'/'.join(map(str, e.path))}: {e.message[:200]}" for e in jsonschema.Draft7Validator(schema).iter_errors(summary)][:5]


def check_operations(place, entry):
    return [f"{place}: {entry[what]} {what}, not {known} + {unknown} + {failed}"
            for what in ("reads", "writes")
            for known, unknown, failed in [[entry[f"{what}_{end}"] for end in ("of_known_size", "of_unknown_size", "failed")]]
            if entry[what] != known + unknown + failed]


def check_sums(s):
    found = []
    for i, process in enumerate(s["process_list"]):
        if process["index"] != i:
            found.append(f"process {i} has index {process['index']}")
    for total in s["layers"]:
        found += check_operations(f"layer {total['name']}", total)
        own = [l for p in s["process_list"] for l in p["layers"] if l["name"] == total["name"]]
        for key in ("calls", "failed", "reads", "writes", "bytes_read", "bytes_written", "time_ns"):
            if sum(l[key] for l in own) != total[key]:
                found.append(f"layer {total['name']}: {total[key]} {key}, processes have {sum(l[key] for l in own)}")
    for file in s["files"]:
        found += check_operations(file["path"], file)
        for layer in file["layers"]:
            if sum(p["reads"] + p["writes"] for p in layer["processes"]) != layer["reads"] + layer["writes"]:
                found.append(f"{file['path']}, {layer['name']}: the processes' operations are not the layer's")
    if s["sizes_unknown"] != sum(l["reads_of_unknown_size"] + l["writes_of_unknown_size"] for l in s["layers"]):
        found.append("sizes_unknown is not the layers' sum")
    if s["failed_calls"] != sum(l["failed"] for l in s["layers"]) or s["files_total"] != len(s["files"]):
        found.append("failed_calls or files_total is not what it counts")
    return found


def size_text(value):
    """As the text has bytes."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    unit = 0
    while value >= 1024 and unit + 1 < len(units):
        value, unit = value / 1024, unit + 1
    return f"{value:.{2 if unit else 0}f} {units[unit]}"


def cell(layer, what):
    """Bytes, and operations of unknown size."""
    known, unknown = (layer[f"{what}s_of_{size}_size"] for size in ("known", "unknown"))
    if not layer[what + "s"]:
        return "-"
    if unknown and not known:
        return "unknown"
    return size_text(layer["bytes_read" if what == "read" else "bytes_written"]) + (f" + {unknown} unknown" if unknown else "")


def check_text(s, text):
    moved = r" +(-|unknown|[\d.]+ [KMGT]?i?B(?: \+ \d+ unknown)?)"
    rows = {row[0]: row[1:] for row in re.findall(r"^(\S+) +(\d+) +(\d+)" + moved + moved + r" +[\d.]+ s ", text, re.M)}
    wanted = {l["name"]: (str(l["calls"]), str(l["failed"]), cell(l, "read"), cell(l, "write")) for l in s["layers"]}
    found = [f"layer {name}: the text has {rows.get(name)}, not {row}" for name, row in wanted.items() if rows.get(name) != row]
    unknown = re.search(r"^operations of unknown size (\d+) \((.*)\)", text, re.M)
    by_layer = sum(map(int, re.findall(r" (\d+)(?:,|$)", unknown[2]))) if unknown else 0
    if (int(unknown[1]) if unknown else 0) != s["sizes_unknown"] or by_layer != s["sizes_unknown"]:
        found.append(f"sizes_unknown: the text has {unknown[0] if unknown else 'none'}, not {s['sizes_unknown']}")
    return found


def words(s):
    def one(entries):
        if len(entries) != 1:
            raise ValueError(f"{len(entries)} entries instead of one")
        return entries[0]

    return {"s": s, "one": one,
            "layer": lambda name: one([l for l in s["layers"] if l["name"] == name]),
            "files": lambda pattern: [f for f in s["files"] if fnmatch.fnmatchcase(f["path"] or "", pattern)],
            "processes": lambda pattern: [p for p in s["process_list"] if fnmatch.fnmatchcase(p.get("executable") or "", pattern)]}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        s = json.load(file)
    expressions = sys.argv[2:]
    wrong = check_schema(s) or check_sums(s)
    if expressions[:1] == ["--text"]:
        with open(expressions[1], encoding="utf-8", errors="replace") as file:
            wrong += check_text(s, file.read())
        expressions = expressions[2:]
    known = words(s)
    for expression in expressions:
        try:
            if not eval(expression, dict(known)):
                wrong.append("not true: " + expression)
        except Exception as why:        # pylint: disable=broad-except
            wrong.append(f"{expression}: {why!r}")
    print("\n".join(wrong[:5]), end="")
    return bool(wrong)


sys.exit(main())
