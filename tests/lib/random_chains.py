# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# random_chains.py TRACE WITNESS PROGRAM: whether the n-th write of PROGRAM comes from the frames that the n-th line of WITNESS has
# (tests/programs/stack_witness.c), as offsets in PROGRAM's file. Chains whose callers were not yet known may end early;
# summary.json has their number, so all others are compared to their end. Prints what differs, else how many were the same.
import json
import os
import sys

import otf2


def chain_of(context, program):
    """Offsets of the frames in the program, from the call outwards."""
    while context is not None:
        name = context.region.name
        if name.startswith(program + "+0x"):
            yield int(name[len(program) + 3:], 16)
        context = context.parent


def recorded_chains(trace, program):
    with otf2.reader.open(os.path.join(trace, "traces.otf2")) as reader:
        for location, event in reader.events:
            if not isinstance(event, otf2.events.Enter) or event.region.name != "write" or location.group.name.find(program) < 0:
                continue
            contexts = [v for a, v in event.attributes.items() if a.name == "CALLING_CONTEXT"] if event.attributes else []
            yield list(chain_of(contexts[0], program)) if contexts else []


def main(trace, witness, program):
    with open(witness) as f:
        seen = [[int(offset, 16) for offset in line.split()] for line in f]
    recorded = list(recorded_chains(trace, os.path.basename(program)))
    with open(os.path.join(trace, "summary.json")) as f:
        sites = json.load(f)["call_sites"]["sites"]
    own = [s for s in sites if s["bytes_written"] == 8 * s["calls"]]
    cut = sum(s["calls"] for s in own if s["callers"] == "unknown")
    if any(s["callers"] == "truncated" for s in own):
        return "%d chains are truncated" % sum(s["calls"] for s in own if s["callers"] == "truncated")
    if len(recorded) != len(seen):
        return "%d writes were recorded, the witness saw %d" % (len(recorded), len(seen))
    different = [n for n, (a, b) in enumerate(zip(recorded, seen)) if a != b[:len(a)]]
    if different:
        n = different[0]
        return "%d chains differ; write %d: recorded %s, seen %s" % (len(different), n, recorded[n], seen[n])
    same = sum(a == b for a, b in zip(recorded, seen))
    if len(seen) - same > cut:
        return "%d of %d chains end early, but only %d callers were not known" % (len(seen) - same, len(seen), cut)
    if 2 * same < len(seen):
        return "only %d of %d chains were known" % (same, len(seen))
    print("%d of %d chains the same, %d cut" % (same, len(seen), cut), file=sys.stderr)
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
