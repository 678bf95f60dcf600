# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Whether somebody else was using the machine: busy time of all CPUs less that of this benchmark's session."""
import os
import time

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def busy_s():
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) * TICK_S


def fields_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()


def own_s():
    """CPU time of all processes of this session; with the children that this process has reaped."""
    session, ticks = os.getsid(0), 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = fields_of(pid)
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks += int(fields[11]) + int(fields[12])
        if int(pid) == os.getpid():
            ticks += int(fields[13]) + int(fields[14])
    return ticks * TICK_S


class Watch:
    """others() is the number of CPUs that others have kept busy since this was made."""

    def __init__(self):
        self.begin = (time.monotonic(), busy_s(), own_s())

    def others(self):
        wall, busy, own = (now - then for now, then in zip((time.monotonic(), busy_s(), own_s()), self.begin))
        return max(0.0, (busy - own) / wall) if wall > 0 else 0.0
