# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Call sites: what they add to an outermost call at a repeated site, to system calls, to stream calls and to calls with recorded calls inside."""
import functools
import statistics

import stats
import variants

TARGET_NS = 250         # per outermost call, whatever is inside
BUDGET_MS = 40
REPETITIONS = 5
WITH = functools.partial(variants.ioprobe, options=["--call-sites"])
WITHOUT = functools.partial(variants.ioprobe, options=["--no-call-sites"])
PROGRAMS = {
    "calls": [("pwrite, 1 B", "pwrite", 1), ("read, 4 KiB", "read", 4096), ("fread, 4 KiB", "fread", 4096)],
    "layers": [("H5Dwrite, 64 B", "h5", 64), ("nc_put_vara, 64 B", "nc", 64)],
}


def measure(program, rows, make, folder):
    worker = variants.Worker(program, folder)
    try:
        with make(worker, folder):
            return {name: worker.order(kind, size, BUDGET_MS, REPETITIONS)["best"] for name, kind, size in rows}
    finally:
        worker.end()


def section(folder, quick):
    """Rounds of both kinds in alternation. The best round of each is compared, because others on the machine can only add to it; the median of the rounds'
    differences shows how far they did."""
    lines, report = [], {}
    for program, rows in PROGRAMS.items():
        rounds = {name: [] for name, _, _ in rows}
        for i in range(5 if quick else 9):
            order = [WITHOUT, WITH] if i % 2 == 0 else [WITH, WITHOUT]
            results = {make: measure(program, rows, make, folder) for make in order}
            for name in rounds:
                rounds[name].append((results[WITHOUT][name], results[WITH][name]))
        for name, pairs in rounds.items():
            without, added = min(a for a, _ in pairs), min(b for _, b in pairs) - min(a for a, _ in pairs)
            median = statistics.median(b - a for a, b in pairs)
            report[name] = {"without_ns": without, "added_ns": added, "added_median_ns": median, "rounds": pairs}
            lines.append([name, stats.number(without), stats.signed(added), stats.signed(median), stats.judge_limit(added, TARGET_NS, "ns")])
    return report, stats.table(["call sites, ns per call", "ioprobe", "added, best of all rounds", "added, median of rounds", "target"], lines)


SECTIONS = {"call sites": section}
