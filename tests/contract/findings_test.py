#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The detectors of "ioprobe report" on runs that no test machine has (Lustre, many nodes, slow ranks): each must find its cause in
the archive that has it, and not in the one without. And the table of detectors against the tests: each names a planted program or a
case of this file.

Needs no root. IOPROBE names the executable."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
IOPROBE = os.environ.get("IOPROBE", os.path.join(TESTS, "..", "build", "ioprobe"))
sys.path.insert(0, os.path.join(TESTS, "lib"))
from synthetic_trace import KIB, MIB, Run       # noqa: E402  pylint: disable=wrong-import-position

LUSTRE = {"File_system": "lustre", "Stripe_Size": MIB, "Stripe_Count": 4}


def synthetic_writes(bad, directory):
    with Run(directory) as run:
        file, r = run.file("/data/a"), run.rank(0)
        r.open(file)
        for i in range(200):
            r.write(file, i * MIB if bad else i * 977 % 200 * 3 * MIB, MIB)
            if not bad:
                r.read(file, i * 977 % 200 * 3 * MIB, MIB)


def synthetic_reads(bad, directory):
    with Run(directory) as run:
        file, r = run.file("/data/a"), run.rank(0)
        r.open(file)
        for i in range(200):
            r.read(file, i * MIB if bad else i * 977 % 200 * 3 * MIB, MIB)
            if not bad:
                r.write(file, i * 977 % 200 * 3 * MIB, MIB)


def synthetic_shared_small(bad, directory):
    with Run(directory, ranks=4) as run:
        file = run.file("/data/shared")
        own = [run.file(f"/data/own{i}") for i in range(4)]
        for i in range(4):
            r = run.rank(i)
            target = file if bad else own[i]
            r.open(target)
            for k in range(100):
                r.write(target, (k * 4 + i) * 512, 512, us=100)
            for k in range(100):
                r.read(target, (k * 4 + i) * 512, 512, us=100)


def synthetic_small_files(bad, directory):
    with Run(directory) as run:
        r = run.rank(0)
        for i in range(200):
            file = run.file(f"/data/step{i}")
            r.open(file)
            for k in range(8 if bad else 1):
                r.write(file, k * KIB, KIB, us=100)
                r.read(file, k * KIB, KIB, us=100)


def synthetic_stragglers(bad, directory):
    with Run(directory, ranks=4) as run:
        file = run.file("/data/shared")
        for i in range(4):
            r = run.rank(i)
            r.open(file)
            for k in range(40 if bad and i == 2 else 10):
                r.write(file, (i * 100 + k) * MIB, MIB, us=1000)


def synthetic_no_mpiio(bad, directory):
    with Run(directory, ranks=2) as run:
        file = run.file("/data/shared")
        for i in range(2):
            run.rank(i).open(file)
            if not bad:
                run.rank(i).open(file, layer="MPI-IO", name="MPI_File_open")
            run.rank(i).write(file, i * MIB, MIB)


def mpiio(directory, collective, blocking=True):
    with Run(directory, ranks=2) as run:
        file = run.file("/data/shared")
        for i in range(2):
            r = run.rank(i)
            r.open(file, layer="MPI-IO", name="MPI_File_open")
            for mode in ("read", "write") if blocking else ():
                r.data(mode, file, i * MIB, MIB, layer="MPI-IO", name=f"MPI_File_{mode}_at" + "_all" * collective,
                       collective=collective)


def synthetic_mpiio(bad, directory):
    mpiio(directory, False, bad)


def synthetic_mpiio_collective(bad, directory):
    mpiio(directory, bad)


def synthetic_unaligned(bad, directory):
    with Run(directory) as run:
        file, r = run.file("/lustre/a", **LUSTRE), run.rank(0)
        r.open(file)
        for i in range(120):
            r.write(file, i * MIB + (512 if bad else 0), MIB, us=1000)


def synthetic_unaligned_blocks(bad, directory):
    """Blocks of a shared file system; on a local one the page cache joins requests."""
    with Run(directory) as run:
        file, r = run.file("/data/a", File_system="nfs4" if bad else "ext4", Block_Size=64 * KIB,
                           node=None if bad else 0), run.rank(0)
        r.open(file)
        for i in range(120):
            r.write(file, i * MIB + 512, MIB, us=1000)


