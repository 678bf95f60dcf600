# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# call_site_offsets.py SUMMARY PROGRAM COUNT FUNCTION...: whether the writes of a stripped copy of PROGRAM come from offsets within
# these functions of it, by nm; but for those whose callers were not yet known. Prints what differs.
import json
import subprocess
import sys


def functions(program):
    for line in subprocess.run(["nm", "-S", program], check=True, capture_output=True, text=True).stdout.splitlines():
        fields = line.split()
        if len(fields) == 4:
            yield fields[3], int(fields[0], 16), int(fields[1], 16)


def main(summary, program, count, *names):
    places = [(at, size) for name, at, size in functions(program) if name in names]
    with open(summary) as f:
        sites = [s for s in json.load(f)["call_sites"]["sites"] if s["bytes_written"]]
    for site in sites:
        own = [f["offset"] for f in site["frames"] if f["application"]]
        if own and not any(at < own[0] <= at + size for at, size in places):
            print("%d calls come from offset %#x" % (site["calls"], own[0]))
        if not own and site["callers"] != "unknown":
            print("%d calls come from no function of the program" % site["calls"])
    if sum(s["calls"] for s in sites) != int(count):
        print("%d calls" % sum(s["calls"] for s in sites))


if __name__ == "__main__":
    main(*sys.argv[1:])
