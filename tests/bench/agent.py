# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The agent itself: time to attach and detach, CPU time and memory while recording, bytes per call, speed of the replay."""
import os
import re
import shutil
import signal
import subprocess
import time

import stats
import variants

REPLAY_TARGET = 4e6     # calls per second
RECORD_TARGET_NS = 200  # CPU per record
ARCHIVE_TARGET = 40     # bytes per call
SPOOL_TARGET = 24
ATTACH_S, VERIFIER_S, FIRST_EVENTS_S = 0.15, 0.08, 0.01
MEMORY_TARGET_MIB = 64  # besides the rings


def cpu_ns(pid):
    """CPU time of all threads: schedstat counts nanoseconds, stat ticks."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total


def memory_kib(pid):
    """Resident memory of the rings' mappings, and of everything else."""
    rings = rest = 0
    ring = False
    with open(f"/proc/{pid}/smaps") as smaps:
        for line in smaps:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                ring = "bpf-map" in line
            elif line.startswith("Rss:"):
                kib = int(line.split()[1])
                rings, rest = (rings + kib, rest) if ring else (rings, rest + kib)
    return rings, rest


def file_bytes(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(path) for name in names)


def recover(trace):
    """The archive again from the kept spool: seconds of wall clock and of CPU, greatest memory in KiB, bytes of the archive."""
    again = f"{trace}.again"
    shutil.rmtree(again, ignore_errors=True)
    os.mkdir(again)
    os.rename(f"{trace}/spool", f"{again}/spool")
    begin = time.monotonic()
    child = subprocess.Popen([variants.IOPROBE, "recover", again], stdout=subprocess.DEVNULL)
    status, usage = wait4(child.pid, 180)
    wall = time.monotonic() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise variants.Failed("ioprobe recover failed")
    spool = file_bytes(f"{again}/spool")
    archive = file_bytes(again) - spool
    shutil.rmtree(again)
    return {"seconds": wall, "cpu_s": usage.ru_utime + usage.ru_stime, "peak_kib": usage.ru_maxrss, "spool_bytes": spool,
            "archive_bytes": archive}


def wait4(pid, timeout):
    end = time.monotonic() + timeout
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return status, usage
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)


# ---- recordings that grow ----

def archive_floor(directory, calls, offsets):
    """Bytes per call of the least that libotf2 writes for a read or write (otf2_floor.c)."""
    shutil.rmtree(f"{directory}/floor", ignore_errors=True)
    os.mkdir(f"{directory}/floor")
    done = subprocess.run([f"{variants.BENCH}/otf2_floor", f"{directory}/floor", str(calls), str(int(offsets))],
                          capture_output=True,
                          timeout=120, text=True)
    shutil.rmtree(f"{directory}/floor")
    if done.returncode:
        raise variants.Failed(f"otf2_floor: status {done.returncode}")
    return float(done.stdout)


def record(directory, calls, kind="pwrite", size=1):
    worker = variants.Worker("calls", directory)
    try:
        with variants.ioprobe(worker, directory, ["--keep-spool"]) as info:
            cpu = cpu_ns(info["pid"])
            result = worker.order(kind, size, "count", calls, 120)
            time.sleep(0.1)     # five rounds of the agent: the rings are empty
            cpu = cpu_ns(info["pid"]) - cpu
            rings, rest = memory_kib(info["pid"])
    finally:
        worker.end()
    replay = recover(f"{directory}/trace")
    shutil.rmtree(f"{directory}/trace")
    return {"kind": kind, "archive_floor": archive_floor(directory, calls, kind[0] == "p"), "calls": calls,
            "ns_per_call": result["median"], "agent_ns_per_record": cpu / calls, "memory_kib": rest, "rings_kib": rings,
            "lost": info["lost"], "complete": info["complete"], "replay": replay,
            "replay_calls_per_s": info["calls"] / replay["seconds"]}


