# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Options that record more of each outermost call: what they add to system calls, to stream calls and to calls with recorded calls
inside. Call sites: at a repeated site. CPU times: of calls that keep their CPU. Collectives: without waiting for other ranks."""
import functools
import statistics

import stats
import variants

TARGET_NS = 250         # per outermost call, whatever is inside
BUDGET_MS = 40
REPETITIONS = 40        # of a millisecond: the best one is undisturbed on a busy machine, too
PROGRAMS = {
    "calls": [("pwrite, 1 B", "pwrite", 1), ("read, 4 KiB", "read", 4096), ("fread, 4 KiB", "fread", 4096)],
    "layers": [("H5Dwrite, 64 B", "h5", 64), ("nc_put_vara, 64 B", "nc", 64)],
}
COLLECTIVES = {"parallel": [("MPI_Barrier", "barrier", 0), ("MPI_Barrier, pwrite of 64 B, MPI_Barrier", "between", 64)]}
RANKS = {"parallel": 1}


def measure(program, rows, make, directory):
    worker = variants.Worker(program, directory, RANKS.get(program, 0))
    try:
        with make(worker, directory):
            return {name: worker.order(kind, size, BUDGET_MS, REPETITIONS)["best"] for name, kind, size in rows}
    finally:
        worker.end()


def compare_collectives(directory, quick):
    """What --collectives adds to MPI_Barrier, against empty programs at its entry and return, by the best of alternating rounds;
    and what it adds where the calls stand beside I/O."""
    report, table = compare("--collectives", "collectives", COLLECTIVES, directory, quick)
    rows, bests = COLLECTIVES["parallel"][:1], {}
    makes = {"bare": variants.bare, "empty": functools.partial(variants.probes, functions=["MPI_Barrier"]),
             "ioprobe": functools.partial(variants.ioprobe, options=["--collectives"], every_call=False)}
    for _ in range(5 if quick else 9):
        for name, make in makes.items():
            best = measure("parallel", rows, make, directory)[rows[0][0]]
            bests[name] = min(best, bests.get(name, best))
    empty, ours = bests["empty"] - bests["bare"], bests["ioprobe"] - bests["bare"]
    report["empty probes"] = bests
    return report, table + (f"\nMPI_Barrier, bare {bests['bare']:.0f} ns: empty probes add {empty:.0f} ns, --collectives "
                            f"{ours:.0f} ns: {ours / empty:.2f} times\n")


def compare(option, title, programs, directory, quick):
    """Rounds of both kinds in alternation. The best round of each is compared, because others on the machine can only add to it;
    the median of the rounds' differences shows how far they did."""
    every_call = programs is PROGRAMS       # of the collectives only those next to I/O are recorded
    with_it, without_it = (functools.partial(variants.ioprobe, options=more, every_call=every_call)
                           for more in ([option], []))
    lines, report = [], {}
    for program, rows in programs.items():
        rounds = {name: [] for name, _, _ in rows}
        for i in range(5 if quick else 9):
            order = [without_it, with_it] if i % 2 == 0 else [with_it, without_it]
            results = {make: measure(program, rows, make, directory) for make in order}
            for name in rounds:
                rounds[name].append((results[without_it][name], results[with_it][name]))
        for name, pairs in rounds.items():
            without, added = min(a for a, _ in pairs), min(b for _, b in pairs) - min(a for a, _ in pairs)
            median = statistics.median(b - a for a, b in pairs)
            report[name] = {"without_ns": without, "added_ns": added, "added_median_ns": median, "rounds": pairs}
            lines.append([name, stats.number(without), stats.signed(added), stats.signed(median),
                          stats.judge_limit(added, TARGET_NS, "ns")])
    return report, stats.table([f"{title}, ns per call", "ioprobe", "added, best of all rounds", "added, median of rounds",
                                "target"], lines)


SECTIONS = {"call sites": functools.partial(compare, "--call-sites", "call sites", PROGRAMS),
            "CPU times": functools.partial(compare, "--cpu-time", "CPU times", PROGRAMS),
            "collectives": compare_collectives}
