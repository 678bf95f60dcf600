# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What a probe costs with an empty program: by the first instruction of the function, with and without its return."""
import os
import subprocess

import stats
import variants

KINDS = {"nop5": "a nop of five bytes (optimised from Linux 6.18 on)", "push": "push (executed by the kernel)",
         "sub": "sub (single-stepped)"}
MODES = {"hits": "entry", "calls": "entry and return"}
PROGRAM = os.path.abspath(f"{variants.BENCH}/probed")


def offsets():
    """{kind: offset in the file}: the text segment's addresses less those of its begin, plus its offset."""
    headers = subprocess.run(["readelf", "-lW", PROGRAM], capture_output=True, text=True, check=True).stdout
    segments = [[int(word, 16) for word in line.split()[1:6]] for line in headers.splitlines() if line.split()[:1] == ["LOAD"]]
    symbols = subprocess.run(["nm", PROGRAM], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in symbols.splitlines():
        address, _, name = line.rpartition(" ")
        if name.startswith("begins_with_"):
            address = int(address.split()[0], 16)
            begin = next(s for s in segments if s[1] <= address < s[1] + s[3])
            found[name.removeprefix("begins_with_")] = address - begin[1] + begin[0]
    return found


def probed(worker, mode, offset, kind, quick):
    child = variants.Child([f"{variants.BENCH}/empty", f"{variants.BENCH}/empty.bpf.o", mode, str(worker.pid)])
    try:
        child.tell(f"{offset} {PROGRAM}\n")
        child.process.stdin.close()
        child.wait_line("ready", 20)
        return worker.order(kind, 0, 20 if quick else 60, 5)["best"]
    finally:
        child.end(10)


def measure(directory, quick):
    worker = variants.Worker("probed", directory)
    figures = {kind: {"bare": [], **{mode: [] for mode in MODES}} for kind in KINDS}
    try:
        places = offsets()
        for _ in range(3 if quick else 5):
            for kind, rounds in figures.items():
                rounds["bare"].append(worker.order(kind, 0, 20, 5)["best"])
                for mode in MODES:
                    rounds[mode].append(probed(worker, mode, places[kind], kind, quick))
    finally:
        worker.end()
    base = {kind: stats.Figure(rounds["bare"]).median for kind, rounds in figures.items()}
    added = {kind: [stats.Figure(figures[kind][mode]).median - base[kind] for mode in MODES] for kind in KINDS}
    lines = [[title, stats.number(base[kind]), *map(stats.signed, added[kind])] for kind, title in KINDS.items()]
    result = {kind: {name: stats.Figure(values).json() for name, values in rounds.items()} for kind, rounds in figures.items()}
    return result, stats.table(["empty probe on a function that begins with", "bare ns", *MODES.values()], lines)


SECTIONS = {"kinds of probes": measure}
