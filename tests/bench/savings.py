# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Savings that `ioprobe report` estimates against what a change saves. Each planted program runs bare with its
mistake and without it, in turn, and recorded with it; programs of one process with the same real-time priority each time, so
that other work on the machine makes none of them wait for a CPU. The median difference of the pairs must lie in the interval of
the finding, in most of the recordings."""
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import time

import stats
import variants

TARGET = 80             # per cent of the programs
PROGRAMS = "build/programs"
LINE = re.compile(r"^\s*planted (\w+) (\w+) \S+ \S+ -- (.+?)(?:\s+#.*)?$", re.M)
NAMED = {"$posix": "$P/planted_posix", "${mpi[@]}": "mpirun -n 4 $P/planted_mpi"}       # what the suites' variables hold
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMPI_MCA_mpi_yield_when_idle": "1"}
ENVIRONMENT = {**os.environ, **MPI}


def command_of(text):
    for name, value in NAMED.items():
        text = text.replace(f'"{name}"', value)
    return shlex.split(text.replace("$P", PROGRAMS))


def cases():
    """(code, case, command) of the suites; findings that are always notes have no saving."""
    text = ""
    for name in ("report", "report_libraries", "report_mpi"):
        with open(f"tests/e2e/{name}.sh", encoding="utf-8") as suite:
            text += suite.read()
    found = [(code, case, command_of(rest)) for code, case, rest in LINE.findall(text)]
    return [case for case in found if os.path.exists(case[2][-1]) and shutil.which(case[2][0])]


def real_time():
    """For a started process; without the right to it the priority stays as it is. Not for ranks that share CPUs: they wait for each
    other without sleeping."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        pass


def priority_of(program):
    return real_time if len(program) == 1 else None


def run_bare(program, case, twin, directory):
    """Seconds of a run without ioprobe."""
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    os.sync()           # else the data of the run before would be written back during this one
    command = ["timeout", "120", *program, case, twin, directory]       # not an option of run(): its wait polls, 50 ms at a time
    begin = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=ENVIRONMENT,
                   preexec_fn=priority_of(program))
    return time.monotonic() - begin


def saving_of(program, case, code, directory):
    """The finding's interval in seconds; None if there is no such finding."""
    shutil.rmtree(f"{directory}/trace", ignore_errors=True)
    shutil.rmtree(f"{directory}/data", ignore_errors=True)
    os.makedirs(f"{directory}/data")
    os.sync()
    command = [variants.IOPROBE, "record", "-q", "-o", f"{directory}/trace", "--", *program, case, "bad", f"{directory}/data"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=200, check=True,
                   env=ENVIRONMENT, preexec_fn=priority_of(program))
    done = subprocess.run([variants.IOPROBE, "report", "--format", "json", f"{directory}/trace"], capture_output=True, timeout=100,
                          check=True)
    saving = next((f["saving"] for f in json.loads(done.stdout)["findings"] if f["code"] == code), None)
    return (saving["low_seconds"], saving["high_seconds"]) if saving else None


def measure(program, case, code, directory, repetitions):
    """A pair of bare runs and a recording in each repetition, after a pair that only warms up: a virtual machine gets memory at
    its first use."""
    rows = []
    for twin in ("good", "bad"):
        run_bare(program, case, twin, f"{directory}/data")
    for i in range(repetitions):
        order = ["bad", "good"] if i % 2 == 0 else ["good", "bad"]
        times = {twin: run_bare(program, case, twin, f"{directory}/data") for twin in order}
        rows.append({"difference_s": times["bad"] - times["good"], "interval_s": saving_of(program, case, code, directory)})
    return rows


def hits(rows):
    """Recordings whose interval has the median difference."""
    middle = statistics.median(row["difference_s"] for row in rows)
    return sum(row["interval_s"] is not None and row["interval_s"][0] <= middle <= row["interval_s"][1] for row in rows)


def section(directory, quick):
    """On a file system of a disk, not of memory: the directory below build/bench."""
    place, lines, report = os.path.abspath("build/bench/savings"), [], {}
    good = 0
    try:
        for code, case, program in cases():
            rows = measure(program, case, code, place, 2 if quick else 5)
            report[case] = {"code": code, "repetitions": rows}
            low, high = (statistics.median(row["interval_s"][i] for row in rows if row["interval_s"])
                         if any(row["interval_s"] for row in rows) else 0 for i in (0, 1))
            good += 2 * hits(rows) > len(rows)
            lines.append([f"{case} ({code})", f"{statistics.median(row['difference_s'] for row in rows):.3f}",
                          f"{low:.3f} to {high:.3f}", f"{hits(rows)} of {len(rows)}"])
    finally:
        shutil.rmtree(place, ignore_errors=True)
    share = 100 * good / max(len(report), 1)
    text = stats.table(["saving, seconds", "measured", "estimated", "inside"], lines)
    verdict = stats.judge_limit(share, TARGET, "%", below=False)
    return {"programs": report, "share": share}, f"{text}\n{good} of {len(report)} programs; {verdict}"


SECTIONS = {"savings": section}
