# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Whole programs, the neighbours' tracepoints, and the cost ceiling: what is measured besides single calls."""
import json
import os
import signal
import subprocess
import time

import agent
import stats
import variants

STORM_S = 20
STORM_TARGET = 1.05
FIO_ROUNDS = 3
MIX_CALLS = ["write", "read", "pread64", "pwrite64", "openat", "close", "lseek", "newfstat", "fsync", "mmap", "unlink", "readv",
             "writev", "dup",
             "fcntl", "ftruncate"]


# ---- fio ----

FIO = ["fio", "--name=job", "--ioengine=psync", "--size=64M", "--invalidate=0", "--output-format=json", "--thread",
       "--time_based=0"]
FIO_JOBS = [("sequential write, 1 MiB", ["--rw=write", "--bs=1M", "--loops=8"], "job 1%"),
            ("sequential read, 1 MiB", ["--rw=read", "--bs=1M", "--loops=8"], "job 1%"),
            ("random write, 4 KiB", ["--rw=randwrite", "--bs=4k", "--loops=4"], "small"),
            ("random read, 4 KiB", ["--rw=randread", "--bs=4k", "--loops=4"], "small")]


def fio_ns(directory, job, launcher):
    """ns per operation by fio's own clock, so that starting up does not count."""
    done = subprocess.run([*launcher, *FIO, *job, f"--filename={directory}/fio", f"--output={directory}/fio.json"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    if done.returncode:
        raise variants.Failed(f"{launcher[0] if launcher else 'fio'}: status {done.returncode}")
    with open(f"{directory}/fio.json") as file:
        told = json.load(file)["jobs"][0]
    side = told["write"] if told["write"]["total_ios"] else told["read"]
    return side["total_ios"] and 1e9 / side["iops"]


def fio_once(directory, job, variant):
    trace = f"{directory}/trace"
    subprocess.run(["rm", "-rf", trace], check=True)
    if variant == "tracepoints":
        with variants.tracepoints(None, directory):
            return fio_ns(directory, job, [])
    launchers = {"bare": [], "ioprobe": [variants.IOPROBE, "-q", "-o", trace, "--"],
                 "strace": ["strace", "-f", "-o", f"{directory}/strace"]}
    return fio_ns(directory, job, launchers[variant])


def fio(directory, quick):
    if "fio" in missing_programs():
        return {}, "fio is not installed, left out"
    names = ["bare", "tracepoints", "ioprobe"] + ([] if "strace" in variants.missing_rivals() else ["strace"])
    result, lines = {}, []
    for title, job, rule in FIO_JOBS[::2] if quick else FIO_JOBS:
        rounds = {v: [] for v in names}
        fio_once(directory, job, "bare")   # the file is there, the caches are warm
        for i in range(1 if quick else FIO_ROUNDS):
            for v in names if i % 2 == 0 else reversed(names):
                if v != "strace" or i == 0:
                    rounds[v].append(fio_once(directory, job, v))
        judged = stats.judge(rule, rounds)
        figures = {v: stats.Figure(r) for v, r in rounds.items() if r}
        base = figures["bare"].median
        lines.append([title, *[stats.number(f.median) if v == "bare" else f"{f.median / base:.3f}x" for v, f in figures.items()],
                      f"{judged['target']}: {judged['verdict']}"])
        result[title] = {"ns_per_operation": {v: f.json() for v, f in figures.items()}, "target": judged}
    os.unlink(f"{directory}/fio")
    return result, stats.table(["fio, ns per operation", *names, "target"], lines)


def missing_programs():
    return [p for p in ("fio",) if not any(os.access(f"{d}/{p}", os.X_OK) for d in os.environ["PATH"].split(":"))]


# ---- which tracepoints cost untraced processes least ----

def attached(kind, names=()):
    """An 'empty' with its links: (child, milliseconds until it was ready)."""
    argv = [f"{variants.BENCH}/empty", f"{variants.BENCH}/empty.bpf.o", kind, *names]
    begin = time.monotonic()
    child = variants.Child([*variants.WITH_TRACEFS, *argv] if kind == "classic" else argv)
    child.wait_line("ready", 20)
    return child, (time.monotonic() - begin) * 1e3


def detached(child):
    """Milliseconds that closing the links took."""
    child.process.send_signal(signal.SIGTERM)
    words = child.wait_line("records", 60).split()
    child.end(10)
    return float(words[3])


def mix(directory, quick):
    """What an untraced process pays for one system call that is traced and one that is not."""
    counts = [1, 4] if quick else [1, 4, 16]
    cases = [("nothing", None, ()), ("raw, all system calls", "tracepoints", ())]
    cases += [(f"classic, {n} system call{'s' if n > 1 else ''}", "classic", MIX_CALLS[:n]) for n in counts]
    worker = variants.Worker("calls", directory)
    figures = {name: {"write": [], "getppid": [], "attach_ms": 0, "detach_ms": 0} for name, _, _ in cases}
    try:
        for _ in range(1 if quick else 3):
            for name, kind, names in cases:
                child, ready = attached(kind, names) if kind else (None, 0)
                try:
                    for call in ("write", "getppid"):
                        figures[name][call].append(worker.order(call, 1, 40, 5)["best"])
                finally:
                    figures[name].update(attach_ms=ready, detach_ms=detached(child) if child else 0)
    finally:
        worker.end()
    base = {c: stats.Figure(figures["nothing"][c]).median for c in ("write", "getppid")}
    lines = [[name, *[stats.number(base[c]) if name == "nothing" else stats.signed(stats.Figure(f[c]).median - base[c])
                      for c in base],
              f"{f['attach_ms']:.0f}", f"{f['detach_ms']:.1f}"] for name, f in figures.items()]
    return figures, stats.table(["empty tracepoints, an untraced process", "write, 1 B (in all)", "getppid (in raw)", "attach ms",
                                 "detach ms"], lines)


# ---- the ceiling ----

def bare_again(directory, calls):
    worker = variants.Worker("calls", directory)
    try:
        return worker.order("fputc", 1, "count", calls, 120)["median"]
    finally:
        worker.end()


def storm(directory, quick):
    """fputc for STORM_S seconds under the ceiling that --pid has by default, against as many bare ones."""
    worker = variants.Worker("calls", directory)
    seconds = 4 if quick else STORM_S       # the burst that is allowed at first weighs less in the longer one
    try:
        worker.order("fputc", 1, 200, 5)
        ns = worker.order("fputc", 1, 500, 5)["median"]
        calls = int(seconds * 1e9 / ns)
        bare = [worker.order("fputc", 1, "count", calls // 5, 120)["median"]]
        with variants.ceiling(worker, directory) as info:
            traced = worker.order("fputc", 1, "count", calls, 240)["median"]
    finally:
        worker.end()
    bare.append(bare_again(directory, calls // 5))
    before = sum(bare) / 2
    told = [note for note in info["notes"] if "turned off" in note]
    ratio = traced / before
    text = stats.table([f"fputc for {seconds} s, ceiling 2 %", "bare ns", "ioprobe ns", "ratio", "target"],
                       [[f"{calls:.1e} calls, {info['calls']} recorded", f"{before:.2f}", f"{traced:.2f}", f"{ratio:.3f}x",
                         f"< {STORM_TARGET} x: {'not judged' if quick else 'met' if ratio < STORM_TARGET else 'missed'}"]])
    return {"calls": calls, "bare_ns": before, "ioprobe_ns": traced, "ratio": ratio, "notes": told}, "\n".join([text, *told])


# ---- many threads, many processes ----

def crowd(directory, quick):
    counts = [1, 8] if quick else [1, 4, 16, 64]
    calls = 64 * (1000 if quick else 5000)
    runs, lines = [], []
    for kind in ("threads", "processes"):
        for n in counts:
            bare = crowd_once(directory, kind, n, calls, variants.bare)
            least = crowd_once(directory, kind, n, calls, variants.tracepoints)
            run = crowd_once(directory, kind, n, calls, variants.ioprobe)
            runs.append({"kind": kind, "n": n, "calls": calls, "bare_ns": bare["ns"], "tracepoints_ns": least["ns"], **run})
            lines.append([f"{n} {kind}", stats.number(bare["ns"]), stats.signed(least["ns"] - bare["ns"]),
                          stats.signed(run["ns"] - bare["ns"]),
                          f"{run['agent_ns']:.0f}", f"{run['memory_kib'] / 1024:.1f}", run["lost"]])
    return runs, stats.table(["pwrite, 1 B, all together", "bare ns/call", "empty tracep.", "ioprobe", "agent ns/record",
                              "memory MiB", "lost"], lines)


def crowd_once(directory, kind, n, calls, make):
    worker = variants.Worker("crowd", directory)
    told = {}
    try:
        worker.order(kind, n, "count", max(calls // 8, n), 120)
        worker.made = 0
        with make(worker, directory) as info:
            cpu = agent.cpu_ns(info["pid"]) if "pid" in info else 0
            ns = worker.order(kind, n, "count", calls, 120)["median"]
            if "pid" in info:
                time.sleep(0.1)
                told = {"agent_ns": (agent.cpu_ns(info["pid"]) - cpu) / calls, "memory_kib": agent.memory_kib(info["pid"])[1]}
    finally:
        worker.end()
    return {"ns": ns, **told, **{k: info[k] for k in ("lost", "complete") if k in info}}


SECTIONS = {"fio": fio, "mix of tracepoints": mix, "ceiling": storm, "threads and processes": crowd}