def growth(directory, quick):
    runs = [record(directory, n) for n in ([10**5, 10**6] if quick else [10**5, 10**6, 10**7])]
    other = record(directory, 10**6, "write")
    lines = [[f"{r['calls']:.0e} {r['kind']}", stats.number(r["ns_per_call"]), f"{r['agent_ns_per_record']:.0f}",
              f"{r['memory_kib'] / 1024:.1f}", f"{r['rings_kib'] / 1024:.1f}", r["lost"],
              f"{r['replay']['spool_bytes'] / r['calls']:.2f}",
              f"{r['replay']['archive_bytes'] / r['calls']:.2f}", f"{r['archive_floor']:.2f}",
              f"{r['replay_calls_per_s'] / 1e6:.2f}",
              f"{r['replay']['peak_kib'] / 1024:.1f}"] for r in [*runs, other]]
    text = stats.table(["the agent", "ns per call", "agent ns/record", "memory MiB", "rings MiB", "lost", "spool B/call",
                        "archive B/call", "libotf2's floor",
                        "replay M calls/s", "replay MiB"], lines)
    judged = targets(runs)
    return {"runs": [*runs, other], "targets": judged}, text + "".join(f"\n{name}: {verdict}" for name, verdict in judged.items())


def targets(runs):
    """The idle rounds of the agent weigh on short runs and not on the longest, which counts."""
    last, before = runs[-1], runs[-2]
    grown = (last["replay"]["peak_kib"] - before["replay"]["peak_kib"]) / 1024
    return {
        "archive per call": stats.judge_limit(last["replay"]["archive_bytes"] / last["calls"], ARCHIVE_TARGET, "bytes")
                            + f"; {last['replay']['archive_bytes'] / last['calls'] / last['archive_floor']:.3f} x the least "
                              "that libotf2 writes",
        "spool per call": stats.judge_limit(last["replay"]["spool_bytes"] / last["calls"], SPOOL_TARGET, "bytes"),
        "agent CPU per record": stats.judge_limit(last["agent_ns_per_record"], RECORD_TARGET_NS, "ns"),
        "agent memory besides the rings": stats.judge_limit(max(r["memory_kib"] for r in runs) / 1024, MEMORY_TARGET_MIB, "MiB"),
        "replay": stats.judge_limit(last["replay_calls_per_s"], REPLAY_TARGET, "calls/s", below=False),
        "replay memory": f"grows by {grown:.1f} MiB from {before['calls']:.0e} to {last['calls']:.0e} calls: "
                         + ("not judged, fixed buffers still fill" if last["calls"] < 10**7 else
                            "bounded" if grown < 8 else "missed: not bounded"),
    }


# ---- attach and detach ----

def attach_once(directory):
    """Seconds from the start of ioprobe to its 'recording' line, and from SIGINT to its end without the archive, whose time is that
    of a recover from the same records."""
    worker = variants.Worker("parallel", directory)
    trace = f"{directory}/trace"
    shutil.rmtree(trace, ignore_errors=True)
    child = variants.Child([variants.IOPROBE, "--pid", str(worker.pids[0]), "-o", trace, "--keep-spool"], "stderr")
    try:
        points = int(re.search(r"(\d+) probe points", child.wait_line("recording", 20)).group(1))
        attached = time.monotonic() - child.begin
        worker.order("independent", 64, "count", 100)
        begin = time.monotonic()
        os.kill(child.pid, signal.SIGINT)
        status, _ = wait4(child.pid, 60)        # Popen.wait looks each 50 ms
        ended = time.monotonic() - begin
        child.process.returncode = os.waitstatus_to_exitcode(status)
        if child.process.returncode:
            raise variants.Failed("ioprobe: did not end within 60 s of SIGINT, or failed")
    finally:
        child.end(5, signal.SIGKILL)
        worker.end()
    return {"attach_s": attached, "end_s": ended, "archive_s": recover(trace)["seconds"], "points": points}


def plan_once(directory):
    """Seconds of finding the probe points alone: reading the process' libraries, no BPF."""
    worker = variants.Worker("parallel", directory)
    try:
        begin = time.monotonic()
        variants.points_of(worker.pids[0])
        return time.monotonic() - begin
    finally:
        worker.end()


