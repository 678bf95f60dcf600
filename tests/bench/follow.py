#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What following a recording costs: CPU time per call and memory of a follower that writes a store, of a recording of CALLS calls
(2000000) that has ended; the same where FILES files (100000) are open: for a file that is new, and for a call on one that is known,
and whether all intervals add up to the summary; the lag of each interval of 200 ms of one that runs SECONDS (30) at about 100000
calls per second, on a free and on a saturated machine, and the records that are lost there; what the program pays.
Needs root; IOPROBE names the program; arguments select parts."""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import conservation     # noqa: E402: its directory is known only now

IOPROBE = os.environ.get("IOPROBE", "build/ioprobe")
FILES = int(os.environ.get("FILES", 100000))
CALLS, SECONDS = int(os.environ.get("CALLS", 2000000)), int(os.environ.get("SECONDS", 30))
FAST = f"import os\nf = os.open('/dev/null', os.O_WRONLY)\nfor _ in range({CALLS}): os.write(f, b'x' * 100)"
PACED = f"""import os, time
f, begin = os.open('/dev/null', os.O_WRONLY), time.monotonic()
for turn in range({SECONDS * 100}):
    for _ in range(1000): os.write(f, b'x' * 100)
    time.sleep(max(0, begin + (turn + 1) / 100 - time.monotonic()))"""


# Each of the processes opens its part of the files, and has them open; then calls on none of them, on one, or on all in turn.
PROCESSES = 8           # of so many files each that the usual limit of descriptors suffices
MANY = f"""import os, resource, sys
directory, files = sys.argv[1], int(sys.argv[2])
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
for process in range({PROCESSES}):
    if os.fork() == 0:
        opened = [os.open(f"{{directory}}/{{i}}", os.O_RDWR | os.O_CREAT) for i in range(process, {FILES}, {PROCESSES})]
        used = opened[:files]
        for i in range({CALLS} // {PROCESSES} if files else 0): os.pwrite(used[i % len(used)], b'x' * 100, 0)
        for f in opened: os.close(f)
        os._exit(0)
for process in range({PROCESSES}): os.wait()"""
SPEED = """import os, time
f, best = os.open('/dev/null', os.O_WRONLY), 1e9
for turn in range(20):
    begin = time.monotonic()
    for _ in range(20000): os.write(f, b'x')
    best = min(best, time.monotonic() - begin)
    time.sleep(0.05)
print(best / 20000 * 1e9)"""


def record(directory, program, *options, arguments=()):
    command = [IOPROBE, "--quiet", "--layers", "posix", "-o", directory, *options, "--", "/usr/bin/python3", "-c", program,
               *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def summary_of(directory):
    with open(f"{directory}/summary.json", encoding="utf-8") as file:
        return json.load(file)


def follow(directory, store):
    """CPU time and memory at its peak of a follower, in s and MiB."""
    with subprocess.Popen([IOPROBE, "stream", "--to", f"sqlite:{store}", directory]) as follower:
        usage = os.wait4(follower.pid, 0)[2]
        follower.returncode = 0
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def cost(work):
    record(f"{work}/fast", FAST, "--keep-spool")
    follow(f"{work}/fast", f"{work}/fast.db")
    seconds, peak = follow(f"{work}/fast", f"{work}/again.db")
    summary = summary_of(f"{work}/fast")
    print(f"| CPU time of the follower per call | {seconds / summary['calls'] * 1e6:.2f} us | {summary['calls']} calls, "
          f"{summary['records_lost']} records lost |")
    print(f"| memory of the follower | {peak:.0f} MiB | at its peak |")


def rows_of(store):
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
        return db.execute("SELECT count(*) FROM operations").fetchone()[0]


def files(work):
    """What a file costs when it is new; then a call, where so many are known, on a few of them and on all in turn. Summaries are
    read afterwards: the peak of a child includes that of the process that starts it."""
    cases = {0: "per file: opened and closed once", 1: f"per further call, on {PROCESSES} of them",
             FILES: "per further call, on all in turn"}
    costs = {}
    os.mkdir(f"{work}/data")
    for used in cases:
        record(f"{work}/many{used}", MANY, "--keep-spool", arguments=[f"{work}/data", str(used)])
        costs[used] = follow(f"{work}/many{used}", f"{work}/many{used}.db")
    for used, name in cases.items():
        directory, (seconds, peak) = f"{work}/many{used}", costs[used]
        summary = summary_of(directory)
        wrong = conservation.differences(directory + ".db", f"{directory}/summary.json")
        each = (seconds - costs[0][0]) / CALLS if used else seconds / FILES
        print(f"| CPU time of the follower, {FILES} open files, {name} | {each * 1e6:.2f} us | {peak:.0f} MiB at its peak; "
              f"{summary['calls']} calls, {rows_of(directory + '.db')} rows of files, {summary['records_lost']} records lost; "
              f"{'; '.join(wrong[:2]) or 'adds up to the summary'} |")


def program_pays(work):
    """The same program in turn, with and without a follower."""
    times = {False: [], True: []}
    for turn in range(6):
        stream = turn % 2 == 1
        out = record(f"{work}/speed{turn}", SPEED, *([f"--stream=sqlite:{work}/speed{turn}.db"] if stream else []))
        times[stream].append(float(out))
    print(f"| what a write of the program costs more | {min(times[True]) - min(times[False]):+.0f} ns | "
          f"{min(times[False]):.0f} ns recorded, the best of {len(times[True])} runs in turn |")


def saturated(work):
    """Twice as many busy processes of normal priority as there are CPUs: records that are lost with and without a stream."""
    busy = [subprocess.Popen(["/usr/bin/python3", "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    try:
        record(f"{work}/alone", PACED)
        record(f"{work}/busy", PACED, f"--stream=sqlite:{work}/busy.db", "--stream-interval", "200ms")
    finally:
        for process in busy:
            process.kill()
            process.wait()
    alone, with_stream = summary_of(f"{work}/alone"), summary_of(f"{work}/busy")
    lags, ended = lags_of(f"{work}/busy.db")
    print(f"| records lost on a saturated machine | {with_stream['records_lost']} | {with_stream['calls']} calls; without a "
          f"stream {alone['records_lost']} of {alone['calls']}; lag of an interval: median {lags[len(lags) // 2]:.2f} s, at most "
          f"{lags[-1]:.2f} s{'' if ended else ', not all intervals'} |")


def lags_of(store):
    """In ascending order; whether all are there: a recording waits 10 s for its follower."""
    for _ in range(600):
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
            ended = db.execute("SELECT count(end_ns) FROM job").fetchone()[0]
            if ended:
                break
        time.sleep(0.1)
    return sorted(row[0] / 1e9 for row in db.execute("SELECT lag_ns FROM interval WHERE NOT last")), ended


def lag(work):
    record(f"{work}/paced", PACED, f"--stream=sqlite:{work}/paced.db", "--stream-interval", "200ms")
    summary = summary_of(f"{work}/paced")
    lags, _ = lags_of(f"{work}/paced.db")
    rate = summary["calls"] / (summary["duration_ns"] / 1e9)
    print(f"| lag of an interval, 99th percentile | {lags[int(len(lags) * 0.99)]:.2f} s | median {lags[len(lags) // 2]:.2f} s; "
          f"{len(lags)} intervals, "
          f"{rate:.0f} calls per second, {summary['records_lost']} records lost |")


def main():
    print("| following | cost | |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory() as work:
        for part in (cost, files, lag, program_pays, saturated):
            if len(sys.argv) == 1 or part.__name__ in sys.argv:
                part(work)
    print(f"\n{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")


main()
