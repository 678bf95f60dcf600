#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""foreign_trace.py DIR [RANKS]: a trace as Score-P writes one: user functions around POSIX I/O of two ranks, no offsets, no errno,
no properties of ioprobe, but RANKS as the missing ranks. Rank 1 makes 5000 small writes with an offset that is not recorded."""
import sys

import _otf2
import otf2
from otf2.enums import IoAccessMode, IoOperationMode, IoParadigmClass, IoParadigmFlag, Paradigm, RegionRole

MICROSECOND = 1000


def main():
    with otf2.writer.open(sys.argv[1], timer_resolution=1000000000) as trace:
        if len(sys.argv) > 2:
            _otf2.Archive_SetProperty(trace._handle, "IOPROBE::MISSING_RANKS", sys.argv[2], True)
        d = trace.definitions
        tree = d.system_tree_node("machine", class_name="machine")
        node = d.system_tree_node("node1", class_name="node", parent=tree)
        paradigm = d.io_paradigm("POSIX", "POSIX I/O", IoParadigmClass.SERIAL, IoParadigmFlag.OS)
        main_region = d.region("main", paradigm=Paradigm.USER)
        write = d.region("pwrite64", paradigm=Paradigm.IO if hasattr(Paradigm, "IO") else Paradigm.USER,
                         region_role=RegionRole.FILE_IO)
        file = d.io_regular_file("/scratch/out.dat", scope=tree)
        for rank in range(2):
            group = d.location_group(f"MPI Rank {rank}", system_tree_parent=node)
            writer = trace.event_writer("Master thread", group=group)
            handle = d.io_handle(file=file, name="out", io_paradigm=paradigm)
            t = 1000000
            writer.enter(t, main_region)
            writer.io_create_handle(t + 1, handle, IoAccessMode.READ_WRITE, 0, 0)
            for i in range(5000 if rank else 10):
                t += 20 * MICROSECOND
                writer.enter(t, write)
                writer.io_operation_begin(t, handle, IoOperationMode.WRITE, 0, 100, i)
                writer.io_operation_complete(t + 10 * MICROSECOND, handle, 100, i)
                writer.leave(t + 10 * MICROSECOND, write)
            writer.io_destroy_handle(t + 15 * MICROSECOND, handle)
            writer.leave(t + 20 * MICROSECOND, main_region)


main()
