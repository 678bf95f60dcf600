# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The program "numbered_calls" as a target: started here or by ioprobe, watched, told to end, and held to its word."""
import glob
import os
import subprocess
import time

import kernel

PAUSE_US = 10000        # after 64 calls: some 6000 calls per second and thread
THREADS = 2


def wait_until(condition, seconds, step=0.02):
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(step)
    return value


class Program:
    """dir/data is its directory, dir/out its output."""

    def __init__(self, programs, directory):
        self.dir, self.data = directory, os.path.join(directory, "data")
        self.command = [os.path.join(programs, "numbered_calls"), self.data, str(THREADS), str(PAUSE_US)]
        os.makedirs(self.data)
        os.chmod(directory, 0o755)
        os.chmod(self.data, 0o777)
        self.process = None     # where it is a child of ours
        self.pid = None

    def start(self, user=None):
        out = open(os.path.join(self.dir, "out"), "w")
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, user=user,
                                        group=user,
                                        extra_groups=[] if user else None)
        return self.find()

    def find(self, seconds=20):
        """Its pid, once it writes; None if it was never started."""
        def ready():
            try:
                with open(os.path.join(self.data, "ready")) as file:
                    text = file.read()
            except OSError:
                return None
            return int(text) if text.endswith("\n") and self.made() else None
        self.pid = wait_until(ready, seconds)
        return self.pid

    def made(self):
        """Calls of each file so far."""
        sizes = {}
        for path in glob.glob(os.path.join(glob.escape(self.data), "numbers.*")):
            try:
                sizes[path] = os.stat(path).st_size // 8
            except OSError:
                pass
        return sizes

    def alive(self):
        return self.pid and os.path.exists(f"/proc/{self.pid}/stat") and kernel.thread_states(self.pid).get(str(self.pid)) != "Z"

    def check_running(self, reasons, seconds=5):
        """It makes progress, and no thread of it is stuck."""
        before = self.made()
        if not wait_until(lambda: all(n > before.get(name, 0) for name, n in self.made().items()), seconds):
            reasons.append(f"the program makes no progress: {kernel.thread_states(self.pid)}")
        if stuck := kernel.stuck_threads(self.pid):
            reasons.append(f"threads are stuck: {stuck}")

    def check_text(self, reasons):
        if places := kernel.breakpoints_left(self.pid):
            reasons.append(f"breakpoints left: {places[:3]} of {len(places)}")

    def tell_to_end(self):
        open(os.path.join(self.data, "stop"), "w").close()

    def check_end(self, reasons, output="out", seconds=30):
        """Ends by itself, having found all its data in place."""
        self.tell_to_end()
        if not wait_until(lambda: not self.alive() or (self.process and self.process.poll() is not None), seconds):
            reasons.append(f"the program does not end: {kernel.thread_states(self.pid)}")
            self.kill()
        with open(os.path.join(self.dir, output)) as file:
            lines = [line for line in file if line.startswith("numbered ")]
        total = sum(self.made().values())
        if lines != [f"numbered {THREADS} {total}\n"]:
            reasons.append(f"the program did not verify its {total} numbers: {lines}")
        if self.process and self.process.wait() != 0:
            reasons.append(f"the program ended with status {self.process.returncode}")

    def kill(self):
        for pid in kernel.processes_with(self.data):
            try:
                os.kill(pid, 9)
            except OSError:
                pass
