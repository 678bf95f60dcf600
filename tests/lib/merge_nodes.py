#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""merge_nodes.py make TEMPLATE OUT NODES RANKS [HANDLES]: node archives of a larger job, made from a recorded one.
merge_nodes.py check MERGED TEMPLATE NODES RANKS: whether their merged archive has the structure that it must have.

Every rank is a copy of the template's first one: its definitions are written anew, its event files are linked. HANDLES (8) further
handles per rank stand for what a real rank opens; no event uses them. The copies' matching ids are the same, so only the structure
can be checked."""
import errno
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "contract"))
import _otf2
import otf2_raw
from otf2_raw import TYPE_STRING, UNDEFINED_32

TYPE_UINT32 = 3
GROUP_LOCATIONS, GROUP_COMM = 4, 5
# definitions that a node has as the template has them
COPIED = ("Paradigm", "SystemTreeNode", "SystemTreeNodeDomain", "Region", "Attribute", "IoRegularFile", "IoDirectory")


class Template:
    def __init__(self, directory):
        self.directory = directory
        self.archive = otf2_raw.Archive(os.path.join(directory, "traces.otf2"))
        of = self.archive.of_kind
        self.strings = {d["ref"]: d["text"] for d in of("String")}
        self.refs = {text: ref for ref, text in self.strings.items()}
        self.clock = of("ClockProperties")[0]
        self.host = next(d["name"] for d in of("SystemTreeNode") if self.strings[d["class_name"]] == "node")
        self.rank = min(d["group"] for d in of("LocationGroupProperty") if self.strings[d["name"]] == "IOPROBE::RANK")
        self.locations = [d for d in of("Location") if d["group"] == self.rank]
        self.handles = of("IoHandle")
        self.states = {d["handle"]: d for d in of("IoPreCreatedHandleState")}
        self.posix = next(d["ref"] for d in of("IoParadigm") if self.strings[d["identification"]] == "POSIX")

    def evt(self, location):
        return os.path.join(self.directory, "traces", "%d.evt" % location)


def value_of(kind, number):
    value = _otf2.AttributeValue()
    if kind == TYPE_STRING:
        value.stringRef = number
    else:
        value.uint32 = number
    return value


class Links:
    """A file under many names; a further copy where the file system allows no more links."""

    def __init__(self, path, scratch):
        self.path, self.scratch, self.copies = path, scratch, 0

    def link(self, to):
        try:
            os.link(self.path, to)
        except OSError as error:
            if error.errno not in (errno.EMLINK, errno.EXDEV):
                raise
            self.copies += 1
            copy = os.path.join(self.scratch, "%s.%d" % (os.path.basename(self.path), self.copies))
            shutil.copy(self.path, copy)
            self.path = copy
            os.link(copy, to)


class Node:
    def __init__(self, template, out, number, ranks, total, handles):
        self.t, self.number, self.ranks, self.total, self.handles = template, number, ranks, total, handles
        self.dir = os.path.join(out, "node-%d" % number)
        self.tag = 1 + number

    def location(self, rank, index):
        return self.tag << 32 | rank * len(self.t.locations) + index

    def write(self, links, empty):
        os.makedirs(self.dir)
        archive = _otf2.Archive_Open(self.dir, "traces", _otf2.FILEMODE_WRITE, 256 << 10, 1 << 20, _otf2.SUBSTRATE_POSIX,
                                     _otf2.COMPRESSION_NONE)
        _otf2.Archive_SetFlushCallbacks(archive, self.flush(), None)
        _otf2.Archive_SetSerialCollectiveCallbacks(archive)
        self.writer = _otf2.Archive_GetGlobalDefWriter(archive)
        self.define()
        self.set_properties(archive)
        _otf2.Archive_Close(archive)
        for rank in range(self.ranks):
            for index, location in enumerate(self.t.locations):
                name = os.path.join(self.dir, "traces", str(self.location(rank, index)))
                links[location["ref"]].link(name + ".evt")
                empty.link(name + ".def")
        for name in ("summary.json", "collectives.json"):
            shutil.copy(os.path.join(self.t.directory, name), self.dir)

    def flush(self):
        self.callbacks = _otf2.FlushCallbacks(pre_flush=lambda *_: _otf2.FLUSH, post_flush=None)
        return self.callbacks

    def put(self, kind, *args):
        getattr(_otf2, "GlobalDefWriter_Write" + kind)(self.writer, *args)

    def define(self):
        self.define_strings()
        for kind, d in self.t.archive.order:
            if kind in COPIED:
                self.put(kind, *d.values())
            elif kind == "IoParadigm":
                self.put(kind, d["ref"], d["identification"], d["name"], d["cls"], d["flags"], [], [], [])
            elif kind == "IoFileProperty":
                self.put(kind, d["file"], d["name"], _otf2.Type(d["type"]), value_of(TYPE_STRING, d["value"]))
            elif kind == "LocationGroup" and d["ref"] == 0:
                self.define_ranks()
            elif kind == "Group" and d["ref"] == 0:
                self.define_comms()
        self.define_handles()

    def define_strings(self):
        t = self.t
        self.put("ClockProperties", *t.clock.values())
        for ref, text in t.strings.items():
            self.put("String", ref, "node%05d" % self.number if ref == t.host else text)
        self.names = len(t.strings)
        for rank in range(self.ranks):
            self.put("String", self.names + rank, "MPI Rank %d" % (self.number * self.ranks + rank))
        self.launch = self.names + self.ranks
        self.put("String", self.launch, "launch.1")

    def define_ranks(self):
        refs = self.t.refs
        for rank in range(self.ranks):
            self.put("LocationGroup", rank, self.names + rank, 1, 1, UNDEFINED_32)
        for rank in range(self.ranks):
            for name, kind, number in (("RANK", TYPE_UINT32, self.number * self.ranks + rank),
                                       ("LAUNCH_SIZE", TYPE_UINT32, self.total),
                                       ("LAUNCH", TYPE_STRING, self.launch)):
                self.put("LocationGroupProperty", rank, refs["IOPROBE::" + name], _otf2.Type(kind), value_of(kind, number))
        for rank in range(self.ranks):
            for index, location in enumerate(self.t.locations):
                self.put("Location", self.location(rank, index), location["name"], location["type"], location["events"], rank)

    def define_comms(self):
        world, own = self.t.refs["MPI_COMM_WORLD"], self.t.refs["MPI_COMM_SELF"]
        self.put("Group", 0, self.t.refs[""], GROUP_LOCATIONS, 4, 0, [self.location(rank, 0) for rank in range(self.ranks)])
        self.put("Group", 1, world, GROUP_COMM, 4, 0, list(range(self.ranks)))
        self.put("Group", 2, own, 6, 4, 0, [])
        self.put("Comm", 0, world, 1, UNDEFINED_32, 0)
        self.put("Comm", 1, own, 2, UNDEFINED_32, 0)

    def define_handles(self):
        for h in self.t.handles:
            self.put("IoHandle", *h.values())
            if h["ref"] in self.t.states:
                self.put("IoPreCreatedHandleState", *self.t.states[h["ref"]].values())
        ref, files = len(self.t.handles), len(self.t.archive.of_kind("IoRegularFile", "IoDirectory"))
        for i in range(self.ranks * self.handles):
            self.put("IoHandle", ref + i, self.t.refs[""], i % files, self.t.posix, 0, UNDEFINED_32, UNDEFINED_32)

    def set_properties(self, archive):
        own = {"IOPROBE::RECORDING_TAG": str(self.tag), "IOPROBE::BATCH_JOB": "SLURM job 1"}
        for name, value in {**self.t.archive.properties, **own}.items():
            _otf2.Archive_SetProperty(archive, name, value, True)


def make(template, out, nodes, ranks, handles="8"):
    template, nodes, ranks = Template(template), int(nodes), int(ranks)
    scratch = os.path.join(out, "scratch")
    os.makedirs(scratch)
    links = {location["ref"]: Links(template.evt(location["ref"]), scratch) for location in template.locations}
    empty = Links(template.evt(template.locations[0]["ref"])[:-3] + "def", scratch)
    for number in range(nodes):
        Node(template, out, number, ranks, nodes * ranks, int(handles)).write(links, empty)
    return 0


def check(merged, template, nodes, ranks):
    """A line for each thing that is wrong."""
    template, nodes, ranks = Template(template), int(nodes), int(ranks)
    archive = otf2_raw.Archive(os.path.join(merged, "traces.otf2"))
    of, wrong = archive.of_kind, []
    text = {d["ref"]: d["text"] for d in of("String")}

    def same(what, found, expected):
        if found != expected:
            wrong.append("%s: %s instead of %s" % (what, str(found)[:100], str(expected)[:100]))

    same("nodes", [text[d["name"]] for d in of("SystemTreeNode")][1:], ["node%05d" % i for i in range(nodes)])
    same("ranks", [text[d["name"]] for d in of("LocationGroup")], ["MPI Rank %d" % i for i in range(nodes * ranks)])
    same("node of each rank", [d["node"] for d in of("LocationGroup")], [1 + i // ranks for i in range(nodes * ranks)])
    same("locations", len(of("Location")), nodes * ranks * len(template.locations))
    same("events", sum(d["events"] for d in of("Location")), nodes * ranks * sum(d["events"] for d in template.locations))
    same("world", [len(d["members"]) for d in of("Group")], [nodes * ranks, nodes * ranks, 0])
    same("order of ranks", [m >> 32 for m in of("Group")[0]["members"]], [1 + i // ranks for i in range(nodes * ranks)])
    same("regions", len(of("Region")), len(template.archive.of_kind("Region")))
    files = template.archive.of_kind("IoRegularFile", "IoDirectory")
    shared = sum(d["scope"] == 0 for d in files)
    same("files", len(of("IoRegularFile", "IoDirectory")), shared + nodes * (len(files) - shared))
    same("shared files", sum(d["scope"] == 0 for d in of("IoRegularFile", "IoDirectory")), shared)
    joined = sum(d["comm"] == 0 for d in template.handles)
    same("collective handles", sum(d["comm"] == 0 for d in of("IoHandle")), joined)
    same("local files", sorted(os.listdir(os.path.join(merged, "traces"))),
         sorted("%d.%s" % (d["ref"], suffix) for d in of("Location") for suffix in ("def", "evt")))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit({"make": make, "check": check}[sys.argv[1]](*sys.argv[2:]))
