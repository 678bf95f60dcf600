# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Outputs that cannot take what a recording writes: disks that are full at some size, read-only ones, quotas. The program is
unharmed, what happened is said, and all that was written before is in the recovered archive."""
import ctypes
import os
import shutil
import struct
import subprocess

import archives
import kernel
from targets import THREADS

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, MS_PRIVATE, MS_REC = 0x20000, 1 << 18, 1 << 14
Q_SETQUOTA, USRQUOTA, QIF_BLIMITS = 0x800008, 0, 1
CALLS = 64 * 100        # of each thread: about 100 KiB of records, 700 KiB of archive
SMALLEST, LARGEST = 16 << 10, 2 << 20


def enter_namespace():
    """Mounts of our own, which end with us."""
    return libc.unshare(CLONE_NEWNS) == 0 and libc.mount(None, b"/", None, MS_PRIVATE | MS_REC, None) == 0


def shell(*command):
    return subprocess.run(command, capture_output=True, text=True).returncode == 0


class Recording:
    """The program "numbered_calls", launched, of a known number of calls, with its output on the disk in question."""

    def __init__(self, settings, directory, output, environment=None):
        self.settings, self.data, self.output, self.reasons = settings, os.path.join(directory, "data"), output, []
        self.environment = dict(os.environ, **(environment or {}))
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(self.data)
        os.chmod(self.data, 0o777)

    def run(self):
        """Its exit status, or None if it does not end."""
        command = [self.settings.ioprobe, "-o", self.output, "--", os.path.join(self.settings.programs, "numbered_calls"),
                   self.data, str(THREADS), "200",
                   str(CALLS)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL,
                                  env=self.environment)
        except subprocess.TimeoutExpired:
            self.reasons.append("ioprobe does not end")
            return None
        self.text, self.said = done.stdout, done.stderr
        if done.returncode < 0 or "Sanitizer" in self.said:
            self.reasons.append(f"status {done.returncode}: {self.said[-300:]}")
        return done.returncode

    def check_program(self):
        if f"numbered {THREADS} {THREADS * CALLS}\n" not in self.text:
            self.reasons.append("the program did not verify its numbers")

    def check_archive(self):
        """Recovered if need be: what was made was recorded or is counted."""
        output = archives.Output(self.settings.ioprobe, self.output, self.reasons)
        if not output.check():
            return "nothing recorded"
        output.check_numbers(self.data, from_first=True)
        recorded = sum(len(v) for v in output.offsets.values())
        if recorded + output.lost() < THREADS * CALLS:
            self.reasons.append(f"made {THREADS * CALLS}, recorded {recorded}, counted as lost {output.lost()}")
        return output.count()


def full_disk(settings, results, name, size):
    directory, mount = os.path.join(settings.tmp, "disk"), os.path.join(settings.tmp, "mount")
    os.makedirs(mount, exist_ok=True)
    if not shell("mount", "-t", "tmpfs", "-o", f"size={size}", "small", mount):
        results.skip(name, "cannot mount")
        return
    recording, before, detail = Recording(settings, directory, os.path.join(mount, "trace")), kernel.all_ids(), ""
    status = recording.run()
    if status is not None:
        recording.check_program()
        complete = os.path.exists(os.path.join(recording.output, "traces.otf2"))
        if status not in (0, 1) or (status == 0 and not complete):
            recording.reasons.append(f"status {status}, archive {'complete' if complete else 'missing'}: {recording.said[-200:]}")
        if status == 1 and not any(w in recording.said for w in ("No space", "space left")):
            recording.reasons.append(f"the reason is not said: {recording.said[-200:]}")
        shell("mount", "-o", "remount,size=64m", mount)
        detail = recording.check_archive()
    if left := kernel.left_behind(before):
        recording.reasons.append(f"BPF objects left: {left}")
    shell("umount", mount)
    results.verdict(name, recording.reasons, f"{detail}, status {status}")


def full_disks(settings, results, random, n):
    for i in range(n):
        size = int(SMALLEST * (LARGEST / SMALLEST) ** ((i + random.random()) / n)) & ~4095
        name = f"full disk {i + 1} of {size >> 10} KiB"
        if results.wanted(name):
            full_disk(settings, results, name, size)


def read_only(settings, results):
    directory, mount = os.path.join(settings.tmp, "disk"), os.path.join(settings.tmp, "mount")
    if not results.wanted("read-only output"):
        return
    os.makedirs(mount, exist_ok=True)
    if not shell("mount", "-t", "tmpfs", "-o", "ro", "small", mount):
        results.skip("read-only output", "cannot mount")
        return
    recording = Recording(settings, directory, os.path.join(mount, "trace"))
    status = recording.run()
    if status != 1 or "Read-only" not in recording.said:
        recording.reasons.append(f"status {status}: {recording.said[-200:]}")
    if os.listdir(recording.data):
        recording.reasons.append("the program ran")
    shell("umount", mount)
    results.verdict("read-only output", recording.reasons)


# ---- quota ----

class UserQuota:
    """Of the caller of sudo, on ext4: what is made for him counts. Needs the kernel's quota formats."""
    name = "user, ext4"

    def __init__(self, settings, mount):
        self.uid, self.mount, self.output, self.device = settings.uid, mount, os.path.join(mount, "trace"), None
        self.image = os.path.join(settings.tmp, "image")

    def begin(self, kib):
        with open(self.image, "wb") as file:
            file.truncate(32 << 20)
        if not shell("/usr/sbin/mkfs.ext4", "-q", "-O", "quota", "-E", "quotatype=usrquota", self.image) or \
                not shell("mount", "-o", "loop,usrquota", self.image, self.mount):
            return False
        with open("/proc/self/mounts") as file:
            self.device = next((line.split()[0] for line in file if line.split()[1] == self.mount), None)
        return bool(self.device) and self.limit(kib)

    def limit(self, kib):
        block = struct.pack("=8QI4x", kib, kib, 0, 0, 0, 0, 0, 0, QIF_BLIMITS)
        command = ctypes.c_int((Q_SETQUOTA << 8 | USRQUOTA) & 0x7fffffff)
        return libc.quotactl(command, self.device.encode(), int(self.uid), block) == 0

    def lift(self):
        self.limit(0)

    def end(self):
        shell("umount", self.mount)


