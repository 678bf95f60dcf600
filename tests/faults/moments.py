# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Signals at random moments: to the agent of a launched or attached program, the service, a job's recorder, an archiver. Afterwards
the program must be unharmed, nothing left behind, the archive recovered and clean, and no call missing that was not counted."""
import collections
import concurrent.futures
import os
import shutil
import signal
import subprocess
import time

import archives
import cluster
import kernel
from targets import Program, wait_until

RECORD_S = 2.2          # of a case: faults come from the start to this, and some later
STARTING = 0.3          # share of the moments that count from the start; the others count from when it records
FLUSHED_S = 3.0         # what was made so long before a kill is in the spool (flushed each second; the machine may be busy)
END_S = 60
REMOVED_S = 1200        # perf events are removed one after the other, 0.25 s each and more

Case = collections.namedtuple("Case", "number kind victim signal moment stopped resumes")


def draw_cases(random, n, kinds):
    """Combinations in turn, so that few cases have as many as possible."""
    combinations = [(kind, victim, sig) for sig in ("KILL", "STOP", "TERM", "INT INT") for kind in kinds for victim in kinds[kind]]
    random.shuffle(combinations)
    cases = []
    for i in range(n):
        kind, victim, sig = combinations[i % len(combinations)]
        cases.append(Case(i + 1, kind, victim, sig, random.random(), random.uniform(0.2, 1.5), random.random() < 0.6))
    return cases


def send(pid, case):
    """The case's signals. True: the victim was ended without a chance to do anything."""
    steps = {"KILL": [signal.SIGKILL], "TERM": [signal.SIGTERM], "INT INT": [signal.SIGINT, 0.1, signal.SIGINT],
             "STOP": [signal.SIGSTOP, case.stopped, signal.SIGCONT if case.resumes else signal.SIGKILL]}[case.signal]
    for step in steps:
        try:
            if isinstance(step, float):
                time.sleep(step)
            else:
                os.kill(pid, step)
        except ProcessLookupError:
            return False
    if case.signal == "INT INT":
        insist(pid)
    return steps[-1] == signal.SIGKILL


def insist(pid):
    """Pending signals of one kind are one, as long as the agent is starting: a user presses ^C again if nothing happens."""
    for _ in range(10):
        if wait_until(lambda: kernel.thread_states(pid).get(str(pid)) in (None, "Z"), 2):
            return
        try:
            os.kill(pid, signal.SIGINT)
        except ProcessLookupError:
            return


