# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# A small clean trace of two ranks and three threads as lists of definitions and events, which tests change in one place and write.
import os

import _otf2

NONE = 0xFFFFFFFF
UNKNOWN = 0xFFFFFFFFFFFFFFFF
T0 = 0x1122334455667700         # a pattern that is found in the file

STRINGS = ["", "POSIX", "POSIX I/O", "MPI-IO", "MPI I/O", "cluster", "machine", "node1", "node", "MPI Rank 0", "MPI Rank 1",
           "Thread",
           "write", "MPI_File_open", "Offset", "Abandoned", "Mount Point", "/", "File system", "ext4", "/data/out", "stdin", "MPI",
           "errno",
           "nfs", "relative/out", "close", "node2", "IOPROBE::RANK", "main.c", "SOURCE_CODE_LOCATION",
           "CALLING_CONTEXT", "Directory", "Path", "Request", "Begin", "Found", "End", "CPU time", "Sleep", "Sleep for I/O",
           "Sleep before", "/data",
           "/da"]
S = {text: ref for ref, text in enumerate(STRINGS)}
WRITE, OPEN, CLOSE = 0, 1, 2    # regions
STDIN, MPI, FD, DUP = 0, 1, 2, 3
NON_BLOCKING, COLLECTIVE = 1, 2
TYPE_UINT8, TYPE_UINT32, TYPE_UINT64, TYPE_INT32, TYPE_STRING = 1, 3, 4, 7, 11
TYPE_SOURCE_CODE_LOCATION, TYPE_CALLING_CONTEXT = 20, 21


