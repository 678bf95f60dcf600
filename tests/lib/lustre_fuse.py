#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""lustre_fuse.py DIRECTORY open|closed|silent: in a mount namespace of its own, mounts a file system on DIRECTORY whose files have
Lustre's attribute lustre.lov, by the kernel's FUSE protocol. A child writes a block to each file, and then waits until somebody has
asked for the attribute of every file, with the files open or closed. With "silent" it waits for one question, which gets no answer,
and a process of its own, whose number is printed last, keeps the file system for a minute at most. Prints the names that
were asked for, and how often; then what the process that asked had: capabilities, NoNewPrivs, directory, descriptors, and
mappings of BPF maps.

It is no Lustre: the attributes are built here, from the structures of Lustre's public header."""
import ctypes
import os
import signal
import stat
import struct
import sys
import threading

MIB = 1 << 20
ENOENT, ERANGE, ENODATA, ENOSYS = 2, 34, 61, 38
LIMIT_S = 40


def stripes(size, devices, pool=None, pattern=1):
    """struct lov_user_md_v1, or _v3 with a pool."""
    header = struct.pack("=II16sIHH", 0x0bd30bd0 if pool else 0x0bd10bd0, pattern, b"", size, len(devices), 0)
    return header + (pool.encode().ljust(16, b"\0") if pool else b"") + b"".join(struct.pack("=16sII", b"", 0, d) for d in devices)


def composite(*components):
    """struct lov_comp_md_v1 of (start, end, layout), layout None: not allocated."""
    at, entries, blobs = 32 + 48 * len(components), b"", b""
    for number, (start, end, layout) in enumerate(components, 1):
        blob = layout or stripes(MIB, [])
        entries += struct.pack("=IIQQIIIQI", number, 0x10 if layout else 0, start, end, at + len(blobs), len(blob), 0, 0, 0)
        blobs += blob
    return struct.pack("=IIIHHH6sQ", 0x0bd60bd0, at + len(blobs), 1, 0, len(components), 0, b"", 0) + entries + blobs


FILES = {
    "plain": stripes(MIB, [3, 7, 1, 2]),
    "pooled": stripes(4 * MIB, [11, 12], "fast"),
    "composite": composite((0, MIB, stripes(MIB, [5])), (MIB, 1 << 30, stripes(4 * MIB, [5, 6, 8, 9])), (1 << 30, 2**64 - 1, None)),
    "none": None,
    "damaged": stripes(MIB, [3, 7, 1, 2])[:-1],
}


