#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: follow_many.py DIR

Records on NODES (1) nodes at the same time a program that uses FILES (30000) files each, while each recording is followed to a
store by followers that are killed KILLS (3) times, and to lines by one whose reader stalls; with more nodes also to
"ioprobe collect", where the followers and the collector are killed KILLS times. Each store and the lines must add up to the node's
summary, field by field, and to what the program did. SEED=n repeats the moments. Prints "ok NAME" or "not ok NAME: reason" for
each; status 1 if one is not ok. Needs root; IOPROBE names the program."""
import collections
import concurrent.futures
import contextlib
import fcntl
import json
import os
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import threading
import time

import conservation

IOPROBE = os.environ.get("IOPROBE", "build/ioprobe")
FILES, NODES, KILLS = (int(os.environ.get(name, default)) for name, default in (("FILES", 30000), ("NODES", 1), ("KILLS", 3)))
SEED = int(os.environ.get("SEED", time.time_ns() % 1000000))
LIMIT_S = 120 + FILES * NODES / 500
PROGRAM = f"""import os, sys, time
for i in range({FILES}):
    f = os.open(f"{{sys.argv[1]}}/{{i}}", os.O_RDWR | os.O_CREAT)
    os.write(f, b'x' * (i % 300)); os.pread(f, 50, 0); os.close(f)
    if not i % {max(1, FILES // 10)}: time.sleep(0.2)"""
SIZES = [i % 300 for i in range(FILES)]
MADE = collections.Counter(writes=FILES, reads=FILES, bytes_written=sum(SIZES), bytes_read=sum(min(50, size) for size in SIZES))
JOB = "cluster/1/1000"


def intervals(store):
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
        return db.execute("SELECT count(*) FROM interval").fetchone()[0]
    return 0


class Node:
    def __init__(self, directory, number, random_moments):
        self.number, self.random = number, random_moments
        self.trace, self.data = f"{directory}/node{number}", f"{directory}/data{number}"
        self.store, self.lines, self.fifo = (f"{directory}/{number}.{end}" for end in ("db", "lines", "fifo"))
        self.errors, self.killed = [], collections.Counter()
        os.mkdir(self.data)
        os.mkfifo(self.fifo)

    def record(self):
        self.recorder = subprocess.Popen([IOPROBE, "--quiet", "--layers", "posix", "--keep-spool", "-o", self.trace, "--",
                                          "/usr/bin/python3", "-c", PROGRAM, self.data], stderr=subprocess.PIPE)
        while not os.path.exists(f"{self.trace}/spool") and self.recorder.poll() is None:
            time.sleep(0.02)

    def command(self, output):
        return [IOPROBE, "stream", "--interval", "200ms", "--to", output, self.trace]

    def kill_one(self, what, output, store, environment):
        """At a random moment after there is more in the store than before."""
        had, end = intervals(store), time.monotonic() + LIMIT_S
        with subprocess.Popen(self.command(output), stderr=subprocess.DEVNULL, env=environment) as follower:
            while follower.poll() is None and intervals(store) <= had and time.monotonic() < end:
                time.sleep(0.01)
            try:
                follower.wait(self.random.uniform(0, 0.3))
            except subprocess.TimeoutExpired:
                follower.kill()
                self.killed[what] += 1

    def run(self, function, *arguments):
        """In a thread: what it raises is an error of this node."""
        try:
            function(*arguments)
        except Exception as error:      # pylint: disable=broad-except
            self.errors.append(f"{function.__name__}: {error!r}")

    def follow(self, what, output, store, environment=None):
        """KILLS followers that are killed, one that is not: it must end well."""
        for _ in range(KILLS):
            self.kill_one(what, output, store, environment)
        done = subprocess.run(self.command(output), capture_output=True, timeout=LIMIT_S, env=environment, check=False)
        if done.returncode or done.stderr:
            self.errors.append(f"{what}: status {done.returncode}, {done.stderr.decode('utf-8', 'replace')}")

    def read_slowly(self):
        """The reader of the lines stops for a time, again and again. A pause counts if the pipe was full at its end, so that the
        follower had to wait."""
        with open(self.fifo, "rb") as lines, open(self.lines, "wb") as copy:
            pause_at, room = 0, fcntl.fcntl(lines, fcntl.F_GETPIPE_SZ)
            while part := lines.read1(1 << 20):
                copy.write(part)
                if copy.tell() >= pause_at and self.killed["pauses"] < KILLS:
                    pause_at += FILES * 40          # some tenth of all lines
                    time.sleep(self.random.uniform(0.5, 2))
                    waiting, = struct.unpack("i", fcntl.ioctl(lines, termios.FIONREAD, bytes(4)))
                    self.killed["pauses"] += waiting > room // 2         # a line that does not fit leaves some room

    def follow_to_lines(self):
        reader = threading.Thread(target=self.run, args=(self.read_slowly,))
        reader.start()
        done = subprocess.run(self.command("ndjson:" + self.fifo), capture_output=True, timeout=LIMIT_S, check=False)
        reader.join(LIMIT_S)
        if done.returncode or done.stderr:
            self.errors.append(f"lines: status {done.returncode}, {done.stderr.decode('utf-8', 'replace')}")

    def end(self):
        error = self.recorder.communicate(timeout=LIMIT_S)[1]
        if self.recorder.returncode:
            self.errors.append(f"the recording: status {self.recorder.returncode}, {error.decode('utf-8', 'replace')[-300:]}")

    def compare_with_program(self):
        """What the summary has of the program's files, against what the program did."""
        with open(f"{self.trace}/summary.json", encoding="utf-8") as file:
            summary = json.load(file)
        found, files = collections.Counter(), 0
        for file in summary["files"]:
            if (file["path"] or "").startswith(self.data + "/"):
                files += 1
                for layer in file["layers"]:
                    found.update({field: layer[field] for field in MADE})
        if summary["records_lost"]:
            yield f"{summary['records_lost']} records lost"
        elif files != FILES or found != MADE:
            yield f"the summary has {files} files, {dict(found)}, the program {FILES}, {dict(MADE)}"


class Collector:
    """Killed KILLS times while it gets intervals."""
    def __init__(self, directory):
        self.directory, self.stores, self.port, self.kills = directory, f"{directory}/stores", "0", 0
        self.store = f"{self.stores}/{JOB.replace('/', ',')}.db"
        os.mkdir(self.stores)
        with open(f"{directory}/secret", "wb") as secret:
            secret.write(os.urandom(64))
        os.chmod(f"{directory}/secret", 0o600)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                        "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", f"{directory}/key",
                        "-out", f"{directory}/pem"], check=True, capture_output=True)
        token = subprocess.run([IOPROBE, "collect", "--secret", f"{directory}/secret", "--token", JOB], check=True,
                               capture_output=True, text=True).stdout.strip()
        for name in ("secret", "key", "stores"):
            shutil.chown(f"{directory}/{name}", "nobody")
        self.environment = {**os.environ, "IOPROBE_COLLECT_TOKEN": token, "IOPROBE_COLLECT_CA": f"{directory}/pem"}
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["setpriv", "--reuid=nobody", "--clear-groups", IOPROBE, "collect", "--secret", f"{self.directory}/secret",
             "--certificate", f"{self.directory}/pem", "--key", f"{self.directory}/key", "--address", "localhost", "--port",
             self.port, self.stores], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = self.process.stdout.readline().split()[-1]

    def be_killed(self, over):
        while self.kills < KILLS and not over.is_set():
            had, end = intervals(self.store), time.monotonic() + LIMIT_S
            while intervals(self.store) <= had and not over.is_set() and time.monotonic() < end:
                time.sleep(0.05)
            if over.is_set():
                break
            self.end()
            self.kills += 1
            self.start()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def verdict(name, reasons):
    reasons = [reason for reason in reasons if reason]
    print(f"not ok {name}: {'; '.join(reasons[:3])} (SEED={SEED})" if reasons else f"ok {name}", flush=True)
    return bool(reasons)


