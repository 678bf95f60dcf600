#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""report_damage.py IOPROBE ARCHIVE_DIR WORK: damaged archives give a report that mentions it, or one clear line and status 1; never
a crash of the command, a hang, or silence. Prints what is wrong."""
import glob
import os
import random
import shutil
import subprocess
import sys

ioprobe, archive, work = sys.argv[1:4]


def check(what, must=None):
    try:
        done = subprocess.run([ioprobe, "report", work], capture_output=True, timeout=100, check=False)
    except subprocess.TimeoutExpired:
        print(f"{what}: hangs")
        return
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    if done.returncode not in (0, 1):
        print(f"{what}: status {done.returncode}")
    elif done.returncode == 1 and not err.strip():
        print(f"{what}: fails without a message")
    elif done.returncode == 1 and out:
        print(f"{what}: fails after a part of a report")
    elif must == "fails" and done.returncode != 1:
        print(f"{what}: is reported: {out.splitlines()[:2]}")
    elif must == "incomplete" and done.returncode == 0 and "INCOMPLETE" not in out:
        print(f"{what}: is not named incomplete: {out.splitlines()[:2]}")


def fresh():
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(archive, work)


def cut(path, share):
    os.truncate(path, int(os.path.getsize(path) * share))


fresh()
os.remove(work + "/traces.otf2")
check("no anchor", "fails")
for name in ("traces.otf2", "traces.def"):
    for share in (0, 0.5):
        fresh()
        cut(work + "/" + name, share)
        check(f"{name} cut to {share}", "fails")
for share in (0, 0.3, 0.9):
    fresh()
    largest = max(glob.glob(work + "/traces/*.evt"), key=os.path.getsize)
    cut(largest, share)
    check(f"events cut to {share}", "incomplete")
fresh()
os.remove(max(glob.glob(work + "/traces/*.evt"), key=os.path.getsize))
check("events missing", "incomplete")
fresh()
for path in glob.glob(work + "/traces/*.def"):
    os.remove(path)
check("no local definitions")
fresh()
with open(work + "/traces.otf2", "w", encoding="ascii") as file:
    file.write("this is no archive\n" * 50)
check("a text as anchor", "fails")
random.seed(14)
for turn in range(12):
    fresh()
    path = random.choice(glob.glob(work + "/traces/*.evt") + [work + "/traces.def"])
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        for _ in range(20):
            if data:
                data[random.randrange(len(data))] = random.randrange(256)
        file.seek(0)
        file.write(data)
    check(f"bytes changed, turn {turn}, {os.path.basename(path)}")
