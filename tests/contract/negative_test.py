#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Shows that check_archive.py reports every rule: a clean archive, and for each rule archives that break it in one place only.
# Prints a line per failure and "N passed, N failed"; exit status 1 if any failed. --list: the rules, where they are checked, and
# the archives that break them.
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import check_archive
from trace_maker import (CLOSE, COLLECTIVE, DUP, FD, MPI, NON_BLOCKING, NONE, OPEN, S, STDIN, T0, TYPE_CALLING_CONTEXT, TYPE_INT32,
                         TYPE_SOURCE_CODE_LOCATION, TYPE_STRING, TYPE_UINT8,
                         TYPE_UINT64, UNKNOWN, WRITE, Trace)

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKER = os.path.join(HERE, "check_archive.py")

# ---- the broken archives: rule, name, what to change ----

CASES = []


def case(rule):
    def register(function):
        CASES.append((rule, function))
        return function
    return register


@case(None)
def clean(t):
    pass


@case(None)
def clean_destroy_missing_in_flight(t):
    """A rank that is in a call at the end may not have come to its close."""
    t.replace(11, "IoDestroyHandle", MPI)


@case(None)
def clean_open_nonblocking(t):
    t.replace(12, "IoOperationComplete", MPI)


@case(None)
def clean_cancelled(t):
    t.replace(12, "IoOperationComplete", MPI, by=(32, "IoOperationCancelled", MPI, 2))


@case(None)
def clean_close_while_reading(t):
    """Another thread may close a handle while an operation on it is under way: the handle ends with that."""
    t.events[12] = [(30, "Enter", WRITE), (31, "IoOperationBegin", FD, 1, 0, 1, 9), (45, "IoOperationComplete", FD, 1, 9),
                    (46, "IoDestroyHandle", FD), (46, "Leave", WRITE)]
    t.replace(10, "IoDestroyHandle", FD)


@case("handle-life")
def complete_after_destroy(t):
    t.events[12] = [(30, "Enter", WRITE), (31, "IoOperationBegin", FD, 1, 0, 1, 9), (45, "IoOperationComplete", FD, 1, 9),
                    (46, "Leave", WRITE)]


@case("region-role")
def destroyed_before_the_operation_ends(t):
    t.events[12] = [(30, "Enter", WRITE), (31, "IoOperationBegin", STDIN, 0, 0, 1, 9), (44, "IoDestroyHandle", FD),
                    (45, "IoOperationComplete", STDIN, 1, 9), (46, "Leave", WRITE)]
    t.replace(10, "IoDestroyHandle", FD)


@case(None)
def clean_declared_shared(t):
    t.change("IoRegularFile", 0, 3, 0)
    t.properties["SHARED_MOUNT_0001"] = "/"


@case(None)
def clean_interrupted(t):
    destroy_missing(t)
    t.properties["RECORDING_COMPLETE"] = "no"


@case(None)
def clean_two_nodes(t):
    t.two_nodes()


@case("handle-life")
def mapping_of_handles_missing(t):
    t.two_nodes()
    del t.locals[11][1]


@case("ref-undefined")
def mapping_of_regions_wrong(t):
    t.two_nodes()
    t.locals[11][0] = t.locals[11][0][:2] + ([9, 9, 9],)


@case("clock-range")
def clock_offset_missing(t):
    t.two_nodes()
    t.locals[11][2:] = []


@case("collective-time")
def clock_offset_wrong(t):
    t.two_nodes()
    t.clock[2] = 200
    t.locals[11][2:] = [("ClockOffset", T0 + 1000, -990), ("ClockOffset", T0 + 1100, -990)]


@case("scope")
def other_nodes_file_is_used(t):
    t.two_nodes()
    t.change("IoRegularFile", 0, 3, 1)


@case("scope")
def other_nodes_file_is_deleted(t):
    t.two_nodes()
    at = t.definition("IoHandle", STDIN)
    t.definitions[at:at] = [("IoRegularFile", 2, S["/data/out"], 2), ("IoFileProperty", 2, S["Mount Point"], TYPE_STRING, S["/"]),
                            ("IoFileProperty", 2, S["File system"], TYPE_STRING, S["ext4"])]
    t.insert(10, 11, "IoDeleteFile", 0, 2)


@case("system-tree")
def two_nodes_of_one_name(t):
    t.two_nodes()
    t.change("SystemTreeNode", 2, 2, S["node1"])


