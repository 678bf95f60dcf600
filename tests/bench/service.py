# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What the service's recordings cost a process that is not recorded: ten share one set of programs, so they cost what one costs.
Beside them recordings with sets of their own, each of which costs as much again. The least of all rounds counts: what disturbs only
adds."""
import contextlib
import json
import signal
import subprocess
import time

import stats
import variants

RECORDINGS = 10
ALONE = 3               # recordings by themselves, for comparison
ROUNDS = 5
ONE_COSTS = 1.1         # of what one adds: what ten may add
CALLS = ["pwrite", "getppid"]


class Service:
    def __init__(self, directory):
        self.directory, self.socket = directory, f"{directory}/socket"
        with open(f"{directory}/policy", "w") as policy:
            policy.write(f"output {directory}/archives/%u/%j\nspare 2\nmax-jobs {2 * RECORDINGS}\n")
        subprocess.run(["mkdir", "-p", f"{directory}/archives"], check=True)
        self.child = variants.Child([variants.IOPROBE, "serve", "--policy", f"{directory}/policy", "--state", f"{directory}/state",
                                     "--socket", self.socket], lines="stderr")
        self.victims = []
        self.child.wait_line("serving", 10)

    def ask(self, *words):
        done = subprocess.run([variants.IOPROBE, "job", "--socket", self.socket, "--timeout", "20000", *words],
                              capture_output=True, timeout=60,
                              text=True)
        if done.returncode:
            raise variants.Failed(f"job {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def start(self, count):
        for _ in range(count):
            victim = subprocess.Popen(["sleep", "600"])
            self.victims.append(victim)
            self.ask("start", "--job", str(victim.pid), "--uid", "0", "--gid", "0", "--always", "--pid", str(victim.pid))

    def phases(self):
        return [json.loads(line)["phase"] for line in self.ask("status", "--json").splitlines()]

    def stop(self):
        """Ends the recordings; returns when they are archived, so that nothing of it runs beside the next measurement."""
        for victim in self.victims:
            with contextlib.suppress(variants.Failed):
                self.ask("stop", "--job", str(victim.pid))
            victim.kill()
            victim.wait()
        self.victims = []
        end = time.monotonic() + 60
        while any(p not in ("done", "empty", "failed") for p in self.phases()):
            if time.monotonic() > end:
                raise variants.Failed("the service's recordings do not end")
            time.sleep(0.1)

    def end(self):
        self.stop()
        self.child.end(10, signal.SIGTERM)


@contextlib.contextmanager
def alone(count, directory):
    """Recordings that were not started by the service."""
    children, victims = [], []
    try:
        for i in range(count):
            victims.append(subprocess.Popen(["sleep", "600"]))
            children.append(variants.Child([variants.IOPROBE, "--force", "-o", f"{directory}/alone{i}", "--pid",
                                            str(victims[-1].pid)], lines="stderr"))
            children[-1].wait_line("recording", 20)
        yield
    finally:
        for victim in victims:
            victim.kill()
            victim.wait()
        for child in children:
            child.end(20)
        subprocess.run(["rm", "-rf", *[f"{directory}/alone{i}" for i in range(count)]], check=True)


def measure(worker, rounds, name):
    time.sleep(0.3)         # what starting left to do
    for call in CALLS:      # short repetitions: the best one is between two time slices of others
        rounds[call][name].append(worker.order(call, 1, 60, 60)["best"])


def one_round(service, worker, directory, rounds):
    measure(worker, rounds, "bare")
    try:
        service.start(1)
        measure(worker, rounds, "one")
        service.start(RECORDINGS - 1)
        measure(worker, rounds, "ten")
    finally:
        service.stop()
    with alone(ALONE, directory):
        measure(worker, rounds, "alone")


def neighbours(directory, quick):
    names = ["bare", "one", "ten", "alone"]
    rounds = {call: {n: [] for n in names} for call in CALLS}
    worker, service = variants.Worker("calls", directory), Service(directory)
    try:
        for _ in range(2 if quick else ROUNDS):
            one_round(service, worker, directory, rounds)
    finally:
        service.end()
        worker.end()
    lines, result = [], {}
    for call, r in rounds.items():
        base = stats.Figure(r["bare"]).low
        added = {n: stats.Figure(r[n]).low - base for n in names[1:]}
        ratio = added["ten"] / max(added["one"], 1)
        verdict = stats.judge_limit(ratio, ONE_COSTS, "x one")
        lines.append([call, stats.number(base), *[stats.signed(added[n]) for n in names[1:]], f"{ratio:.2f}", verdict])
        result[call] = {"ns_per_call": {n: stats.Figure(v).json() for n, v in r.items()}, "ten_to_one": ratio, "target": verdict}
    return result, stats.table(["an untraced process, ns per call", "bare", "1 of the service", f"{RECORDINGS} of the service",
                                f"{ALONE} alone",
                                "ten / one", "target"], lines)


SECTIONS = {"recordings of the service": neighbours}
