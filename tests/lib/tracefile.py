# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Reads an OTF2 archive into calls, bytes, files and handles, for tests to ask. Shares no code with the contract checker."""
import collections
import fnmatch

import otf2
from otf2 import events as ev

UNDEFINED = (1 << 64) - 1


class Call:
    """One Enter … Leave. bytes are what its I/O operations moved, also where another call completed them."""
    __slots__ = ("name", "layer", "location", "group", "begin", "end", "parent", "attributes", "read", "written", "asked",
                 "collective",
                 "offsets", "unknown", "handles")

    def __init__(self, region, location, begin, parent):
        self.name, self.layer, self.location, self.group = region.name, region.description, location, location.group.name
        self.begin, self.end, self.parent = begin, None, parent
        self.attributes, self.handles, self.offsets = {}, [], []
        self.read = self.written = self.asked = self.unknown = 0
        self.collective = False

    @property
    def failed(self):
        return bool(self.attributes.get("errno") or self.attributes.get("failed"))

    @property
    def abandoned(self):
        return bool(self.attributes.get("abandoned"))

    def above(self):
        """The names of the calls that this one was made in, innermost first."""
        call, names = self.parent, []
        while call:
            names.append(call.name)
            call = call.parent
        return names


class Trace:
    def __init__(self, path):
        self.calls, self.counts = [], collections.Counter()
        self.creates, self.destroys, self.duplicates = collections.Counter(), collections.Counter(), 0
        self.deletes, self.seeks, self.open_operations = [], 0, 0
        self.handle_bytes, self.handle_operations = (collections.defaultdict(lambda: [0, 0]) for _ in range(2))
        self.operation_errors, self.moved_to_other_threads = collections.Counter(), 0   # of asynchronous ones
        self.created = {}               # path -> creation and status flags when it was last opened
        self.ends = []                  # of operations: (call that began it, call that ended it, whether it was cancelled)
        self.begun, self.carried_out = {}, []   # matching id -> call; (call of a helper thread, call that made the request)
        self.span = {}                  # location -> times of its first and last event
        self._operations, self._stacks = {}, collections.defaultdict(list)
        with otf2.reader.open(path) as reader:
            self._definitions(reader)
            for location, event in reader.events:
                self.counts[type(event).__name__] += 1
                self.span[location] = (self.span.get(location, (event.time,))[0], event.time)
                self._event(location, event)
        self.open_operations = len(self._operations)

    def _definitions(self, reader):
        d = reader.definitions
        self.resolution = d.clock_properties.timer_resolution
        self.groups = [g.name for g in d.location_groups]
        self.locations = list(d.locations)
        self.handles = list(d.io_handles)
        self.files = {f.name: f for f in d.io_files}
        self.comm_names = [c.name for c in d.comms]
        self.each_file = list(d.io_files)       # several may have one name
        self.properties, self.file_properties = collections.defaultdict(dict), collections.defaultdict(dict)
        for p in d.io_file_properties:
            value = p.value.value if hasattr(p.value, "value") else p.value
            self.properties[p.io_file.name][p.name] = value
            self.file_properties[p.io_file][p.name] = value
        self.moments = collections.defaultdict(dict)    # location -> name -> time
        for p in d.location_properties:
            self.moments[p.location][p.name] = int(p.value.value if hasattr(p.value, "value") else p.value)
        self.group_properties = collections.defaultdict(dict)
        for p in d.location_group_properties:
            value = p.value.value if hasattr(p.value, "value") else p.value
            self.group_properties[p.location_group.name][p.name] = value
        self.paradigms = [p.identification for p in d.io_paradigms]
        self.precreated = [s.io_handle for s in d.io_pre_created_handle_states]

    # ---- events ----

    def _event(self, location, event):
        stack = self._stacks[location]
        call = stack[-1] if stack else None
        attributes = {a.name.lower(): v for a, v in (event.attributes or {}).items()}
        if isinstance(event, ev.Enter):
            stack.append(Call(event.region, location, event.time, call))
            self.calls.append(stack[-1])
            return
        if call and not isinstance(event, ev.IoOperationComplete):      # its errno is the operation's
            call.attributes.update(attributes)
        if isinstance(event, ev.Leave):
            if not call or call.name != event.region.name:
                raise ValueError(f"Leave of {event.region.name} in {call.name if call else 'nothing'}")
            stack.pop().end = event.time
        else:
            self._io(call, event, attributes, location)

    def _io(self, call, event, attributes, location):
        if isinstance(event, ev.IoCreateHandle):
            self.creates[event.handle.io_paradigm.identification] += 1
            if event.handle.file:
                self.created[event.handle.file.name] = [event.creation_flags.value, event.status_flags.value]
            self._use(call, event.handle)
        elif isinstance(event, ev.IoDestroyHandle):
            self.destroys[event.handle.io_paradigm.identification] += 1
        elif isinstance(event, ev.IoDuplicateHandle):
            self.duplicates += 1
        elif isinstance(event, ev.IoDeleteFile):
            self.deletes.append(event.file.name)
        elif isinstance(event, ev.IoSeek):
            self.seeks += 1
            self._use(call, event.handle)
        elif isinstance(event, ev.IoOperationBegin):
            self._operations[event.matching_id] = (call, event.mode, event.handle, location)
            self.begun[event.matching_id] = call
            if "request" in attributes:
                self.carried_out.append((call, self.begun[attributes["request"]]))
            if event.mode in (otf2.IoOperationMode.READ, otf2.IoOperationMode.WRITE):
                self.handle_operations[event.handle][event.mode == otf2.IoOperationMode.WRITE] += 1
            self._use(call, event.handle)
            if call:
                call.collective |= bool(event.operation_flags & otf2.IoOperationFlag.COLLECTIVE)
                call.asked += event.bytes_request if event.bytes_request != UNDEFINED else 0
            if call and "offset" in attributes:
                call.offsets.append(attributes["offset"])
        elif isinstance(event, ev.IoOperationComplete):
            self.ends.append((self._operations[event.matching_id][0], call, False))
            self._complete(event, location, attributes)
        elif isinstance(event, ev.IoOperationCancelled):
            self.ends.append((self._operations.pop(event.matching_id)[0], call, True))

    def _use(self, call, handle):
        if call:
            call.handles.append(handle)

    def _complete(self, event, location, attributes):
        call, mode, handle, began = self._operations.pop(event.matching_id)
        self.moved_to_other_threads += began != location
        if "errno" in attributes:
            self.operation_errors[attributes["errno"]] += 1
        if event.bytes_result == UNDEFINED:
            if call and mode in (otf2.IoOperationMode.READ, otf2.IoOperationMode.WRITE):
                call.unknown += 1
            return
        if mode == otf2.IoOperationMode.READ:
            self.handle_bytes[handle][0] += event.bytes_result
            if call:
                call.read += event.bytes_result
        elif mode == otf2.IoOperationMode.WRITE:
            self.handle_bytes[handle][1] += event.bytes_result
            if call:
                call.written += event.bytes_result