@case("system-tree")
def node_below_a_node(t):
    t.two_nodes()
    t.change("SystemTreeNode", 2, 4, 1)


@case("system-tree")
def group_on_no_node(t):
    t.change("LocationGroup", 1, 4, 0)


@case("ranks")
def one_rank_twice(t):
    t.two_nodes()
    t.change("LocationGroupProperty", 1, 4, 0)


@case("ranks")
def ranks_not_in_order(t):
    t.two_nodes()
    t.change("Group", 0, 6, [11, 10])


@case("ref-dense")
def gap_in_handles(t):
    t.definitions.append(("IoHandle", DUP + 2, S[""], 0, 0, 0, NONE, NONE))


@case("ref-dense")
def string_twice(t):
    t.definitions.insert(1, ("String", 0, "again"))


@case("ref-dense")
def regions_not_ascending(t):
    i, j = t.definition("Region", 0), t.definition("Region", 1)
    t.definitions[i], t.definitions[j] = t.definitions[j], t.definitions[i]


@case("ref-undefined")
def handle_of_undefined_file(t):
    t.change("IoHandle", FD, 3, 77)


@case("ref-undefined")
def region_of_undefined_string(t):
    t.change("Region", WRITE, 2, 999)


@case("ref-undefined")
def location_of_undefined_group(t):
    t.change("Location", 12, 5, 9)


@case("ref-undefined")
def parent_after_its_child(t):
    i, j = t.definition("IoHandle", MPI), t.definition("IoHandle", FD)
    t.definitions[i], t.definitions[j] = t.definitions[j], t.definitions[i]


@case("ref-undefined")
def enter_of_undefined_region(t):
    t.insert(10, 70, "Enter", 55)
    t.insert(10, 71, "Leave", 55)


@case("ref-undefined")
def operation_on_undefined_handle(t):
    t.insert(10, 10, "IoSeek", 88, 0, 0, 0)


@case("ref-undefined")
def delete_of_undefined_file(t):
    t.insert(10, 10, "IoDeleteFile", 0, 66)


@case("ref-undefined")
def delete_of_undefined_paradigm(t):
    t.insert(10, 10, "IoDeleteFile", 7, 0)


@case("ref-undefined")
def attribute_undefined(t):
    t.replace(10, "Leave", OPEN, by=(3, "Leave", OPEN, {99: (TYPE_UINT8, 1)}))


@case("attribute")
def attribute_of_another_type(t):
    t.replace(10, "Leave", OPEN, by=(3, "Leave", OPEN, {1: (TYPE_UINT64, 1)}))


@case("ref-undefined")
def context_undefined(t):
    t.replace(10, "Enter", WRITE, by=(10, "Enter", WRITE, {4: (TYPE_CALLING_CONTEXT, 2)}))


@case("ref-undefined")
def parent_of_context_undefined(t):
    t.change("CallingContext", 1, 4, 1)


@case("ref-dense")
def contexts_with_a_gap(t):
    t.change("CallingContext", 1, 1, 2)


@case("attribute")
def context_on_leave(t):
    t.replace(10, "Leave", OPEN, by=(3, "Leave", OPEN, {4: (TYPE_CALLING_CONTEXT, 1)}))


@case("attribute")
def line_without_context(t):
    t.replace(10, "Enter", WRITE, by=(10, "Enter", WRITE, {3: (TYPE_SOURCE_CODE_LOCATION, 0)}))


@case("attribute")
def context_inside_of_a_call(t):
    t.insert(10, 2, "Enter", WRITE, {4: (TYPE_CALLING_CONTEXT, 1)})
    t.insert(10, 2, "Leave", WRITE)


@case("attribute")
def offset_on_leave(t):
    t.replace(10, "Leave", OPEN, by=(3, "Leave", OPEN, {0: (TYPE_UINT64, 1)}))


def live(t, *moments):
    at = t.definition("Location", 12) + 1
    t.definitions[at:at] = [("LocationProperty", 12, S[name], TYPE_UINT64, T0 + time) for name, time in moments]


@case(None)
def clean_lifetime(t):
    live(t, ("Begin", 20), ("End", 40))


@case("lifetime")
def end_before_begin(t):
    live(t, ("Begin", 20), ("End", 19))


@case("lifetime")
def end_before_found(t):
    live(t, ("Found", 20), ("End", 19))


@case("lifetime")
def found_and_begun(t):
    live(t, ("Begin", 20), ("Found", 20))