class Watch:
    """The numbers that a program has written, sampled while time passes."""

    def __init__(self, program):
        self.program, self.samples = program, []

    def sleep(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.samples.append((time.monotonic(), self.program.made()))
            time.sleep(min(left, 0.05))

    def made_before(self, seconds):
        old = [made for when, made in self.samples if when <= time.monotonic() - seconds]
        return old[-1] if old else {}


class Fault:
    """One case; subclasses start the recording and say who is who."""

    def __init__(self, settings, case):
        self.settings, self.case, self.reasons = settings, case, []
        self.dir = os.path.join(settings.tmp, f"{case.number}")
        os.makedirs(self.dir)
        os.chmod(self.dir, 0o755)
        self.program = Program(settings.programs, self.dir)
        self.watch = Watch(self.program)
        self.killed, self.made, self.recorded, self.detail = False, {}, False, "nothing recorded"

    def victim(self):
        raise NotImplementedError

    def archiver_of(self, pid):
        """The child of ioprobe's that makes the archive, once there is one."""
        return wait_until(lambda: next((p for p in kernel.children(pid) if kernel.runs_program(p, self.settings.ioprobe)), None),
                          20, 0.002)

    def hit(self):
        """Waits for the moment and sends; afterwards the program is told to end if it was not."""
        if self.case.victim == "archiver":
            self.watch.sleep(1.0 + self.case.moment / 2)
            self.end_recording()
            pid = self.victim()
            time.sleep(self.case.moment * 0.12)
        else:
            if self.case.moment > STARTING:
                self.begun()
            self.watch.sleep(self.case.moment * RECORD_S)
            pid = self.victim()
        self.made = self.program.made()
        early = self.watch.made_before(FLUSHED_S)
        self.killed = bool(pid) and send(pid, self.case)
        if self.killed and self.case.victim != "archiver":
            self.made = early

    def begun(self):
        """Waits until it records, or for as long as a user would."""
        raise NotImplementedError

    def end_recording(self):
        self.program.tell_to_end()

    def check_program(self):
        if self.case.victim != "archiver":
            self.program.check_running(self.reasons)

    def finish(self):
        raise NotImplementedError

    def output(self):
        raise NotImplementedError

    def check_archive(self, from_first):
        output = archives.Output(self.settings.ioprobe, self.output(), self.reasons)
        if not output.check():
            return False
        output.check_numbers(self.program.data, from_first)
        output.check_last(self.program.data, self.made)
        self.detail, self.recorded = output.count(), any(output.numbers(self.program.data).values())
        return True

    def run(self):
        before, leaks = kernel.all_ids(), kernel.leaked_uprobes()
        try:
            self.start()
            self.hit()
            self.finish()
        finally:
            self.clean()
        if not wait_until(lambda: not kernel.processes_with(self.dir + "/"), 10, 0.2):
            self.reasons.append(f"processes left: {kernel.processes_with(self.dir + '/')}")
        if left := kernel.left_behind(before):
            self.reasons.append(f"BPF objects left: {left}")
        if (more := kernel.leaked_uprobes() - leaks) > 0:
            self.reasons.append(f"{more} new lines 'leaking uprobe' in the kernel's log")
        return self.reasons

    def clean(self):
        self.program.kill()


# ---- an agent of its own ----

class Agent(Fault):
    options = ()

    def record(self, *arguments):
        self.out = open(os.path.join(self.dir, "out" if self.launches else "agent.out"), "w")
        self.err = open(os.path.join(self.dir, "err"), "w")
        self.agent = subprocess.Popen([self.settings.ioprobe, "-o", self.output(), *self.options, *arguments],
                                      stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err)

    def output(self):
        return os.path.join(self.dir, "trace")

    def victim(self):
        return self.archiver_of(self.agent.pid) if self.case.victim == "archiver" else self.agent.pid

    def begun(self):
        def records():
            self.watch.sleep(0.05)
            return self.agent.poll() is not None or "recording" in open(self.err.name).read()
        wait_until(records, 20)

    def wait_agent(self, seconds):
        try:
            return self.agent.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def goes_on(self):
        """The agent was only stopped for a while: it records until the program ends."""
        return self.case.victim == "agent" and self.case.signal == "STOP" and self.case.resumes

    def finish(self):
        if not self.goes_on() and self.wait_agent(END_S) is None:
            self.reasons.append(f"the agent does not end: {kernel.thread_states(self.agent.pid)}")
        if self.case.victim != "archiver" and (self.program.pid or self.program.find(20 if self.goes_on() else 2)):
            self.program.check_running(self.reasons)
            if not self.goes_on():
                self.program.check_text(self.reasons)
        if self.program.pid or self.program.find(0.5):
            self.program.check_end(self.reasons)
            self.whole_run()
        else:
            self.program.tell_to_end()      # should it start after all
        if self.wait_agent(END_S) is None:
            self.reasons.append(f"the agent does not end: {kernel.thread_states(self.agent.pid)}")
        self.check_archive(from_first=self.launches)
        if not self.program.pid and (others := kernel.processes_with(self.program.data)):
            self.reasons.append(f"processes left: {others}")

    def whole_run(self):
        """What the archive must have, where the recording was not ended before the program."""
        if self.goes_on() or self.case.victim == "archiver":
            self.made = self.program.made()

    def clean(self):
        super().clean()
        if self.agent.poll() is None:
            self.agent.kill()
            self.agent.wait()


class Launched(Agent):
    launches = True

    def start(self):
        self.record("--", *self.program.command)
        if self.case.victim == "archiver":
            self.program.find()


class Attached(Agent):
    launches = False

    def start(self):
        self.program.start()
        self.record("--pid", str(self.program.pid))
        if self.case.victim == "archiver":
            self.begun()

    def hit(self):
        """Numbers count from the moment at which the agent says that it records."""
        super().hit()
        if "recording" not in open(self.err.name).read():
            self.made = {}


class LaunchedPerf(Launched):
    """Probes by perf events, as on kernels before 6.10."""
    options = ("--attach", "perf")


class AttachedPerf(Attached):
    options = ("--attach", "perf")


# ---- the service ----

class Service(Fault):
    """A user's process recorded by the service."""
    job = "4242"

    def start(self):
        self.service = cluster.Service(self.settings, os.path.join(self.dir, "s"))
        if not self.service.start():
            raise RuntimeError(f"the service does not start: {self.service.said()}")
        self.program.start(user="games")
        self.started = self.service.ask_later("start", "--job", self.job, "--pid", str(self.program.pid), "--uid",
                                              self.settings.uid, "--gid",
                                              self.settings.gid, "--always", "--timeout", "10000")
        if self.case.victim == "archiver":
            self.service.wait_phase(self.job, ("recording",), 20)

    def begun(self):
        self.service.wait_phase(self.job, ("recording",), 20)

    def output(self):
        return self.service.value(self.job, "output")

    def victim(self):
        if self.case.victim == "service":
            return self.service.process.pid
        recorder = self.service.value(self.job, "pid") or next(iter(kernel.children(self.service.process.pid)), None)
        return self.archiver_of(recorder) if recorder and self.case.victim == "archiver" else recorder

    def hit(self):
        super().hit()
        if self.service.value(self.job, "phase") not in ("recording", "archiving", "done"):
            self.made = {}

    def finish(self):
        self.check_program()
        self.service.revive()
        self.started.wait()
        self.ends_by_itself()
        self.service.ask("stop", "--job", self.job)
        phase = self.service.wait_phase(self.job, ("done", "failed", "empty", ""), END_S)
        if self.program.alive():
            self.program.check_text(self.reasons)
        self.program.check_end(self.reasons)
        self.judge(phase)

    def ends_by_itself(self):
        """A job whose recorder was hit comes to an end without being told."""
        if self.case.victim == "recorder" and not (self.case.signal == "STOP" and self.case.resumes):
            self.service.wait_phase(self.job, ("done", "failed", "empty", ""), END_S)

    def judge(self, phase):
        message = self.service.value(self.job, "message")
        if phase == "done" or (phase == "failed" and self.killed):
            self.check_output(phase, message)
        elif phase not in ("", "empty") and not (phase == "failed" and not self.made):
            self.reasons.append(f"the job is '{phase}': {message}")

    def check_output(self, phase, message):
        path = self.output()
        if phase == "failed" and ("%" in path or not os.path.isdir(path)):
            if self.made:
                self.reasons.append(f"nothing is left of the recording: {message}")
            return
        self.check_archive(from_first=False)

    def clean(self):
        super().clean()
        if hasattr(self, "service"):
            self.service.stop()


class Slurm(Service):
    """A batch job, recorded because of its comment, on a cluster of our own."""

    def start(self):
        self.cluster = self.settings.cluster()
        self.service = self.cluster.service
        self.job = self.cluster.submit(self.dir, self.program.command)
        if self.case.victim == "archiver":
            self.program.find()
            self.service.wait_phase(self.job, ("recording",), 20)

    def finish(self):
        self.service.revive()
        if self.program.pid or self.program.find(30):
            self.check_program()
            self.program.check_end(self.reasons)
        else:
            self.reasons.append("the job does not start")
        if state := self.cluster.job_problem(self.job):
            self.reasons.append(state)
        phase = self.service.wait_phase(self.job, ("done", "failed", "empty", ""), END_S)
        self.judge(phase)
        if drained := self.cluster.drained():
            self.reasons.append(f"a node is drained: {drained}")

    def ends_by_itself(self):
        pass

    def clean(self):
        Fault.clean(self)


KINDS = {"launched": Launched, "attached": Attached, "launched-perf": LaunchedPerf, "attached-perf": AttachedPerf,
         "service": Service, "slurm": Slurm}
VICTIMS = {"launched": ("agent", "agent", "archiver"), "attached": ("agent", "agent", "archiver"),
           "launched-perf": ("agent", "archiver"), "attached-perf": ("agent", "archiver"),
           "service": ("service", "recorder", "archiver"),
           "slurm": ("service", "recorder", "archiver")}


def run_case(settings, results, case):
    name = f"moment {case.number}, {case.kind}, {case.signal} of {case.victim} at {case.moment:.3f}"
    if not results.wanted(name) or settings.is_over():
        return
    fault = KINDS[case.kind](settings, case)
    try:
        reasons = fault.run()
    except Exception as error:
        reasons = fault.reasons + [f"{type(error).__name__}: {error}"]
    results.verdict(name, reasons, fault.detail)
    if not reasons or not settings.keep:
        shutil.rmtree(fault.dir, ignore_errors=True)
    return case.kind, fault.recorded



def run(settings, results, random, n):
    """Several at once; those of SLURM one after the other, since they share its service."""
    kinds = {k: v for k, v in VICTIMS.items() if settings.usable(k, results)}
    cases = draw_cases(random, n, kinds)
    with concurrent.futures.ThreadPoolExecutor(1) as alone, concurrent.futures.ThreadPoolExecutor(settings.jobs) as together:
        done = [(alone if case.kind == "slurm" else together).submit(run_case, settings, results, case) for case in cases]
        outcomes = [future.result() for future in done]
    check_outcomes(results, [outcome for outcome in outcomes if outcome])
    if any("perf" in kind for kind in kinds):
        check_removers(settings, results)


def check_removers(settings, results):
    """The processes that take perf events away come to an end."""
    wait_until(lambda: not kernel.processes_with(settings.tmp, removers=True), REMOVED_S, 1)
    left = kernel.processes_with(settings.tmp, removers=True)
    results.verdict("perf events are removed", [f"processes left: {left}"] if left else [], "no process is left")


def check_outcomes(results, outcomes):
    """Faults before anything was recorded prove little: of many, most come later."""
    for kind in sorted({kind for kind, _ in outcomes}):
        recorded = [recorded for other, recorded in outcomes if other == kind]
        if len(recorded) >= 4 and not results.only:
            few = sum(recorded) < len(recorded) / 3
            results.verdict(f"moments, {kind}, recorded",
                            [f"only {sum(recorded)} of {len(recorded)} archives have calls"] if few else [],
                            f"{sum(recorded)} of {len(recorded)} archives have calls")
