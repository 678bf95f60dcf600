#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""report_formats.py IOPROBE ARCHIVE SCHEMA DIR: every format of the archive's report is well-formed, and hostile names do nothing
in it. The archive has a file whose name has markup and an escape character. Prints what is wrong."""
import csv
import html.parser
import json
import re
import subprocess
import sys

ioprobe, archive, schema, directory = sys.argv[1:5]
NAME = "</script><img src=x onerror=alert(1)>"


def report(*options):
    done = subprocess.run([ioprobe, "report", *options, archive], capture_output=True, timeout=60, check=False)
    if done.returncode:
        print(f"{options}: status {done.returncode}: {done.stderr.decode()[:200]}")
    return done.stdout.decode("utf-8")


class Page(html.parser.HTMLParser):
    """Tags that could act, and text."""

    def __init__(self):
        super().__init__()
        self.tags, self.text, self.policy = set(), "", None

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        attrs = dict(attrs)
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]
        for name in attrs:
            if name.startswith("on") or name in ("src", "href"):
                print(f"html: attribute {name} of {tag}")

    def handle_data(self, data):
        self.text += data


text = report("--all")
if "\x1b" in text:
    print("text: an escape character")
if len(report().splitlines()) > 60:
    print("text: more than 60 lines")
wide = [line for line in text.splitlines() if len(line) > 130]
if wide:
    print(f"text: a line of {len(wide[0])} columns")

data = json.loads(report("--format", "json"))
try:
    import jsonschema
    with open(schema, encoding="utf-8") as file:
        jsonschema.validate(data, json.load(file))
except ImportError:
    pass
except jsonschema.ValidationError as error:
    print("json:", error.message[:200])
if not any(NAME in f["path"] for f in data["files"]):
    print(f"json: the file is missing: {data['files']}")
if any(NAME in f["path"] and f["users"] != 1 for f in data["files"]):
    print(f"json: two threads of one process are not one user: {data['files']}")
if not re.search("^data file +processes +read ", text, re.M) or "ranks" in text.split("data file")[1]:
    print("text: ranks of a run without ranks")

page = Page()
page.feed(report("--format", "html", "--all"))
if page.tags & {"script", "img", "iframe", "link", "object", "a"}:
    print(f"html: tags {page.tags}")
if page.policy != "default-src 'none'; style-src 'unsafe-inline'":
    print(f"html: policy {page.policy}")
if NAME not in page.text or "\x1b" in page.text:
    print("html: the name is not there, or not escaped")

sarif = json.loads(report("--format", "sarif", "--all"))
rules = {rule["id"] for rule in sarif["runs"][0]["tool"]["driver"]["rules"]}
if sarif["version"] != "2.1.0" or not {r["ruleId"] for r in sarif["runs"][0]["results"]} <= rules:
    print("sarif: results without rules")
if {f["code"] for f in data["findings"]} != {r["ruleId"] for r in sarif["runs"][0]["results"]}:
    print("sarif: other findings than in JSON")

rows = list(csv.DictReader(report("--format", "csv").splitlines()))
if not any(NAME in row["file"] for row in rows) or any(None in row or None in row.values() for row in rows):
    print("csv: the file is missing, or rows have other columns than the head")
if sum(int(row["write_bytes"]) for row in rows if row["layer"] == "POSIX" and NAME in row["file"]) != \
        sum(f["bytes_written"] for f in data["files"] if NAME in f["path"]):
    print("csv: other bytes than in JSON")

# thresholds: those of a report are accepted, and change what is found
with open(directory + "/thresholds.json", "w", encoding="utf-8") as file:
    json.dump(data, file)
report("--thresholds", directory + "/thresholds.json")
with open(directory + "/none.json", "w", encoding="utf-8") as file:
    json.dump({"thresholds": {"small_count": 1e9, "small_total": 1e9}}, file)
if any(f["code"] == "P06" for f in json.loads(report("--format", "json", "--thresholds", directory + "/none.json"))["findings"]):
    print("thresholds: small_count and small_total have no effect")
if not any(f["code"] == "P06" for f in data["findings"]):
    print("json: P06 is missing")

part = json.loads(report("--format", "json", "--file", "/nowhere/*"))
if part["findings"] and any(f["files"] for f in part["findings"]):
    print("--file: files that do not fit are judged")
late = json.loads(report("--format", "json", "--from", "1000"))
if late["layers"]:
    print("--from: calls before the time are judged")
with open(directory + "/all.json", "w", encoding="utf-8") as file:
    json.dump({"high_share": 0, "least_seconds": 0}, file)
fails = subprocess.run([ioprobe, "report", "--fail-on", "high", "--thresholds", directory + "/all.json", "-o",
                        directory + "/out.txt", archive], capture_output=True, timeout=60, check=False)
if fails.returncode != 1:
    print(f"--fail-on: status {fails.returncode}")
with open(directory + "/out.txt", encoding="utf-8") as file:
    if "P06" not in file.read():
        print("-o: no report in the file")
for code in subprocess.run([ioprobe, "report", "--explain", "list"], capture_output=True, text=True, timeout=20,
                           check=True).stdout.splitlines():
    page = subprocess.run([ioprobe, "report", "--explain", code.split()[0]], capture_output=True, text=True, timeout=20,
                          check=False)
    if page.returncode or "why" not in page.stdout:
        print(f"--explain {code}")
