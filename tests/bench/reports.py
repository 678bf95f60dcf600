# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What `ioprobe report` needs for archives of known size: calls per second and core against a bare read by libotf2 of the same
files in the same run, memory, its growth with calls, files and ranks, and the size of the HTML. The archives are written by
build/bench/archive."""
import os
import shutil
import subprocess
import time

import stats
import variants

ARCHIVE = "build/bench/archive"
RATE = 1e6              # calls per second and core, or half of the bare read
MEMORY_MIB, HTML_MIB = 2048, 5


def measured(command):
    """CPU seconds and largest resident size in MiB of a process."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{command}: status {process.returncode}: {process.stderr.read()[:200]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def bare(directory):
    done = subprocess.run([ARCHIVE, "read", directory], capture_output=True, text=True, timeout=1200, check=True)
    return float(done.stdout.split()[1])


def size_mib(directory):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(directory) for name in names) / 1048576


def row(place, calls, ranks, files):
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([ARCHIVE, "write", place, str(calls), str(ranks), str(files)], timeout=1200, check=True)
    html = f"{place}.html"
    rounds = 3 if calls <= 1000000 else 1
    seconds, memory = zip(*(measured([variants.IOPROBE, "report", "--format", "html", "-o", html, place]) for _ in range(rounds)))
    bare_s = min(bare(place) for _ in range(rounds))
    result = {"calls": calls, "ranks": ranks, "files": files, "seconds": min(seconds), "bare_seconds": bare_s,
              "memory_mib": max(memory), "html_mib": os.path.getsize(html) / 1048576, "archive_mib": size_mib(place)}
    os.remove(html)
    shutil.rmtree(place)
    return result


def rows(quick):
    yield from ((calls, 1, 10) for calls in (10 ** 5, 10 ** 6, 10 ** 7) + (() if quick else (10 ** 8,)))
    yield from ((10 ** 6, 4, files) for files in (1000, 100000, 1000000) + (() if quick else (10 ** 7,)))
    yield from ((10 ** 6, ranks, ranks) for ranks in (64, 1024, 4096))


def line(r):
    rate = r["calls"] / r["seconds"]
    name = f"{r['calls']:.0e} calls, {r['ranks']} rank{'s' * (r['ranks'] > 1)}, {r['files']:.0e} files".replace("e+0", "e")
    return [name, f"{rate / 1e6:.2f} M/s", f"{r['calls'] / r['bare_seconds'] / 1e6:.2f} M/s", f"{r['memory_mib']:.0f} MiB",
            f"{r['html_mib']:.2f} MiB", f"{r['archive_mib']:.0f} MiB"]


def extrapolated(found):
    """Memory of 10^8 calls from the growth between the two largest of one rank."""
    small, large = sorted((r for r in found if r["ranks"] == 1), key=lambda r: r["calls"])[-2:]
    growth = max(large["memory_mib"] - small["memory_mib"], 0) / (large["calls"] - small["calls"])
    return large["memory_mib"] + (1e8 - large["calls"]) * growth


def judge(found):
    many = [r for r in found if r["calls"] >= 1e6 and r["files"] <= 10]
    slow = [r for r in many if r["calls"] / r["seconds"] < RATE and r["seconds"] > 2 * r["bare_seconds"]]
    memory = extrapolated(found)
    how = "measured" if max(r["calls"] for r in found) >= 1e8 else "extrapolated"
    return "\n".join([f"{'missed' if slow else 'met'}: {RATE:.0e} calls per second and core, or half of libotf2 alone",
                      f"10^8 calls, {how}: " + stats.judge_limit(memory, MEMORY_MIB, " MiB"),
                      "HTML: " + stats.judge_limit(max(r["html_mib"] for r in found if r["ranks"] == 1), HTML_MIB, " MiB")])


def section(directory, quick):
    del directory
    place, found = os.path.abspath("build/bench/report"), []
    begin = time.monotonic()
    try:
        for calls, ranks, files in rows(quick):
            found.append(row(place, calls, ranks, files))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    text = stats.table(["report", "per core", "libotf2 alone", "memory", "HTML", "archive"], [line(r) for r in found])
    return {"rows": found, "took_seconds": time.monotonic() - begin}, f"{text}\n{judge(found)}"


SECTIONS = {"report": section}
