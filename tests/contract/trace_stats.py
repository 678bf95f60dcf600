# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Figures of a trace, for tests: calls per location group and region, bytes per paradigm, files, chains of handles.
import fnmatch
from collections import defaultdict

from otf2_raw import UNDEFINED_32

MODES = {0: "read", 1: "write", 2: "flush"}


def counters():
    return defaultdict(int)


class Stats:
    def __init__(self, definitions):
        self.d = definitions
        self.calls = defaultdict(counters)              # group -> region -> calls
        self.failed = defaultdict(counters)
        self.abandoned = defaultdict(counters)
        self.paradigms = defaultdict(lambda: defaultdict(counters))     # group -> paradigm -> counter -> value
        self.handles = defaultdict(set)                 # group -> handles that were made or used
        self.totals = {}

    # ---- told by the event rules ----

    def call(self, group, region):
        self.calls[group][region] += 1

    def leave(self, group, region, abandoned, failed):
        if abandoned:
            self.abandoned[group][region] += 1
        if failed:
            self.failed[group][region] += 1

    def used(self, group, handle):
        self.handles[group].add(handle)

    def _count(self, group, handle, name, value=1):
        self.paradigms[group][self.d.paradigm_name(handle)][name] += value

    def created(self, group, handle):
        self.used(group, handle)
        self._count(group, handle, "created")

    def destroyed(self, group, handle):
        self._count(group, handle, "destroyed")

    def begun(self, group, handle, mode):
        self._count(group, handle, MODES.get(mode, "?") + "s" if mode != 2 else "flushes")

    def moved(self, group, handle, mode, size):
        if mode in (0, 1):
            self._count(group, handle, "bytes_read" if mode == 0 else "bytes_written", size)

    def finish(self, events, open_calls, open_operations, open_blocking, abandoned_operations):
        self.totals = {"events": events, "open_calls": open_calls, "open_operations": open_operations,
                       "open_blocking_operations": open_blocking, "abandoned_operations": abandoned_operations}

    # ---- as JSON ----

    def _regions(self, table):
        result = defaultdict(int)
        for region, n in table.items():
            definition = self.d.regions.get(region)
            result[self.d.text(definition["name"]) if definition else "region %d" % region] += n
        return dict(result)

    def chains(self, group):
        """path -> chains of paradigms from the lowest handle to the root, each once."""
        used = set()
        for ref in self.handles[group]:
            while ref in self.d.handles and ref not in used:
                used.add(ref)
                ref = self.d.handles[ref]["parent"]
        parents = {self.d.handles[ref]["parent"] for ref in used}
        result = {}
        for ref in sorted(used - parents):
            names, file = self.d.chain(ref)
            path = self.d.text(self.d.files[file]["name"]) if file in self.d.files else ""
            chains = result.setdefault(path, [])
            if names not in chains:
                chains.append(names)
        return result

    def files(self):
        result = []
        for ref, file in sorted(self.d.files.items()):
            scope = self.d.nodes.get(file["scope"])
            result.append({"path": self.d.text(file["name"]), "properties": self.d.properties_of(ref),
                           "scope": self.d.text(scope["class_name"]) if scope else None,
                           "scope_name": self.d.text(scope["name"]) if scope else None})
        return result

    def as_dict(self):
        groups = {}
        for ref, definition in sorted(self.d.groups.items()):
            name = self.d.text(definition["name"])
            if name in groups:
                name = "%s #%d" % (name, ref)
            groups[name] = {
                "calls": self._regions(self.calls[ref]), "failed": self._regions(self.failed[ref]),
                "abandoned": self._regions(self.abandoned[ref]),
                "paradigms": {p: dict(c) for p, c in self.paradigms[ref].items()}, "chains": self.chains(ref),
                "threads": sum(location["group"] == ref for location in self.d.locations.values()),
            }
        paradigms = {self.d.text(p["identification"]): {
            "name": self.d.text(p["name"]), "class": "PARALLEL" if p["cls"] else "SERIAL",
            "version": self.d.text(p["values"][0]) if p["values"] else None} for p in self.d.paradigms.values()}
        comms = {self.d.text(c["name"]): sorted(self.d.text(self.d.groups[g]["name"]) for g in self.d.member_groups(ref) or ())
                 for ref, c in self.d.comms.items()}
        return {"groups": groups, "paradigms": paradigms, "communicators": comms, "files": self.files(),
                "precreated": sorted(self.d.text(self.d.handles[h]["name"]) for h in self.d.precreated if h in self.d.handles),
                "totals": self.totals, "clock": self.d.clock, "properties": self.d.archive.properties}


def expression_names(stats):
    """The words of --expect. group and region are patterns as in fnmatch; without them all are added up."""
    def groups(pattern):
        return [g for name, g in stats["groups"].items() if fnmatch.fnmatchcase(name, pattern)]

    def regions(key):
        return lambda region="*", group="*": sum(n for g in groups(group) for name, n in g[key].items()
                                                 if fnmatch.fnmatchcase(name, region))

    def counter(key):
        return lambda paradigm="*", group="*": sum(c.get(key, 0) for g in groups(group) for name, c in g["paradigms"].items()
                                                   if fnmatch.fnmatchcase(name, paradigm))

    def chain(text, path="*", group="*"):
        wanted = text.split(">")
        return any(wanted == c for g in groups(group) for p, chains in g["chains"].items()
                   if fnmatch.fnmatchcase(p, path) for c in chains)

    def files(pattern="*"):
        return [f for f in stats["files"] if fnmatch.fnmatchcase(f["path"], pattern)]

    names = {key: regions(key) for key in ("calls", "failed", "abandoned")}
    names.update({key: counter(key) for key in ("bytes_read", "bytes_written", "reads", "writes", "flushes", "created",
                                                "destroyed")})
    names.update({"chain": chain, "files": files, "stats": stats,
                  "scopes": lambda pattern="*": {f["scope"] for f in files(pattern)},
                  "ranks": sum(name.startswith("MPI Rank ") for name in stats["groups"]), "processes": len(stats["groups"]),
                  "property": lambda name: stats["properties"].get("IOPROBE::" + name),
                  "lost": int(stats["properties"].get("IOPROBE::LOST_RECORDS", -1))})
    names.update({f.__name__: f for f in (len, min, max, sum, any, all, set, sorted, abs, int)})
    return names
