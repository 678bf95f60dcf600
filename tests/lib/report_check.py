#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""report_check.py REPORT.json found CODE FILE RANKS SOURCE CASE [note]: CODE is the first finding; its first file is FILE (a
pattern), its ranks are RANKS ("-": not checked), its first call of which the line is known is at a line of SOURCE that is marked
"planted: CASE". It is severe, but with "note". report_check.py REPORT.json clean: no finding is high. report_check.py REPORT.json
is EXPRESSION...: all are true; names: r (the report), finding(code), codes.

Prints the reason and exits with 1 if not. With a sanitized ioprobe (SANITIZED) with 2, if only the line is wrong and callers are
missing: the parser process that finds them is too slow for the first calls of a short program."""
import fnmatch
import json
import os
import sys


def marked_lines(source, case):
    with open(source, encoding="utf-8") as file:
        return [number for number, line in enumerate(file, 1) if f"planted: {case} */" in line]


def wrong_line(finding, source, case):
    lines = marked_lines(source, case)
    if not lines:
        return f"{source} has no line that is marked \"planted: {case}\""
    name = source.rsplit("/", 1)[1]
    known = [call for call in finding["calls"] if call["site"] and f"/{name}:" in call["site"]]
    if known and any(f"/{name}:{line}" == known[0]["site"].split(" ")[0][-len(f"/{name}:{line}"):] for line in lines):
        return None
    if os.environ.get("SANITIZED") and len(known) < len(finding["calls"]):
        print(f"callers are not known in time: {finding['calls']}")
        sys.exit(2)
    if not known:
        return f"{finding['code']} names no line of {name}: {finding['calls']}"
    return f"{finding['code']} names {known[0]['site']}, not {name}:{lines}"


def wrong_finding(r, findings, shown, arguments):
    code, path, ranks, source, case = arguments[:5]
    if not findings:
        return f"no finding, {code} is expected"
    first = findings[0]
    if first["code"] != code:
        return f"{code} is not the first finding: {shown}, wall {r['time']['wall_seconds']} s"
    if first["severity"] == "note" and "note" not in arguments[5:]:
        return f"{code} is a note only: {shown}, wall {r['time']['wall_seconds']} s"
    if path != "-" and not (first["files"] and fnmatch.fnmatch(first["files"][0]["path"], path)):
        return f"{code} does not name {path} first: {first['files']}"
    if ranks not in ("-", first["ranks"]):
        return f"{code} is of rank {first['ranks']}, not of {ranks}"
    return wrong_line(first, source, case)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        r = json.load(file)
    findings = [f for f in r["findings"] if f["cause"] is None]
    shown = [f"{f['code']} {f['severity']} {f['evidence']} {f['saving']['low_seconds']:.3f}..{f['saving']['high_seconds']:.3f} s"
             for f in r["findings"]]
    mode = sys.argv[2]
    if mode == "found":
        return wrong_finding(r, findings, shown, sys.argv[3:])
    if mode == "clean":
        high = [f["code"] for f in r["findings"] if f["severity"] == "high"]
        return f"high without a mistake: {high}: {shown}, wall {r['time']['wall_seconds']} s" if high else None
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
