# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The rules that the definitions of an archive must keep, and the definitions as tables for the event rules.
import os
import re

import otf2_raw
from otf2_raw import UNDEFINED_32

GROUP_LOCATIONS, GROUP_COMM, GROUP_SELF = 4, 5, 6
PARADIGM_UNKNOWN = 0    # of OTF2_Paradigm
SERIAL = 0
PRE_CREATED = 1

# definitions that count their refs from 0 without a gap: kinds that share one space of refs
DENSE = [("String",), ("IoParadigm",), ("SystemTreeNode",), ("LocationGroup",), ("Region",), ("Group",), ("Comm",), ("Attribute",),
         ("SourceCodeLocation",), ("CallingContext",), ("IoRegularFile", "IoDirectory"), ("IoHandle",)]

# (kind, field) -> kinds it must refer to, and whether it may be undefined
REFERENCES = {
    "IoParadigm": [("identification", "String", False), ("name", "String", False)],
    "Attribute": [("name", "String", False), ("description", "String", True)],
    "SystemTreeNode": [("name", "String", False), ("class_name", "String", False), ("parent", "SystemTreeNode", True)],
    "SystemTreeNodeDomain": [("node", "SystemTreeNode", False)],
    "LocationGroup": [("name", "String", False), ("node", "SystemTreeNode", False)],
    "LocationGroupProperty": [("group", "LocationGroup", False), ("name", "String", False)],
    "Location": [("name", "String", False), ("group", "LocationGroup", False)],
    "LocationProperty": [("location", "Location", False), ("name", "String", False)],
    "Region": [("name", "String", False), ("canonical", "String", False), ("description", "String", True),
               ("file", "String", True)],
    "SourceCodeLocation": [("file", "String", False)],
    "CallingContext": [("region", "Region", False), ("location", "SourceCodeLocation", True), ("parent", "CallingContext", True)],
    "Group": [("name", "String", True)],
    "Comm": [("name", "String", True), ("group", "Group", False), ("parent", "Comm", True)],
    "IoRegularFile": [("name", "String", False), ("scope", "SystemTreeNode", True)],
    "IoDirectory": [("name", "String", False), ("scope", "SystemTreeNode", True)],
    "IoFileProperty": [("file", "IoFile", False), ("name", "String", False)],
    "IoHandle": [("name", "String", True), ("file", "IoFile", True), ("paradigm", "IoParadigm", False), ("comm", "Comm", True),
                 ("parent", "IoHandle", True)],
    "IoPreCreatedHandleState": [("handle", "IoHandle", False)],
}
# The order in which they are written; kinds of one line may be mixed.
ORDER = [("ClockProperties",), ("String",), ("Paradigm",), ("IoParadigm",), ("SystemTreeNode", "SystemTreeNodeDomain"),
         ("LocationGroup", "LocationGroupProperty"),
         ("Location", "LocationProperty"), ("Region",), ("SourceCodeLocation",), ("CallingContext",), ("Group",), ("Comm",),
         ("Attribute",), ("IoRegularFile", "IoDirectory", "IoFileProperty"),
         ("IoHandle", "IoPreCreatedHandleState")]
PLACE = {kind: i for i, kinds in enumerate(ORDER) for kind in kinds}

# identification -> classes (SERIAL, PARALLEL) and flags (OS) that it may have
OS = 1
PARADIGMS = {"POSIX": ((0,), OS), "ISOC": ((0,), 0), "MPI-IO": ((1,), 0), "PnetCDF": ((1,), 0), "ADIOS": ((1,), 0),
             "netCDF": ((0, 1), 0),
             "HDF5": ((0, 1), 0)}