class Trace:
    """Definitions and events as lists; a test changes one thing and writes them."""

    def __init__(self):
        self.clock = [1000000000, T0, 100, T0]
        self.properties = {}
        # location -> definitions of its .def: ("MappingTable", kind, refs) and ("ClockOffset", time, offset)
        self.locals = {}
        self.definitions = [("String", i, text) for i, text in enumerate(STRINGS)] + [
            ("Paradigm", 4, S["MPI"], 0),
            ("IoParadigm", 0, S["POSIX"], S["POSIX I/O"], 0, 1, [], [], []),
            ("IoParadigm", 1, S["MPI-IO"], S["MPI I/O"], 1, 0, [], [], []),
            ("SystemTreeNode", 0, S["cluster"], S["machine"], NONE),
            ("SystemTreeNodeDomain", 0, 0),
            ("SystemTreeNode", 1, S["node1"], S["node"], 0),
            ("SystemTreeNodeDomain", 1, 1),
            ("LocationGroup", 0, S["MPI Rank 0"], 1, 1, NONE),
            ("LocationGroup", 1, S["MPI Rank 1"], 1, 1, NONE),
            ("Location", 10, S["Thread"], 1, None, 0),
            ("Location", 11, S["Thread"], 1, None, 1),
            ("Location", 12, S["Thread"], 1, None, 0),
            ("Region", WRITE, S["write"], S["write"], S[""], 27, 22, 0, NONE, 0, 0),
            ("Region", OPEN, S["MPI_File_open"], S["MPI_File_open"], S[""], 38, 4, 0, NONE, 0, 0),
            ("Region", CLOSE, S["close"], S["close"], S[""], 38, 22, 0, NONE, 0, 0),
            ("SourceCodeLocation", 0, S["main.c"], 12),
            ("CallingContext", 0, CLOSE, NONE, NONE),
            ("CallingContext", 1, CLOSE, 0, 0),
            ("Group", 0, S[""], 4, 4, 0, [10, 11]),
            ("Group", 1, S[""], 5, 4, 0, [0, 1]),
            ("Group", 2, S[""], 6, 4, 0, []),
            ("Comm", 0, S[""], 1, NONE, 0),
            ("Attribute", 0, S["Offset"], S[""], TYPE_UINT64),
            ("Attribute", 1, S["Abandoned"], S[""], TYPE_UINT8),
            ("Attribute", 2, S["errno"], S[""], TYPE_INT32),
            ("Attribute", 3, S["SOURCE_CODE_LOCATION"], S[""], TYPE_SOURCE_CODE_LOCATION),
            ("Attribute", 4, S["CALLING_CONTEXT"], S[""], TYPE_CALLING_CONTEXT),
            ("Attribute", 5, S["Directory"], S[""], TYPE_STRING),
            ("Attribute", 6, S["Path"], S[""], TYPE_STRING),
            ("Attribute", 7, S["Request"], S[""], TYPE_UINT64),
            ("Attribute", 8, S["CPU time"], S[""], TYPE_UINT64),
            ("Attribute", 9, S["Sleep"], S[""], TYPE_UINT64),
            ("Attribute", 10, S["Sleep for I/O"], S[""], TYPE_UINT64),
            ("Attribute", 11, S["Sleep before"], S[""], TYPE_UINT64),
            ("IoRegularFile", 0, S["/data/out"], 1),
            ("IoFileProperty", 0, S["Mount Point"], TYPE_STRING, S["/"]),
            ("IoFileProperty", 0, S["File system"], TYPE_STRING, S["ext4"]),
            ("IoRegularFile", 1, S["stdin"], NONE),
            ("IoHandle", STDIN, S["stdin"], 1, 0, 1, NONE, NONE),
            ("IoPreCreatedHandleState", STDIN, 0, 0),
            ("IoHandle", MPI, S[""], 0, 1, 0, 0, NONE),
            ("IoHandle", FD, S[""], 0, 0, 0, NONE, MPI),
            ("IoHandle", DUP, S[""], 0, 0, 0, NONE, NONE),
        ]
        self.events = {
            10: [
                (0, "Enter", OPEN), (1, "IoCreateHandle", FD, 2, 0, 0), (2, "IoCreateHandle", MPI, 2, 0, 0), (3, "Leave", OPEN),
                (10, "Enter", WRITE, {3: (TYPE_SOURCE_CODE_LOCATION, 0), 4: (TYPE_CALLING_CONTEXT, 1)}),
                (10, "IoOperationBegin", FD, 1, 0, 100, 1, {0: (TYPE_UINT64, 4096)}),
                (11, "IoOperationComplete", FD, 100, 1), (12, "Leave", WRITE),
                (20, "Enter", WRITE), (20, "IoOperationBegin", MPI, 1, NON_BLOCKING, 5, 2), (21, "IoOperationIssued", MPI, 2),
                (22, "Leave", WRITE),
                (40, "Enter", CLOSE), (40, "IoDuplicateHandle", FD, DUP, 0), (41, "IoDestroyHandle", DUP),
                (42, "IoDestroyHandle", FD),
                (43, "IoDestroyHandle", MPI), (44, "Leave", CLOSE),
                (50, "Enter", WRITE), (50, "IoOperationBegin", STDIN, 0, 0, 5, 3),
                (60, "Leave", WRITE, {1: (TYPE_UINT8, 1)}),
            ],
            11: [(0, "Enter", OPEN), (2, "IoCreateHandle", MPI, 2, 0, 0), (3, "Leave", OPEN),
                 (40, "Enter", CLOSE), (41, "IoDestroyHandle", MPI), (42, "Leave", CLOSE),
                 (90, "Enter", WRITE), (100, "IoOperationBegin", STDIN, 0, 0, 5, 4)],
            12: [(30, "Enter", WRITE), (31, "IoOperationTest", MPI, 2), (32, "IoOperationComplete", MPI, UNKNOWN, 2),
                 (33, "Leave", WRITE)],
        }

    # ---- changes ----

    def two_nodes(self):
        """Rank 1 moves to a node of its own, whose events have refs and a clock of their own, as in a merged archive."""
        at = self.definition("SystemTreeNodeDomain", 1) + 1
        self.definitions[at:at] = [("SystemTreeNode", 2, S["node2"], S["node"], 0), ("SystemTreeNodeDomain", 2, 1)]
        self.change("LocationGroup", 1, 4, 2)
        at = self.definition("Location", 10)
        self.definitions[at:at] = [("LocationGroupProperty", 0, S["IOPROBE::RANK"], TYPE_UINT32, 0),
                                   ("LocationGroupProperty", 1, S["IOPROBE::RANK"], TYPE_UINT32, 1)]
        self.change("IoRegularFile", 0, 3, 0)
        at = self.definition("IoFileProperty", 0) + 1
        self.definitions[at] = ("IoFileProperty", 0, S["File system"], TYPE_STRING, S["nfs"])
        own = {OPEN: WRITE, WRITE: OPEN, CLOSE: CLOSE}
        self.events[11] = [(e[0] + 1000, e[1], own[e[2]]) if e[1] in ("Enter", "Leave") else
                           (e[0] + 1000, e[1], {MPI: 0, STDIN: 1}[e[2]]) + e[3:] for e in self.events[11]]
        self.locals[11] = [("MappingTable", _otf2.MAPPING_REGION, [OPEN, WRITE, CLOSE]),
                           ("MappingTable", _otf2.MAPPING_IO_HANDLE, [MPI, STDIN]),
                           ("ClockOffset", T0 + 1000, -1000), ("ClockOffset", T0 + 1100, -1000)]

    def definition(self, kind, ref):
        return next(i for i, d in enumerate(self.definitions) if d[0] == kind and d[1] == ref)

    def change(self, kind, ref, position, value):
        """Sets the field at this position (1 is the ref) of a definition."""
        i = self.definition(kind, ref)
        d = list(self.definitions[i])
        d[position] = value
        self.definitions[i] = tuple(d)

    def remove(self, kind, ref):
        del self.definitions[self.definition(kind, ref)]

    def find(self, location, kind, *start):
        return next(i for i, e in enumerate(self.events[location]) if e[1] == kind and e[2:2 + len(start)] == start)

    def replace(self, location, kind, *start, by=None):
        i = self.find(location, kind, *start)
        self.events[location][i:i + 1] = [by] if by else []

    def insert(self, location, *event):
        """Before the first event with a later time."""
        events = self.events[location]
        i = next((i for i, e in enumerate(events) if e[0] > event[0]), len(events))
        events.insert(i, event)

    # ---- writing ----

    def write(self, directory):
        archive = _otf2.Archive_Open(directory, "traces", _otf2.FILEMODE_WRITE, 1 << 18, 1 << 22, _otf2.SUBSTRATE_POSIX,
                                     _otf2.COMPRESSION_NONE)
        flush = _otf2.FlushCallbacks(pre_flush=lambda *_: _otf2.FLUSH, post_flush=None)
        _otf2.Archive_SetFlushCallbacks(archive, flush, None)
        _otf2.Archive_SetSerialCollectiveCallbacks(archive)
        _otf2.Archive_OpenEvtFiles(archive)
        for location, events in self.events.items():
            writer = _otf2.Archive_GetEvtWriter(archive, location)
            for event in events:
                self._write_event(writer, event)
            _otf2.Archive_CloseEvtWriter(archive, writer)
        _otf2.Archive_CloseEvtFiles(archive)
        _otf2.Archive_OpenDefFiles(archive)
        for location in self.events:
            writer = _otf2.Archive_GetDefWriter(archive, location)
            for definition in self.locals.get(location, ()):
                self._write_local(writer, *definition)
            _otf2.Archive_CloseDefWriter(archive, writer)
        _otf2.Archive_CloseDefFiles(archive)
        self._write_definitions(_otf2.Archive_GetGlobalDefWriter(archive))
        for name, value in self.properties.items():
            _otf2.Archive_SetProperty(archive, "IOPROBE::" + name, value, True)
        _otf2.Archive_Close(archive)
        return os.path.join(directory, "traces.otf2")

    @staticmethod
    def _write_local(writer, kind, first, second):
        if kind == "ClockOffset":
            _otf2.DefWriter_WriteClockOffset(writer, first, second, 0.0)
        else:
            _otf2.DefWriter_WriteMappingTable(writer, first, _otf2.IdMap_CreateFromUint64Array(second, False))

    @staticmethod
    def _write_event(writer, event):
        time, kind, args = event[0], event[1], list(event[2:])
        attributes = _otf2.AttributeList_New()
        if args and isinstance(args[-1], dict):
            for ref, (value_type, value) in args.pop().items():
                add = {TYPE_UINT8: _otf2.AttributeList_AddUint8, TYPE_INT32: _otf2.AttributeList_AddInt32,
                       TYPE_STRING: _otf2.AttributeList_AddStringRef,
                       TYPE_SOURCE_CODE_LOCATION: _otf2.AttributeList_AddSourceCodeLocationRef,
                       TYPE_CALLING_CONTEXT: _otf2.AttributeList_AddCallingContextRef}.get(value_type,
                               _otf2.AttributeList_AddUint64)
                add(attributes, ref, value)
        getattr(_otf2, "EvtWriter_" + kind)(writer, attributes, T0 + time, *args)
        _otf2.AttributeList_Delete(attributes)

    def _write_definitions(self, writer):
        if self.clock:
            _otf2.GlobalDefWriter_WriteClockProperties(writer, *self.clock)
        for kind, *args in self.definitions:
            if kind == "Location" and args[3] is None:
                args[3] = len(self.events[args[0]])
            if kind in ("IoFileProperty", "LocationGroupProperty", "LocationProperty"):
                value = _otf2.AttributeValue()
                if args[2] == TYPE_UINT64:
                    value.uint64 = args[3]
                else:
                    value.stringRef = args[3]   # the union's half that a uint32 has, too
                args[2:] = [_otf2.Type(args[2]), value]
            getattr(_otf2, "GlobalDefWriter_Write" + kind)(writer, *args)
