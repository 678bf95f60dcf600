# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The records of a spool as bytes. As a program: spool_records.py SPOOL prints how many records of asynchronous operations there
# are, and how many of their numbers are addresses of the kernel.
import ctypes
import struct
import sys

ZSTD = ctypes.CDLL("libzstd.so.1")
ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
ASYNC, ASYNC_END, FILE = 10, 11, 12
KERNEL = 0xffff800000000000


def blocks(path):
    with open(path, "rb") as spool:
        spool.read(16)
        while True:
            header = spool.read(24)
            if len(header) < 24:
                return
            raw, stored = struct.unpack_from("<II", header, 4)
            data = spool.read(stored)
            if stored != raw:
                out = ctypes.create_string_buffer(raw)
                if ZSTD.ZSTD_decompress(out, ctypes.c_size_t(raw), data, ctypes.c_size_t(stored)) != raw:
                    raise ValueError("%s: a block cannot be decompressed" % path)
                data = out.raw
            yield data


def records(path):
    for data in blocks(path):
        at = 0
        while at < len(data):
            size, kind = struct.unpack_from("<HB", data, at)
            if not size:
                size = (32 + struct.unpack_from("<I", data, at + 24)[0] + 7) & ~7
            yield kind, data[at:at + size]
            at += size


def numbers(kind, record):
    if kind == ASYNC:
        return list(struct.unpack_from("<QQ", record, 24) + struct.unpack_from("<Q", record, 64))
    if kind == ASYNC_END:
        return list(struct.unpack_from("<QQ", record, 24))
    return list(struct.unpack_from("<Q", record, 56)) if kind == FILE else []


def main():
    found = [numbers(kind, record) for kind, record in records(sys.argv[1]) if kind in (ASYNC, ASYNC_END, FILE)]
    print(len(found), sum(n >= KERNEL for record in found for n in record))


if __name__ == "__main__":
    main()
