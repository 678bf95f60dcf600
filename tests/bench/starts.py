# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Programs that start: one after the other, many at once, the ranks of a job; bare, recorded, recorded with --lazy-streams, with
call sites, under strace."""
import os
import re
import shutil
import signal
import subprocess

import stats
import variants

STARTS = os.path.abspath(f"{variants.BENCH}/starts")
TRUE = "/bin/true"
LIMIT_S = 90
MPIRUN_LIMIT_S, MPIRUN_TRIES = 3, 12
RECORD = [variants.IOPROBE, "record", "--summary", "none", "-o", "TRACE"]
WRAPPERS = {"bare": [], "ioprobe": [*RECORD, "--no-call-sites", "--"], "lazy": [*RECORD, "--no-call-sites", "--lazy-streams", "--"],
            "with sites": [*RECORD, "--"],
            "strace": ["strace", "-f", "-qq", "-o", "/dev/null"],
            "perf": [*variants.WITH_TRACEFS, "perf", "trace", "-o", "/dev/null"]}
ADDED_MS = {"ioprobe": 2, "lazy": 1}    # targets for each start of a row of single starts
AT_ONCE_S = 1                           # for 256 at once
MPIRUN = 1.3                            # times bare
RIVALS = ("strace", "perf")


class Hung(variants.Failed):
    pass


def build_row(directory, quick):
    """This project's own objects, in a copy: some hundred processes, most of which live for milliseconds."""
    copy, part = f"{directory}/tree", "user/sink" if quick else "user"
    os.mkdir(copy)
    files = "Makefile tools bpf include probes user tests build/*.h build/*.o build/builtin_tables.c build/.requirements"
    subprocess.run(f"tar -cf - {files} | tar -xf - -C {copy}", shell=True, check=True)
    sources = [os.path.join(at, name) for at, _, names in os.walk(part) for name in names if name.endswith(".c")]
    objects = [f"build/obj/{s[:-2]}.o" for s in sorted(sources) if "/mpi/ioprobe_mpi" not in s and "/advice/" not in s]
    make = f"cd {copy} && rm -rf build/obj && exec make -j2 CC=gcc {' '.join(objects)}"
    return (f"make -j2, {len(objects)} objects", 1, 1, [shutil.which("sh"), "-c", make], "make")


def rows(directory, quick):
    """name, starts, at once, program, judged"""
    mpirun = shutil.which("mpirun")
    found = [("starts one by one", 200 if quick else 1000, 1, [TRUE], "each"), ("64 starts at once", 64, 64, [TRUE], None),
             ("256 starts at once", 256, 256, [TRUE], "at once")]
    if mpirun:
        found.append(("mpirun -n 64", 1, 1, [mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "64", TRUE], "mpirun"))
    return [*found, build_row(directory, quick)]


def once(directory, wrapper, row):
    """Seconds of one run. Open MPI 4.1's mpirun hangs in some runs whose ranks end at once, with no tool attached, too: such a
    run is repeated."""
    if row[4] != "mpirun":
        return run(directory, wrapper, row, LIMIT_S)
    for _ in range(MPIRUN_TRIES - 1):
        try:
            return run(directory, wrapper, row, MPIRUN_LIMIT_S)
        except Hung:
            pass
    return run(directory, wrapper, row, MPIRUN_LIMIT_S)


def run(directory, wrapper, row, limit):
    _, starts, at_once, program, _ = row
    trace = f"{directory}/starts"
    shutil.rmtree(trace, ignore_errors=True)
    command = [*[trace if word == "TRACE" else word for word in wrapper], STARTS, str(starts), str(at_once), *program]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                             start_new_session=True)
    try:
        text = child.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired as error:      # the launcher, too
        os.killpg(child.pid, signal.SIGTERM)
        raise Hung(f"starts: not done within {limit} s") from error
    finally:
        child.wait(30)
        shutil.rmtree(trace, ignore_errors=True)
    seconds = re.search(rb"^([\d.]+)$", text, re.M)
    if child.returncode or not seconds:
        raise variants.Failed(f"starts: status {child.returncode}")
    return float(seconds.group(1))


def judge(row, figures):
    bare = figures["bare"].median
    if row[4] == "each":
        return "; ".join(f"{name} " + stats.judge_limit((figures[name].median - bare) / row[1] * 1e3, limit, "ms")
                         for name, limit in ADDED_MS.items())
    if row[4] == "at once":
        return stats.judge_limit(figures["ioprobe"].median, AT_ONCE_S, "s")
    if row[4] == "make":
        return ", ".join(f"{name} {figure.median / bare:.2f} x" for name, figure in figures.items() if name != "bare")
    return stats.judge_limit(figures["ioprobe"].median / bare, MPIRUN, "x bare") if row[4] else ""


def measure(directory, row, names, quick):
    seconds = {name: [] for name in names}
    for i in range(1 if row[4] == "make" else 2 if quick else 5):
        for name in names if i % 2 == 0 else reversed(names):
            if name not in RIVALS or i < 2:
                seconds[name].append(once(directory, WRAPPERS[name], row))
    figures = {name: stats.Figure(values) for name, values in seconds.items()}
    return figures, judge(row, figures)


def starting(directory, quick):
    names = [name for name in WRAPPERS if name not in variants.missing_rivals()]
    lines, result = [], {}
    for row in rows(directory, quick):
        try:
            figures, verdict = measure(directory, row, names, quick)
        except variants.Failed as error:
            lines.append([row[0], *["-"] * len(names), f"not measured: {error}"])
            continue
        lines.append([row[0], *[f"{figures[name].median:.2f} s ({figures[name].low:.2f}–{figures[name].high:.2f})"
                                for name in names], verdict])
        result[row[0]] = {"starts": row[1], "at_once": row[2], "seconds": {name: f.json() for name, f in figures.items()},
                          "target": verdict}
    return result, stats.table(["programs that start", *names, "target"], lines)


SECTIONS = {"starts": starting}