def split_once(directory):
    """Seconds in which the BPF programs load, links are made, and the links go, as strace sees them (and slows them a little)."""
    worker = variants.Worker("parallel", directory)
    trace, log = f"{directory}/trace", f"{directory}/bpf"
    shutil.rmtree(trace, ignore_errors=True)
    child = variants.Child(["strace", "-f", "-ttt", "-T", "-e", "trace=bpf", "-o", log,
                            variants.IOPROBE, "--pid", str(worker.pids[0]), "-o", trace], "stderr")
    try:
        child.wait_line("recording", 40)
    finally:
        worker.end()
        child.end(60)
        shutil.rmtree(trace, ignore_errors=True)
    with open(log, errors="replace") as lines:
        calls = [m.groups() for line in lines if (m := re.match(r"\d+\s+([\d.]+) bpf\((\w+)(.*)<([\d.]+)>$", line))]
    spent, programs = {}, {}
    for _, command, words, seconds in calls:
        spent[command] = spent.get(command, 0) + float(seconds)
        name = re.search(r'prog_name="(\w+)"', words)
        if command == "BPF_PROG_LOAD" and name:
            programs[name.group(1)] = programs.get(name.group(1), 0) + float(seconds)
    loads, links = [[(float(at), float(at) + float(seconds)) for at, command, words, seconds in calls
                     if command == wanted and " = -1" not in words] for wanted in ("BPF_PROG_LOAD", "BPF_LINK_CREATE")]
    span = lambda steps: max(end for _, end in steps) - min(at for at, _ in steps) if steps else 0
    loads = [s for s in loads if s[1] - s[0] > 0.001]       # the others try features of the kernel, as do links before
    links = [s for s in links if loads and s[0] > max(end for _, end in loads)]
    return {"load_s": spent.get("BPF_PROG_LOAD", 0), "loading_s": span(loads),
            "link_s": spent.get("BPF_LINK_CREATE", 0), "linking_s": span(links), "programs": programs}


def attaching(directory, quick):
    runs = [attach_once(directory) for _ in range(3 if quick else 7)]
    attach = stats.Figure(r["attach_s"] for r in runs)
    end = stats.Figure(r["end_s"] - r["archive_s"] for r in runs)
    plan = stats.Figure(plan_once(directory) for _ in range(3))
    split = split_once(directory) if "strace" not in variants.missing_rivals() else {}
    ms = lambda f: f"{f.median * 1e3:.0f} ms ({f.low * 1e3:.0f}–{f.high * 1e3:.0f})"
    lines = [["start to \"recording\"", ms(attach)], ["  finding the points (ioprobe probes --pid)", ms(plan)]]
    if split:
        costly = sorted(split["programs"].items(), key=lambda p: -p[1])[:5]
        lines += [["  one run under strace: the verifier, summed over threads", f"{split['load_s'] * 1e3:.0f} ms"],
                  *[[f"    {name}", f"{seconds * 1e3:.0f} ms"] for name, seconds in costly],
                  ["    from the first program to the last", f"{split['loading_s'] * 1e3:.0f} ms"],
                  ["  making links", f"{split['link_s'] * 1e3:.0f} ms"],
                  ["    from the first link to the last", f"{split['linking_s'] * 1e3:.0f} ms"]]
    lines += [["SIGINT to exit, archive excluded", ms(end)]]
    text = stats.table([f"attaching to netCDF, HDF5, MPI, libc: {runs[0]['points']} points", ""], lines)
    judged = {"attach": stats.judge_limit(attach.median, ATTACH_S, "s")}
    if split:
        judged["verifier"] = stats.judge_limit(split["loading_s"], VERIFIER_S, "s")
        judged["first events of all layers"] = stats.judge_limit(split["linking_s"], FIRST_EVENTS_S, "s")
    text += "".join(f"\n{name}: {verdict}" for name, verdict in judged.items())
    return {"runs": runs, "attach_s": attach.json(), "detach_s": end.json(), "plan_s": plan.json(), "split": split,
            "targets": judged}, text


SECTIONS = {"attach": attaching, "agent": growth}
