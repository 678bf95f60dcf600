#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The figures of "ioprobe report" on an archive whose calls and times are known: four ranks on two nodes write one file through
HDF5 and MPI-IO, collectively; rank 1 makes all system calls. Every number is exact. The name of the file has markup and an escape
character.

Needs no root. IOPROBE names the executable."""
import html.parser
import json
import os
import shutil
import subprocess
import sys
import tempfile

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
IOPROBE = os.environ.get("IOPROBE", os.path.join(TESTS, "..", "build", "ioprobe"))
sys.path.insert(0, os.path.join(TESTS, "lib"))
from synthetic_trace import MIB, Run       # noqa: E402  pylint: disable=wrong-import-position

NAME = "/data/<script>alert(1)</script>\033[31m\"'&.h5"
SHOWN = "/data/<script>alert(1)</script>\\x1b[31m\"'&.h5"
STEPS, WRITES = 2, 3            # collective calls; system calls of rank 1 in each


def write_archive(directory):
    with Run(directory, ranks=4, nodes=2) as run:
        file, table = run.file(NAME), run.file("/proc/self/maps")
        for i in range(4):
            r = run.rank(i)
            # the file that is opened first inside the create is not the one that it creates
            r.open(file, "HDF5", "H5Fcreate", us=2, below=lambda r=r: (r.open(table), r.close(table), r.open(
                file, "MPI-IO", "MPI_File_open", us=3, parent="HDF5", below=lambda: r.open(file, us=4, parent="MPI-IO"))))
            for step in range(STEPS):
                r.until(1000 * (step + 1) + (500 if i == 2 and step else 0))

                def system_calls(r=r, i=i, step=step):
                    for k in range(WRITES if i == 1 else 0):
                        r.write(file, (step * WRITES + k) * MIB, MIB, us=100)
                r.data("write", file, 0, 3 * MIB // 4, us=5, layer="HDF5", name="H5Dwrite", collective=True, below=lambda r=r,
                       calls=system_calls: r.data(
                    "write", file, 0, 3 * MIB // 4, us=10, layer="MPI-IO", name="MPI_File_write_at_all", collective=True,
                    below=calls))
            r.until(9000)
            r.close(file, "HDF5", "H5Fclose", us=2,
                    below=lambda r=r: r.close(file, "MPI-IO", "MPI_File_close", us=3, below=lambda: r.close(file, us=4)))


def report(directory, *options):
    done = subprocess.run([IOPROBE, "report", *options, directory], capture_output=True, timeout=60, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[:200])
    return done.stdout.decode()


def differences(found, wanted, where=""):
    """Members of found that are not those of wanted; times to the nanosecond."""
    if isinstance(wanted, dict):
        if set(found) != set(wanted):
            return [f"{where}: {sorted(found)} instead of {sorted(wanted)}"]
        return [text for key in wanted for text in differences(found[key], wanted[key], f"{where}.{key}")]
    if isinstance(wanted, list):
        if len(found) != len(wanted):
            return [f"{where}: {len(found)} elements instead of {len(wanted)}: {found}"]
        return [text for i, value in enumerate(wanted) for text in differences(found[i], value, f"{where}[{i}]")]
    same = abs(found - wanted) < 1e-9 if isinstance(wanted, float) else found == wanted
    return [] if same else [f"{where}: {found} instead of {wanted}"]


def us(value):
    return value / 1e6


def handle(layer, depth, seconds, first, last, bytes_written=0, **calls):
    return {"path": SHOWN, "layer": layer, "depth": depth,
            "calls": {kind: calls.get(kind, 0) for kind in ("open", "read", "write", "close", "other")},
            "bytes_read": 0, "bytes_written": bytes_written, "operations_of_unknown_size": 0, "seconds": us(seconds),
            "from_seconds": us(first),
            "to_seconds": us(last)}


# Durations in microseconds; a data call takes 0.1 more to return.
POSIX_WRITE = 100.1
WRITE_ALL = {1: WRITES * POSIX_WRITE + 10.1, 3: 10.1}
DWRITE = {rank: time + 5.1 for rank, time in WRITE_ALL.items()}
# of opens: /proc/self/maps is opened and closed first; the trace begins when the ranks' clocks show 1000
OPEN, CLOSE = {"POSIX": 4, "MPI-IO": 7, "HDF5": 11}, {"POSIX": 4, "MPI-IO": 7, "HDF5": 9}


def test_accesses(figures):
    wanted = {"files": [{"path": SHOWN, "class": "data",
                         "calls": {"HDF5": 4 * (2 + STEPS), "MPI-IO": 4 * (2 + STEPS), "POSIX": 4 * 2 + STEPS * WRITES}},
                        {"path": "/proc/self/maps", "class": "system", "calls": {"POSIX": 8}}],
              "files_not_listed": 0,
              "exclusive_seconds": {"HDF5": us(4 * (4 + STEPS * 5.1)), "MPI-IO": us(4 * (6 + STEPS * 10.1)),
                                    "POSIX": us(4 * 10 + STEPS * WRITES * POSIX_WRITE)}}
    return differences(figures["accesses"], wanted, "accesses")


def test_handles(figures):
    wanted = [handle("HDF5", 0, OPEN["HDF5"] + CLOSE["HDF5"] + STEPS * DWRITE[1], 0, 8009, STEPS * 3 * MIB // 4, open=1,
                     write=STEPS, close=1),
              handle("MPI-IO", 1, OPEN["MPI-IO"] + CLOSE["MPI-IO"] + STEPS * WRITE_ALL[1], 2, 8007, STEPS * 3 * MIB // 4, open=1,
                     write=STEPS, close=1),
              handle("POSIX", 2, OPEN["POSIX"] + CLOSE["POSIX"] + STEPS * WRITES * POSIX_WRITE, 2, 8004, STEPS * WRITES * MIB,
                     open=1, write=STEPS * WRITES,
                     close=1)]
    rows = [row for row in figures["handles"]["handles"] if row["path"] == SHOWN]
    others = [(row["path"], row["layer"], row["depth"], row["calls"]["open"], row["calls"]["close"])
              for row in figures["handles"]["handles"] if row not in rows]
    return differences(rows, wanted, "handles") + differences([list(row) for row in others],
                                                              [["/proc/self/maps", "POSIX", 0, 1, 1]], "others") + \
        differences([figures["handles"]["by"], figures["handles"]["calls_not_listed"]], ["rank 1", 0], "handles")


def test_stacks(figures):
    # the second call: rank 2 comes 500 later, and leaves last
    begin, end = 1000, 1500 + DWRITE[3] - 5.1
    wanted = {"function": "MPI_File_write_at_all", "path": SHOWN, "from_seconds": us(begin), "to_seconds": us(end), "ranks": 4,
              "ranks_with_data": 1,
              "of": ["rank 1", "rank 3"], "calls_not_listed": 0,
              "stacks": [{"function": "H5Dwrite", "depth": 0, "calls": [1, 1], "seconds": [us(DWRITE[1]), us(DWRITE[3])]},
                         {"function": "MPI_File_write_at_all", "depth": 1, "calls": [1, 1],
                          "seconds": [us(WRITE_ALL[1]), us(WRITE_ALL[3])]},
                         {"function": "pwrite64", "depth": 2, "calls": [WRITES, 0], "seconds": [us(WRITES * POSIX_WRITE), 0.0]}]}
    return differences(figures["stacks"], wanted, "stacks")


def share(node, by, works, waited, **more):
    """Of one rank, or of a node with two."""
    calls = STEPS * (1 if by else 2)
    return {"node": node, "collective_calls": calls, "bytes_asked": calls * 3 * MIB // 4, "system_calls": works * STEPS * WRITES,
            "bytes_moved": works * STEPS * WRITES * MIB, "system_seconds": us(works * STEPS * WRITES * POSIX_WRITE),
            "waited_seconds": us(waited),
            **({"by": by} if by else more)}


def test_nodes(figures):
    # a rank that left before the last one came waited until it left
    wanted = {"nodes": [share("node0", None, 1, WRITE_ALL[1], ranks=2, ranks_with_system_calls=1),
                        share("node1", None, 0, WRITE_ALL[3], ranks=2, ranks_with_system_calls=0)],
              "ranks": [share("node0", "rank 0", 0, WRITE_ALL[3]), share("node0", "rank 1", 1, WRITE_ALL[1]),
                        share("node1", "rank 2", 0, 0.0),
                        share("node1", "rank 3", 0, WRITE_ALL[3])]}
    return differences(figures["nodes"], wanted, "nodes")


class Page(html.parser.HTMLParser):
    """Sections and their drawings."""

    def __init__(self):
        super().__init__()
        self.sections, self.tags, self.current, self.text = {}, set(), None, ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "section":
            self.current = self.sections.setdefault(dict(attrs)["id"], {"svg": 0, "rect": 0, "path": 0, "tr": 0})
        elif self.current is not None and tag in self.current:
            self.current[tag] += 1

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        if tag == "section":
            self.current = None

    def handle_data(self, data):
        self.text += data


def test_html(text):
    page = Page()
    page.feed(text)
    reasons = [f"html: a tag {tag}" for tag in page.tags & {"script", "img", "a", "link", "iframe"}]
    if "\x1b" in text or SHOWN not in page.text:
        reasons.append("html: the name is not there, or not escaped")
    # accesses: 1 + 1 + 2 bars; handles: 5 kinds in the key, of 4 rows open and close, of 3 also write, and a line each; stacks: 3
    # layers in the key, frames of rank 1 and of rank 3; nodes: 2 + 4
    wanted = {"accesses": {"svg": 1, "rect": 4, "path": 0, "tr": 3},
              "handles": {"svg": 6, "rect": 5, "path": 4 * 2 + 3 + 4, "tr": 5},
              "stacks": {"svg": 5, "rect": 3 + 2 + WRITES + 2, "path": 0, "tr": 4},
              "nodes": {"svg": 1, "rect": 6, "path": 0, "tr": 7}}
    return reasons + differences(page.sections, wanted, "html")


def test_text(text, plain):
    titles = [line[3:] for line in text.splitlines() if line.startswith("-- ")]
    reasons = differences(titles, ["Calls per file and layer", "Handles of one thread over time",
                                   "Call stacks of two ranks during one collective call",
                                   "Who makes the system calls inside collective calls"], "text")
    if "\x1b" in text or any(len(line) > 100 for line in text[len(plain):].splitlines()):
        reasons.append("text: an escape character, or more than 100 columns")
    if not text.startswith(plain) or "-- " in plain:
        reasons.append("text: --figures does not only append, or figures without it")
    rows = [" ".join(line.split()) for line in text.splitlines()]
    for row in ("node0: 1 of 2 ranks 4 3.0 MiB 6 6.0 MiB 0.601 ms 0.310 ms", "pwrite64 3 0.300 ms 0 -", "POSIX 1 0 6 1 0 0.609 ms",
                "/proc/self/maps 0 0 8"):
        if row not in rows:
            reasons.append(f"text: no row {row!r}")
    return reasons


def main():
    root = tempfile.mkdtemp(prefix="ioprobe-figures-")
    directory, failed = os.path.join(root, "trace"), 0
    try:
        write_archive(directory)
        figures = json.loads(report(directory, "--format", "json"))["figures"]
        tests = [(test, (figures,)) for test in (test_accesses, test_handles, test_stacks, test_nodes)]
        tests += [(test_html, (report(directory, "--format", "html"),)),
                  (test_text, (report(directory, "--figures"), report(directory)))]
        for test, arguments in tests:
            reasons = test(*arguments)
            print("not ok" if reasons else "ok", test.__name__, *reasons[:4])
            failed += bool(reasons)
    finally:
        shutil.rmtree(root)
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
