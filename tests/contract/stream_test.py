# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The corpus of spools (tests/data/spools), followed: all intervals add up to the summary of the same spool, as lines and in a
# store, whose follower is killed at random moments (SEED=N repeats them) and started again.
# Needs no root. IOPROBE names the executable; arguments select spools.
import concurrent.futures
import contextlib
import glob
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "lib"))
import conservation     # noqa: E402: its directory is known only now

IOPROBE = os.environ.get("IOPROBE", os.path.join(TESTS, "..", "build", "ioprobe"))
SEED = int(os.environ.get("SEED", time.time_ns() % 1000000))
KILLS = 3


def run(*args):
    done = subprocess.run([IOPROBE, *args], capture_output=True, timeout=120, check=False)
    return [done.stderr.decode("utf-8", "replace").strip() or f"status {done.returncode}"] if done.returncode else []


def kill_at_random(directory, store):
    for _ in range(KILLS):
        command = [IOPROBE, "stream", "--interval", "100ms", "--to", "sqlite:" + store, directory]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as follower:
            try:
                follower.wait(random.uniform(0, 0.03))
            except subprocess.TimeoutExpired:
                follower.kill()


def check(spool, work):
    """Reasons against it."""
    directory, store, lines, copy = (os.path.join(work, name) for name in ("recording", "store.db", "lines", "copy.db"))
    os.mkdir(directory)
    shutil.copy(spool, os.path.join(directory, "spool"))
    kill_at_random(directory, store)
    with contextlib.closing(sqlite3.connect(store)) as reader:  # open until the end: the file alone must be whole nevertheless
        reader.execute("SELECT count(*) FROM sqlite_master").fetchall()
        wrong = run("stream", "--interval", "100ms", "--to", "sqlite:" + store, "--to", "ndjson:" + lines, "--events", "all",
                    directory)
        shutil.copy(store, copy)
    wrong = wrong or run("recover", directory) or check_fields(lines)
    summary = os.path.join(directory, "summary.json")
    return wrong or conservation.differences(lines, summary) or conservation.differences(copy, summary)


def events_of(directory, lines, choice):
    """The events that --events chooses, as (everything but the weight, weight); reasons against it."""
    wrong = run("stream", "--to", "ndjson:" + lines, "--events", choice, directory)
    with open(lines, encoding="utf-8") as file:
        events = [row for row in map(json.loads, file) if row["type"] == "event"]
    return [(json.dumps({**row, "weight": None}, sort_keys=True), row["weight"]) for row in events], wrong


def check_events(spool, work):
    """What --events chooses, against all of them."""
    directory = os.path.join(work, "recording")
    os.mkdir(directory)
    shutil.copy(spool, os.path.join(directory, "spool"))
    every, wrong = events_of(directory, os.path.join(work, "all"), "all")
    times = sorted(json.loads(row)["duration_ns"] for row, _ in every)
    slow = times[len(times) // 2]
    wanted = {"none": [], "errors": [event for event in every if json.loads(event[0])["failed"]],
              f"slow={slow}ns": [event for event in every if json.loads(event[0])["duration_ns"] >= slow],
              "1/7": [(row, 7) for row, _ in every[::7]]}
    for choice, events in wanted.items():
        found, failed = events_of(directory, os.path.join(work, "some"), choice)
        wrong += failed
        if found != events or (choice != "none" and not 0 < len(events) < len(every)):
            wrong.append(f"--events {choice}: {len(found)} events, {len(events)} of {len(every)} are expected")
    return wrong


def traced(call, action):
    """A follower whose system call does this, see strace(1). LeakSanitizer cannot attach to a traced process."""
    options = f"ASAN_OPTIONS={os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-E", options, "-e", "trace=" + call, "-e", f"inject={call}:{action}",
            IOPROBE, "stream"]


def check_without_locks(spool, work):
    """On a file system without locks the follower ends with the recorder's last record."""
    directory, store = os.path.join(work, "recording"), os.path.join(work, "store.db")
    os.mkdir(directory)
    shutil.copy(spool, os.path.join(directory, "spool"))
    try:
        done = subprocess.run([*traced("flock", "error=ENOLCK"), "--to", "sqlite:" + store, directory], capture_output=True,
                              timeout=40, check=False)
    except subprocess.TimeoutExpired:
        return ["it does not end"]
    complete = sqlite3.connect(store).execute("SELECT complete FROM job").fetchall()
    if not done.returncode and complete == [(1,)]:
        return []
    return [f"status {done.returncode}, {complete}, {done.stderr.decode('utf-8', 'replace')}"]


