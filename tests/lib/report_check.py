#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""report_check.py REPORT.json found CODE FILE [note]: the finding is the first one, it names FILE, and it is severe (not with "note").
report_check.py REPORT.json clean [CODE]: no finding is high; none of CODE, if given, is more than a note.
report_check.py REPORT.json is EXPRESSION...: all are true; names: r (the report), finding(code), codes.

Prints the reason and exits with 1 if not."""
import fnmatch
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        r = json.load(file)
    findings = [f for f in r["findings"] if f["cause"] is None]
    shown = [f"{f['code']} {f['severity']} {f['evidence']} {f['saving']['low_seconds']:.3f}..{f['saving']['high_seconds']:.3f} s"
             for f in r["findings"]]
    mode = sys.argv[2]
    if mode == "found":
        code, path, note = sys.argv[3], sys.argv[4], sys.argv[5:] == ["note"]
        if not findings:
            return f"no finding, {code} is expected"
        if note:
            findings = [f for f in r["findings"] if f["code"] == code] or findings
        first = findings[0]
        if first["code"] != code:
            return f"{code} is not the first finding: {shown}"
        if not note and first["severity"] == "note":
            return f"{code} is a note only: {shown}, wall {r['time']['wall_seconds']} s"
        if path != "-" and not any(fnmatch.fnmatch(f["path"], path) for f in first["files"]):
            return f"{code} does not name {path}: {first['files']}"
        if not first["calls"] and not note:
            return f"{code} names no call"
    elif mode == "clean":
        high = [f for f in r["findings"] if f["severity"] == "high"]
        high += [f for f in r["findings"] if f["code"] in sys.argv[3:] and f["severity"] != "note"]
        if high:
            return f"the clean twin has findings: {shown}, wall {r['time']['wall_seconds']} s"
    else:
        names = {"r": r, "codes": [f["code"] for f in r["findings"]],
                 "finding": lambda code: next((f for f in r["findings"] if f["code"] == code), None)}
        for expression in sys.argv[3:]:
            if not eval(expression, names):
                return f"not true: {expression}; findings: {shown}"
    return None


reason = main()
if reason:
    print(reason)
    sys.exit(1)
