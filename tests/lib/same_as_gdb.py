#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Usage: same_as_gdb.py IOPROBE DIR TOP PROGRAM ARGUMENT...

Records the program with call sites, then runs it again in gdb, which stops at the same calls: the TOP sites with most calls
must be chains of callers that gdb finds, each as often. Calls whose callers were not yet known are the only difference that is
allowed, and there must be as many of them. The program must make the same calls in every run: $BEFORE is a command before each.
$AS is the user that it runs as, $INPUT the file that it reads as stdin. Prints what differs, status 1 then; else one line on
stderr."""
import collections
import glob
import json
import os
import subprocess
import sys

import otf2

NUMBERS = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
SYSTEM = "POSIX"
FRAMES = 32
BYTEWISE = ("fgetc", "fputc", "getc", "putc", "getchar", "putchar", "ungetc", "getwc", "putwc", "fgetwc", "fputwc")  # have no site
ROOTS = ("__libc_start_call_main", "start_thread")      # a chain with one of them is whole


def frames_of(context):
    """From the innermost: (name, is it the C library's)."""
    while context is not None:
        source = context.source_code_location
        file = source.file if source is not None else ""
        name = context.region.name
        yield name, file.startswith(("./", "../")) or name.startswith(("libc.so", "ld-linux"))
        context = context.parent


def has_site(event):
    return any(a.name == "CALLING_CONTEXT" for a in event.attributes or {}) or event.region.name in BYTEWISE


def read_sites(archive, program):
    """{(function, layer, frames)}: calls, of whole chains; {function: calls} of others; the recorded functions of libraries;
    {function: calls} of outermost calls without any site."""
    sites, cut, bare, depth = (collections.Counter() for _ in range(4))
    layers = {}
    with otf2.reader.open(archive) as reader:
        for location, event in reader.events:
            if isinstance(event, otf2.events.Leave):
                depth[location] -= 1
            elif isinstance(event, otf2.events.Enter):
                depth[location] += 1
                if depth[location] == 1 and not has_site(event):
                    bare[event.region.name] += 1
            if not isinstance(event, otf2.events.Enter) or program not in location.group.name:
                continue
            name, layer = event.region.name, event.region.description
            layers[name] = layer
            contexts = [value for a, value in (event.attributes or {}).items() if a.name == "CALLING_CONTEXT"]
            frames = list(frames_of(contexts[0])) if contexts else []
            own = tuple(frame for frame, libc in frames if not libc)
            if own and own[-1].startswith((program, "_start")) and any(frame in ROOTS for frame, _ in frames):
                sites[name, layer, own] += 1
            elif contexts or location.group.name:
                cut[name] += 1
    return sites, cut, {name for name, layer in layers.items() if layer not in (SYSTEM, "MPI")}, bare


def counted_without_site(summary):
    with open(summary, encoding="utf-8") as file:
        incomplete = json.load(file)["call_sites"]["incomplete"]
    return sum(incomplete[reason] for reason in ("no_room", "code_changing", "stack_unreadable"))


def numbers_of(names):
    found = {}
    with open(NUMBERS, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 3 and words[1].startswith("__NR_") and words[1][5:] in names:
                found[words[2]] = words[1][5:]
    return found


def prefix():
    """What runs a command as $AS."""
    user = os.environ.get("AS")
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"] if user else []


def begin():
    if "BEFORE" in os.environ:
        subprocess.run(os.environ["BEFORE"], shell=True, check=True)
    return open(os.environ.get("INPUT", os.devnull), "rb")


def run_gdb(directory, wanted, command):
    with open(f"{directory}/wanted.json", "w", encoding="utf-8") as file:
        json.dump(wanted, file)
    environment = {**os.environ, "WANTED": f"{directory}/wanted.json", "STOPS": f"{directory}/stops.json"}
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gdb_stops.py")
    gdb = [*prefix(), "gdb", "-nx", "-batch", "-x", script, "--args", *command]
    with begin() as stdin:
        done = subprocess.run(gdb, stdin=stdin, capture_output=True, text=True, timeout=300, env=environment, check=False)
    try:
        with open(f"{directory}/stops.json", encoding="utf-8") as file:
            result = json.load(file)
    except FileNotFoundError:
        raise RuntimeError(f"gdb: {(done.stderr + done.stdout)[-400:]}") from None
    if result["status"]:
        raise RuntimeError(f"{command[0]} ended in gdb with status {result['status']}: its calls are not all there")
    return result["stops"]


def not_written():
    """Functions that are observed and not written to archives."""
    names = set()
    for path in glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../probes/*.probes")):
        with open(path, encoding="utf-8") as file:
            names |= {words[0] for words in map(str.split, file) if words[1:2] == ["learn"]}
    return names


def same(recorded, seen, quiet=()):
    """Chains from the innermost frame; a recorded frame has a function or, without debug information, module and offset. A call
    inside a function that is not written to the archive has that function's site."""
    if any(function in quiet and same(recorded, seen[i + 1:]) for i, (function, _) in enumerate(seen)):
        return True
    return len(recorded) == len(seen) and all(frame in (function, where) or frame.split("(")[0] == function.split("(")[0]
                                              for frame, (function, where) in zip(recorded, seen))


def main():
    ioprobe, directory, top, command = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    program = os.path.basename(command[0])
    record = [ioprobe, "record", "-q", f"--call-sites={FRAMES}", "-o", f"{directory}/trace", "--", *prefix(), *command]
    with begin() as stdin:
        subprocess.run(record, stdin=stdin, stdout=subprocess.DEVNULL, timeout=100, check=True)
    sites, cut, recorded, bare = read_sites(f"{directory}/trace/traces.otf2", program)
    chosen = sites.most_common(top)
    functions = {name for (name, layer, _), _ in chosen if layer != SYSTEM}
    syscalls = {name for (name, layer, _), _ in chosen if layer == SYSTEM}
    wanted = {"functions": sorted(functions), "syscalls": numbers_of(syscalls), "recorded": sorted(recorded)}
    stops = run_gdb(directory, wanted, command)
    quiet = not_written()
    errors, more = [], collections.Counter()
    counted = counted_without_site(f"{directory}/trace/summary.json")
    if sum(bare.values()) > counted:
        errors.append(f"outermost calls without a site: {dict(bare)}, of which {counted} are counted")
    if len(chosen) < top:
        errors.append(f"only {len(chosen)} sites have known callers")
    for (name, _, frames), calls in chosen:
        found = sum(n for what, chain, n in stops if what == name and same(frames, chain, quiet))
        more[name] += found - calls
        if not calls <= found <= calls + cut[name] or more[name] > cut[name]:
            what = f"{calls} calls and {cut[name]} with unknown callers; gdb found {found}"
            errors.append(f"{name} from {' < '.join(frames)}: {what}")
            errors += [f"gdb: {chain}" for what, chain, _ in stops if what == name][:2]
    if errors:
        print("\n".join(errors))
        sys.exit(1)
    total = sum(n for _, n in chosen)
    late = sum(more.values())
    print(f"{len(chosen)} sites, {total} calls; gdb found {late} more, whose callers were not yet known", file=sys.stderr)


main()