# f_type of statfs(2).
SHARED = {"NFS": 0x6969, "Lustre": 0x0bd00bd0, "GPFS": 0x47504653, "BeeGFS": 0x19830326, "CIFS": 0xff534d42, "SMB2": 0xfe534d42,
          "Ceph": 0x00c36400, "FUSE": 0x65735546}


def check_journal(spool, work):
    """On a shared file system, or an unknown one, the store has no write-ahead log: byte 18 of its header is 1, with a log 2."""
    directory, wrong = os.path.join(work, "recording"), []
    os.mkdir(directory)
    shutil.copy(spool, os.path.join(directory, "spool"))
    commands = {"a local disk": ([IOPROBE, "stream"], 2), "an unknown file system": (traced("statfs", "error=EIO"), 1)}
    for name, magic in SHARED.items():
        commands[name] = traced("statfs", f"poke_exit=@arg2={magic.to_bytes(8, 'little').hex()}"), 1
    for name, (command, journal) in commands.items():
        store = os.path.join(work, name.replace(" ", "_"))
        done = subprocess.run([*command, "--to", "sqlite:" + store, directory], capture_output=True, timeout=60, check=False)
        if done.returncode:
            return [f"{name}: {done.stderr.decode('utf-8', 'replace')}"]
        with open(store, "rb") as file:
            if file.read(19)[18] != journal:
                wrong.append(f"the store on {name} has a journal of another kind")
    return wrong


# What lines of the format "ioprobe stream 1" have: fields may be added, here too, and none may go.
FIELDS = {
    "begin": "format host kernel version batch_job command_line time interval_ns recording",
    "process": "process pid rank name executable uid begin",
    "file": "file path mount_point mount_source file_system scope special",
    "calls": "interval process layer calls failed time_ns system_time_ns longest_call_ns open_calls read_sizes write_sizes classes",
    "operations": "interval process file layer reads writes bytes_read bytes_written reads_of_known_size writes_of_known_size "
                  "reads_of_unknown_size writes_of_unknown_size reads_failed writes_failed opens time_ns metadata_time_ns "
                  "longest_call_ns classes",
    "event": "interval process tid layer call op file name offset asked moved begin duration_ns failed error weight",
    "skipped": "interval process filter layer calls bytes_read bytes_written calls_of_unknown_size time_ns",
    "gap": "interval pid layer begin end reason",
    "clock_step": "interval time step_ns uncertain_ns",
    "interval": "interval begin end open_calls records_lost lag_ns last",
    "end": "time complete records_lost records_after_bound stopped_by",
}
UNSEEN = {"clock_step"}         # not in the corpus: unit/clock_steps_test
seen = set()    # kinds of lines


def check_fields(lines):
    """Each line is of a known kind and has its fields; the first one has the version."""
    wrong = []
    with open(lines, encoding="utf-8") as file:
        for number, row in enumerate(map(json.loads, file), 1):
            seen.add(row["type"])
            missing = set(FIELDS.get(row["type"], "?").split()) - set(row)
            if missing:
                wrong.append(f"line {number}, {row['type']}, has no {missing}")
            if number == 1 and (row["type"], row.get("format")) != ("begin", "ioprobe stream 1"):
                wrong.append(f"the first line is {row}")
    return wrong


def in_directory(function):
    def run_there(spool):
        with tempfile.TemporaryDirectory() as work:
            return function(spool, work)
    return run_there


def main():
    random.seed(SEED)
    spools = [spool for spool in sorted(glob.glob(os.path.join(TESTS, "data", "spools", "*.spool")))
              if len(sys.argv) == 1 or any(argument in os.path.basename(spool) for argument in sys.argv[1:])]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:      # followers mostly wait for more records
        functions = {"without locks": check_without_locks, "journal": check_journal} if shutil.which("strace") else {}
        others = {name: pool.submit(in_directory(function), spools[0]) for name, function in functions.items()}
        events = [spool for spool in spools if spool.endswith("fork_exec.spool")]
        others.update({"events": pool.submit(in_directory(check_events), spool) for spool in events})
        results = list(pool.map(in_directory(check), spools))
    for name, result in others.items():
        spools.append(f"{spools[0]}, {name}")
        results.append(result.result())
    for spool, wrong in zip(spools, results):
        if wrong:
            print(f"FAILED {os.path.basename(spool)}: {'; '.join(wrong[:3])} (SEED={SEED})")
    if len(sys.argv) == 1:
        spools.append("kinds of lines")
        results.append([f"the corpus has no line of the kinds {unseen}"] if (unseen := set(FIELDS) - seen - UNSEEN) else [])
    failed = sum(map(bool, results))
    print(f"{len(spools) - failed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
