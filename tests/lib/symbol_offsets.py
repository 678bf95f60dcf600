# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# symbol_offsets.py PROGRAM FUNCTION...: the file offsets of functions of a program, by nm and readelf.
import subprocess
import sys


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def segments(program):
    """(file offset, address, length) of each loaded segment."""
    for line in lines_of("readelf", "-lW", program):
        words = line.split()
        if words and words[0] == "LOAD":
            yield int(words[1], 16), int(words[2], 16), int(words[4], 16)


def main(program, *functions):
    addresses = {words[2]: int(words[0], 16) for words in (line.split() for line in lines_of("nm", program)) if len(words) == 3}
    loaded = list(segments(program))
    print(*(next(offset + addresses[f] - address for offset, address, length in loaded if 0 <= addresses[f] - address < length)
            for f in functions))


if __name__ == "__main__":
    main(*sys.argv[1:])
