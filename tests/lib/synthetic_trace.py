# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Archives of runs that no test machine has: many nodes, Lustre, slow ranks. Calls are added rank by rank; their times are what the
# case says.
import otf2
from otf2.enums import (IoAccessMode, IoCreationFlag, IoOperationFlag, IoOperationMode, IoParadigmClass, IoParadigmFlag,
                        IoStatusFlag, Paradigm,
                        RegionRole, Type)

MICROSECOND = 1000
KIB, MIB = 1024, 1024 * 1024
LAYERS = {"POSIX": ("POSIX I/O", IoParadigmClass.SERIAL, IoParadigmFlag.OS),
          "MPI-IO": ("MPI I/O", IoParadigmClass.PARALLEL, IoParadigmFlag.NONE),
          "HDF5": ("HDF5", IoParadigmClass.PARALLEL, IoParadigmFlag.NONE),
          "PnetCDF": ("PnetCDF", IoParadigmClass.PARALLEL, IoParadigmFlag.NONE)}
MODES = {"read": IoOperationMode.READ, "write": IoOperationMode.WRITE, "flush": IoOperationMode.FLUSH}


class Run:
    """with Run(directory, ranks=4, nodes=2) as run: run.rank(0).open(...)"""

    def __init__(self, directory, ranks=1, nodes=1, mpi=True, cpu=False):
        """cpu: outermost calls have CPU times."""
        self.trace = otf2.writer.Writer(directory, timer_resolution=1000000000)
        d = self.definitions = self.trace.definitions
        self.tree = d.system_tree_node("machine", class_name="machine")
        self.nodes = [d.system_tree_node(f"node{i}", class_name="node", parent=self.tree) for i in range(nodes)]
        self.paradigms = {layer: d.io_paradigm(layer, *LAYERS[layer]) for layer in LAYERS}
        self.offset = d.attribute("Offset", type=Type.UINT64)
        d.attribute("errno", type=Type.INT32)
        self.source = d.attribute("Source location", type=Type.SOURCE_CODE_LOCATION)
        self.sites = {}
        self.regions, self.files, self.next_id = {}, {}, 0
        self.parts = [d.attribute(name, type=Type.UINT64)
                      for name in ("CPU time", "Sleep", "Run delay", "Sleep before", "Run delay before")] if cpu else []
        self.ranks = [Rank(self, i, self.nodes[i * nodes // ranks], mpi) for i in range(ranks)]

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.trace.close()

    def rank(self, number):
        return self.ranks[number]

    def file(self, path, node=None, **properties):
        """properties: File_system, Stripe_Size and the like, with an underscore for each blank; static facts by name."""
        file = self.definitions.io_regular_file(path, scope=self.tree if node is None else self.nodes[node])
        for name, value in properties.items():
            self.definitions.io_file_property(file, name if ":" in name else name.replace("_", " "),
                                              *((Type.UINT64, value) if isinstance(value, int) else (Type.STRING, value)))
        return file

    def site(self, path, line):
        if (path, line) not in self.sites:
            self.sites[path, line] = self.definitions.source_code_location(file=path, line_number=line)
        return self.sites[path, line]

    def region(self, name, layer):
        if name not in self.regions:
            self.regions[name] = self.definitions.region(name, description=layer, paradigm=Paradigm.USER,
                                                         region_role=RegionRole.FILE_IO)
        return self.regions[name]


class Rank:
    """One thread of one process; its clock goes on with each call."""

    def __init__(self, run, number, node, mpi):
        group = run.trace.definitions.location_group(f"MPI Rank {number}" if mpi else f"program (pid {number})",
                                                     system_tree_parent=node)
        self.run, self.t, self.handles = run, 1000000, {}
        self.writer = run.trace.event_writer("Master thread", group=group)
        self.stack, self.plain_end = [], False
        self.at = None                  # (path, line) of the outermost calls
        self.off = (0, 0, 0, 0)         # of the next outermost call in microseconds: sleep and run delay in it, and before it

    def handle(self, file, layer, parent=None):
        """parent: the layer whose handle on the file uses this one."""
        if (file, layer) not in self.handles:
            self.handles[file, layer] = self.run.definitions.io_handle(file=file, name="", io_paradigm=self.run.paradigms[layer],
                                                                       parent=self.handle(file, parent) if parent else None)
        return self.handles[file, layer]

    def wait(self, microseconds):
        self.t += int(microseconds * MICROSECOND)

    def until(self, microseconds):
        self.t = max(self.t, int(microseconds * MICROSECOND))

    def begin(self, name, layer):
        attributes = {self.run.source: self.run.site(*self.at)} if self.at and not self.stack else None
        self.writer.enter(self.t, self.run.region(name, layer), attributes=attributes)
        self.begun = self.begun if self.stack else self.t
        self.stack.append(self.run.region(name, layer))

    def end(self, microseconds=0.1):
        self.wait(microseconds)
        region = self.stack.pop()
        if self.stack or not self.run.parts or self.plain_end:
            self.writer.leave(self.t, region)
            return
        sleep, delay, *before = (int(us * MICROSECOND) for us in self.off)
        values = [self.t - self.begun - sleep - delay, sleep, delay, *before]
        self.writer.leave(self.t, region, attributes={a: v for a,
                                                      v in zip(self.run.parts, values) if v
                                                      or a in (self.run.parts[0], self.run.parts[3])})
        self.off = (0, 0, 0, 0)

    def call(self, name, layer, us=0, end=None):
        """A call without operations; end: it ends at this time, in microseconds."""
        self.begin(name, layer)
        if end is not None:
            self.until(end)
        self.plain_end = layer == "MPI"         # has no CPU times of its own
        self.end(us)
        self.plain_end = False

    def open(self, file, layer="POSIX", name="openat", create=False, us=1, parent=None, below=None):
        """parent: the layer whose handle on the file uses this one; below: a function of no arguments that makes the calls
        inside."""
        self.begin(name, layer)
        if not parent and not below:
            self.handles.pop((file, layer), None)
        self.handle(file, layer, parent)
        if below:
            below()
        flags = IoCreationFlag.CREATE if create else IoCreationFlag.NONE
        self.writer.io_create_handle(self.t, self.handle(file, layer), IoAccessMode.READ_WRITE, flags, IoStatusFlag.NONE)
        self.end(us)

    def close(self, file, layer="POSIX", name="close", us=1, below=None):
        self.begin(name, layer)
        if below:
            below()
        self.writer.io_destroy_handle(self.t, self.handle(file, layer))
        self.end(us)

    def data(self, mode, file, offset, size, us=10, layer="POSIX", name=None, collective=False, below=None):
        """below: a function of no arguments that makes the calls inside."""
        handle, flag = self.handle(file, layer), IoOperationFlag.COLLECTIVE if collective else IoOperationFlag.NONE
        self.run.next_id += 1
        own = self.run.next_id
        self.begin(name or f"p{mode}64", layer)
        self.writer.io_operation_begin(self.t, handle, MODES[mode], flag, size, own, attributes={self.run.offset: offset})
        if below:
            below()
        self.wait(us)
        self.writer.io_operation_complete(self.t, handle, size, own)
        self.end()

    def read(self, file, offset, size, **more):
        self.data("read", file, offset, size, **more)

    def write(self, file, offset, size, **more):
        self.data("write", file, offset, size, **more)
