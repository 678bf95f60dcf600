# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# call_sites.py SUMMARY SOURCE COUNT CHAIN...: the writes in summary.json by their sites. A CHAIN is "N FUNCTION@NAME FUNCTION@NAME
# …", from the call outwards, where NAME stands behind an @ in a comment of that line of SOURCE (FUNCTION alone: any line): N calls
# came from there. COUNT is their sum. A call whose callers were not yet known counts for any chain that begins as its own: how many
# there are depends on how fast the recorder was. Frames outside of SOURCE, which libraries have, are passed over. Exit status 0, or
# 1 with what differs. COUNT as N*BYTES: writes of that many bytes are counted instead of calls, where a write is more than one
# call. COUNT as CUT:N: any chain may lack its outer callers, because files are damaged; the callers that it has must be right.
# OPEN:N: the callers beyond a chain are never known. OF:N: the application's first frame is the first one of SOURCE.
import json
import os
import re
import sys


def lines_of(source):
    with open(source) as f:
        return {m.group(1): n for n, line in enumerate(f, 1) for m in [re.search(r"@(\w+)", line)] if m}


def parse_chain(text, lines):
    count, *chain = text.split()
    frames = []
    for frame in chain:
        function, _, name = frame.partition("@")
        frames.append((function, lines[name] if name else None))
    return int(count), frames


def chain_of(site, source):
    return [(f["function"], f["line"]) for f in site["frames"] if f["file"] and os.path.basename(f["file"]) == source]


def owner_of(site):
    """The source, or the function, of the application's first frame."""
    return next((f["file"] or str(f["function"]) for f in site["frames"] if f["application"]), "no application")


def begins(chain, frames):
    """Whether the frames, as many as there are, are the chain's first ones."""
    return len(frames) <= len(chain) and all(f == c[0] and (c[1] is None or line == c[1]) for (f, line), c in zip(frames, chain))


def is_chain(chain, frames):
    return len(frames) == len(chain) and begins(chain, frames)


def differences(rows, count, chains, disturbed, cut):
    total = sum(calls for calls, _, _ in rows)
    if total != count:
        yield "%d calls, expected %d" % (total, count)
    for calls, callers, frames in rows:
        fits = begins if callers == "unknown" or (cut and callers == "truncated") else is_chain
        if not any(fits(chain, frames) for _, chain in chains):
            yield "%d calls (callers %s) come from %s" % (calls, callers, frames)
    if cut:
        return
    for wanted, chain in chains:
        whole = sum(calls for calls, callers, frames in rows if callers != "unknown" and is_chain(chain, frames))
        partly = sum(calls for calls, callers, frames in rows if callers == "unknown" and begins(chain, frames))
        if (not whole and not disturbed) or whole > wanted or whole + partly < wanted:
            yield "%d calls come from %s, and %d from the beginning of that, expected %d" % (whole, chain, partly, wanted)


def main(summary, source, count, *chains):
    with open(summary) as f:
        sites = json.load(f)["call_sites"]
    lines = lines_of(source)
    how, _, count = count.rpartition(":")
    count, _, size = count.partition("*")
    # A row with fewer bytes than one of the counted writes has other ones.
    rows = [(s["bytes_written"] // int(size) if size else s["calls"], s["callers"], chain_of(s, os.path.basename(source)))
            for s in sites["sites"] if s["bytes_written"] >= int(size or 1)]
    disturbed = {reason: n for reason, n in sites["incomplete"].items() if n}
    faults = ["%d calls of %s" % (s["calls"], owner_of(s)) for s in sites["sites"]
              if how == "OF" and s["bytes_written"] and chain_of(s, os.path.basename(source)) and
              os.path.basename(owner_of(s)) != os.path.basename(source)]
    faults += differences(rows, int(count), [parse_chain(c, lines) for c in chains], disturbed or how == "OPEN", how == "CUT")
    if faults:
        print("; ".join(faults[:4]), "incomplete: %s" % disturbed if disturbed else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