def aggregators(directory, workers, ranks=8, nodes=2, requests=1, **properties):
    """Collective writes of 1 MiB of each rank; workers: rank -> share of the bytes in its system calls."""
    with Run(directory, ranks=ranks, nodes=nodes) as run:
        file = run.file("/lustre/shared", **{**LUSTRE, **properties})
        for i in range(ranks):
            r = run.rank(i)
            r.open(file, layer="MPI-IO", name="MPI_File_open")
            r.open(file)
            for step in range(10):
                size = int(workers.get(i, 0) * ranks * MIB)
                r.until(100000 * (step + 1))

                def system_calls(r=r, size=size, step=step, i=i):
                    for k in range(requests if size else 0):
                        r.write(file, step * ranks * MIB + i * MIB + k * size // requests, size // requests,
                                us=5000 * size / MIB / requests)
                r.data("write", file, (step * ranks + i) * MIB, MIB, layer="MPI-IO", name="MPI_File_write_at_all", collective=True,
                       below=system_calls)
                r.until(100000 * (step + 1) + 60000)


def synthetic_aggregators(bad, directory):
    aggregators(directory, {0: 1} if bad else {0: 0.5, 4: 0.5})


def synthetic_aggregators_many(bad, directory):
    aggregators(directory, {i: 1 / 8 for i in range(8)} if bad else {0: 0.5, 4: 0.5})


def synthetic_aggregators_equal(bad, directory):
    aggregators(directory, {0: 0.5, 4: 0.5} if bad else {0: 1})


def synthetic_degraded_above(bad, directory):
    with Run(directory, ranks=2) as run:
        file = run.file("/data/shared.nc")
        for i in range(2):
            r = run.rank(i)
            r.open(file, layer="PnetCDF", name="ncmpi_create")
            r.open(file, layer="MPI-IO", name="MPI_File_open")
            for k in range(20):
                at = (k * 2 + i) * MIB
                r.data("write", file, at, MIB, layer="PnetCDF", name="ncmpi_put_vara_all", collective=True, below=lambda r=r,
                       at=at: r.data(
                    "write", file, at, MIB, us=1000, layer="MPI-IO", name="MPI_File_write_at", collective=not bad))


def synthetic_local(bad, directory):
    with Run(directory, ranks=2, nodes=2) as run:
        files = [run.file("/tmp/restart.dat", node=i, File_system="ext4")
                 for i in range(2)] if bad else [run.file("/tmp/restart.dat")] * 2
        run.rank(0).open(files[0])
        run.rank(0).write(files[0], 0, MIB)
        run.rank(1).open(files[1])
        run.rank(1).read(files[1], 0, MIB)


def synthetic_conflict(bad, directory):
    with Run(directory, ranks=4) as run:
        file = run.file("/lustre/shared", **LUSTRE)
        for i in range(4):
            r = run.rank(i)
            r.open(file)
            for k in range(64):
                r.write(file, (k * 4 + i) * 64 * KIB if bad else (i * 64 + k) * MIB, 64 * KIB if bad else MIB, us=1000)


def synthetic_metadata(bad, directory):
    with Run(directory, ranks=4) as run:
        file = run.file("/data/shared.h5")
        for i in range(4):
            r = run.rank(i)
            r.open(file, layer="HDF5", name="H5Fopen")
            r.open(file, layer="MPI-IO", name="MPI_File_open")
            r.open(file)
            for k in range(20 if bad or not i else 1):
                r.begin("H5Dopen2", "HDF5")
                r.data("read", file, k * 512, 512, layer="MPI-IO", name="MPI_File_read_at", below=lambda r=r,
                       k=k: r.read(file, k * 512, 512, us=1000))
                r.end(100)


