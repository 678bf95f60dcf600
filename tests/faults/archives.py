# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The output of a recording after a fault: recovered if need be, clean by the checker, and the numbered calls in it."""
import json
import os
import subprocess

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHON = "/usr/bin/python3"
FILES = {"traces.otf2", "traces.def", "traces", "collectives.json", "summary.json", "summary.txt", "spool"}


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1][:300] if lines else ""


def run(command, seconds=300):
    """Status and the last line of what it said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return -1, f"no end within {seconds} s"
    return done.returncode, last_line(done.stderr) or last_line(done.stdout)


class Output:
    """A directory that a recording wrote to. Reasons against it are added to reasons."""

    def __init__(self, ioprobe, path, reasons):
        self.ioprobe, self.path, self.reasons = ioprobe, path, reasons
        self.offsets, self.summary = None, None

    def has(self, name):
        return os.path.exists(os.path.join(self.path, name))

    def recover(self):
        """Makes the archive if there is none. False: nothing was recorded."""
        if not os.path.isdir(self.path) or not os.listdir(self.path):
            return False
        if not self.has("traces.otf2"):
            if not self.has("spool"):
                self.reasons.append(f"neither archive nor spool: {sorted(os.listdir(self.path))}")
                return False
            status, line = run([self.ioprobe, "recover", self.path])
            if status != 0:
                self.reasons.append(f"recover: status {status}: {line}")
                return False
        return True

    def check(self):
        """Recovers, checks, reads. False if there is no archive, which is fine where nothing was recorded."""
        if not self.recover():
            return False
        foreign = sorted(set(os.listdir(self.path)) - FILES)
        if foreign:
            self.reasons.append(f"temporary files: {foreign}")
        archive = os.path.join(self.path, "traces.otf2")
        status, line = run([PYTHON, "-B", os.path.join(TESTS, "contract/check_archive.py"), archive])
        if status != 0:
            self.reasons.append(f"checker: {line}")
            return False
        with open(os.path.join(self.path, "summary.json")) as file:
            self.summary = json.load(file)
        self.offsets = self.read(archive)
        return self.offsets is not None

    def read(self, archive):
        """In a process of its own: the library's reader is not for several threads."""
        done = subprocess.run([PYTHON, "-B", os.path.join(TESTS, "lib/numbered.py"), archive], capture_output=True, text=True)
        if done.returncode == 0:
            return json.loads(done.stdout)
        self.reasons.append(f"python3-otf2 cannot read the archive: {last_line(done.stderr)}")
        return None

    # ---- numbers ----

    def count(self):
        """In words, for the reader of results."""
        return f"{sum(map(len, self.offsets.values()))} calls in the archive, {self.lost()} counted as lost"

    def numbers(self, data):
        """Of each file of numbers below data: those recorded, in order."""
        return {name: sorted(o // 8 for o in v) for name, v in self.offsets.items() if name.startswith(data + "/")}

    def lost(self):
        return self.summary["records_lost"] + self.summary.get("records_after_bound", 0)

    def check_numbers(self, data, from_first):
        """Each call once; those missing between the first and the last are counted as lost. from_first: the first is number 0."""
        missing = 0
        for name, numbers in self.numbers(data).items():
            if len(set(numbers)) != len(numbers):
                self.reasons.append(f"{name}: calls recorded twice")
            first = 0 if from_first else numbers[0]
            missing += numbers[-1] + 1 - first - len(set(numbers))
        if missing > self.lost():
            self.reasons.append(f"{missing} calls are missing in between, {self.lost()} counted as lost")

    def check_last(self, data, made, slack=0):
        """made: calls of each file by the end of the recording; all but slack must be there, or be counted."""
        numbers = self.numbers(data)
        for name, n in made.items():
            last = numbers[name][-1] + 1 if name in numbers else 0
            if last + slack + self.lost() < n:
                self.reasons.append(f"{name}: recorded up to {last}, made were {n}, {self.lost()} counted as lost")