MACHINE, SHARED_MEMORY = 0, 1
PROCESS, CPU_THREAD = 1, 1
SHARED_FILE_SYSTEMS = ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "9p", "afs", "orangefs", "fuse.glusterfs")
LOCAL_FILE_SYSTEMS = ("ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "devtmpfs", "proc", "sysfs", "ramfs")

SPACE = {"IoRegularFile": "IoFile", "IoDirectory": "IoFile"}


class Definitions:
    """Tables by ref. Building them checks the order and the references of the definitions."""

    def __init__(self, archive, breach):
        self.archive, self.breach = archive, breach
        self.by_space = {}
        self.file_properties = {}
        self.domains = {}
        self.group_properties, self.location_properties = {}, {}
        self.precreated = {}
        self.directories = set()
        self.clock = None
        for kind, fields in archive.order:
            self._add(kind, fields)
        table = lambda space: self.by_space.get(space, {})
        self.strings = {ref: d["text"] for ref, d in table("String").items()}
        self.paradigms, self.regions = table("IoParadigm"), table("Region")
        self.nodes, self.groups = table("SystemTreeNode"), table("LocationGroup")
        self.locations, self.members, self.comms = table("Location"), table("Group"), table("Comm")
        self.contexts, self.lines = table("CallingContext"), table("SourceCodeLocation")
        self.attributes, self.files, self.handles = table("Attribute"), table("IoFile"), table("IoHandle")

    def text(self, ref):
        return self.strings.get(ref, "")

    def _check_order(self):
        last = "ClockProperties"
        for kind, fields in self.archive.order:
            if PLACE.get(kind, -1) < PLACE[last] and kind in PLACE:
                self.breach("definition-order", "%s %s follows a %s" % (kind, fields.get("ref", ""), last))
                return
            last = kind if kind in PLACE else last

    def _add(self, kind, fields):
        for name, space, optional in REFERENCES.get(kind, ()):
            ref = fields[name]
            if optional and ref == UNDEFINED_32:
                continue
            if ref not in self.by_space.get(space, {}):
                self.breach("ref-undefined", "%s %s refers to %s %d, which is not defined before it" % (
                    kind, fields.get("ref", ""), space, ref))
        if kind == "ClockProperties":
            self.clock = fields
        elif kind == "SystemTreeNodeDomain":
            self.domains.setdefault(fields["node"], set()).add(fields["domain"])
        elif kind == "IoFileProperty":
            if fields["type"] == otf2_raw.TYPE_STRING:
                self.file_properties.setdefault(fields["file"], {})[fields["name"]] = fields["value"]
        elif kind == "LocationProperty":
            self.location_properties.setdefault(fields["location"], {})[fields["name"]] = fields["value"]
        elif kind == "LocationGroupProperty":
            self.group_properties.setdefault(fields["group"], {})[fields["name"]] = fields["value"]
        elif kind == "IoPreCreatedHandleState":
            self.precreated[fields["handle"]] = fields
        elif "ref" in fields and kind != "Paradigm":
            self._add_to_space(kind, fields)

    def _add_to_space(self, kind, fields):
        space = self.by_space.setdefault(SPACE.get(kind, kind), {})
        ref = fields["ref"]
        if ref in space:
            self.breach("ref-dense", "%s %d is defined twice" % (kind, ref))
        elif any(kind in kinds for kinds in DENSE) and ref != len(space):
            self.breach("ref-dense", "%s %d follows %d: refs are not dense and ascending" % (kind, ref, len(space) - 1))
        if kind == "IoDirectory":
            self.directories.add(ref)
        space[ref] = fields

    # ---- rules ----

    def check(self):
        if self.clock is None:
            self.breach("clock-range", "there are no clock properties")
        self._check_order()
        self._check_paradigms()
        self._check_tree()
        self._check_locations()
        self._check_regions()
        self._check_groups()
        self._check_ranks()
        self._check_files()
        self._check_handles()
        for path in self.archive.missing_files():
            self.breach("location-file", "%s is missing" % path)

    def _check_tree(self):
        roots = [ref for ref, node in self.nodes.items() if node["parent"] == UNDEFINED_32]
        if len(roots) != 1:
            self.breach("system-tree", "the system tree has %d roots" % len(roots))
        for ref in roots:
            if self.text(self.nodes[ref]["class_name"]) != "machine":
                self.breach("system-tree", "the root's class is %s, not machine" % self.text(self.nodes[ref]["class_name"]))
        hosts = [self.text(node["name"]) for ref, node in self.nodes.items() if ref not in roots]
        for host in {host for host in hosts if hosts.count(host) > 1}:
            self.breach("system-tree", "there are %d nodes %s" % (hosts.count(host), host))
        for ref, node in self.nodes.items():
            if ref not in roots and node["parent"] not in roots:
                self.breach("system-tree", "%s is not below the root" % self.text(node["name"]))
        for ref, group in self.groups.items():
            if group["node"] in roots and len(self.nodes) > 1:
                self.breach("system-tree", "location group %d is on no node" % ref)

        for ref, node in self.nodes.items():
            domain = MACHINE if ref in roots else SHARED_MEMORY
            if ref not in roots and self.text(node["class_name"]) != "node":
                self.breach("system-tree", "the class of node %d is %s, not node" % (ref, self.text(node["class_name"])))
            if domain not in self.domains.get(ref, ()):
                self.breach("system-tree", "node %d (%s) is not of the domain %s" % (
                    ref, self.text(node["name"]), "MACHINE" if domain == MACHINE else "SHARED_MEMORY"))

    def _check_paradigms(self):
        seen = set()
        for ref, paradigm in self.paradigms.items():
            name = self.text(paradigm["identification"])
            classes, flags = PARADIGMS.get(name, ((0, 1), paradigm["flags"]))
            if paradigm["cls"] not in classes or paradigm["flags"] != flags:
                self.breach("paradigm", "paradigm %d (%s) has class %d and flags %d"
                            % (ref, name, paradigm["cls"], paradigm["flags"]))
            if name in seen:
                self.breach("paradigm", "paradigm %s is defined twice" % name)
            seen.add(name)

    def _check_locations(self):
        names = set()
        for ref, group in self.groups.items():
            name = self.text(group["name"])
            if group["type"] != PROCESS:
                self.breach("location", "location group %d (%s) is no process" % (ref, name))
            if name.startswith("MPI Rank ") and name in names:
                self.breach("location", "two location groups are %s" % name)
            names.add(name)
        for ref, location in self.locations.items():
            if location["type"] != CPU_THREAD:
                self.breach("location", "location %d is no thread of a CPU" % ref)
            moments = {self.text(name): value for name, value in self.location_properties.get(ref, {}).items()}
            if "Begin" in moments and "Found" in moments:
                self.breach("lifetime", "location %d has a begin, but was found" % ref)
            if moments.get("End", otf2_raw.UNDEFINED_64) < moments.get("Begin", moments.get("Found", 0)):
                self.breach("lifetime", "location %d ends before it begins" % ref)

    def _check_regions(self):
        for ref, region in self.regions.items():
            if self.text(region["name"]) != self.text(region["canonical"]):
                self.breach("region", "region %d (%s) has the canonical name %s" % (
                    ref, self.text(region["name"]), self.text(region["canonical"])))
            if region["paradigm"] == PARADIGM_UNKNOWN:
                self.breach("region", "region %d (%s) is of an unknown paradigm" % (ref, self.text(region["name"])))

    def _check_groups(self):
        locations = [g for g in self.members.values() if g["type"] == GROUP_LOCATIONS]
        if len(locations) > 1 or (self.comms and not locations):
            self.breach("group-members", "there are %d groups of communication locations" % len(locations))
        size = len(locations[0]["members"]) if locations else 0
        if sum(g["type"] == GROUP_SELF for g in self.members.values()) > 1:
            self.breach("group-members", "there is more than one group of type COMM_SELF")
        for group in self.members.values():
            self._check_members(group, size)
        for group in locations:
            self._check_rank_order(group["members"])

    def _check_rank_order(self, members):
        """An index in the group of locations stands for a rank: they ascend in each job."""
        last = {}
        for member in members:
            group = self.groups.get(self.locations[member]["group"]) if member in self.locations else None
            match = re.match(r"MPI Rank (\d+)(.*)$", self.text(group["name"])) if group else None
            if not match:
                self.breach("group-members", "location %d is of no MPI rank" % member)
            elif int(match.group(1)) <= last.get(match.group(2), -1):
                self.breach("group-members", "%s follows rank %d" % (match.group(0), last[match.group(2)]))
            else:
                last[match.group(2)] = int(match.group(1))

    def _check_members(self, group, size):
        members = group["members"]
        if len(set(members)) != len(members):
            self.breach("group-members", "group %d has a member twice" % group["ref"])
        for member in members:
            if group["type"] == GROUP_LOCATIONS and member not in self.locations:
                self.breach("group-members", "group %d has location %d, which is not defined" % (group["ref"], member))
            if group["type"] == GROUP_COMM and member >= size:
                self.breach("group-members", "group %d has index %d of %d" % (group["ref"], member, size))

    def rank_of(self, group):
        """(launch, rank) of a location group, None if it is no rank. Values of 32 bits stand in a union of 64."""
        named = {self.text(name): value & UNDEFINED_32 for name, value in self.group_properties.get(group, {}).items()}
        if "IOPROBE::RANK" not in named:
            return None
        return named.get("IOPROBE::LAUNCH", UNDEFINED_32), named["IOPROBE::RANK"]

    def _check_ranks(self):
        """A rank is there once per launch, and communicators have their ranks in ascending order."""
        seen = {}
        for ref in self.groups:
            rank = self.rank_of(ref)
            if rank is not None and rank in seen:
                self.breach("ranks", "location groups %d and %d are both rank %d" % (seen[rank], ref, rank[1]))
            seen[rank] = ref
        for group in self.members.values():
            if group["type"] != GROUP_LOCATIONS:
                continue
            ranks = [self.rank_of(self.locations[m]["group"]) for m in group["members"] if m in self.locations]
            by_launch = {}
            for launch, rank in filter(None, ranks):
                by_launch.setdefault(launch, []).append(rank)
            if any(found != sorted(found) for found in by_launch.values()):
                self.breach("ranks", "the communicating locations are not in the order of their ranks")

    def node_of_group(self, group):
        return self.groups[group]["node"]

    def is_one_nodes(self, node):
        """Whether this scope is a node, not the machine or unknown."""
        return node in self.nodes and self.nodes[node]["parent"] != UNDEFINED_32

    def properties_of(self, ref):
        return {self.text(n): self.text(v) for n, v in self.file_properties.get(ref, {}).items()}

    def _check_files(self):
        for ref, file in self.files.items():
            if file["scope"] == UNDEFINED_32:
                continue
            properties = self.properties_of(ref)
            for name in ("Mount Point", "File system"):
                if not properties.get(name):
                    self.breach("file-property",
                                "file %d (%s) has a scope but no property %s" % (ref, self.text(file["name"]), name))
            self._check_path(ref, self.text(file["name"]))
            self._check_scope(ref, file, properties.get("File system", ""))

    def _check_path(self, ref, path):
        if not path.startswith("/") or os.path.normpath(path) != path and path != "/":
            self.breach("file-path", "file %d is %s, no absolute path after links" % (ref, path))

    def _check_scope(self, ref, file, file_system):
        scope = self.text(self.nodes[file["scope"]]["class_name"]) if file["scope"] in self.nodes else "machine"
        if self.properties_of(ref).get("Mount Point") in self.declared_shared() and scope == "machine":
            return
        if (file_system in SHARED_FILE_SYSTEMS and scope != "machine") or (file_system in LOCAL_FILE_SYSTEMS and scope != "node"):
            self.breach("file-scope", "file %d (%s) on %s has the scope of a %s"
                        % (ref, self.text(file["name"]), file_system, scope))

    def declared_shared(self):
        """Mount points of file systems that whoever recorded declared to be shared by the nodes, whatever their type."""
        return {value for name, value in self.archive.properties.items() if name.startswith("IOPROBE::SHARED_MOUNT_")}

    def _check_handles(self):
        for ref, handle in self.handles.items():
            if bool(handle["flags"] & PRE_CREATED) != (ref in self.precreated):
                self.breach("pre-created", "handle %d: the flag PRE_CREATED and IoPreCreatedHandleState disagree" % ref)
            if self.is_serial(handle) and handle["comm"] != UNDEFINED_32:
                self.breach("serial", "handle %d of a SERIAL paradigm has a communicator" % ref)
            self._check_parent(ref, handle)

    def _check_parent(self, ref, handle):
        parent = self.handles.get(handle["parent"])
        if parent is None:
            return
        if handle["parent"] >= ref:
            self.breach("parent", "handle %d has the later handle %d as its parent" % (ref, handle["parent"]))
        if UNDEFINED_32 not in (handle["file"], parent["file"]) and handle["file"] != parent["file"] and not self._is_in(
                handle["file"], parent["file"]):
            self.breach("parent", "handle %d is on file %d, its parent %d on file %d" % (
                ref, handle["file"], handle["parent"], parent["file"]))

    def _is_in(self, file, directory):
        """Whether a file is below a directory: NCZarr's data sets are directories."""
        if directory not in self.directories or file not in self.files:
            return False
        return self.text(self.files[file]["name"]).startswith(self.text(self.files[directory]["name"]) + "/")

    # ---- for the event rules ----

    def is_serial(self, handle):
        paradigm = self.paradigms.get(handle["paradigm"])
        return paradigm is not None and paradigm["cls"] == SERIAL

    def paradigm_name(self, handle_ref):
        handle = self.handles.get(handle_ref)
        paradigm = self.paradigms.get(handle["paradigm"]) if handle else None
        return self.text(paradigm["identification"]) if paradigm else "?"

    def member_groups(self, comm_ref):
        """The location groups of a communicator's members; None where any single one may be it (COMM_SELF) or it is unknown."""
        comm = self.comms.get(comm_ref)
        group = self.members.get(comm["group"]) if comm else None
        if group is None or group["type"] != GROUP_COMM:
            return None
        locations = next((g["members"] for g in self.members.values() if g["type"] == GROUP_LOCATIONS), [])
        refs = [locations[i] for i in group["members"] if i < len(locations)]
        return {self.locations[ref]["group"] for ref in refs if ref in self.locations}

    def chain(self, handle_ref):
        """Paradigms from this handle to the root of its parents, and the first known file among them."""
        names, file = [], UNDEFINED_32
        while handle_ref in self.handles and len(names) < 64:
            handle = self.handles[handle_ref]
            names.append(self.paradigm_name(handle_ref))
            file = handle["file"] if file == UNDEFINED_32 else file
            handle_ref = handle["parent"]
        return names, file
