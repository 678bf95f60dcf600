#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Options and formats of "ioprobe report" and "ioprobe diff" on an archive whose calls, times and lines are known: what is
selected, the statuses, the size of the page, the JSON schema, SARIF's source locations.

Needs no root. IOPROBE names the executable."""
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import jsonschema

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
IOPROBE = os.environ.get("IOPROBE", os.path.join(TESTS, "..", "build", "ioprobe"))
SCHEMA = os.path.join(TESTS, "..", "user", "report", "report.schema.json")
sys.path.insert(0, os.path.join(TESTS, "lib"))
from synthetic_trace import KIB, MIB, Run       # noqa: E402  pylint: disable=wrong-import-position

SOURCE = "/home/user/model/out put.c"
SMALL, SYNCS = 400, 50


def write_archive(directory, small=SMALL, syncs=SYNCS):
    """Rank 0 writes one file in small pieces from the beginning on; rank 1 syncs another after each write from 0.9 s on."""
    with Run(directory, ranks=2) as run:
        pieces, synced = run.file("/data/pieces.dat"), run.file("/data/synced.dat")
        r = run.rank(0)
        r.until(100000)
        r.open(pieces)
        r.at = (SOURCE, 17)
        for i in range(small):
            r.write(pieces, i * KIB, KIB, us=1000)
        for i in range(40):
            r.write(pieces, (i + 1) * MIB, MIB, us=100)
        r.wait(100000)
        r.close(pieces)
        r = run.rank(1)
        r.until(1000000)
        r.open(synced)
        r.at = (SOURCE, 34)
        for i in range(syncs or 1):
            r.write(synced, i * MIB, MIB, us=100)
            if syncs:
                r.data("flush", synced, 0, 0, us=5000, name="fsync")


def run(*arguments, status=0):
    done = subprocess.run([IOPROBE, *arguments], capture_output=True, timeout=60, check=False)
    if done.returncode != status:
        raise RuntimeError(f"{arguments}: status {done.returncode} instead of {status}: {done.stderr.decode()[:200]}")
    return done.stdout.decode()


def report(directory, *options):
    return json.loads(run("report", "--format", "json", *options, directory))


def codes(r):
    return {f["code"] for f in r["findings"]}


def calls(r):
    return sum(layer["calls"] for layer in r["layers"])


def test_selection(directory):
    whole = report(directory)
    n = SMALL + 40 + 2 + 2 * SYNCS + 1
    cases = [((), n, {"P06", "X08"}), (("--rank", "1"), 2 * SYNCS + 1, {"X08"}), (("--rank", "0"), SMALL + 42, {"P06"}),
             (("--to", "0.85"), SMALL + 42, {"P06"}), (("--from", "0.85"), 2 * SYNCS + 1, {"X08"}),
             (("--from", "0.0005", "--to", "0.1005"), 100, {"P06"}), (("--from", "50"), 0, set()), (("--rank", "7"), 0, set()),
             (("--file", "*/synced.dat"), n, {"X08"}), (("--file", "/data/p*"), n, {"P06"}), (("--file", "/nowhere/*"), n, set())]
    for options, wanted, found in cases:
        r = report(directory, *options)
        if calls(r) != wanted:
            yield f"{options}: {calls(r)} calls instead of {wanted}"
        if codes(r) & {"P06", "X08"} != found:
            yield f"{options}: {codes(r)} instead of {found}"
        if options and "only a part" not in r["trace"]["completeness"]:
            yield f"{options}: the report does not say that it judges a part"
    if "only a part" in whole["trace"]["completeness"]:
        yield "the whole is called a part"


def test_status(directory):
    place = os.path.join(directory, "thresholds.json")
    for settings, option, status in (({"least_seconds": 0, "high_share": 0}, "high", 1),
                                     ({"least_seconds": 0, "high_share": 9, "high_seconds": 99}, "high", 0),
                                     ({"least_seconds": 0, "high_share": 9, "high_seconds": 99, "warn_share": 0}, "warn", 1),
                                     ({"least_seconds": 99}, "warn", 0)):
        with open(place, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        run("report", "--thresholds", place, "--fail-on", option, directory, status=status)
    for wrong in ({"thresholds": {"no_such_name": 1}}, {"small_count": -1}, {"small_count": "many"}, []):
        with open(place, "w", encoding="utf-8") as file:
            json.dump(wrong, file)
        run("report", "--thresholds", place, directory, status=1)
    for usage in (("--fail-on", "note"), ("--from", "early"), ("--to", "-1"), ("--rank", "x"), ("--format", "pdf")):
        run("report", *usage, directory, status=2)
    with open(place, "w", encoding="utf-8") as file:
        json.dump({"thresholds": {"small_count": 1e9, "sync_count": {"value": 1e9}}}, file)
    if codes(report(directory, "--thresholds", place)) & {"P06", "X08"}:
        yield "thresholds have no effect"


def test_explain(directory):
    listed = [line.split()[0] for line in run("report", "--explain", "list").splitlines()]
    for code in listed:
        text = run("report", "--explain", code.lower())
        if not all(word in text for word in (code, "when ", "why ")):
            yield f"--explain {code}: {text[:100]}"
    everything = run("report", "--explain", "all")
    if [code for code in listed if not re.search(rf"^{code}\b", everything, re.M)]:
        yield "--explain all lacks a finding"
    names = set(re.findall(r"\b([a-z]+_[a-z_]+)\b", run("report", "--explain", "thresholds")))
    if not names >= set(report(directory)["thresholds"]):
        yield "--explain thresholds lacks one"
    run("report", "--explain", "X99", status=2)


def test_text(directory):
    for options in ((), ("--thresholds", os.path.join(directory, "all.json"))):
        with open(os.path.join(directory, "all.json"), "w", encoding="utf-8") as file:
            json.dump({"least_seconds": 0, "high_share": 0, "small_count": 1, "sync_count": 1, "imbalance_bytes": 1}, file)
        lines = run("report", *options, directory).splitlines()
        if len(lines) > 60 or max(map(len, lines)) > 100:
            yield f"{len(lines)} lines, the longest has {max(map(len, lines))} columns: {max(lines, key=len)}"
    if not any("out put.c:17" in line for line in lines):
        yield "no line of the source"


def test_json(directory):
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    yield from (error.message[:200] for error in jsonschema.Draft7Validator(schema).iter_errors(report(directory, "--all")))


def test_csv(directory):
    rows = list(csv.DictReader(run("report", "--format", "csv", directory).splitlines()))
    if {row["file"] for row in rows} != {"/data/pieces.dat", "/data/synced.dat"}:
        yield f"files {[row['file'] for row in rows]}"
    if sum(int(row["write_bytes"]) for row in rows) != SMALL * KIB + (40 + SYNCS) * MIB:
        yield "other bytes"


def test_sarif(directory):
    log = json.loads(run("report", "--format", "sarif", "--all", directory))
    tool = log["runs"][0]["tool"]["driver"]
    rules = {rule["id"]: rule for rule in tool["rules"]}
    if log["version"] != "2.1.0" or "sarif" not in log["$schema"] or not tool["name"]:
        yield "head"
    lines = {}
    for result in log["runs"][0]["results"]:
        if result["ruleId"] not in rules or result["level"] not in ("error", "warning", "note") or not result["message"]["text"]:
            yield f"result {result}"
        for location in result["locations"]:
            physical = location["physicalLocation"]
            lines.setdefault(result["ruleId"], []).append((physical["artifactLocation"]["uri"], physical["region"]["startLine"]))
    wanted = {"P06": 17, "X08": 34}
    for code, line in wanted.items():
        if not any(uri.endswith("/home/user/model/out%20put.c") and at == line for uri, at in lines.get(code, [])):
            yield f"{code}: {lines.get(code)} instead of line {line}"


def test_diff(directory):
    other = directory + ".other"
    write_archive(other, small=4, syncs=0)
    text = run("diff", directory, other)
    for wanted in (r"^POSIX +543 +48 ", r"^gone +P06 ", r"^gone +X08 ", r"^pieces\.dat ", r"^fsync at .*out put\.c:34 +50 +0 ",
                   r"^pwrite64 at .*out put\.c:17 +440 +44 "):
        if not re.search(wanted, text, re.M):
            yield f"no line {wanted} in {text}"
    if not re.search("^new +X08 ", run("diff", other, directory), re.M):
        yield "nothing is new the other way round"


def test_hostile(directory):
    """Names that are part of a finding's evidence."""
    other = directory + ".hostile"
    with Run(other) as archive:
        r = archive.rank(0)
        for i in range(1100):
            file = archive.file(f"/data/\x1b[31m</script><img src=x onerror=alert(1)>/{i}")
            r.open(file, create=True, us=1000)
            r.write(file, 0, 100, us=1000)
    text, page = run("report", "--all", other), run("report", "--format", "html", "--all", other)
    if "\x1b" in text or "1100 files are created" not in text or "</script>" not in text:
        yield f"text: {text!r}"
    if "<img" in page or "<script" in page or "\x1b" in page or "1100 files are created" not in page:
        yield "html: the name acts, or is missing"


def main():
    directory = tempfile.mkdtemp(prefix="ioprobe-options-") + "/archive"
    passed = failed = 0
    try:
        write_archive(directory)
        for name, test in [(name, test) for name, test in globals().items() if name.startswith("test_")]:
            try:
                reasons = list(test(directory) or [])
            except RuntimeError as error:
                reasons = [str(error)]
            print("not ok" if reasons else "ok", name, *reasons[:3])
            passed, failed = passed + (not reasons), failed + bool(reasons)
    finally:
        shutil.rmtree(os.path.dirname(directory))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
