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
ATTACH = [variants.IOPROBE, "record", "--no-call-sites", "--pid"]
LAYERS = {"netCDF": "nc_put_vara_double", "HDF5": "H5Dwrite", "MPI-IO": "MPI_File_write_at_all", "POSIX": "pwrite64"}


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


def record(directory, calls, kind="pwrite", sites=False):
    worker = variants.Worker("calls", directory)
    try:
        with variants.ioprobe(worker, directory, ["--keep-spool", *(["--call-sites"] if sites else [])]) as info:
            cpu = cpu_ns(info["pid"])
            result = worker.order(kind, 1, "count", calls, 120)
            time.sleep(0.1)     # five rounds of the agent: the rings are empty
            cpu = cpu_ns(info["pid"]) - cpu
            rings, rest = memory_kib(info["pid"])
    finally:
        worker.end()
    replay = recover(f"{directory}/trace")
    shutil.rmtree(f"{directory}/trace")
    return {"kind": kind + (", call sites" if sites else ""), "calls": calls,
            "archive_floor": archive_floor(directory, calls, kind[0] == "p"),
            "ns_per_call": result["median"], "agent_ns_per_record": cpu / calls, "memory_kib": rest, "rings_kib": rings,
            "lost": info["lost"], "complete": info["complete"], "replay": replay,
            "replay_calls_per_s": info["calls"] / replay["seconds"]}


def growth(directory, quick):
    runs = [record(directory, n) for n in ([10**5, 10**6] if quick else [10**5, 10**6, 10**7])]
    others = [record(directory, 10**6, "write"), record(directory, 10**6, sites=True)]
    lines = [[f"{r['calls']:.0e} {r['kind']}", stats.number(r["ns_per_call"]), f"{r['agent_ns_per_record']:.0f}",
              f"{r['memory_kib'] / 1024:.1f}", f"{r['rings_kib'] / 1024:.1f}", r["lost"],
              f"{r['replay']['spool_bytes'] / r['calls']:.2f}",
              f"{r['replay']['archive_bytes'] / r['calls']:.2f}", f"{r['archive_floor']:.2f}",
              f"{r['replay_calls_per_s'] / 1e6:.2f}",
              f"{r['replay']['peak_kib'] / 1024:.1f}"] for r in [*runs, *others]]
    text = stats.table(["the agent", "ns per call", "agent ns/record", "memory MiB", "rings MiB", "lost", "spool B/call",
                        "archive B/call", "libotf2's floor",
                        "replay M calls/s", "replay MiB"], lines)
    judged = targets(runs)
    return {"runs": [*runs, *others], "targets": judged}, text + "".join(f"\n{name}: {verdict}" for name, verdict in judged.items())


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

def attach_once(directory, *options):
    """Seconds from the start of ioprobe to its 'recording' line, and from SIGINT to its end without the archive, whose time is that
    of a recover from the same records."""
    worker = variants.Worker("parallel", directory)
    trace = f"{directory}/trace"
    shutil.rmtree(trace, ignore_errors=True)
    child = variants.Child([*ATTACH, str(worker.pids[0]), "-o", trace, "--keep-spool", *options], "stderr")
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


def bpf_calls(lines):
    """From strace: begin, command, arguments, seconds. Two threads load programs: calls are cut in two lines."""
    found, begun = [], {}
    for line in lines:
        if m := re.match(r"(\d+)\s+([\d.]+) bpf\((\w+)(.*)", line):
            begun[m[1]] = m.groups()[1:]
        if (m := re.match(r"(\d+)\s.*<([\d.]+)>$", line)) and m[1] in begun and "bpf" in line:
            at, command, words = begun.pop(m[1])
            found.append((at, command, words + line, m[2]))
    return found


def split_once(directory):
    """Seconds in which the BPF programs load, links are made, and the links go, as strace sees them (and slows them a little)."""
    worker = variants.Worker("parallel", directory)
    trace, log = f"{directory}/trace", f"{directory}/bpf"
    shutil.rmtree(trace, ignore_errors=True)
    child = variants.Child(["strace", "-f", "-ttt", "-T", "-e", "trace=bpf", "-o", log,
                            *ATTACH, str(worker.pids[0]), "-o", trace], "stderr")
    try:
        child.wait_line("recording", 40)
    finally:
        worker.end()
        child.end(60)
        shutil.rmtree(trace, ignore_errors=True)
    with open(log, errors="replace") as lines:
        calls = bpf_calls(lines)
    spent, programs = {}, {}
    for _, command, words, seconds in calls:
        spent[command] = spent.get(command, 0) + float(seconds)
        name = re.search(r'prog_name="(\w+)"', words)
        if command == "BPF_PROG_LOAD" and name:
            programs[name.group(1)] = programs.get(name.group(1), 0) + float(seconds)
    loads = [(float(at), float(at) + float(seconds)) for at, command, words, seconds in calls
             if command == "BPF_PROG_LOAD" and " = -1" not in words and float(seconds) > 0.001]     # the others try features
    loading = max(end for _, end in loads) - min(at for at, _ in loads) if loads else 0
    return {"load_s": spent.get("BPF_PROG_LOAD", 0), "loading_s": loading, "link_s": spent.get("BPF_LINK_CREATE", 0),
            "programs": programs}


