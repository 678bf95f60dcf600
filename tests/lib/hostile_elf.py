# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""hostile_elf.py KIND FILE [BYTES]: writes an ELF file that is meant to break its reader.

strings: a library whose string table has BYTES, all of them a hole; chain: one whose hash chain never ends; small: of 32 bits;
machine: for another machine; cut: a good file without its second half; slow: a library with so many and so long names that reading
them takes more than a parser's CPU limit.
"""
import struct
import sys

SYMBOLS, DYNAMIC, STRINGS = 0x1800, 0x1000, 0x2000
DT_NULL, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_GNU_HASH = 0, 4, 5, 6, 10, 0x6ffffef5


def header(machine=62, bits=2):
    return struct.pack('<4sBBBB8xHHIQQQIHHHHHH', b'\x7fELF', bits, 1, 1, 0, 3, machine, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)


def segment(kind, flags, offset, length):
    return struct.pack('<IIQQQQQQ', kind, flags, offset, offset, offset, length, length, 4096)


def library(path, size, dynamic):
    entries = b''.join(struct.pack('<qQ', tag, value) for tag, value in dynamic + [(DT_NULL, 0)])
    with open(path, 'wb') as out:
        out.write(header() + segment(1, 5, 0, size) + segment(2, 4, DYNAMIC, len(entries)))
        out.seek(DYNAMIC)
        out.write(entries)
        out.seek(SYMBOLS - 0x100)
        out.write(struct.pack('<IIIIQI', 1, 1, 1, 0, 0, 1) if (DT_GNU_HASH, SYMBOLS - 0x100) in dynamic else
                  struct.pack('<IIIII', 1, 2, 1, 0, 0))
        out.truncate(size)


def slow(path):
    names, length = 60000, 8 << 20
    hash_at, strings = 0x1100, SYMBOLS + 24 * names
    dynamic = [(DT_STRTAB, strings), (DT_STRSZ, length + 1), (DT_SYMTAB, SYMBOLS), (DT_HASH, hash_at), (DT_NULL, 0)]
    entries = b''.join(struct.pack('<qQ', tag, value) for tag, value in dynamic)
    with open(path, 'wb') as out:
        out.write(header() + segment(1, 5, 0, strings + length + 1) + segment(2, 4, DYNAMIC, len(entries)))
        out.seek(DYNAMIC)
        out.write(entries)
        out.seek(hash_at)
        out.write(struct.pack('<II', 1, names))
        out.seek(SYMBOLS)
        out.write(struct.pack('<IBBHQQ', 0, 0x12, 0, 1, 0x1000, 1) * names)
        out.write(b'n' * length + b'\0')


def main(kind, path, size=64 << 30):
    if kind == 'strings':
        library(path, STRINGS + size, [(DT_STRTAB, STRINGS), (DT_STRSZ, size), (DT_SYMTAB, SYMBOLS), (DT_HASH, SYMBOLS - 0x100)])
    elif kind == 'chain':
        library(path, STRINGS + size, [(DT_STRTAB, STRINGS), (DT_STRSZ, 4096), (DT_SYMTAB, SYMBOLS),
                                       (DT_GNU_HASH, SYMBOLS - 0x100)])
    elif kind == 'slow':
        slow(path)
    elif kind == 'small':
        open(path, 'wb').write(header(machine=3, bits=1) + bytes(4096))
    elif kind == 'machine':
        open(path, 'wb').write(header(machine=183) + bytes(4096))
    elif kind == 'cut':
        whole = open('/proc/self/exe', 'rb').read()
        open(path, 'wb').write(whole[:len(whole) // 2])


main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
