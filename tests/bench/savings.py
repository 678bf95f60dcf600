# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Savings that `ioprobe report` estimates against what a change saves. Each planted program runs bare with its
mistake and without it, in turn, and recorded with it; programs of one process with the same real-time priority each time, so
that other work on the machine makes none of them wait for a CPU. The programs measure their own work (PLANTED_TIME): mpirun's start
and end differ by more than many of the savings. The median difference of the pairs must lie in the finding's interval, in most of
the recordings. Where the pairs differ by more than it, it is not distinguishable from 0: the interval must contain 0."""
import contextlib
import json
import mmap
import os
import re
import shlex
import shutil
import statistics
import subprocess

import stats
import variants

TARGET = 80             # per cent of the programs
PROGRAMS = "build/programs"
LINE = re.compile(r"^\s*planted (\w+) (\w+) \S+ \S+ (?:note )?-- (.+?)(?:\s+#.*)?$", re.M)
NOTES = {"P07", "X23", "X33", "X35"}    # say what to look at, not what to save
NAMED = {"$posix": "$P/planted_posix", "${mpi[@]}": "mpirun -n 4 $P/planted_mpi"}       # what the suites' variables hold
RANKS = 2               # ranks that share a CPU wait for each other without sleeping
# Detectors that need more; with two ranks OMPIO lets each write its own, and neither waits for the other.
MORE_RANKS = {"serial": 4, "read_by_all": 3, "late": 3, "one_writer": 3}
TIMES = {"independent_writes": 10, "independent_reads": 10, "rmw": 3, "fill": 3}     # else it is some milliseconds
KEPT_MIB = 4096         # more than any program uses at once
BLOCK = 2 << 20         # a virtual machine gives free memory back in blocks of this size
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMPI_MCA_mpi_yield_when_idle": "1"}
ENVIRONMENT = {**os.environ, **MPI}


def command_of(text):
    for name, value in NAMED.items():
        text = text.replace(f'"{name}"', value)
    return shlex.split(text.replace("$P", PROGRAMS))


def with_ranks(command, case):
    if command[0] == "mpirun":
        command[command.index("-n") + 1] = str(MORE_RANKS.get(case, RANKS))
    return command


def cases():
    """(code, case, command) of the suites."""
    text = ""
    for name in ("report", "report_libraries", "report_mpi"):
        with open(f"tests/e2e/{name}.sh", encoding="utf-8") as suite:
            text += suite.read()
    found = [(code, case, with_ranks(command_of(rest), case)) for code, case, rest in LINE.findall(text) if code not in NOTES]
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


@contextlib.contextmanager
def kept_memory():
    """A virtual machine may give free memory back to its host, and get it again page by page at the next use: then filling the
    page cache takes three times as long in one run as in another. One page of each block stays in use here: the rest of the block
    is free for the programs, and is not given back."""
    size = min(KEPT_MIB << 20, os.sysconf("SC_AVPHYS_PAGES") * mmap.PAGESIZE // 2)
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for offset in range(0, size, mmap.PAGESIZE):
            memory[offset] = 1
        for offset in range(0, size - BLOCK + 1, BLOCK):
            memory.madvise(mmap.MADV_DONTNEED, offset + mmap.PAGESIZE, BLOCK - mmap.PAGESIZE)
        yield


def clear(directory):
    """An empty directory, and no data that is still to be written. The files of the run before lose their data, but stay until the
    end: a file system without a journal does not use inodes of deleted files again for minutes, and searches long for others."""
    if os.path.isdir(directory):
        for parent, _, names in os.walk(directory):
            for name in names:
                os.truncate(os.path.join(parent, name), 0)
        os.makedirs(f"{directory}.old", exist_ok=True)
        os.rename(directory, f"{directory}.old/{len(os.listdir(f'{directory}.old'))}")
    os.makedirs(directory)
    os.sync()


def run_bare(program, case, twin, directory):
    """Seconds of the work in a run without ioprobe."""
    clear(directory)
    command = ["timeout", "120", *program, case, twin, directory, str(TIMES.get(case, 1))]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                   env={**ENVIRONMENT, "PLANTED_TIME": f"{directory}.seconds"}, preexec_fn=priority_of(program))
    with open(f"{directory}.seconds", encoding="ascii") as seconds:
        return float(seconds.read())


def saving_of(program, case, code, directory):
    """The finding's interval in seconds; None if there is no such finding."""
    shutil.rmtree(f"{directory}/trace", ignore_errors=True)
    clear(f"{directory}/data")
    command = [variants.IOPROBE, "record", "-q", "-o", f"{directory}/trace", "--", *program, case, "bad", f"{directory}/data",
               str(TIMES.get(case, 1))]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=200, check=True,
                   env=ENVIRONMENT, preexec_fn=priority_of(program))
    done = subprocess.run([variants.IOPROBE, "report", "--format", "json", f"{directory}/trace"], capture_output=True, timeout=100,
                          check=True)
    saving = next((f["saving"] for f in json.loads(done.stdout)["findings"] if f["code"] == code), None)
    return (saving["low_seconds"], saving["high_seconds"]) if saving else None