def queries(trace):
    """The words of the expressions that the tests write. Region names, groups and paths may be patterns."""
    def select(region, group="*", path=None, under=None):
        return [c for c in trace.calls if fnmatch.fnmatchcase(c.name, region) and fnmatch.fnmatchcase(c.group, group)
                and (path is None or any(h.file and fnmatch.fnmatchcase(h.file.name, path) for h in c.handles))
                and (under is None or under in c.above())]

    def calls(region, group="*", path=None, under=None):
        return len(select(region, group, path, under))

    def good(region, group="*", path=None, under=None):
        return sum(not c.failed and not c.abandoned for c in select(region, group, path, under))

    def failed(region, group="*", path=None):
        return sum(c.failed for c in select(region, group, path))

    def abandoned(region="*"):
        return sum(c.abandoned for c in select(region))

    def read(region, group="*", path=None):
        return sum(c.read for c in select(region, group, path))

    def written(region, group="*", path=None):
        return sum(c.written for c in select(region, group, path))

    def unknown(region="*"):
        return sum(c.unknown for c in select(region))

    def created(path):
        """The creation and status flags of files when they were last opened."""
        return sorted(flags for name, flags in trace.created.items() if fnmatch.fnmatchcase(name, path))

    def ended(begun_by, ended_by, cancelled=False, elsewhere=None):
        """Operations that one call began and another one ended; elsewhere: on another (True), on the same thread (False)."""
        return sum(bool(a and b) and fnmatch.fnmatchcase(a.name, begun_by) and fnmatch.fnmatchcase(b.name, ended_by)
                   and was_cancelled == cancelled and elsewhere in (None, a.location != b.location)
                   for a, b, was_cancelled in trace.ends)

    def carried_out(by, begun_by):
        """Operations of helper threads' calls for operations that such calls began."""
        return sum(bool(a and b) and fnmatch.fnmatchcase(a.name, by) and fnmatch.fnmatchcase(b.name, begun_by) for a,
                   b in trace.carried_out)

    def left_open(begun_by):
        """Operations that such calls began and whose end was not observed."""
        return sum(bool(call) and fnmatch.fnmatchcase(call.name, begun_by) for call, *_ in trace._operations.values())

    def ms(region):
        return [round((c.end - c.begin) * 1000 / trace.resolution) for c in select(region) if c.end is not None]

    def stacks(region):
        return sorted({tuple(c.above()) for c in select(region)})

    def offsets(region, path=None):
        return sorted(o for c in select(region, path=path) for o in c.offsets)

    def groups_with(region):
        return sorted({c.group for c in select(region)})

    def locations_with(region):
        return len({c.location for c in select(region)})

    def alive(begin="Begin", end="End"):
        """Locations whose thread began, or was found, before its first event and ended after its last one."""
        return sum(m.get(begin, UNDEFINED) <= trace.span[where][0] and m.get(end, -1) >= trace.span[where][1]
                   for where, m in trace.moments.items() if where in trace.span)

    def programs(group):
        """The programs that such processes executed: their last names, in the order in which they began."""
        return [name.rsplit("/", 1)[-1] for g, p in sorted(trace.group_properties.items()) if fnmatch.fnmatchcase(g, group)
                for _, name in sorted((int(p[k + " Begin"]), str(p[k])) for k in p if k.startswith("Program ")
                                      and k.count(" ") == 1)]

    def layer_bytes(paradigm, path="*"):
        chosen = [b for h, b in trace.handle_bytes.items()
                  if h.io_paradigm.identification == paradigm and fnmatch.fnmatchcase(h.file.name if h.file else "", path)]
        return [sum(b[0] for b in chosen), sum(b[1] for b in chosen)]

    def time_ns(layer, inside=None):
        """The time of a layer's outermost calls; or what calls of the layer "inside" took within them."""
        def within(call, name):
            while call and call.layer != name:
                call = call.parent
            return call is not None
        chosen = [c for c in trace.calls if c.end is not None and c.layer == (inside or layer) and not within(c.parent, c.layer)
                  and (inside is None or within(c.parent, layer))]
        return round(sum(c.end - c.begin for c in chosen) * 1000000000 / trace.resolution)

    def accesses(paradigm, path):
        """Creates, seeks and operations on a layer's handles of a file."""
        return sum(1 for c in trace.calls for h in c.handles
                   if h.io_paradigm.identification == paradigm and h.file and fnmatch.fnmatchcase(h.file.name, path))

    def operations(paradigm, path="*"):
        chosen = [n for h, n in trace.handle_operations.items()
                  if h.io_paradigm.identification == paradigm and fnmatch.fnmatchcase(h.file.name if h.file else "", path)]
        return [sum(n[0] for n in chosen), sum(n[1] for n in chosen)]

    def chains(path):
        """The paradigms from each handle of a file up to the root of its parents."""
        found = set()
        for h in trace.handles:
            if h.file and fnmatch.fnmatchcase(h.file.name, path):
                chain = []
                while h is not None:
                    chain.append(h.io_paradigm.identification)
                    h = h.parent
                found.add(tuple(chain))
        return sorted(found)

    def members(path):
        """The ranks of the communicator that MPI-IO opened a file on, in their order; "self", or None if it is unknown."""
        comms = {h.comm for h in trace.handles
                 if h.io_paradigm.identification == "MPI-IO" and h.file and fnmatch.fnmatchcase(h.file.name, path)}
        comm, = comms       # one for all its handles
        if comm is None or comm.group.group_type == otf2.GroupType.COMM_SELF:
            return "self" if comm else None
        return [int(m.group.name.rsplit(" ", 1)[1]) for m in comm.group.members]

    def precreated(path):
        return sum(1 for h in trace.precreated if h.file and fnmatch.fnmatchcase(h.file.name, path))

    def has_file(path):
        return any(fnmatch.fnmatchcase(name, path) for name in trace.files)

    def scope(path):
        return sorted({f.scope.class_name if f.scope else None for n, f in trace.files.items() if fnmatch.fnmatchcase(n, path)},
                      key=str)

    def prop(path, name):
        return sorted({trace.file_properties[f].get(name) for f in trace.each_file if fnmatch.fnmatchcase(f.name, path)}, key=str)

    def named(region, under="*"):
        """Calls on names in a directory: how many, how many of them failed, how many different paths. A path alone, if it is
        absolute."""
        found = []
        for c in select(region):
            path, directory = c.attributes.get("path"), c.attributes.get("directory")
            whole = path if directory is None else directory + "/" + path
            if whole is not None and fnmatch.fnmatchcase(whole, under):
                found.append((whole, c.failed))
        return [len(found), sum(f for _, f in found), len({w for w, _ in found})]

    words = {f.__name__: f for f in (named, select, carried_out, alive, programs, calls, good, failed, abandoned, read, written,
                                     unknown, created, ended, left_open, ms, stacks, offsets,
                                     groups_with, locations_with, layer_bytes, operations, time_ns, accesses, chains, members,
                                     precreated, has_file, scope, prop)}
    words.update(trace=trace, creates=trace.creates, destroys=trace.destroys, deletes=trace.deletes, groups=trace.groups,
                 files=sorted(trace.files), comm_names=trace.comm_names, paradigms=sorted(trace.paradigms),
                 errors=dict(trace.operation_errors), moved=trace.moved_to_other_threads, len=len, sum=sum, any=any, all=all,
                 min=min, max=max,
                 sorted=sorted, set=set, abs=abs, range=range, list=list)
    return words
