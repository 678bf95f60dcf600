# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""As many recorded processes as a node has ranks: attaching to them, what a call of one costs beside the others, the recorder."""
import shutil
import signal
import time

import agent
import stats
import variants

PROCESSES = 128
CALLS = [("pwrite", 1), ("fwrite", 64)]         # a system call; a call of a probed library, whose links all processes share
ATTACH_S = DETACH_S = 2
GROWTH = 1.1            # of what a hit costs with one recorded process
MEMORY_MIB = 128        # of the recorder, besides the rings
RECORDS_PER_CORE = 5e6


class Crowd:
    """Workers that live at the same time; only the first one is measured."""

    def __init__(self, directory, n):
        self.workers = []
        try:
            for _ in range(n):
                self.workers.append(variants.Worker("calls", directory))
        except variants.Failed:
            self.end()
            raise

    def all_at_once(self, kind, size, calls):
        for worker in self.workers:
            worker.tell(f"{kind} {size} count {calls}\n")
        for worker in self.workers:
            worker.wait_line(f"{kind} {size} ", 120)

    def end(self):
        for worker in self.workers:
            worker.process.stdin.close()
        for worker in self.workers:
            worker.end(20)


def first_ones(crowd, quick):
    return {kind: crowd.workers[0].order(kind, size, 20 if quick else 60, 5)["best"] for kind, size in CALLS}


def recorded(directory, n, quick):
    crowd = Crowd(directory, n)
    trace = f"{directory}/trace"
    shutil.rmtree(trace, ignore_errors=True)
    child = None
    try:
        bare = first_ones(crowd, quick)
        pids = ",".join(str(w.pid) for w in crowd.workers)
        child = variants.Child([*agent.ATTACH, pids, "-o", trace, "--summary", "none", "--max-overhead", "0"], "stderr")
        child.wait_line("recording", 60)
        attach = time.monotonic() - child.begin
        traced = first_ones(crowd, quick)
        cpu, calls = agent.cpu_ns(child.pid), (4000 if quick else 20000) // n * 10
        crowd.all_at_once("pwrite", 1, calls)
        time.sleep(0.2)
        cpu = (agent.cpu_ns(child.pid) - cpu) / (calls * n)
        memory = agent.memory_kib(child.pid)[1] / 1024
        begin = time.monotonic()
        if not child.end(60, signal.SIGINT):
            raise variants.Failed("ioprobe: did not end within 60 s of SIGINT")
        ended = time.monotonic() - begin
    finally:
        if child and child.process.poll() is None:
            child.end(5, signal.SIGKILL)
        crowd.end()
        shutil.rmtree(trace, ignore_errors=True)
    return {"processes": n, "attach_s": attach, "end_s": ended, "agent_ns": cpu, "memory_mib": memory, "bare_ns": bare,
            "added_ns": {kind: traced[kind] - bare[kind] for kind, _ in CALLS}}


def many(directory, quick):
    runs = [recorded(directory, n, quick) for n in (1, 8, PROCESSES)]
    lines = [[r["processes"], *[stats.signed(r["added_ns"][kind]) for kind, _ in CALLS], f"{r['attach_s']:.2f}",
              f"{r['end_s']:.2f}", f"{r['agent_ns']:.0f}", f"{r['memory_mib']:.1f}"] for r in runs]
    one, last = runs[0], runs[-1]
    growth = {kind: last["added_ns"][kind] / max(one["added_ns"][kind], 1) for kind, _ in CALLS}
    judged = {f"{kind}, cost of a hit": stats.judge_limit(growth[kind], GROWTH, "x one process") for kind, _ in CALLS}
    judged.update({"attach": stats.judge_limit(last["attach_s"], ATTACH_S, "s"),
                   "end, archive included": stats.judge_limit(last["end_s"], DETACH_S, "s"),
                   "recorder per core": stats.judge_limit(1e9 / last["agent_ns"], RECORDS_PER_CORE, "records/s", below=False),
                   "recorder besides the rings": stats.judge_limit(last["memory_mib"], MEMORY_MIB, "MiB")})
    titles = ["recorded processes", *[f"{kind}: ns" for kind, _ in CALLS], "attach s", "end s", "agent ns/record", "memory MiB"]
    text = stats.table(titles, lines)
    return {"runs": runs, "targets": judged}, text + "".join(f"\n{name}: {verdict}" for name, verdict in judged.items())


SECTIONS = {"many processes": many}
