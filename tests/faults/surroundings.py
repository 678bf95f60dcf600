# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What else can go wrong around a recording: descriptors that run out, a pid that is reused, a library that is replaced while
it is being probed, very many threads, a program under valgrind beside it."""
import os
import shutil
import subprocess
import threading
import time

import archives
import kernel
from targets import Program, wait_until

LAST_PID = "/proc/sys/kernel/ns_last_pid"
MANY_THREADS, MEMORY_MIB = 20000, 200


class Surroundings:
    """One case in a directory of its own."""

    def __init__(self, settings, name):
        self.settings, self.reasons = settings, []
        self.dir = os.path.join(settings.tmp, name)
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir)
        os.chmod(self.dir, 0o755)
        self.output = os.path.join(self.dir, "trace")
        self.err = os.path.join(self.dir, "err")
        self.agent = None

    def record(self, *arguments, prefix=()):
        self.agent = subprocess.Popen([*prefix, self.settings.ioprobe, "-o", self.output, *arguments], stdin=subprocess.DEVNULL,
                                      stdout=open(os.path.join(self.dir, "out"), "w"), stderr=open(self.err, "w"))

    def said(self):
        with open(self.err) as file:
            return file.read()

    def wait_recording(self):
        return wait_until(lambda: "recording" in self.said() or self.agent.poll() is not None, 30)

    def wait_agent(self, seconds=90):
        try:
            return self.agent.wait(seconds)
        except subprocess.TimeoutExpired:
            self.reasons.append("ioprobe does not end")
            self.agent.kill()
            return self.agent.wait()

    def archive(self):
        output = archives.Output(self.settings.ioprobe, self.output, self.reasons)
        return output if output.check() else None

    def kill_agent(self):
        if self.agent and self.agent.poll() is None:
            self.agent.kill()
            self.agent.wait()


# ---- descriptors ----

def descriptors(settings, results, limit):
    """With so few the recording works, or is refused or ended with a line that says why; the program is unharmed."""
    name = f"{limit} descriptors"
    if not results.wanted(name):
        return
    case = Surroundings(settings, "descriptors")
    program = Program(settings.programs, case.dir)
    before = kernel.all_ids()
    try:
        program.start()
        case.record("--pid", str(program.pid), prefix=("prlimit", f"--nofile={limit}:{limit}"))
        wait_until(lambda: case.agent.poll() is not None, 2)
        program.check_running(case.reasons)
        program.check_end(case.reasons)
        status = case.wait_agent()
        if status not in (0, 1) or (status == 1 and not case.said().startswith("ioprobe: ")):
            case.reasons.append(f"status {status}: {case.said()[-300:]}")
        if status == 0 and not case.archive():
            case.reasons.append("no archive")
    finally:
        program.kill()
        case.kill_agent()
    if left := kernel.left_behind(before):
        case.reasons.append(f"BPF objects left: {left}")
    results.verdict(name, case.reasons, f"status {status}: {case.said().strip().splitlines()[-1][-100:]}")


# ---- a pid that is reused ----

def start_with_pid(program, pid, tries=200):
    """Starts it until it has this pid, by the kernel's own counter: no other process is harmed. False: another one has the pid."""
    for _ in range(tries):
        with open(LAST_PID, "w") as file:
            file.write(str(pid - 1))
        child = subprocess.Popen(program.command, stdin=subprocess.DEVNULL, stdout=open(os.path.join(program.dir, "out"), "w"),
                                 stderr=subprocess.STDOUT)
        if child.pid == pid:
            program.process = child
            return program.find() == pid
        child.kill()
        child.wait()
        shutil.rmtree(program.data)
        os.makedirs(program.data)
    return False


def reused_pid(settings, results):
    """Of two processes that are recorded one ends; a program that is not to be recorded gets its pid."""
    name = "pid reuse"
    if not results.wanted(name):
        return
    case = Surroundings(settings, "pid")
    first, second, stranger = (Program(settings.programs, os.path.join(case.dir, n)) for n in ("first", "second", "stranger"))
    try:
        first.start()
        second.start()
        case.record("--pid", f"{first.pid},{second.pid}")
        case.wait_recording()
        first.check_end(case.reasons)
        if not start_with_pid(stranger, first.pid):
            results.skip(name, "the pid was taken by another process")
            return
        time.sleep(1)
        if places := kernel.breakpoints_left(stranger.pid, 5):
            case.reasons.append(f"breakpoints in the stranger: {places[:3]}")
        stranger.check_running(case.reasons)
        stranger.check_end(case.reasons)
        second.check_end(case.reasons)
        case.wait_agent()
        output = case.archive()
        if not output or not output.numbers(first.data) or not output.numbers(second.data):
            case.reasons.append("the two programs are not in the archive")
        elif output.numbers(stranger.data):
            case.reasons.append("the stranger is in the archive")
    finally:
        for program in (first, second, stranger):
            program.kill()
        case.kill_agent()
    results.verdict(name, case.reasons, f"pid {first.pid}")


# ---- a library that is replaced ----

CALLER = """
import ctypes, os, sys
library, directory = ctypes.CDLL(sys.argv[1]), sys.argv[2]
calls = 0
while not os.path.exists(directory + "/stop"):
    assert library.nest_deep(3) == 3
    calls += 1
    if calls == 100:
        open(directory + "/ready", "w").close()
open(directory + "/calls", "w").write(str(calls))
"""


