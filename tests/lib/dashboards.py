# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The queries of the Grafana dashboards in tools/grafana, with what Grafana puts in place of its variables. As a program:
dashboards.py STORE runs those of the SQLite dashboard; each must have rows. Prints what is wrong; status 1 then."""
import json
import os
import sqlite3
import sys

DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/grafana")


def targets(dashboard):
    with open(os.path.join(DIRECTORY, dashboard), encoding="utf-8") as file:
        for panel in json.load(file)["panels"]:
            for target in panel["targets"]:
                yield panel["title"], target


def promql(dashboard):
    """Title and expression of each query."""
    for title, target in targets(dashboard):
        expression = target["expr"]
        for variable, value in (("$__rate_interval", "1m"), ("$jobid", ".*"), ("$node", ".*")):
            expression = expression.replace(variable, value)
        yield title, expression


def empty_in(store):
    """What is wrong with the SQLite dashboard's queries."""
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    for title, target in targets("ioprobe-sqlite.json"):
        query = target["rawQueryText"]
        begin, end = db.execute("SELECT min(begin_ns) / 1000000, max(end_ns) / 1000000 + 1 FROM interval").fetchone()
        rows = db.execute(query.replace("$__from", str(begin)).replace("$__to", str(end))).fetchall()
        if not rows:
            yield f"{title}: no rows"
        elif target["queryType"] == "time series" and not all(begin / 1000 - 1 <= row[0] <= end / 1000
                                                              and row[2] is not None for row in rows):
            yield f"{title}: times or values are not: {rows[:2]}"
        if target["queryText"] != query:
            yield f"{title}: queryText is another one"
        if db.execute(query.replace("$__from", "0").replace("$__to", "1")).fetchall():
            yield f"{title}: does not look at the time"


if __name__ == "__main__":
    errors = list(empty_in(sys.argv[1]))
    print("\n".join(errors))
    sys.exit(bool(errors))