def synthetic_decay(bad, directory):
    with Run(directory) as run:
        file, r = run.file("/data/a.h5"), run.rank(0)
        r.open(file, layer="HDF5", name="H5Fcreate")
        r.open(file)
        for i in range(400):
            r.data("write", file, i * KIB, KIB, layer="HDF5", name="H5Dwrite", us=10, below=lambda i=i: [
                r.read(file, k * 4 * KIB, 4 * KIB, us=5) for k in range(1 + (i // 20 if bad else 0))])


def synthetic_place(bad, directory):
    with Run(directory, ranks=2) as run:
        scratch = run.file("/scratch/a", **LUSTRE)
        home = run.file("/home/user/b", File_system="nfs4" if bad else "lustre")
        for i in range(2):
            for file in (scratch, home):
                run.rank(i).open(file)
                for k in range(20):
                    run.rank(i).write(file, (k * 2 + i) * MIB, MIB, us=1000)


def synthetic_slow_rank(bad, directory):
    with Run(directory, ranks=4, nodes=4) as run:
        file = run.file("/data/shared")
        for i in range(4):
            run.rank(i).open(file)
            for k in range(20):
                run.rank(i).write(file, (i * 20 + k) * MIB, MIB, us=3000 if bad and i == 3 else 1000)


def synthetic_close(bad, directory):
    with Run(directory) as run:
        file, r = run.file("/data/a"), run.rank(0)
        r.open(file)
        for k in range(20):
            r.write(file, k * MIB, MIB, us=100)
        r.close(file, us=5000 if bad else 10)


def synthetic_above(bad, directory):
    with Run(directory) as run:
        file, r = run.file("/data/a.h5"), run.rank(0)
        r.open(file, layer="HDF5", name="H5Fcreate")
        r.open(file)
        for k in range(20):
            r.data("write", file, k * MIB, MIB, layer="HDF5", name="H5Dwrite", us=5000 if bad else 10,
                   below=lambda k=k: r.write(file, k * MIB, MIB, us=1000))


def synthetic_amplified(bad, directory):
    with Run(directory) as run:
        file, r = run.file("/data/a.h5"), run.rank(0)
        r.open(file, layer="HDF5", name="H5Fcreate")
        r.open(file)
        for k in range(4):
            r.data("write", file, k * MIB, MIB, layer="HDF5", name="H5Dwrite", below=lambda k=k: [
                r.write(file, (i * 977 % 100) * MIB, (MIB if not bad else 16 * KIB), us=100) for i in range(100 if bad else 1)])


def synthetic_overlap(bad, directory):
    """The same times on the wall: 5 ms of computing, or of sleep, and a write that sleeps 4 ms of 5."""
    with Run(directory, cpu=True) as run:
        file, r = run.file("/data/a"), run.rank(0)
        r.open(file)
        for k in range(20):
            r.wait(5000)
            r.off = (4000, 0, 0 if bad else 5000, 0)
            r.write(file, k * MIB, MIB, us=5000)


def synthetic_busy_node(bad, directory):
    with Run(directory, ranks=2, cpu=True) as run:
        file = run.file("/data/a")
        for i in range(2):
            run.rank(i).open(file)
            for k in range(20):
                run.rank(i).off = (1000, 3000, 0, 0) if bad and i else (4000, 0, 0, 0)
                run.rank(i).write(file, (i * 20 + k) * MIB, MIB, us=5000)


def synthetic_hint(bad, directory):
    """One rank of four, on one node, makes all system calls: fewer than asked, or as asked."""
    aggregators(directory, {0: 1}, ranks=4, nodes=1, **{"MPI-IO: Hint cb_nodes": "4" if bad else "1"})


def synthetic_stripes(bad, directory):
    """Three aggregators of equal shares on files of four stripes, and of three."""
    aggregators(directory, {i: 1 / 3 for i in range(3)}, ranks=6, nodes=1, Stripe_Count=4 if bad else 3)


def synthetic_fill_time(bad, directory):
    """The same bytes, written below H5Dcreate2 and again by H5Dwrite; the program has set that datasets are filled, or never."""
    with Run(directory) as run:
        file, r = run.file("/data/a.h5", **{"HDF5 field: Fill Time": "at-allocation" if bad else "never"}), run.rank(0)
        r.open(file, layer="HDF5", name="H5Fcreate")
        r.open(file)
        r.begin("H5Dcreate2", "HDF5")
        for k in range(8):
            r.write(file, k * MIB, MIB, us=1000)
        r.end()
        for k in range(8):
            r.data("write", file, k * MIB, MIB, layer="HDF5", name="H5Dwrite",
                   below=lambda k=k: r.write(file, k * MIB, MIB, us=1000))


def synthetic_read_by_all(bad, directory, nodes=2):
    """Four ranks read the same 8 MiB, or each its own."""
    with Run(directory, ranks=4, nodes=nodes) as run:
        file = run.file("/data/table")
        for i in range(4):
            r = run.rank(i)
            r.open(file)
            for k in range(8):
                r.read(file, (k + (0 if bad else 8 * i)) * MIB, MIB, us=1000)


def synthetic_rmw(bad, directory):
    """Of each 512 KiB half are asked to be written: 1 ms for reading all of it, and 1 ms for writing it back. Or none is read.
    The program writes as much itself."""
    with Run(directory) as run:
        file, r = run.file("/data/a"), run.rank(0)
        r.open(file, layer="MPI-IO", name="MPI_File_open")
        r.open(file, parent="MPI-IO")
        for k in range(20):
            r.data("write", file, k * 512 * KIB, 256 * KIB, layer="MPI-IO", name="MPI_File_write_at",
                   below=lambda k=k: [r.read(file, k * 512 * KIB, 512 * KIB, us=1000) if bad else None,
                                      r.write(file, k * 512 * KIB, 512 * KIB if bad else 256 * KIB, us=1000)])
        for k in range(10):
            r.write(file, (16 + k) * MIB, MIB, us=2000)


def synthetic_late_output(bad, directory):
    """Rank 0 writes 20 ms, or as long as the others, and all meet in a barrier 1 ms after its write."""
    with Run(directory, ranks=4) as run:
        for i in range(4):
            file, r = run.file(f"/data/own{i}"), run.rank(i)
            r.open(file)
            for step in range(10):
                r.until(100000 * (step + 1))
                r.write(file, step * MIB, MIB, us=20000 if bad and not i else 1000)
                if not bad and not i:           # late, too, but not by I/O
                    r.wait(19000)
                r.call("MPI_Barrier", "MPI", end=100000 * (step + 1) + 21000)


def synthetic_waited_for(bad, directory):
    """Rank 0 does all I/O; the others are in the barrier after it, or come to it when it has ended."""
    with Run(directory, ranks=4) as run:
        file = run.file("/data/all")
        for i in range(4):
            r = run.rank(i)
            if not i:
                r.open(file)
            for step in range(10):
                r.until(100000 * (step + 1))
                if not i:
                    r.write(file, step * 4 * MIB, 4 * MIB, us=50000)
                elif not bad:
                    r.wait(60000)
                r.call("MPI_Barrier", "MPI", end=100000 * (step + 1) + 61000)


def synthetic_busy_wait(bad, directory):
    """The same times on the wall and on a CPU: 5 ms of computing, or in a barrier, and a write that sleeps 4 ms of 5."""
    with Run(directory, cpu=True) as run:
        file, r = run.file("/data/a"), run.rank(0)
        r.open(file)
        for k in range(20):
            if bad:
                r.wait(5000)
            else:
                r.call("MPI_Barrier", "MPI", us=5000)
            r.off = (4000, 0, 0, 0)
            r.write(file, k * MIB, MIB, us=5000)


def saves(finding, low_ms, high_ms):
    saving = finding["saving"]
    return abs(1000 * saving["low_seconds"] - low_ms) < 0.05 and abs(1000 * saving["high_seconds"] - high_ms) < 0.05


# Codes, case, and what must hold of the finding f of each code in the archive that has the cause.
CASES = [
    (("P01", "P03", "P14"), synthetic_writes, lambda f: f["severity"] == "note"),
    (("P02", "P04", "P13"), synthetic_reads, lambda f: f["severity"] == "note"),
    (("P15", "P16"), synthetic_shared_small,
     lambda f: f["files"][0]["path"] == "/data/shared" and f["ranks"] == "0-3" and f["operations"] == 400),
    (("P05", "P06"), synthetic_small_files, lambda f: f["operations"] == 1600),
    (("P18", "P19"), synthetic_stragglers, lambda f: f["paid_by"] == "rank 2"),
    (("M01",), synthetic_no_mpiio, lambda f: f["severity"] == "note"),
    (("M04", "M05"), synthetic_mpiio_collective, lambda f: f["operations"] == 2),
    (("M06", "M07"), synthetic_mpiio, lambda f: f["operations"] == 2),
    (("P08",), synthetic_unaligned, lambda f: f["operations"] == 120 and f["severity"] == "high"),
    (("P08",), synthetic_unaligned_blocks, lambda f: f["operations"] == 120),
    (("X16", "M08"), synthetic_aggregators, lambda f: f["paid_by"] == "rank 0" and (f["code"] == "M08" or f["severity"] == "high")),
    (("M09",), synthetic_aggregators_many, lambda f: "8 aggregators on 2 nodes" in f["evidence"]),
    (("M10",), synthetic_aggregators_equal, lambda f: "2 aggregators on 2 nodes" in f["evidence"]),
    (("X03",), synthetic_degraded_above, lambda f: f["operations"] == 40 and f["severity"] == "high"),
    (("X11",), synthetic_local, lambda f: f["severity"] == "warn" and len(f["files"]) == 2),
    (("X17",), synthetic_conflict, lambda f: f["ranks"] == "0-3" and f["severity"] == "high"),
    (("X22",), synthetic_metadata, lambda f: f["ranks"] == "0-3" and f["calls"][0]["function"] == "H5Dopen2"
     and f["severity"] == "high"),
    (("X26",), synthetic_decay, lambda f: f["operations"] == 400 and f["confidence"] == "measured" and f["severity"] == "high"),
    (("X28",), synthetic_place, lambda f: f["files"][0]["path"] == "/home/user/b" and f["severity"] == "high"),
    (("X25",), synthetic_slow_rank, lambda f: f["paid_by"] == "rank 3" and f["severity"] == "high"),
    (("X30",), synthetic_close, lambda f: f["operations"] == 1),
    (("X01",), synthetic_amplified, lambda f: f["operations"] == 400),
    (("X09",), synthetic_above, lambda f: f["severity"] == "note"),
    (("X24",), synthetic_overlap, lambda f: f["operations"] == 20 and abs(f["cost_seconds"] - 0.08) < 0.001
     and f["severity"] == "high"),
    (("X16",), synthetic_hint, lambda f: "fewer than the hint cb_nodes asks for" in f["evidence"] and f["paid_by"] == "rank 0"),
    (("X16",), synthetic_stripes, lambda f: "stripes have several writers" in f["evidence"]),
    # at most 1.3 times their time; nothing, if the data's writes take as much longer without them
    (("X05",), synthetic_fill_time, lambda f: f["operations"] == 8 and f["confidence"] == "measured" and saves(f, 0, 1.3 * 8)),
    (("X18",), synthetic_read_by_all, lambda f: f["ranks"] == "0-3" and f["severity"] == "high" and saves(f, 0, 1.3 * 8)),
    # at least half of the reads, whose data is not written, and half of the writes
    (("X04",), synthetic_rmw, lambda f: saves(f, 0.7 * 20 * (0.5 + 0.5), 1.3 * 20 * (1 + 0.5))),
    (("X10",), synthetic_late_output,
     lambda f: f["operations"] == 30 and f["ranks"] == "1-3" and "30 times for rank 0" in f["evidence"]
     and abs(f["cost_seconds"] - 0.19) < 0.002),
    (("X24",), synthetic_busy_wait, lambda f: f["operations"] == 20 and abs(f["cost_seconds"] - 0.08) < 0.001),
    (("X36",), synthetic_busy_node, lambda f: f["paid_by"] == "rank 1" and f["ranks"] == "1"
     and abs(f["cost_seconds"] - 0.06) < 0.001),
]


def report(directory):
    done = subprocess.run([IOPROBE, "report", "--format", "json", directory], capture_output=True, timeout=60, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[:200])
    return {f["code"]: f for f in json.loads(done.stdout)["findings"]}


def check_case(root, codes, case, holds):
    found = {}
    for bad in (True, False):
        directory = os.path.join(root, f"{case.__name__}_{bad}")
        case(bad, directory)
        found[bad] = report(directory)
    reasons = [f"{code} is not found: {sorted(found[True])}" for code in codes if code not in found[True]]
    reasons += [f"{code} is wrong: {found[True][code]}" for code in codes if code in found[True] and not holds(found[True][code])]
    reasons += [f"{code} is found without its cause: {found[False][code]}" for code in codes if code in found[False]]
    return reasons


def check_waited_for(root):
    """X19 says whether others wait: measured and a warning or more, or a note."""
    found = {}
    for bad in (True, False):
        directory = os.path.join(root, f"waited_for_{bad}")
        synthetic_waited_for(bad, directory)
        found[bad] = report(directory).get("X19")
    if not found[True] or not found[False]:
        return [f"X19 is not found: {found}"]
    reasons = []
    if "wait in collective calls of MPI, 1.50 s in all" not in found[True]["evidence"] or found[True]["severity"] == "note":
        reasons.append(f"X19 is wrong: {found[True]}")
    # of 0.5 s, if each of the four ranks can write a part; and as long for bringing the data of three to one
    if not saves(found[True], 0, 1000 * 2 * (0.5 - 0.5 / 4)):
        reasons.append(f"X19 saves {found[True]['saving']}")
    if found[True]["confidence"] != "measured" or found[False]["confidence"] != "inferred":
        reasons.append(f"confidence: {[f['confidence'] for f in found.values()]}")
    if "no other rank waits" not in found[False]["evidence"] or found[False]["severity"] != "note":
        reasons.append(f"X19 without waiting: {found[False]}")
    return reasons


def check_read_by_one_node(root):
    """X18 saves nothing where the page cache of one node has the data."""
    directory = os.path.join(root, "read_by_one_node")
    synthetic_read_by_all(True, directory, nodes=1)
    found = report(directory).get("X18")
    if not found or not saves(found, 0, 0) or found["severity"] != "note":
        return [f"X18 on one node: {found}"]
    return []


def planted_rows():
    rows = set()
    for suite in os.listdir(os.path.join(TESTS, "e2e")):
        if suite.startswith("report"):
            with open(os.path.join(TESTS, "e2e", suite), encoding="utf-8") as file:
                rows.update(re.findall(r"^\s*planted (\w+) (\w+)", file.read(), re.M))
    return rows


def check_table():
    """Each detector's test exists; causes are codes of detectors."""
    reasons, rows = [], planted_rows()
    cases = {(code, case.__name__) for codes, case, _ in CASES for code in codes}
    lines = subprocess.run([IOPROBE, "report", "--explain", "tests"], capture_output=True, text=True, timeout=20,
                           check=True).stdout.splitlines()
    codes = {line.split()[0] for line in lines}
    for line in lines:
        code, test, *explained = line.split()
        if test == "-":
            reasons.append(f"{code} names no test")
        elif test != "-" and (code, test) not in rows | cases:
            reasons.append(f"{code}: there is no row or case {test} for it")
        reasons += [f"{code} explains {other}, which is no detector" for other in explained if other not in codes]
    reasons += [f"{code} is tested, but in no table" for code, _ in rows | cases if code not in codes]
    return reasons if len(lines) > 50 else reasons + ["no table"]


def main():
    root = tempfile.mkdtemp(prefix="ioprobe-findings-")
    passed = failed = 0
    try:
        cases = [(case.__name__, lambda row=row: check_case(root, *row)) for row in CASES for case in row[1:2]]
        for name, run in [("table", check_table), ("waited_for", lambda: check_waited_for(root)),
                          ("read_by_one_node", lambda: check_read_by_one_node(root))] + cases:
            try:
                reasons = run()
            except RuntimeError as error:
                reasons = [str(error)]
            print("not ok" if reasons else "ok", name, *reasons[:3])
            passed, failed = passed + (not reasons), failed + bool(reasons)
    finally:
        shutil.rmtree(root)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