def carry_out(t, location=12, size=5, request=2, mode=1, handle=FD):
    """An operation for the non-blocking one (2: a write of 5 bytes on MPI, from 20 to 32)."""
    at = t.find(location, "Enter", WRITE) if location == 12 else t.find(location, "Enter", CLOSE)
    t.events[location][at:at] = [(25, "Enter", WRITE),
                                 (25, "IoOperationBegin", handle, mode, 0, size, 9, {7: (TYPE_UINT64, request)}),
                                 (26, "IoOperationComplete", handle, 1, 9), (26, "Leave", WRITE)]


@case(None)
def clean_carried_out(t):
    carry_out(t)


@case("request")
def carried_out_by_the_same_thread(t):
    carry_out(t, location=10)


@case("request")
def carried_out_in_another_size(t):
    carry_out(t, size=6)


@case("request")
def carried_out_in_another_mode(t):
    carry_out(t, mode=0)


@case("request")
def carried_out_on_another_file(t):
    carry_out(t, handle=STDIN)


@case("request")
def blocking_operation_carried_out(t):
    carry_out(t, request=1)


@case("request")
def carried_out_after_its_end(t):
    carry_out(t)
    t.replace(12, "IoOperationComplete", MPI)
    t.insert(12, 24, "IoOperationTest", MPI, 2)
    t.insert(12, 24, "IoOperationComplete", MPI, UNKNOWN, 2)


@case("attribute")
def directory_without_path(t):
    t.replace(10, "Leave", OPEN, by=(3, "Leave", OPEN, {5: (TYPE_STRING, 0)}))


@case("ref-undefined")
def path_undefined(t):
    t.replace(10, "Leave", OPEN, by=(3, "Leave", OPEN, {6: (TYPE_STRING, 999)}))


