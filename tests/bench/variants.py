# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Workers, and what is attached to them while they work: nothing, empty programs, ioprobe, its rivals.
Nothing here waits without a limit."""
import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import time

BENCH = "build/bench"
IOPROBE = os.environ.get("IOPROBE", "build/ioprobe")
TRACED = ["read", "write", "pread64", "pwrite64", "openat", "close", "lseek"]
LIBC_CALLS = ["fread", "fwrite", "fgets", "fprintf", "fputc"]


class Failed(Exception):
    pass


class Child:
    """A process whose lines are read with a time limit, from stdout or from stderr."""

    def __init__(self, argv, lines="stdout", **options):
        self.name = os.path.basename(argv[0])
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, lines: subprocess.PIPE}
        pipes.update(options)
        self.begin = time.monotonic()
        self.process = subprocess.Popen(argv, **pipes)
        self.pid = self.process.pid
        self.pipe = getattr(self.process, lines)
        self.buffer = b""

    def line(self, timeout):
        end = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.pipe], [], [], left)[0]:
                raise Failed(f"{self.name}: no answer within {timeout:.0f} s")
            data = os.read(self.pipe.fileno(), 65536)
            if not data:
                raise Failed(f"{self.name}: ended early")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode(errors="replace")

    def wait_line(self, text, timeout):
        end = time.monotonic() + timeout
        while text not in (line := self.line(max(end - time.monotonic(), 0))):
            pass
        return line

    def tell(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def end(self, timeout=20, sig=None):
        """Closes its stdin, or signals; kills it if it does not end. Returns whether it ended by itself."""
        if not self.process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        if sig and self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            self.process.wait(timeout)
            return True
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return False
        finally:
            self.pipe.close()


class Worker(Child):
    """One of tests/bench/*.c; pids are those of its ranks."""

    def __init__(self, program, directory, ranks=0):
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)] if ranks else []
        super().__init__(launcher + [f"{BENCH}/{program}", directory])
        try:
            words = self.wait_line("ready", 20).split()
        except Failed:
            self.end(5)
            raise
        self.pids = [int(pid) for pid in words[1:]] or [self.pid]
        self.made = 0           # calls, of all ranks

    def order(self, kind, size, budget, repetitions, timeout=60):
        """Returns median and best ns per call and the number of calls, calibration included."""
        self.tell(f"{kind} {size} {budget} {repetitions}\n")
        words = self.wait_line(f"{kind} {size} ", timeout).split()
        self.made += int(words[4]) * len(self.pids)
        return {"median": float(words[2]), "best": float(words[3]), "calls": int(words[4])}


# ---- variants: context managers that yield a dict, filled at the end with what the tool says of itself ----

@contextlib.contextmanager
def bare(worker, directory):
    yield {}


@contextlib.contextmanager
def tracepoints(worker, directory):
    """Empty programs at enter and exit of every system call."""
    child = Child([f"{BENCH}/empty", f"{BENCH}/empty.bpf.o", "tracepoints"])
    try:
        child.wait_line("ready", 10)
        yield {}
    finally:
        child.end(10, signal.SIGTERM)


def points_of(pid, recorded=False, functions=None):
    """The probe points that ioprobe has in a process, 'OFFSET FILE' lines: those with a return probe, and plain ones in pairs;
    recorded: without those of calls that only teach sizes; functions: only of these."""
    done = subprocess.run([IOPROBE, "probes", "--pid", str(pid), "--json"], capture_output=True, timeout=30, check=True)
    calls, hits = set(), set()
    for file in json.loads(done.stdout):
        for p in file["points"]:
            if p["layer"] == "unwind" or (recorded and not p["recorded"]) or (functions and p["function"] not in functions):
                continue
            if p["placement"] == "inside":
                hits |= {(file["file"], p["offset"]), (file["file"], p["offset"] - p["moved_bytes"] + p["exit_bytes"])}
            else:
                calls.add((file["file"], p["offset"]))
    return ["".join(f"{offset} {file}\n" for file, offset in sorted(points)) for points in (calls, hits)]


@contextlib.contextmanager
def probes(worker, directory, functions=None):
    """Empty programs at entry and return of the functions that ioprobe probes (functions: these), at the same instructions."""
    children = []
    info = {}
    try:
        for pid in worker.pids:
            for mode, points in zip(("hits", "calls"), reversed(points_of(pid, functions=functions))):
                child = Child([f"{BENCH}/empty", f"{BENCH}/empty.bpf.o", mode, str(pid)])
                children.append(child)
                child.tell(points)
                child.process.stdin.close()
                info["points"], info["method"] = child.wait_line("ready", 20).split()[1:]
        yield info
    finally:
        for child in children:
            child.end(10, signal.SIGTERM)


@contextlib.contextmanager
def both(worker, directory):
    """Since Linux 6.11 a return probe is a system call, too, which the tracepoints see: together they cost more than their sum."""
    with tracepoints(worker, directory), probes(worker, directory) as info:
        yield info


@contextlib.contextmanager
def least(worker, directory, recorded=False):
    """The least recorder that there can be, at the same points: what ioprobe may come near to. Of one process; functions that are
    probed inside trap without a record."""
    calls, hits = points_of(worker.pids[0], recorded)
    children, info = [], {}
    try:
        for mode, points in ("hits", hits), ("least", calls):
            children.append(Child([f"{BENCH}/empty", f"{BENCH}/empty.bpf.o", mode, str(worker.pids[0])]))
            children[-1].tell(points)
            children[-1].process.stdin.close()
            children[-1].wait_line("ready", 20)
        yield info
        children[-1].process.send_signal(signal.SIGTERM)
        info["records"] = int(children[-1].wait_line("records", 20).split()[1])
    finally:
        for child in children:
            child.end(10, signal.SIGTERM)


def bound(worker, directory):
    """The same at the points of recorded calls only: the lower bound for their records."""
    return least(worker, directory, True)


@contextlib.contextmanager
def ioprobe(worker, directory, options=(), every_call=True):
    """Without its cost ceiling, which would turn off what is measured here: every call has to be in the trace. Without call sites,
    as the targets are, if the options do not ask for them."""
    options = ["--no-call-sites", *options, *(["--max-overhead", "0"] if every_call else [])]
    trace = f"{directory}/trace"
    shutil.rmtree(trace, ignore_errors=True)
    summary = open(f"{directory}/summary.json", "w+")
    child = Child([IOPROBE, "--pid", ",".join(map(str, worker.pids)), "-o", trace, "--json", *options], "stderr", stdout=summary)
    info = {"pid": child.pid}
    try:
        child.wait_line("recording", 20)
        yield info
        worker.end(20)
        if not child.end(120):
            raise Failed("ioprobe: did not end within 120 s after the last process")
        summary.seek(0)
        told = json.load(summary)
        info.update(made=worker.made, calls=told["calls"], lost=told["records_lost"], complete=told["complete"],
                    notes=told["notes"])
        if every_call and worker.made > told["calls"] + told["records_lost"]:
            raise Failed(f"ioprobe: {worker.made} calls were made, {told['calls']} recorded, {told['records_lost']} lost")
    finally:
        if child.process.poll() is None:
            child.end(20, signal.SIGINT)
        summary.close()


@contextlib.contextmanager
def ceiling(worker, directory):
    """As it attaches by default: storms of stream calls are not recorded in full."""
    with ioprobe(worker, directory, every_call=False) as info:
        yield info


@contextlib.contextmanager
def strace(worker, directory):
    child = Child(["strace", "-f", "-o", f"{directory}/strace", "-e", "trace=" + ",".join(TRACED), "-p", str(worker.pids[0])],
                  "stderr")
    try:
        child.wait_line("attached", 10)
        yield {}
    finally:
        worker.end()
        child.end(10)


# tracefs for a tool that needs it, without leaving a mount behind
WITH_TRACEFS = ["unshare", "-m", "sh", "-c",
                'mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing; exec "$@"', "sh"]


def lost_events(path):
    """What a log says of lost events, in the words of bpftrace and perf trace."""
    with open(path, errors="replace") as log:
        return sum(int(n) for n in re.findall(r"[Ll](?:ost|OST) (\d+) (?:events|samples)", log.read()))


BPFTRACE_SYSCALLS = """
tracepoint:raw_syscalls:sys_enter /pid == PID/ { @s[tid] = nsecs; @a[tid] = args->args[2]; }
tracepoint:raw_syscalls:sys_exit /pid == PID && @s[tid]/ {
  printf("%d %d %d %d %d\\n", tid, args->id, @a[tid], args->ret, nsecs - @s[tid]); delete(@s[tid]); delete(@a[tid]); }
"""
BPFTRACE_LIBC = """
uprobe:LIBC:NAME { @NAME[tid] = nsecs; }
uretprobe:LIBC:NAME /@NAME[tid]/ { printf("%d NAME %d %d\\n", tid, retval, nsecs - @NAME[tid]); delete(@NAME[tid]); }
"""


def libc_of(pid):
    with open(f"/proc/{pid}/maps") as maps:
        return next(line.split()[-1] for line in maps if "/libc.so.6" in line)


@contextlib.contextmanager
def bpftrace(worker, directory, libc=False):
    program = BPFTRACE_SYSCALLS.replace("PID", str(worker.pids[0]))
    if libc:
        program += "".join(BPFTRACE_LIBC.replace("NAME", n).replace("LIBC", libc_of(worker.pids[0])) for n in LIBC_CALLS)
    program += 'interval:ms:10 { printf("ready ' + 180 * "." + '\\n"); }'   # as long, because its output goes out by the block
    log = f"{directory}/bpftrace"
    with open(log, "w") as out:
        child = Child([*WITH_TRACEFS, "bpftrace", "-p", str(worker.pids[0]), "-B", "full", "-o", log, "-e", program], "stdout",
                      stderr=out)
        info = {}
        try:
            wait_until(lambda: "ready" in read_file(log), 20, "bpftrace")
            yield info
        finally:
            child.end(10, signal.SIGINT)
            info["lost"] = lost_events(log)
            worker.end()


@contextlib.contextmanager
def bpftrace_libc(worker, directory):
    with bpftrace(worker, directory, True) as info:
        yield info


def read_file(path):
    try:
        with open(path, errors="replace") as file:
            return file.read(1 << 16)
    except OSError:
        return ""


def wait_until(condition, timeout, name):
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"{name}: not ready within {timeout} s")
        time.sleep(0.05)


def maps_events(pid):
    return "perf_event" in read_file(f"/proc/{pid}/maps")


@contextlib.contextmanager
def perf(worker, directory):
    log = f"{directory}/perf"
    child = Child([*WITH_TRACEFS, "perf", "trace", "-p", str(worker.pids[0]), "-o", log, "-e", ",".join(TRACED)])
    info = {}
    try:
        wait_until(lambda: maps_events(child.pid), 15, "perf trace")
        time.sleep(0.2)
        yield info
    finally:
        worker.end()
        child.end(10, signal.SIGINT)
        info["lost"] = lost_events(log)


RIVALS = {"strace": strace, "bpftrace": bpftrace, "perf": perf}


def missing_rivals():
    packages = {"strace": "strace", "bpftrace": "bpftrace", "perf": "linux-perf"}
    return {tool: package for tool, package in packages.items() if not shutil.which(tool)}