def rights_of(pid):
    """Of a process that waits for our answer."""
    with open(f"/proc/{pid}/status") as status:
        facts = dict(line.split(":\t", 1) for line in status if ":\t" in line)
    files = {int(fd): os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    with open(f"/proc/{pid}/maps") as maps:
        mapped = sum("anon_inode:" in line for line in maps)
    return (f"{int(facts['CapPrm'], 16):x} {int(facts['CapEff'], 16):x} {int(facts['CapInh'], 16):x} {int(facts['NoNewPrivs'])} "
            f"{os.readlink(f'/proc/{pid}/cwd')} {' '.join(files[fd] for fd in range(3))} {max(files)} {mapped}")


class Server:
    """A flat directory; files are made by CREATE and keep their size only."""

    def __init__(self, fuse, silent):
        self.silent = silent
        self.fuse, self.sizes, self.asked, self.rights = fuse, {}, {}, set()
        self.names = {number: name for number, name in enumerate(FILES, 2)}
        self.all_asked = threading.Event()

    def attributes(self, node):
        mode = stat.S_IFDIR | 0o755 if node == 1 else stat.S_IFREG | 0o644
        return struct.pack("=6Q10I", node, self.sizes.get(node, 0), 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def entry(self, node):
        return struct.pack("=QQQQII", node, 0, 0, 0, 0, 0) + self.attributes(node)

    def by_name(self, name):
        return next((node for node, known in self.names.items() if known == name), None)

    def attribute(self, node, data):
        size, name = struct.unpack_from("=I", data)[0], data[8:].rstrip(b"\0")
        if name != b"lustre.lov":
            return -ENODATA
        self.asked[self.names[node]] = self.asked.get(self.names[node], 0) + 1
        if self.silent or len(self.asked) == len(FILES):
            self.all_asked.set()
        if self.silent:
            return None
        value = FILES[self.names[node]]
        if value is None:
            return -ENODATA
        if not size:
            return struct.pack("=II", len(value), 0)
        return value if len(value) <= size else -ERANGE

    def answer(self, opcode, node, data):
        """Bytes, -errno, or None for no answer."""
        name = data.rstrip(b"\0").decode(errors="replace")
        if opcode == 26:                        # INIT
            return struct.pack("=IIIIHHIIHHI28s", 7, 31, 0, 0, 16, 12, 65536, 1, 0, 0, 0, b"")
        if opcode in (2, 36, 42):               # FORGET, INTERRUPT, BATCH_FORGET
            return None
        if opcode == 1:                         # LOOKUP
            known = self.by_name(name)
            return self.entry(known) if known in self.sizes else -ENOENT
        if opcode == 35:                        # CREATE
            known = self.by_name(data[16:].rstrip(b"\0").decode())
            self.sizes.setdefault(known, 0)
            return self.entry(known) + struct.pack("=QII", 0, 0, 0)
        if opcode in (3, 4):                    # GETATTR, SETATTR
            return struct.pack("=QII", 0, 0, 0) + self.attributes(node)
        if opcode == 14:                        # OPEN
            return struct.pack("=QII", 0, 0, 0)
        if opcode == 16:                        # WRITE
            _, offset, size = struct.unpack_from("=QQI", data)
            self.sizes[node] = max(self.sizes[node], offset + size)
            return struct.pack("=II", size, 0)
        if opcode == 17:                        # STATFS
            return struct.pack("=5Q4I24s", 1 << 20, 1 << 20, 1 << 20, 100, 100, 4096, 255, 4096, 0, b"")
        if opcode == 22:                        # GETXATTR
            return self.attribute(node, data)
        return b"" if opcode in (18, 25) else -ENOSYS   # RELEASE, FLUSH

    def serve(self):
        while True:
            try:
                message = os.read(self.fuse, 1 << 18)
            except OSError:                     # unmounted
                return
            _, opcode, unique, node, _, _, pid = struct.unpack_from("=IIQQIII", message)
            if opcode == 22 and message[48:].startswith(b"lustre.lov"):
                self.rights.add(rights_of(pid))
            answer = self.answer(opcode, node, message[40:])
            if answer is None:
                continue
            error, data = (answer, b"") if isinstance(answer, int) else (0, answer)
            try:
                os.write(self.fuse, struct.pack("=IiQ", 16 + len(data), error, unique) + data)
            except FileNotFoundError:           # the request was interrupted
                pass
            except OSError as failure:
                sys.stderr.write(f"answer to {opcode}: {failure}\n")
                os._exit(1)


def write_files(directory, keep_open, go):
    files = [os.open(os.path.join(directory, name), os.O_CREAT | os.O_WRONLY, 0o644) for name in FILES]
    for file in files:
        os.write(file, bytes(4096))
    for file in () if keep_open else files:
        os.close(file)
    os.read(go, 1)


def main():
    directory, keep_open = sys.argv[1], sys.argv[2] != "closed"
    libc = ctypes.CDLL(None, use_errno=True)
    fuse = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if (libc.unshare(0x20000) or libc.mount(b"none", b"/", None, 0x44000, None)
            or libc.mount(b"striped", directory.encode(), b"fuse", 0, options)):
        sys.exit(f"cannot mount: {os.strerror(ctypes.get_errno())}")
    server = Server(fuse, sys.argv[2] == "silent")
    threading.Thread(target=server.serve, daemon=True).start()
    go, gone = os.pipe()
    child = os.fork()
    if not child:
        os.close(gone)
        signal.alarm(LIMIT_S + 5)
        write_files(directory, keep_open, go)
        os._exit(0)
    server.all_asked.wait(LIMIT_S)
    keeper = server.silent and os.fork()
    if keeper == 0 and server.silent:
        signal.alarm(60)
        for fd in range(3):
            os.close(fd)
        os.close(gone)
        signal.pause()
    os.close(gone)
    print(*sorted(f"{name}:{n}" for name, n in server.asked.items()))
    print(*server.rights, sep="\n")
    if keeper:
        print(keeper, flush=True)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main()