def run(directory, nodes, collector):
    threads, over = [], threading.Event()
    for node in nodes:
        node.record()
        threads += [threading.Thread(target=node.run, args=(node.follow, "store", "sqlite:" + node.store, node.store)),
                    threading.Thread(target=node.run, args=(node.follow_to_lines,))]
        if collector:
            threads.append(threading.Thread(target=node.run, args=(node.follow, "collected", f"collect:localhost:{collector.port}",
                                                                   collector.store, collector.environment)))
    killer = threading.Thread(target=collector.be_killed, args=(over,)) if collector else None
    for thread in [*threads, *([killer] if killer else [])]:
        thread.start()
    for node in nodes:
        node.end()
    for thread in threads:
        thread.join()
    over.set()
    if killer:
        killer.join()


def verify(nodes, collector):
    """Whether any is not ok. Comparing takes most of the time: several at once."""
    failed, compared = False, []
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for node in nodes:
            name = f"node {node.number} of {NODES}, {FILES} files"
            streams = {"store": node.store, "lines": node.lines, **({"collected": collector.store} if collector else {})}
            compared += [(f"{name}, {what}", pool.submit(conservation.differences, stream, f"{node.trace}/summary.json"))
                         for what, stream in streams.items()]
            failed |= verdict(f"{name}, followers and reader", node.errors)
            failed |= verdict(f"{name}, what the program did", node.compare_with_program())
            failed |= verdict(f"{name}, followers were killed, the reader stalled",
                              [] if node.killed["store"] and node.killed["pauses"] else [str(node.killed)])
        for name, result in compared:
            failed |= verdict(name, result.result())
    return failed


def main():
    directory, failed = os.path.abspath(sys.argv[1]), False
    moments = random.Random(SEED)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))     # the collector is ended, too
    nodes = [Node(directory, number, random.Random(moments.random())) for number in range(1, NODES + 1)]
    os.chmod(directory, 0o755)
    collector = Collector(directory) if NODES > 1 else None
    try:
        run(directory, nodes, collector)
        if collector:
            failed |= verdict("the collector was killed", [] if collector.kills else ["never"])
            print(f"killed: {sum(node.killed['store'] for node in nodes)} followers of stores, "
                  f"{sum(node.killed['collected'] for node in nodes)} of the collector, the collector {collector.kills} times; "
                  f"{sum(node.killed['pauses'] for node in nodes)} pauses of readers (SEED={SEED})", flush=True)
        failed |= verify(nodes, collector)
    finally:
        if collector:
            collector.end()
    sys.exit(failed)


main()