class Replacer(threading.Thread):
    """Renames copies of two files over the path, in turn."""

    def __init__(self, path, files):
        super().__init__(daemon=True)
        self.path, self.files, self.done = path, files, False

    def run(self):
        n = 0
        while not self.done:
            shutil.copy(self.files[n % 2], self.path + ".new")
            os.rename(self.path + ".new", self.path)
            n += 1
            time.sleep(0.002)


def replaced_library(settings, results):
    """The process keeps the file that it has mapped: that one is probed or none, never another one's offsets."""
    name = "library replaced while attaching"
    if not results.wanted(name):
        return
    case = Surroundings(settings, "library")
    library, other = os.path.join(case.dir, "libnest.so"), os.path.join(settings.programs, "writes4000")
    original = os.path.join(settings.programs, "libnest.so")
    shutil.copy(original, library)
    program = subprocess.Popen([archives.PYTHON, "-c", CALLER, library, case.dir], stdin=subprocess.DEVNULL)
    replacer = Replacer(library, (other, original))
    try:
        wait_until(lambda: os.path.exists(os.path.join(case.dir, "ready")), 20)
        replacer.start()
        case.record("--pid", str(program.pid), "--probes", os.path.join(archives.TESTS, "programs/nest.probes"))
        case.wait_recording()
        time.sleep(1)
        replacer.done = True
        replacer.join()
        case.agent.terminate()
        status = case.wait_agent()
        if status != 0:
            case.reasons.append(f"status {status}: {case.said()[-200:]}")
        if places := kernel.breakpoints_left(program.pid):
            case.reasons.append(f"breakpoints left: {places[:3]}")
        open(os.path.join(case.dir, "stop"), "w").close()
        if program.wait(20) != 0:
            case.reasons.append(f"the program ended with status {program.returncode}")
        case.archive()
    finally:
        replacer.done = True
        if program.poll() is None:
            program.kill()
        case.kill_agent()
    results.verdict(name, case.reasons)


# ---- threads ----

def most_memory(pids):
    """KiB, the largest of each so far, added."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/status") as file:
                total += next((int(line.split()[1]) for line in file if line.startswith("VmHWM:")), 0)
        except OSError:
            pass
    return total


def many_threads(settings, results, n):
    name = f"{n} threads within {MEMORY_MIB} MiB"
    if not results.wanted(name):
        return
    case = Surroundings(settings, "threads")
    case.record("--", os.path.join(settings.programs, "many_threads"), case.dir, str(n))
    most, began = 0, time.monotonic()
    while case.agent.poll() is None and time.monotonic() - began < 300:
        ours = [p for p in [case.agent.pid, *kernel.children(case.agent.pid)] if kernel.runs_program(p, settings.ioprobe)]
        most = max([most] + [most_memory([p]) for p in ours])
        time.sleep(0.05)
    status = case.wait_agent(1)
    if status != 0:
        case.reasons.append(f"status {status}: {case.said()[-200:]}")
    if most > MEMORY_MIB << 10:
        case.reasons.append(f"{most >> 10} MiB")
    with open(os.path.join(case.dir, "out")) as file:
        if f"{n}\n" not in file.readlines():
            case.reasons.append("the program did not end well")
    files = len(os.listdir(os.path.join(case.output, "traces"))) if os.path.isdir(os.path.join(case.output, "traces")) else 0
    if files < 2 * n:
        case.reasons.append(f"the archive has {files} files")
    results.verdict(name, case.reasons, f"{most >> 10} MiB, {time.monotonic() - began:.0f} s")
    shutil.rmtree(case.dir, ignore_errors=True)


# ---- valgrind ----

def valgrind(settings, results, n):
    """Translates the text of what it runs: a breakpoint in an untraced program's libraries kills it."""
    name = "untraced valgrind beside a recording"
    if not results.wanted(name):
        return
    if not shutil.which("valgrind"):
        results.skip(name, "valgrind is not installed")
        return
    case = Surroundings(settings, "valgrind")
    try:
        case.record("--", "sh", "-c", f"while [ ! -e {case.dir}/stop ]; do date; true; done")
        case.wait_recording()
        for i in range(n):
            done = subprocess.run(["valgrind", "-q", "/bin/true"], capture_output=True, text=True, timeout=120)
            if done.returncode != 0 or done.stderr:
                case.reasons.append(f"run {i + 1}: status {done.returncode}: {done.stderr[-200:]}")
        open(os.path.join(case.dir, "stop"), "w").close()
        if case.wait_agent() != 0:
            case.reasons.append(case.said()[-200:])
    finally:
        open(os.path.join(case.dir, "stop"), "w").close()
        case.kill_agent()
    results.verdict(name, case.reasons, f"{n} runs")


def run(settings, results, short):
    for limit in (12, 40) if short else (4, 8, 10, 12, 14, 16, 20, 24, 32, 40, 64, 128):
        descriptors(settings, results, limit)
    reused_pid(settings, results)
    replaced_library(settings, results)
    valgrind(settings, results, 2 if short else 20)
    if not short:
        many_threads(settings, results, MANY_THREADS)
