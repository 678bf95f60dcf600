# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""spool.py FILE EXPRESSION...: all must be true of a spool's records as they were captured. records(TYPE): their bytes, by the
number in include/ioprobe/record.h or ENTER; ends(): of each process, how many of its threads reported its end; lengths(RECORD): of
the texts behind a call's arguments."""
import collections
import ctypes
import struct
import sys

ENTER, EXIT, TASK_EXIT, CONTENTS = 2, 3, 8, 23
HEADER, BLOCK = 16, struct.Struct("<6I")
REC = struct.Struct("<HBBIIIQ")
ARGS_END = 112          # struct iop_rec_call with IOP_MAX_ARGS arguments


def blocks(data):
    zstd = ctypes.CDLL("libzstd.so.1")
    at = HEADER
    while at + BLOCK.size <= len(data):
        _, raw, stored, _, _, _ = BLOCK.unpack_from(data, at)
        at += BLOCK.size
        if raw == stored:
            yield data[at:at + stored]
        else:
            out = ctypes.create_string_buffer(raw)
            if zstd.ZSTD_decompress(out, ctypes.c_size_t(raw), data[at:at + stored], ctypes.c_size_t(stored)) != raw:
                sys.exit("spool.py: a block cannot be decompressed")
            yield out.raw
        at += stored


def all_records(data):
    for block in blocks(data):
        at = 0
        while at < len(block):
            length = REC.unpack_from(block, at)[0]
            yield block[at:at + length]
            at += length


def words(data):
    everything = list(all_records(data))

    def records(kind):
        return [r for r in everything if r[2] == kind]

    def ends():
        """The record has group_dead behind its header."""
        count = collections.Counter(struct.unpack_from("<I", r, 8)[0] for r in records(TASK_EXIT)
                                    if struct.unpack_from("<I", r, REC.size)[0])
        return dict(count)

    def lengths(record):
        found, at = [], ARGS_END
        while at + 2 <= len(record):
            length = struct.unpack_from("<H", record, at)[0]
            found.append(length)
            at += 2 + (length & 0x7fff if length != 0xffff else 0)
        return found

    return {"ENTER": ENTER, "EXIT": EXIT, "CONTENTS": CONTENTS, **{f.__name__: f for f in (records, ends, lengths)}}


with open(sys.argv[1], "rb") as file:
    NAMES = words(file.read())
FALSE = [e for e in sys.argv[2:] if not eval(e, NAMES)]
print(*FALSE, sep="\n", end="\n" if FALSE else "")
sys.exit(bool(FALSE))