def measure(program, case, code, directory, repetitions):
    """A pair of bare runs and a recording in each repetition, after a pair that only warms up."""
    rows = []
    for twin in ("good", "bad"):
        run_bare(program, case, twin, f"{directory}/data")
    for i in range(repetitions):
        order = ["bad", "good"] if i % 2 == 0 else ["good", "bad"]
        times = {twin: run_bare(program, case, twin, f"{directory}/data") for twin in order}
        rows.append({"difference_s": times["bad"] - times["good"], "interval_s": saving_of(program, case, code, directory)})
    return rows


def judge(rows):
    """What was measured, and how many of the recordings' intervals say so."""
    differences = [row["difference_s"] for row in rows]
    intervals = [row["interval_s"] for row in rows if row["interval_s"]]
    quarter = len(differences) // 4     # of five the middle three: one disturbed pair says nothing of the others
    middle, spread = statistics.median(differences), sorted(differences)[-1 - quarter] - sorted(differences)[quarter]
    differs = abs(middle) > spread
    truth = middle if differs else 0
    low, high = (statistics.median(ends) for ends in zip(*intervals)) if intervals else (0, 0)
    return {"median_s": middle, "least_s": min(differences), "most_s": max(differences), "differs": differs, "low_s": low,
            "high_s": high, "inside": sum(low <= truth <= high for low, high in intervals), "of": len(rows),
            "found": len(intervals)}


def line_of(code, case, j):
    return [f"{case} ({code})", f"{j['median_s']:.3f}" if j["differs"] else "0", f"{j['least_s']:.3f} to {j['most_s']:.3f}",
            f"{j['low_s']:.3f} to {j['high_s']:.3f}" if j["found"] else "no finding",
            f"{j['inside']} of {j['of']}" + ("" if j["differs"] else ", not distinguishable from 0")]


def summary_of(judged):
    """How many are right, and how much the intervals say."""
    good = [j for j in judged if 2 * j["inside"] > j["of"]]
    measured = [j for j in judged if j["differs"]]
    widths = [j["high_s"] / j["low_s"] for j in judged if j["low_s"] > 0]
    share = 100 * len(good) / max(len(judged), 1)
    lines = [f"{len(good)} of {len(judged)} programs; {stats.judge_limit(share, TARGET, '%', below=False)}",
             f"{len(measured)} differences can be told from 0, of which {sum(j in good for j in measured)} are inside",
             f"{len(judged) - len(widths)} intervals begin at 0; the upper end of the others is "
             f"{statistics.median(widths) if widths else 0:.1f} times the lower one (median)"]
    return share, "\n".join(lines)


def section(directory, quick):
    """On a file system of a disk, not of memory: the directory below build/bench."""
    place, lines, report, judged = os.path.abspath("build/bench/savings"), [], {}, []
    try:
        with kept_memory():
            for code, case, program in cases():
                rows = measure(program, case, code, place, 2 if quick else 5)
                judged.append(judge(rows))
                report[case] = {"code": code, "repetitions": rows, **judged[-1]}
                lines.append(line_of(code, case, judged[-1]))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    share, text = summary_of(judged)
    table = stats.table(["saving, seconds", "measured", "least to most", "estimated", "inside"], lines)
    return {"programs": report, "share": share}, f"{table}\n{text}"


SECTIONS = {"savings": section}
