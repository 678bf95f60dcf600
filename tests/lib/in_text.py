#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""in_text.py PID LIBRARY PROBES some|none|any: breakpoints in the text of a process, where `ioprobe probes` places them in a
library.

some: there must be one, soon; none: there must be none; any: nothing is looked at. Prints what is wrong."""
import re
import sys
import time

BREAKPOINT = 0xcc


def breakpoints(pid, library, offsets):
    """How many of the offsets have one; None if the process does not map the library."""
    found = None
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            fields = line.split()
            if len(fields) < 6 or fields[5] != library or "x" not in fields[1]:
                continue
            begin, end = (int(x, 16) for x in fields[0].split("-"))
            file_offset = int(fields[2], 16)
            found = found or 0
            for offset in offsets:
                if file_offset <= offset < file_offset + end - begin:
                    memory.seek(begin + offset - file_offset)
                    found += memory.read(1)[0] == BREAKPOINT
    return found


def main():
    pid, library, probes, wanted = sys.argv[1:]
    with open(probes) as lines:
        offsets = {int(x, 16) for line in lines for x in re.findall(r" (0x[0-9a-f]+)", line)}
    if wanted == "any":
        return
    found = breakpoints(pid, library, offsets)
    for _ in range(100):
        if wanted != "some" or found:
            break
        time.sleep(0.1)
        found = breakpoints(pid, library, offsets)
    if not offsets or (wanted == "some" and not found) or (wanted == "none" and found):
        print(f"process {pid} has {found} breakpoints at {len(offsets)} offsets of {library}")


if __name__ == "__main__":
    main()
