#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""merge.py [NODES RANKS [HANDLES]]: what merging costs, from 16 nodes up to NODES (1024) of RANKS (128): time and memory. The node
archives are made from a recording of one rank (root); every result's structure is checked."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
IOPROBE = os.path.realpath(os.environ.get("IOPROBE", "build/ioprobe"))
PROGRAM = os.path.join(HERE, "..", "..", "build", "programs", "two_scopes")
TOOL = os.path.join(HERE, "..", "lib", "merge_nodes.py")
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def run(command, **options):
    return subprocess.run(command, check=True, env={**os.environ, **ROOT_MAY}, stdout=subprocess.PIPE, timeout=3600,
                          **options).stdout


def record(directory):
    run([IOPROBE, "-q", "--shared-mount", "/", "-o", directory + "/template", "--", "mpirun", "-n", "1", PROGRAM, directory + "/f",
         directory + "/g"])
    return directory + "/template"


def measured(command):
    """Seconds, of them in user and in system mode, and the largest process' MiB."""
    begin = time.monotonic()
    pid = os.posix_spawnp(command[0], command, {**os.environ, **ROOT_MAY},
                          file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    seconds = time.monotonic() - begin
    if status:
        raise SystemExit("%s ended with status %d" % (command[0], status))
    return seconds, usage.ru_utime, usage.ru_stime, usage.ru_maxrss / 1024


def size_of(directory):
    return sum(os.path.getsize(os.path.join(directory, name)) for name in ("traces.def", "traces.otf2")) / 2**20


def one(root, template, nodes, ranks, handles):
    made = os.path.join(root, "nodes")
    run([sys.executable, TOOL, "make", template, made, str(nodes), str(ranks), str(handles)])
    inputs = [os.path.join(made, "node-%d" % i) for i in range(nodes)]
    out = os.path.join(root, "out")
    seconds, user, system, mib = measured([IOPROBE, "merge", "-o", out] + inputs)
    wrong = subprocess.run([sys.executable, TOOL, "check", out, template, str(nodes), str(ranks)], stdout=subprocess.PIPE,
                           universal_newlines=True, timeout=3600)
    print("| %d x %d | %.2f | %.2f | %.2f | %.0f | %.1f | %s |" % (nodes, ranks, seconds, user, system, mib, size_of(out),
                                                         "ok" if wrong.returncode == 0 else wrong.stdout.split("\n")[0]),
                                                         flush=True)
    shutil.rmtree(out)
    shutil.rmtree(made)


def main():
    most, ranks, handles = ([int(a) for a in sys.argv[1:]] + [1024, 128, 8][len(sys.argv) - 1:])[:3]
    root = tempfile.mkdtemp(prefix="ioprobe-merge-")
    try:
        template = record(root)
        print("| nodes x ranks | seconds | user | system | MiB of memory | MiB of definitions | structure |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        nodes = 16
        while nodes < most:
            one(root, template, nodes, ranks, handles)
            nodes *= 4
        one(root, template, most, ranks, handles)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