class SubvolumeQuota:
    """Of a subvolume of btrfs, whoever writes."""
    name = "subvolume, btrfs"

    def __init__(self, settings, mount):
        self.mount, self.subvolume, self.image = mount, os.path.join(mount, "sub"), os.path.join(settings.tmp, "image")
        self.output = os.path.join(self.subvolume, "trace")

    def begin(self, kib):
        with open(self.image, "wb") as file:
            file.truncate(128 << 20)
        return shell("/usr/sbin/mkfs.btrfs", "-q", "-f", self.image) and shell("mount", "-o", "loop", self.image, self.mount) and \
            shell("btrfs", "quota", "enable", self.mount) and shell("btrfs", "subvolume", "create", self.subvolume) and \
            shell("chmod", "777", self.subvolume) and shell("btrfs", "qgroup", "limit", f"{kib}K", self.subvolume)

    def lift(self):
        shell("btrfs", "qgroup", "limit", "none", self.subvolume)

    def end(self):
        shell("umount", self.mount)


def quota(settings, results, kind, kib):
    name = f"quota of {kib} KiB, {kind.name}"
    directory, mount = os.path.join(settings.tmp, "disk"), os.path.join(settings.tmp, "mount")
    if not results.wanted(name):
        return
    os.makedirs(mount, exist_ok=True)
    disk = kind(settings, mount)
    if not settings.uid or not disk.begin(kib):
        results.skip(name, "the kernel has no such quota, or its tools are missing")
    else:
        os.chmod(mount, 0o777)
        recording = Recording(settings, directory, disk.output,
                              {"SUDO_UID": settings.uid, "SUDO_GID": settings.gid, "SUDO_USER": "games"})
        status, detail = recording.run(), "refused"
        if status == 1 and "quota" not in recording.said.lower():
            recording.reasons.append(f"the reason is not said: {recording.said[-300:]}")
        disk.lift()
        if status != 1 or os.listdir(recording.data):           # else it could not begin: the program was not started
            recording.check_program()
            detail = recording.check_archive()
        results.verdict(name, recording.reasons, f"{detail}, status {status}")
    disk.end()


def run(settings, results, random, n):
    if not enter_namespace():
        results.skip("disks", "no mount namespace")
        return
    full_disks(settings, results, random, n)
    read_only(settings, results)
    for kind in (UserQuota, SubvolumeQuota):
        for kib in (64, 256, 2048) if n > 3 else (256,):
            quota(settings, results, kind, kib)