def spend(t, cpu_ns, sleep_ns, io_ns, before_ns, long=100000):
    """The second call of location 10 lasts 100 us, and so does the time before it."""
    for location in t.events:
        t.events[location] = [(at * long // 2, *rest) for at, *rest in t.events[location]]
    t.clock[2] *= long
    t.replace(10, "Leave", WRITE, by=(12 * long // 2, "Leave", WRITE,
                                      {8: (TYPE_UINT64, cpu_ns), 9: (TYPE_UINT64, sleep_ns), 10: (TYPE_UINT64, io_ns),
                                                                        11: (TYPE_UINT64, before_ns)}))


@case(None)
def clean_cpu_time(t):
    spend(t, 60000, 40000, 30000, 350000)


@case("cpu-time")
def more_cpu_time_than_time(t):
    spend(t, 70000, 40000, 30000, 350000)


@case("cpu-time")
def more_sleep_for_io_than_sleep(t):
    spend(t, 60000, 40000, 50000, 350000)


@case("cpu-time")
def more_sleep_before_than_time(t):
    spend(t, 60000, 40000, 30000, 360000)


@case("cpu-time")
def cpu_time_of_inner_call(t):
    t.insert(10, 11, "Enter", CLOSE)
    t.insert(10, 11, "Leave", CLOSE, {8: (TYPE_UINT64, 1)})


@case("system-tree")
def two_roots(t):
    t.change("SystemTreeNode", 1, 4, NONE)


@case("system-tree")
def root_is_no_machine(t):
    t.change("SystemTreeNode", 0, 3, S["node"])


@case("group-members")
def index_out_of_range(t):
    t.change("Group", 1, 6, [0, 2])


@case("group-members")
def undefined_location(t):
    t.change("Group", 0, 6, [10, 99])


@case("group-members")
def member_twice(t):
    t.change("Group", 1, 6, [0, 0])


@case("group-members")
def two_self_groups(t):
    t.definitions.append(("Group", 3, S[""], 6, 4, 0, []))


@case("group-members")
def comm_without_locations(t):
    t.change("Group", 0, 3, 1)


@case("file-property")
def no_mount_point(t):
    t.remove("IoFileProperty", 0)


@case("file-property")
def no_file_system(t):
    t.change("IoFileProperty", 0, 2, S["File system"])


@case("pre-created")
def no_state(t):
    t.remove("IoPreCreatedHandleState", STDIN)


@case("pre-created")
def no_flag(t):
    t.change("IoHandle", STDIN, 5, 0)


@case("serial")
def serial_with_communicator(t):
    t.change("IoHandle", DUP, 6, 0)


@case("serial")
def serial_collective(t):
    t.replace(10, "IoOperationBegin", FD, by=(10, "IoOperationBegin", FD, 1, COLLECTIVE, 100, 1))


@case("parent")
def parent_on_another_file(t):
    t.change("IoHandle", FD, 3, 1)


def in_directory(t, name):
    at = t.definition("IoHandle", STDIN)
    t.definitions[at:at] = [("IoDirectory", 2, S[name], NONE)]
    t.change("IoHandle", MPI, 3, 2)


@case(None)
def clean_parent_is_directory(t):
    in_directory(t, "/data")


@case("parent")
def parent_is_other_directory(t):
    in_directory(t, "/da")


@case("parent")
def parent_is_later(t):
    t.change("IoHandle", FD, 7, DUP)


@case("event-count")
def count_too_low(t):
    t.change("Location", 10, 4, 5)


@case("event-count")
def count_too_high(t):
    t.change("Location", 10, 4, 500)


@case("clock-range")
def event_after_the_end(t):
    t.clock[2] = 50


@case("clock-range")
def event_before_the_begin(t):
    t.clock[1] = T0 + 1


@case("clock-range")
def no_clock(t):
    t.clock = None


@case("nesting")
def leave_without_enter(t):
    t.insert(10, 70, "Leave", WRITE)


@case("nesting")
def leave_of_another_region(t):
    t.replace(10, "Leave", OPEN, by=(3, "Leave", WRITE))


@case("handle-life")
def use_before_create(t):
    t.insert(12, 30, "IoSeek", DUP, 0, 0, 0)


@case("handle-life")
def use_after_destroy(t):
    t.insert(10, 50, "IoSeek", FD, 0, 0, 0)


@case("handle-life")
def use_in_another_group(t):
    t.insert(11, 2, "IoChangeStatusFlags", FD, 0)


@case("handle-life")
def begin_after_destroy(t):
    t.replace(10, "IoOperationBegin", STDIN, by=(50, "IoOperationBegin", FD, 0, 0, 5, 3))


@case("handle-life")
def created_twice(t):
    t.insert(10, 2, "IoCreateHandle", FD, 2, 0, 0)


@case("handle-life")
def precreated_is_created(t):
    t.insert(10, 2, "IoCreateHandle", STDIN, 2, 0, 0)


@case("handle-life")
def created_after_destroy(t):
    t.insert(10, 44, "IoCreateHandle", FD, 2, 0, 0)


@case("handle-life")
def destroyed_twice(t):
    t.insert(10, 43, "IoDestroyHandle", FD)


@case("handle-life")
def duplicate_of_destroyed(t):
    t.replace(10, "IoDuplicateHandle", FD)
    t.replace(10, "IoDestroyHandle", DUP)
    t.insert(10, 43, "IoDuplicateHandle", FD, DUP, 0)


@case("handle-life")
def lock_of_inactive(t):
    t.insert(10, 2, "IoAcquireLock", DUP, 0)


@case("operation-id")
def id_twice(t):
    t.insert(10, 11, "IoOperationBegin", FD, 1, 0, 100, 1)
    t.insert(10, 11, "IoOperationComplete", FD, 100, 1)


@case("operation-id")
def id_twice_on_two_ranks(t):
    t.replace(11, "IoOperationBegin", STDIN, by=(100, "IoOperationBegin", STDIN, 0, 0, 5, 1))


@case("operation-order")
def complete_without_begin(t):
    t.replace(10, "IoOperationBegin", FD)


@case("operation-order")
def complete_twice(t):
    t.insert(10, 11, "IoOperationComplete", FD, 100, 1)


@case("operation-order")
def complete_before_issued(t):
    t.replace(10, "IoOperationIssued", MPI)


@case("operation-order")
def test_before_issued(t):
    t.replace(10, "IoOperationIssued", MPI, by=(20, "IoOperationTest", MPI, 2))


@case("operation-order")
def issued_twice(t):
    t.insert(10, 21, "IoOperationIssued", MPI, 2)


@case("operation-order")
def blocking_is_issued(t):
    t.insert(10, 10, "IoOperationIssued", FD, 1)


@case("operation-order")
def blocking_is_cancelled(t):
    t.replace(10, "IoOperationComplete", FD, by=(11, "IoOperationCancelled", FD, 1))


@case("operation-order")
def test_after_complete(t):
    t.insert(12, 32, "IoOperationTest", MPI, 2)


@case("operation-handle")
def complete_on_another_handle(t):
    t.replace(10, "IoOperationComplete", FD, by=(11, "IoOperationComplete", MPI, 100, 1))


@case("operation-location")
def blocking_ends_elsewhere(t):
    t.replace(10, "IoOperationComplete", FD)
    t.insert(12, 30, "IoOperationComplete", FD, 100, 1)
    t.replace(10, "Leave", WRITE, by=(35, "Leave", WRITE))
    remove_nonblocking(t)


def remove_nonblocking(t):
    """Makes room for a longer blocking call before it."""
    events = t.events[10]
    i = t.find(10, "IoOperationBegin", MPI)
    del events[i - 1:i + 3]
    t.replace(12, "IoOperationTest", MPI)
    t.replace(12, "IoOperationComplete", MPI)


@case("operation-location")
def issued_elsewhere(t):
    t.replace(10, "IoOperationIssued", MPI)
    t.insert(12, 30, "IoOperationIssued", MPI, 2)


@case("operation-open")
def blocking_never_completes(t):
    t.replace(10, "IoOperationComplete", FD)


@case("operation-open")
def not_abandoned(t):
    t.events[10][-1] = (60, "Leave", WRITE)


@case("outside-call")
def begin_outside_of_a_call(t):
    t.insert(10, 5, "IoOperationBegin", FD, 1, 0, 1, 6)
    t.insert(10, 5, "IoOperationComplete", FD, 1, 6)


@case("collective")
def create_missing(t):
    t.events[11] = [(0, "Enter", WRITE), (90, "Leave", WRITE)]


@case("collective")
def destroy_missing(t):
    t.replace(11, "IoDestroyHandle", MPI)
    t.events[11] = t.events[11][:-2]


@case("collective")
def create_by_a_stranger(t):
    t.change("Group", 1, 6, [0])


@case(None)
def clean_failed_call(t):
    t.insert(10, 70, "Enter", WRITE)
    t.insert(10, 71, "IoOperationBegin", STDIN, 0, 0, 5, 7)
    t.insert(10, 72, "IoOperationComplete", STDIN, UNKNOWN, 7)
    t.insert(10, 73, "Leave", WRITE, {2: (TYPE_INT32, 9)})


@case(None)
def clean_collective_operations(t):
    collective_write(t, 10, 5, 20)
    collective_write(t, 11, 5, 21)
    t.events[11] = t.events[11][:-2]


def collective_write(t, location, time, number):
    t.insert(location, time, "Enter", WRITE)
    t.insert(location, time, "IoOperationBegin", MPI, 1, COLLECTIVE, 5, number)
    t.insert(location, time, "IoOperationComplete", MPI, 5, number)
    t.insert(location, time, "Leave", WRITE)


@case("collective")
def operation_on_one_member_only(t):
    collective_write(t, 10, 5, 20)
    t.events[11] = t.events[11][:-2]


@case("failed-call")
def failed_call_creates(t):
    t.replace(10, "Leave", OPEN, by=(3, "Leave", OPEN, {2: (TYPE_INT32, 9)}))


@case("failed-call")
def failed_call_destroys(t):
    t.replace(10, "Leave", CLOSE, by=(44, "Leave", CLOSE, {2: (TYPE_INT32, 9)}))


@case("failed-call")
def failed_call_moves_bytes(t):
    t.replace(10, "Leave", WRITE, by=(12, "Leave", WRITE, {2: (TYPE_INT32, 9)}))


@case("operation-bytes")
def more_moved_than_asked(t):
    t.replace(10, "IoOperationComplete", FD, by=(11, "IoOperationComplete", FD, 101, 1))


@case("operation-order")
def never_issued(t):
    t.replace(10, "IoOperationIssued", MPI)
    t.replace(12, "IoOperationTest", MPI)
    t.replace(12, "IoOperationComplete", MPI)


@case("outside-call")
def create_outside_of_a_call(t):
    t.replace(10, "IoDuplicateHandle", FD)
    t.replace(10, "IoDestroyHandle", DUP)
    t.insert(10, 6, "IoDuplicateHandle", FD, DUP, 0)


@case("outside-call")
def seek_outside_of_a_call(t):
    t.insert(10, 6, "IoSeek", FD, 0, 0, 0)


@case("region-role")
def operation_in_metadata(t):
    t.change("Region", WRITE, 5, 38)


@case("region-role")
def open_is_no_metadata(t):
    t.change("Region", OPEN, 5, 27)


@case("layer")
def operation_in_another_layer(t):
    t.change("Region", WRITE, 4, S["MPI-IO"])


@case("layer")
def create_in_another_layer(t):
    t.change("Region", OPEN, 4, S["POSIX"])


@case("duplicate")
def duplicate_on_another_file(t):
    t.change("IoHandle", DUP, 3, 1)


@case("region")
def canonical_name_differs(t):
    t.change("Region", WRITE, 3, S["MPI_File_open"])


@case("region")
def paradigm_unknown(t):
    t.change("Region", WRITE, 6, 0)


@case("mode")
def no_access_mode(t):
    t.replace(10, "IoCreateHandle", FD, by=(1, "IoCreateHandle", FD, 7, 0, 0))


@case("mode")
def no_operation_mode(t):
    t.replace(10, "IoOperationBegin", FD, by=(10, "IoOperationBegin", FD, 9, 0, 100, 1))


@case("attribute")
def errno_on_begin(t):
    t.replace(10, "IoOperationBegin", FD, by=(10, "IoOperationBegin", FD, 1, 0, 100, 1, {2: (TYPE_INT32, 9)}))


@case("attribute")
def errno_of_blocking_operation(t):
    t.replace(10, "IoOperationComplete", FD, by=(11, "IoOperationComplete", FD, (1 << 64) - 1, 1, {2: (TYPE_INT32, 9)}))


@case("paradigm")
def parallel_posix(t):
    t.change("IoParadigm", 0, 4, 1)


@case("paradigm")
def mpi_io_of_the_system(t):
    t.change("IoParadigm", 1, 5, 1)


@case("paradigm")
def paradigm_twice(t):
    t.change("IoParadigm", 1, 2, S["POSIX"])


@case("definition-order")
def region_before_location(t):
    i, j = t.definition("Region", WRITE), t.definition("LocationGroup", 0)
    t.definitions.insert(j, t.definitions.pop(i))


@case("location")
def group_is_no_process(t):
    t.change("LocationGroup", 1, 3, 0)


@case("location")
def location_is_no_thread(t):
    t.change("Location", 12, 3, 2)


@case("location")
def rank_twice(t):
    t.change("LocationGroup", 1, 2, S["MPI Rank 0"])


@case("group-members")
def ranks_out_of_order(t):
    t.change("Group", 0, 6, [11, 10])


@case("group-members")
def member_is_no_rank(t):
    t.change("LocationGroup", 1, 2, S["cluster"])


@case("system-tree")
def node_of_another_class(t):
    t.change("SystemTreeNode", 1, 3, S["cluster"])


@case("system-tree")
def no_machine_domain(t):
    t.change("SystemTreeNodeDomain", 0, 2, 1)


@case("system-tree")
def no_shared_memory_domain(t):
    t.change("SystemTreeNodeDomain", 1, 2, 2)


@case("file-path")
def relative_path(t):
    t.change("IoRegularFile", 0, 2, S["relative/out"])


@case("file-scope")
def local_file_on_the_machine(t):
    t.change("IoRegularFile", 0, 3, 0)


@case("file-scope")
def shared_file_on_a_node(t):
    i = t.definition("IoFileProperty", 0) + 1
    t.definitions[i] = t.definitions[i][:4] + (S["nfs"],)


# ---- archives that are broken in the file itself ----

def patch(path, old, new):
    with open(path, "r+b") as file:
        data = file.read()
        assert data.count(old) == 1, "%d places to patch" % data.count(old)
        file.seek(data.index(old))
        file.write(new)


def time_goes_back(anchor):
    """The writer refuses such an event, so the file is changed: T0 + 33 on location 12 becomes T0 + 29."""
    patch(os.path.join(anchor[:-5], "12.evt"), struct.pack("<Q", T0 + 33), struct.pack("<Q", T0 + 29))


def remove(suffix):
    def function(anchor):
        os.unlink(os.path.join(anchor[:-5], "12." + suffix))
    function.__name__ = "no_%s_file" % suffix
    return function


def truncated(name, keep):
    def function(anchor):
        path = os.path.join(os.path.dirname(anchor), name)
        os.truncate(path, keep if keep >= 0 else os.path.getsize(path) + keep)
    function.__name__ = "truncated_" + name.replace("/", "_")
    return function


def no_anchor(anchor):
    os.unlink(anchor)


FILE_CASES = [("time-order", 1, time_goes_back), ("location-file", 1, remove("def")), ("location-file", 1, remove("evt")),
              (None, 2, no_anchor), (None, 2, truncated("traces.otf2", 40)), (None, 2, truncated("traces.def", 100)),
              (None, (1, 2), truncated("traces/10.evt", 60))]


# ---- running ----

def run_checker(anchor):
    """In a child of this process, as the program does it: an interpreter for each archive would take most of the time."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        sys.stdout.flush()
        sys.stderr.flush()
        kept = os.dup(1), os.dup(2)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            status = check_archive.run_limited(check_archive.parse_arguments(["--timeout", "20", anchor]))
            sys.stderr.flush()
        finally:
            for i, descriptor in enumerate(kept):
                os.dup2(descriptor, i + 1)
                os.close(descriptor)
        out.seek(0)
        err.seek(0)
        return status, out.read(), err.read()


def run_program(anchor, *options):
    done = subprocess.run([sys.executable, CHECKER, "--timeout", "20", anchor, *options], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def judge(name, rule, statuses, anchor, *options):
    status, text, errors = run_program(anchor, *options) if options else run_checker(anchor)
    rules = set(re.findall(r"^([a-z-]+): ", text, re.M))
    output = text + errors
    good = status in statuses and (rule is None or rule in rules)
    if good and statuses == (0,):
        good = not rules
    if not good:
        print("FAIL %s: status %d (expected %s), rule %s in:\n%s" % (name, status, "/".join(map(str, statuses)), rule, output))
    return good


def run_in(root, name, trace, rule, statuses, spoil=None):
    directory = os.path.join(root, name)
    os.mkdir(directory)
    anchor = trace.write(directory)
    if spoil:
        spoil(anchor)
    return judge(name, rule, statuses, anchor)


def run_expectations(root):
    directory = os.path.join(root, "expect")
    os.mkdir(directory)
    anchor = Trace().write(directory)
    true = ['calls("write") == 5', 'calls("write", "MPI Rank 0") == 4', 'bytes_written("POSIX") == 100', 'created("MPI-IO") == 2',
            'chain("POSIX>MPI-IO", "/data/out")', 'abandoned() == 1', 'scopes("/data/*") == {"node"}', 'ranks == 2']
    results = [judge("expect_true", None, (0,), anchor, "--expect", *true)]
    for expression in ('calls("write") == 8', 'chain("MPI-IO>POSIX")', 'no_such_word == 1', 'calls("write"'):
        results.append(judge("expect_false " + expression, "expect", (1,), anchor, "--expect", expression))
    return results


def all_rules():
    """rule -> the files that check it"""
    rules = {}
    for name in ("definition_rules.py", "event_rules.py"):
        with open(os.path.join(HERE, name)) as file:
            for rule in re.findall(r'breach\(\s*"([a-z-]+)"', file.read()):
                rules.setdefault(rule, set()).add(name)
    return rules


def list_rules():
    """Each rule, where it is checked, and the archives here that break it."""
    for rule, files in sorted(all_rules().items()):
        cases = [f.__name__ for r, f in CASES if r == rule] + [f.__name__ for r, _, f in FILE_CASES if r == rule]
        print("%-18s %-40s %s" % (rule, " ".join(sorted(files)), " ".join(cases)))
    return 0


def every_rule_has_a_case():
    """A rule that no archive breaks here may be one that never fires."""
    rules = set(all_rules())
    missing = rules - {rule for rule, _ in CASES} - {rule for rule, _, _ in FILE_CASES}
    if missing or not rules:
        print("FAIL rules without a case: %s" % ", ".join(sorted(missing)))
    return bool(rules) and not missing


def main():
    root = tempfile.mkdtemp(prefix="ioprobe-negative-")
    results = [every_rule_has_a_case()]
    try:
        for rule, change in CASES:
            trace = Trace()
            change(trace)
            results.append(run_in(root, change.__name__, trace, rule, (1,) if rule else (0,)))
        for rule, statuses, spoil in FILE_CASES:
            statuses = statuses if isinstance(statuses, tuple) else (statuses,)
            results.append(run_in(root, spoil.__name__, Trace(), rule, statuses, spoil))
        results += run_expectations(root)
    finally:
        shutil.rmtree(root)
    print("%d passed, %d failed" % (sum(results), len(results) - sum(results)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(list_rules() if sys.argv[1:] == ["--list"] else main())