def first_events_once(directory):
    """Seconds between the first recorded calls of the layers, in the archive: a program goes through all of them every 0.03 ms
    while ioprobe attaches."""
    worker, trace = variants.Worker("parallel", directory), f"{directory}/trace"
    shutil.rmtree(trace, ignore_errors=True)
    worker.order("pnc", 64, "count", 100)
    worker.tell("pnc 64 count 60000\n")
    child = variants.Child([*ATTACH, str(worker.pids[0]), "-o", trace, "--max-overhead", "0", "--summary", "none"], "stderr")
    try:
        child.wait_line("recording", 20)
        time.sleep(0.1)
    finally:
        child.end(20, signal.SIGINT)
        worker.end()
    found = subprocess.run(f"otf2-print {trace}/traces.otf2 | grep -m100000 ^ENTER", shell=True, capture_output=True, text=True,
                           timeout=60)
    shutil.rmtree(trace, ignore_errors=True)
    first = {}
    for at, function in re.findall(r'^ENTER +\d+ +(\d+) +Region: "(\w+)"', found.stdout, re.M):
        first.setdefault(function, int(at))
    if missing := [layer for layer, function in LAYERS.items() if function not in first]:
        raise variants.Failed(f"no event of {', '.join(missing)}")
    times = [first[function] for function in LAYERS.values()]
    return (max(times) - min(times)) / 1e9


def attaching(directory, quick):
    runs = [attach_once(directory) for _ in range(3 if quick else 7)]
    attach = stats.Figure(r["attach_s"] for r in runs)
    sites = stats.Figure(attach_once(directory, "--call-sites")["attach_s"] for _ in range(3))
    end = stats.Figure(r["end_s"] - r["archive_s"] for r in runs)
    plan = stats.Figure(plan_once(directory) for _ in range(3))
    events = stats.Figure(first_events_once(directory) for _ in range(3))
    split = split_once(directory) if "strace" not in variants.missing_rivals() else {}
    ms = lambda f: f"{f.median * 1e3:.0f} ms ({f.low * 1e3:.0f}–{f.high * 1e3:.0f})"
    lines = [["start to \"recording\"", ms(attach)], ["  with call sites", ms(sites)],
             ["  finding the points (ioprobe probes --pid)", ms(plan)]]
    if split:
        costly = sorted(split["programs"].items(), key=lambda p: -p[1])[:5]
        lines += [["  one run under strace: the verifier, summed over threads", f"{split['load_s'] * 1e3:.0f} ms"],
                  *[[f"    {name}", f"{seconds * 1e3:.0f} ms"] for name, seconds in costly],
                  ["    from the first program to the last", f"{split['loading_s'] * 1e3:.0f} ms"],
                  ["  making links", f"{split['link_s'] * 1e3:.0f} ms"]]
    lines += [["first events of netCDF, HDF5, MPI-IO and POSIX, from the first layer's to the last one's",
               f"{events.median * 1e3:.1f} ms ({events.low * 1e3:.1f}–{events.high * 1e3:.1f})"],
              ["SIGINT to exit, archive excluded", ms(end)]]
    text = stats.table([f"attaching to netCDF, HDF5, MPI, libc: {runs[0]['points']} points", ""], lines)
    judged = {"attach": stats.judge_limit(attach.median, ATTACH_S, "s"),
              "first events of all layers": stats.judge_limit(events.median, FIRST_EVENTS_S, "s")}
    if split:
        judged["verifier"] = stats.judge_limit(split["loading_s"], VERIFIER_S, "s")
    text += "".join(f"\n{name}: {verdict}" for name, verdict in judged.items())
    return {"runs": runs, "attach_s": attach.json(), "sites_s": sites.json(), "detach_s": end.json(), "plan_s": plan.json(),
            "first_events_s": events.json(), "split": split,
            "targets": judged}, text


SECTIONS = {"attach": attaching, "agent": growth}
