# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The rules that the events of an archive must keep, event by event, in the order of time over all locations. What is kept is
# bounded by open calls, handles and operations, and one bit per matching id.
from otf2_raw import EVENTS, UNDEFINED_32, UNDEFINED_64

NON_BLOCKING, COLLECTIVE = 1, 2
CONVERTING = {"HDF5"}           # values may be larger in the file than in memory
NEVER, ACTIVE, DESTROYED = 0, 1, 2


class IdSet:
    """Matching ids that were seen. They count in the bits from 31 on, below is a tag of the recording: per tag a bit for each count
    while these are dense, as they should be, else a set."""

    def __init__(self):
        self.tags, self.others = {}, set()

    def add(self, number):
        """True if it is new."""
        bits = self.tags.setdefault(number & 0x7fffffff, bytearray()) if len(self.tags) < 10000 else bytearray()
        count = number >> 31
        byte, bit = count >> 3, 1 << (count & 7)
        if byte >= len(bits):
            if byte > 2 * len(bits) + (1 << 20) or len(self.tags) >= 10000:
                new = number not in self.others
                self.others.add(number)
                return new
            bits.extend(bytes(byte + 1 - len(bits) + len(bits) // 2))
        new = not bits[byte] & bit and number not in self.others
        bits[byte] |= bit
        return new


PLACES_OF_ATTRIBUTES = {"Offset": ("IoOperationBegin",), "Request": ("IoOperationBegin",), "Variable": ("IoOperationBegin",),
                        "Unaligned buffer": ("IoOperationBegin",),
                        "errno": ("Leave", "IoOperationComplete"),
                        "Failed": ("Leave",), "Abandoned": ("Leave",), "SOURCE_CODE_LOCATION": ("Enter",),
                        "CALLING_CONTEXT": ("Enter",),
                        "Path": ("Leave",), "Directory": ("Leave",), "New Path": ("Leave",), "New Directory": ("Leave",)}

IN_CALL, BEFORE_CALL = ("CPU time", "Sleep", "Run delay"), ("Sleep before", "Run delay before")
CPU_TIMES = {*IN_CALL, *BEFORE_CALL, "Sleep for I/O", "User time", "System time"}
PLACES_OF_ATTRIBUTES.update({name: ("Leave",) for name in CPU_TIMES})

# Roles of regions, and which one an event belongs into.
FILE_IO, FILE_IO_METADATA = 27, 38
METADATA_EVENTS = {"IoCreateHandle", "IoDestroyHandle", "IoDuplicateHandle", "IoSeek", "IoChangeStatusFlags", "IoDeleteFile"}
LAYER_EVENTS = METADATA_EVENTS - {"IoDeleteFile"} | {"IoOperationBegin", "IoAcquireLock", "IoReleaseLock", "IoTryLock"}
CALL_EVENTS = METADATA_EVENTS - {"IoDestroyHandle"} | {"IoAcquireLock", "IoReleaseLock", "IoTryLock", "IoOperationIssued"}


class Frame:
    """effects: what a call that failed must not have; begun: its own operations; moved: one of them with bytes; meets: collective
    handles that it opened or closed; ended: an operation of its own has ended."""
    __slots__ = ("region", "blocking", "effects", "begun", "moved", "enter", "meets", "ended")

    def __init__(self, region, enter):
        self.region, self.blocking, self.effects, self.begun, self.moved = region, [], [], set(), None
        self.enter, self.meets, self.ended = enter, (), False


class Operation:
    __slots__ = ("handle", "location", "mode", "flags", "size", "issued")

    def __init__(self, handle, location, mode, flags, size):
        self.handle, self.location, self.mode, self.flags, self.size, self.issued = handle, location, mode, flags, size, False


class Location:
    __slots__ = ("group", "stack", "time", "events", "outermost_end")

    def __init__(self, group):
        self.group, self.stack, self.time, self.events, self.outermost_end = group, [], 0, 0, None


class EventRules:
    def __init__(self, definitions, breach, stats):
        self.d, self.breach, self.stats = definitions, breach, stats
        self.locations = {ref: Location(d["group"]) for ref, d in definitions.locations.items()}
        self.state = {}                 # (group, handle) -> ACTIVE or DESTROYED
        self.operations = {}            # matching id -> Operation
        self.ids = IdSet()
        self.collectives = {}           # handle -> group -> collective operations
        self.abandoned_operations = 0
        self.meetings = {}              # (handle, "created" or "destroyed") -> [(enter, leave, group)] of collective handles
        clock = definitions.clock or {"offset": 0, "length": UNDEFINED_64}
        self.resolution = clock.get("resolution", 10**9)
        self.first, self.last = clock["offset"], clock["offset"] + clock["length"]
        self.of_system = {definitions.text(p["identification"]) for p in definitions.paradigms.values() if p["flags"] & 1}
        self.paradigm_names = {definitions.text(p["identification"]) for p in definitions.paradigms.values()}
        self.attribute_names = {ref: definitions.text(a["name"]) for ref, a in definitions.attributes.items()}
        self.handlers = {kind: getattr(self, "on_" + kind) for kind in EVENTS}

    def event(self, kind, ref, time, args, attributes):
        location = self.locations.get(ref)
        if location is None:
            self.breach("ref-undefined", "%s at %d is on location %d, which is not defined" % (kind, time, ref))
            return
        location.events += 1
        if time < location.time:
            self.breach("time-order", "location %d goes back from %d to %d" % (ref, location.time, time))
        location.time = time
        if not self.first <= time <= self.last:
            self.breach("clock-range", "%s of location %d at %d is outside %d to %d" % (kind, ref, time, self.first, self.last))
        if attributes:
            attributes = self.named_attributes(kind, ref, time, attributes)
        if kind in CALL_EVENTS or kind in METADATA_EVENTS:
            self.in_call(kind, location, ref, time)
        if kind in LAYER_EVENTS and location.stack:
            self.in_layer(kind, location.stack[-1], ref, time, args[0])
        handler = self.handlers.get(kind)
        if handler:
            handler(location, ref, time, attributes, *args)

    def named_attributes(self, kind, ref, time, attributes):
        named = {}
        for attribute, (value_type, value) in attributes.items():
            definition = self.d.attributes.get(attribute)
            if definition is None:
                self.breach("ref-undefined", "%s of location %d at %d has attribute %d, which is not defined" % (
                    kind, ref, time, attribute))
                continue
            name = self.attribute_names[attribute]
            if definition["type"] != value_type:
                self.breach("attribute", "%s of location %d at %d: attribute %s has another type than defined"
                            % (kind, ref, time, name))
            if kind not in PLACES_OF_ATTRIBUTES.get(name, (kind,)):
                self.breach("attribute", "%s of location %d at %d has the attribute %s" % (kind, ref, time, name))
            named[name] = value
        return named

    def check_names(self, ref, time, attributes):
        """A directory is where a relative path begins, and is absolute itself."""
        for path, directory in (("Path", "Directory"), ("New Path", "New Directory")):
            for name in (path, directory):
                if name in attributes and attributes[name] not in self.d.strings:
                    self.breach("ref-undefined",
                                "Leave of location %d at %d: %s %d is not defined" % (ref, time, name, attributes[name]))
            if directory not in attributes:
                continue
            if path not in attributes or (self.d.text(attributes[path]) or "").startswith("/"):
                self.breach("attribute", "Leave of location %d at %d has a %s without a relative %s" % (ref, time, directory, path))

    def check_cpu_time(self, location, frame, ref, time, attributes):
        """On outermost calls only; the parts are not longer than the call, nor those before it than the time since the previous
        one. Clocks of several nodes are brought together, which changes lengths a little."""
        before = location.outermost_end
        if not location.stack and (attributes or self.d.regions.get(frame.region, {}).get("role") in (FILE_IO, FILE_IO_METADATA)):
            location.outermost_end = time       # a collective call of MPI next to I/O has no CPU times of its own
        if not attributes or not CPU_TIMES & attributes.keys():
            return
        where = "Leave of location %d at %d" % (ref, time)
        inside, outside = (sum(attributes.get(name, 0) for name in names) * self.resolution // 10**9
                           for names in (IN_CALL, BEFORE_CALL))
        if location.stack:
            self.breach("cpu-time", "%s has CPU times of a call inside another one" % where)
        elif inside > 1.001 * (time - frame.enter) + 1000:
            self.breach("cpu-time", "%s: %d ticks on a CPU and off it, in a call of %d" % (where, inside, time - frame.enter))
        elif outside and (before is None or outside > 1.001 * (frame.enter - before) + 1000):
            self.breach("cpu-time", "%s: %d ticks off the CPU before the call, after %s" % (where, outside, before))
        if attributes.get("Sleep for I/O", 0) > attributes.get("Sleep", 0):
            self.breach("cpu-time", "%s: more sleep for I/O than sleep" % where)

    # ---- calls ----

    def in_call(self, kind, location, ref, time):
        """Handles end outside of calls, too: at an exec. One that was closed while calls were under way ends with the last of
        them."""
        if not location.stack:
            if kind in CALL_EVENTS:
                self.breach("outside-call", "%s on location %d at %d is outside of a call" % (kind, ref, time))
            return
        frame = location.stack[-1]
        if kind == "IoDestroyHandle" and frame.ended:
            return
        if kind in METADATA_EVENTS:
            self.has_role(frame, FILE_IO_METADATA, kind)
        if kind in ("IoCreateHandle", "IoDestroyHandle", "IoDuplicateHandle", "IoDeleteFile"):
            frame.effects.append(kind)

    def in_layer(self, kind, frame, ref, time, handle):
        """A function works on handles of its own layer, which is its region's description; system calls on those of all their
        layers."""
        region = self.d.regions.get(frame.region)
        layer = self.d.text(region["description"]) if region else ""
        if layer in self.of_system and handle in self.d.handles and self.d.paradigm_name(handle) in self.of_system:
            return
        if layer in self.paradigm_names and handle in self.d.handles and self.d.paradigm_name(handle) != layer:
            self.breach("layer", "%s of location %d at %d: handle %d of %s in region %d (%s) of %s" % (
                kind, ref, time, handle, self.d.paradigm_name(handle), frame.region, self.d.text(region["name"]), layer))

    def has_role(self, frame, role, kind):
        region = self.d.regions.get(frame.region)
        if region and region["role"] != role:
            self.breach("region-role", "%s in region %d (%s), whose role is %d" % (
                kind, frame.region, self.d.text(region["name"]), region["role"]))

    def check_failed(self, frame, ref, time):
        if frame.effects:
            self.breach("failed-call", "region %d of location %d, left at %d, failed, but has %s" % (
                frame.region, ref, time, ", ".join(frame.effects)))
        if frame.moved is not None:
            self.breach("failed-call", "region %d of location %d, left at %d, failed, but moved %d bytes" % (
                frame.region, ref, time, frame.moved))

    def on_Enter(self, location, ref, time, attributes, region):
        if region not in self.d.regions:
            self.breach("ref-undefined", "Enter of location %d at %d: region %d is not defined" % (ref, time, region))
        self.check_site(location, ref, time, attributes)
        location.stack.append(Frame(region, time))
        self.stats.call(location.group, region)

    def check_site(self, location, ref, time, attributes):
        """Where a call comes from stands on outermost calls only; a line comes with the functions on the way."""
        for name, table in (("SOURCE_CODE_LOCATION", self.d.lines), ("CALLING_CONTEXT", self.d.contexts)):
            if not attributes or name not in attributes:
                continue
            if attributes[name] not in table:
                self.breach("ref-undefined", "Enter of location %d at %d: %s %d is not defined"
                            % (ref, time, name, attributes[name]))
            if location.stack:
                self.breach("attribute", "Enter of location %d at %d has the attribute %s, but is inside of a call"
                            % (ref, time, name))
            if "CALLING_CONTEXT" not in attributes:
                self.breach("attribute", "Enter of location %d at %d has a line, but no calling context" % (ref, time))

    def on_Leave(self, location, ref, time, attributes, region):
        if region not in self.d.regions:
            self.breach("ref-undefined", "Leave of location %d at %d: region %d is not defined" % (ref, time, region))
        if not location.stack or location.stack[-1].region != region:
            inside = location.stack[-1].region if location.stack else "none"
            self.breach("nesting", "location %d leaves region %d at %d, but is in %s" % (ref, region, time, inside))
            if not any(frame.region == region for frame in location.stack):
                return
            while location.stack[-1].region != region:
                location.stack.pop()
        frame = location.stack.pop()
        abandoned = bool(attributes.get("Abandoned"))
        self.check_names(ref, time, attributes)
        self.check_cpu_time(location, frame, ref, time, attributes)
        self.stats.leave(location.group, region, abandoned, "errno" in attributes or "Failed" in attributes)
        for meeting in () if abandoned else frame.meets:
            self.meetings.setdefault(meeting, []).append((frame.enter, time, location.group))
        if "errno" in attributes or "Failed" in attributes:
            self.check_failed(frame, ref, time)
        for number in frame.begun:
            operation = self.operations.get(number)
            if operation and operation.flags & NON_BLOCKING and not operation.issued and not abandoned:
                self.breach("operation-order", "location %d left region %d at %d, its operation %d is not issued" % (
                    ref, region, time, number))
        for number in frame.blocking:
            if number not in self.operations:
                continue
            if abandoned:
                self.abandoned_operations += 1
                del self.operations[number]
            else:
                self.breach("operation-open", "location %d left region %d at %d, its blocking operation %d is not complete" % (
                    ref, region, time, number))

    # ---- handles ----

    def handle_state(self, group, handle):
        state = self.state.get((group, handle))
        if state is None:
            return ACTIVE if handle in self.d.precreated else NEVER
        return state

    def known_handle(self, kind, ref, time, handle):
        if handle in self.d.handles:
            return True
        self.breach("ref-undefined", "%s of location %d at %d: handle %d is not defined" % (kind, ref, time, handle))
        return False

    def use(self, kind, location, ref, time, handle):
        """An event that needs an active handle. True if the handle is defined."""
        if not self.known_handle(kind, ref, time, handle):
            return False
        state = self.handle_state(location.group, handle)
        if state != ACTIVE:
            self.breach("handle-life", "%s of location %d at %d: handle %d is not active (%s)" % (
                kind, ref, time, handle, "destroyed" if state == DESTROYED else "never created in this location group"))
        self.stats.used(location.group, handle)
        self.check_scope(kind, location, ref, time, self.d.handles[handle]["file"])
        return True

    def check_scope(self, kind, location, ref, time, file):
        """A file that is local to a node is used on that node only."""
        scope = self.d.files[file]["scope"] if file in self.d.files else None
        if self.d.is_one_nodes(scope) and location.group in self.d.groups and scope != self.d.node_of_group(location.group):
            self.breach("scope", "%s of location %d at %d: file %d (%s) is local to another node" % (
                kind, ref, time, file, self.d.text(self.d.files[file]["name"])))

    def meet(self, location, handle, what):
        if location.stack and self.d.handles[handle]["comm"] != UNDEFINED_32:
            location.stack[-1].meets += ((handle, what),)

    def make(self, kind, location, ref, time, handle):
        if not self.known_handle(kind, ref, time, handle):
            return
        state = self.handle_state(location.group, handle)
        if state != NEVER:
            self.breach("handle-life", "%s of location %d at %d: handle %d was created already" % (kind, ref, time, handle))
        self.state[location.group, handle] = ACTIVE
        self.check_scope(kind, location, ref, time, self.d.handles[handle]["file"])
        self.meet(location, handle, "created")
        self.stats.created(location.group, handle)

    def on_IoCreateHandle(self, location, ref, time, attributes, handle, mode, creation_flags, status_flags):
        if not 0 <= mode <= 2:
            self.breach("mode", "IoCreateHandle of location %d at %d: %d is no access mode" % (ref, time, mode))
        self.make("IoCreateHandle", location, ref, time, handle)

    def on_IoDestroyHandle(self, location, ref, time, attributes, handle):
        if self.use("IoDestroyHandle", location, ref, time, handle):
            self.state[location.group, handle] = DESTROYED
            self.meet(location, handle, "destroyed")
            self.stats.destroyed(location.group, handle)

    def on_IoDuplicateHandle(self, location, ref, time, attributes, old, new, status_flags):
        self.use("IoDuplicateHandle", location, ref, time, old)
        self.make("IoDuplicateHandle", location, ref, time, new)
        a, b = self.d.handles.get(old), self.d.handles.get(new)
        if a and b and (a["file"], a["paradigm"]) != (b["file"], b["paradigm"]):
            self.breach("duplicate", "handle %d of location %d at %d is on another file or layer than %d, of which it is a "
                                     "duplicate" % (
                new, ref, time, old))

    def on_IoSeek(self, location, ref, time, attributes, handle, *_):
        self.use("IoSeek", location, ref, time, handle)

    def on_IoChangeStatusFlags(self, location, ref, time, attributes, handle, *_):
        self.use("IoChangeStatusFlags", location, ref, time, handle)

    def on_IoAcquireLock(self, location, ref, time, attributes, handle, *_):
        self.use("IoAcquireLock", location, ref, time, handle)

    def on_IoReleaseLock(self, location, ref, time, attributes, handle, *_):
        self.use("IoReleaseLock", location, ref, time, handle)

    def on_IoTryLock(self, location, ref, time, attributes, handle, *_):
        self.use("IoTryLock", location, ref, time, handle)

    def on_IoDeleteFile(self, location, ref, time, attributes, paradigm, file):
        if paradigm not in self.d.paradigms:
            self.breach("ref-undefined", "IoDeleteFile of location %d at %d: paradigm %d is not defined" % (ref, time, paradigm))
        if file not in self.d.files:
            self.breach("ref-undefined", "IoDeleteFile of location %d at %d: file %d is not defined" % (ref, time, file))
        self.check_scope("IoDeleteFile", location, ref, time, file)

    # ---- operations. A blocking one needs an active handle to its end, a non-blocking one may outlive the handle. ----

    def on_IoOperationBegin(self, location, ref, time, attributes, handle, mode, flags, size, number):
        if not self.use("IoOperationBegin", location, ref, time, handle):
            return
        if not self.ids.add(number):
            self.breach("operation-id", "operation %d begins twice, again on location %d at %d" % (number, ref, time))
        if flags & COLLECTIVE and self.d.is_serial(self.d.handles[handle]):
            self.breach("serial", "operation %d on handle %d of a SERIAL paradigm is collective" % (number, handle))
        if not location.stack:
            self.breach("outside-call", "operation %d begins on location %d at %d outside of a call" % (number, ref, time))
        else:
            frame = location.stack[-1]
            self.has_role(frame, FILE_IO, "IoOperationBegin")
            self.check_request(ref, time, attributes, handle, mode, size)
            frame.begun.add(number)
            if not flags & NON_BLOCKING:
                frame.blocking.append(number)
        if not 0 <= mode <= 2:
            self.breach("mode", "operation %d of location %d at %d: %d is no mode" % (number, ref, time, mode))
        if flags & COLLECTIVE:
            counts = self.collectives.setdefault(handle, {})
            counts[location.group] = counts.get(location.group, 0) + 1
        self.operations[number] = Operation(handle, ref, mode, flags, size)
        self.stats.begun(location.group, handle, mode)

    def check_request(self, ref, time, attributes, handle, mode, size):
        """What a helper thread carries out is under way, was begun by another thread, and is the same on the same file."""
        if not attributes or "Request" not in attributes:
            return
        number = attributes["Request"]
        request = self.operations.get(number)
        if request is None or not request.flags & NON_BLOCKING:
            self.breach("request", "location %d carries out operation %d at %d, which is %s" % (
                ref, number, time, "blocking" if request else "not under way"))
        elif request.location == ref or (request.mode, request.size) != (mode, size) or \
                self.d.handles[request.handle]["file"] != self.d.handles[handle]["file"]:
            self.breach("request", "location %d carries out operation %d at %d, but on the same thread, on another file, in "
                                   "another mode "
                        "or size" % (ref, number, time))

    def operation(self, kind, ref, time, handle, number):
        self.known_handle(kind, ref, time, handle)
        operation = self.operations.get(number)
        if operation is None:
            self.breach("operation-order", "%s of location %d at %d: operation %d is not under way" % (kind, ref, time, number))
        elif operation.handle != handle:
            self.breach("operation-handle", "%s of location %d at %d: operation %d began on handle %d, not %d" % (
                kind, ref, time, number, operation.handle, handle))
        return operation

    def on_IoOperationIssued(self, location, ref, time, attributes, handle, number):
        operation = self.operation("IoOperationIssued", ref, time, handle, number)
        if operation is None:
            return
        if not operation.flags & NON_BLOCKING or operation.issued:
            self.breach("operation-order", "operation %d is issued on location %d at %d, but is %s" % (
                number, ref, time, "issued already" if operation.issued else "blocking"))
        if operation.location != ref:
            self.breach("operation-location", "operation %d began on location %d and is issued on %d"
                        % (number, operation.location, ref))
        operation.issued = True

    def on_IoOperationTest(self, location, ref, time, attributes, handle, number):
        operation = self.operation("IoOperationTest", ref, time, handle, number)
        if operation is not None and not operation.issued:
            self.breach("operation-order", "operation %d is tested on location %d at %d before it is issued" % (number, ref, time))

    def on_IoOperationComplete(self, location, ref, time, attributes, handle, size, number):
        operation = self.finish("IoOperationComplete", location.group, ref, time, handle, number)
        if location.stack:
            location.stack[-1].ended = True
        if operation is not None and "errno" in attributes and (not operation.flags & NON_BLOCKING or size != UNDEFINED_64):
            self.breach("attribute", "operation %d, complete on location %d at %d, has an errno, but is blocking or moved bytes" % (
                number, ref, time))
        if operation is None or size == UNDEFINED_64:
            return
        self.stats.moved(location.group, operation.handle, operation.mode, size)
        if operation.size != UNDEFINED_64 and size > operation.size and self.d.paradigm_name(operation.handle) not in CONVERTING:
            self.breach("operation-bytes", "operation %d, complete on location %d at %d, moved %d bytes, asked were %d" % (
                number, ref, time, size, operation.size))
        if location.stack and number in location.stack[-1].begun:
            location.stack[-1].moved = size

    def on_IoOperationCancelled(self, location, ref, time, attributes, handle, number):
        operation = self.finish("IoOperationCancelled", location.group, ref, time, handle, number)
        if operation is not None and not operation.flags & NON_BLOCKING:
            self.breach("operation-order", "blocking operation %d is cancelled on location %d at %d" % (number, ref, time))

    def finish(self, kind, group, ref, time, handle, number):
        operation = self.operation(kind, ref, time, handle, number)
        if operation is None:
            return None
        if operation.flags & NON_BLOCKING:
            if not operation.issued:
                self.breach("operation-order", "%s of operation %d on location %d at %d: it was not issued"
                            % (kind, number, ref, time))
        elif operation.location != ref:
            self.breach("operation-location", "blocking operation %d began on location %d and ends on %d" % (
                number, operation.location, ref))
        elif self.handle_state(group, handle) == DESTROYED:
            self.breach("handle-life", "%s of operation %d on location %d at %d: handle %d is destroyed already"
                        % (kind, number, ref, time, handle))
        del self.operations[number]
        return operation

    # ---- the end ----

    def check_end(self, total):
        for ref, location in self.locations.items():
            declared = self.d.locations[ref]["events"]
            if declared != location.events:
                self.breach("event-count", "location %d has %d events, its definition says %d" % (ref, location.events, declared))
        self.in_flight = {location.group for location in self.locations.values() if location.stack}
        seen = {}
        for (group, handle), state in self.state.items():
            seen.setdefault(handle, {})[group] = state
        for ref, handle in self.d.handles.items():
            if handle["comm"] != UNDEFINED_32 and ref not in self.d.precreated:
                self.check_collective(ref, seen.get(ref, {}), self.d.member_groups(handle["comm"]))
        for (handle, what), parts in self.meetings.items():
            self.check_meeting(handle, what, parts)
        blocking = sum(not o.flags & NON_BLOCKING for o in self.operations.values())
        self.stats.finish(total, sum(len(location.stack) for location in self.locations.values()),
                          len(self.operations), blocking, self.abandoned_operations)

    def check_meeting(self, handle, what, parts):
        """Of several nodes, no rank leaves a collective open or close before the last one of another node has entered it."""
        if self.d.member_groups(self.d.handles[handle]["comm"]) is None:
            return
        nodes = {}
        for enter, leave, group in parts:
            node = nodes.setdefault(self.d.node_of_group(group), [enter, leave])
            nodes[self.d.node_of_group(group)] = [max(node[0], enter), min(node[1], leave)]
        for a, (_, leave) in nodes.items():
            for b, (enter, _) in nodes.items():
                if a != b and leave < enter:
                    self.breach("collective-time", "handle %d is %s at %d on node %s, where node %s came to it at %d only" % (
                        handle, what, leave, self.d.text(self.d.nodes[a]["name"]), self.d.text(self.d.nodes[b]["name"]), enter))
                    return

    def check_collective(self, ref, seen, groups):
        """Create and destroy are collective; a rank that was in a call at the end, or whose recording was interrupted, may not have
        come to it."""
        if groups is None:
            return
        states = {group: seen.get(group, NEVER) for group in groups}
        interrupted = self.d.archive.properties.get("IOPROBE::RECORDING_COMPLETE") == "no"
        for event, done in (("created", lambda s: s != NEVER), ("destroyed", lambda s: s == DESTROYED)):
            missing = [g for g, s in states.items() if not done(s) and g not in self.in_flight]
            if not interrupted and missing and any(done(s) for s in states.values()):
                self.breach("collective", "handle %d was not %s in %s, a member of its communicator" % (
                    ref, event, self.d.text(self.d.groups[missing[0]]["name"])))
        counts = {self.collectives.get(ref, {}).get(group, 0) for group in groups if group not in self.in_flight}
        if len(counts) > 1 and not interrupted:
            self.breach("collective", "handle %d has %d collective operations on one member of its communicator and %d on another"
                        % (
                ref, min(counts), max(counts)))
        for group in seen.keys() - groups:
            self.breach("collective", "handle %d was created in %s, no member of its communicator" % (
                ref, self.d.text(self.d.groups[group]["name"])))
