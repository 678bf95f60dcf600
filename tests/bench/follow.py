#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What following a recording costs: CPU time per call and memory of a follower that writes a store, of a recording of CALLS calls
(2000000) that has ended; memory and CPU time where they are on FILES files (100000), and whether all intervals add up to the
summary; and the lag of each interval of 200 ms of one that runs SECONDS (30) at about 100000 calls per second.
Needs root; IOPROBE names the program."""
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile

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


MANY = f"""import os, sys
for i in range({FILES}):
    f = os.open(f"{{sys.argv[1]}}/{{i}}", os.O_RDWR | os.O_CREAT)
    os.write(f, b'x' * 100); os.pread(f, 50, 0); os.close(f)"""


def record(directory, program, *options, arguments=()):
    command = [IOPROBE, "--quiet", "--layers", "posix", "-o", directory, *options, "--", "/usr/bin/python3", "-c", program,
               *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def summary_of(directory):
    with open(f"{directory}/summary.json", encoding="utf-8") as file:
        return json.load(file)


def cost(work):
    record(f"{work}/fast", FAST, "--keep-spool")
    summary = summary_of(f"{work}/fast")
    subprocess.run([IOPROBE, "stream", "--to", f"sqlite:{work}/fast.db", f"{work}/fast"], check=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([IOPROBE, "stream", "--to", f"sqlite:{work}/again.db", f"{work}/fast"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with subprocess.Popen([IOPROBE, "stream", "--to", f"sqlite:{work}/third.db", f"{work}/fast"]) as follower:
        peak = os.wait4(follower.pid, 0)[2].ru_maxrss / 1024
        follower.returncode = 0
    print(f"| CPU time of the follower per call | {seconds / summary['calls'] * 1e6:.2f} us | {summary['calls']} calls, "
          f"{summary['records_lost']} records lost |")
    print(f"| memory of the follower | {peak:.0f} MiB | at its peak |")


def files(work):
    os.mkdir(f"{work}/data")
    record(f"{work}/many", MANY, "--keep-spool", arguments=[f"{work}/data"])
    with subprocess.Popen([IOPROBE, "stream", "--to", f"sqlite:{work}/many.db", f"{work}/many"]) as follower:
        usage = os.wait4(follower.pid, 0)[2]
        follower.returncode = 0
    summary = summary_of(f"{work}/many")        # not before: the peak of a child includes that of the process that starts it
    wrong = conservation.differences(f"{work}/many.db", f"{work}/many/summary.json")
    print(f"| memory of the follower, {FILES} files | {usage.ru_maxrss / 1024:.0f} MiB | at its peak; "
          f"{(usage.ru_utime + usage.ru_stime) / summary['calls'] * 1e6:.2f} us per call; "
          f"{'; '.join(wrong[:2]) or 'adds up to the summary'} |")


def lag(work):
    record(f"{work}/paced", PACED, f"--stream=sqlite:{work}/paced.db", "--stream-interval", "200ms")
    summary = summary_of(f"{work}/paced")
    db = sqlite3.connect(f"{work}/paced.db")
    lags = sorted(row[0] / 1e9 for row in db.execute("SELECT lag_ns FROM interval WHERE NOT last"))
    rate = summary["calls"] / (summary["duration_ns"] / 1e9)
    print(f"| lag of an interval, 99th percentile | {lags[int(len(lags) * 0.99)]:.2f} s | median {lags[len(lags) // 2]:.2f} s; "
          f"{len(lags)} intervals, "
          f"{rate:.0f} calls per second, {summary['records_lost']} records lost |")


def main():
    print("| following | cost | |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory() as work:
        cost(work)
        files(work)
        lag(work)
    print(f"\n{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")


main()
