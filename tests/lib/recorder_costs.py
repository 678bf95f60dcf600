#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""recorder_costs.py ARCHIVE SUMMARY [sites | no-sites]: what recorded calls cost must be in both, the same, and in parts that
add up; the summary's times of ioprobe's own must follow from it: computed again here from the calls of the archive.
Status 2: nothing was measured while the program ran, or all but the part of call sites, whose rules came too late."""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../contract"))
sys.dont_write_bytecode = True


def key_of(prefix, layer):
    return "IOPROBE::" + prefix + "".join(c if c.isascii() and c.isalnum() else "_" for c in layer.upper())


PROPERTIES = (("PROBE_NS_", "call_ns"), ("PROBE_INSIDE_NS_", "inside_ns"), ("PROBE_ENTRY_RETURN_NS_", "entry_return_ns"),
              ("PROBE_RECORD_NS_", "record_ns"), ("PROBE_SITE_NS_", "site_ns"))


def check_parts(cost, sites):
    """The record is measured with every call; what the other two leave is that of entry and return, unless they leave nothing."""
    entry_return, record, site = (cost[name] for name in ("entry_return_ns", "record_ns", "site_ns"))
    if not record:
        yield f"{cost['layer']}: a record costs {record} ns"
    elif site is None:
        if entry_return is not None or not sites:
            yield f"{cost['layer']}: the cost of a call site is not known, that of entry and return is {entry_return}"
    elif entry_return is None:
        if record + site <= cost["call_ns"]:
            yield f"{cost['layer']}: a call costs {cost['call_ns']} ns, of which {record} and {site}; what is left is not known"
    elif entry_return + record + site != cost["call_ns"]:
        yield f"{cost['layer']}: a call costs {cost['call_ns']} ns, its parts {entry_return}, {record} and {site}"
    if not sites and site:
        yield f"{cost['layer']}: there are no call sites, and they cost {site} ns"


def check_properties(properties, costs):
    for cost in costs["layers"]:
        for prefix, name in PROPERTIES:
            key, value = key_of(prefix, cost["layer"]), cost[name]
            if properties.get(key) != (None if value is None else str(value)):
                yield f"{key} is {properties.get(key)}, {value} in the summary"
        if not 0 < cost["call_ns"] or cost["inside_ns"] > cost["call_ns"]:
            yield f"a call of {cost['layer']} costs {cost['call_ns']} ns, {cost['inside_ns']} of them in its own time"


def check_layers(calls, summary, costs):
    own = collections.Counter()
    for call in calls:
        layers, above = set(), call.parent
        while above:
            layers.add(above.layer)
            above = above.parent
        for layer in layers:
            own[layer] += costs[call.layer]["call_ns"]
        if call.layer not in layers:
            own[call.layer] += costs[call.layer]["inside_ns"]
    for layer in summary["layers"]:
        if layer["recorder_time_ns"] != own[layer["name"]]:
            yield (f"{layer['name']}: {layer['recorder_time_ns']} ns are ioprobe's in the summary, "
                   f"{own[layer['name']]} by the archive's calls")


def check_processes(summary, costs):
    for process in summary["process_list"]:
        cost = sum(l["calls"] * costs[l["name"]]["call_ns"] for l in process["layers"])
        if process["recorder_time_ns"] != cost:
            yield f"{process['name']}: {process['recorder_time_ns']} ns are ioprobe's, not {cost}"
        if process["end_ns"] and (process["probe_hits"] or 0) < 2 * process["calls"]:
            yield f"{process['name']}: {process['calls']} calls, and {process['probe_hits']} hits of probes"


def check_hits(groups, processes):
    """groups: properties by name, so of processes that share a name only those of one are there."""
    names = collections.Counter(process["name"] for process in processes)
    for process in processes:
        hits = groups.get(process["name"], {}).get("Probe Hits")
        if names[process["name"]] == 1 and hits != process["probe_hits"]:
            yield f"{process['name']}: {hits} hits of probes in the archive, {process['probe_hits']} in the summary"
    if not any("Probe Hits" in properties for properties in groups.values()):
        yield "no process has Probe Hits"


def main():
    import otf2_raw
    import tracefile
    with open(sys.argv[2], encoding="utf-8") as file:
        summary = json.load(file)
    costs = {cost["layer"]: cost for cost in summary["recorder_costs"]["layers"]}
    sites = sys.argv[3:] != ["no-sites"]
    wrong = [] if costs else ["nothing was measured"]
    if costs:
        wrong += check_properties(otf2_raw.Archive(sys.argv[1]).properties, summary["recorder_costs"])
        wrong += [w for cost in costs.values() for w in check_parts(cost, sites)]
        trace = tracefile.Trace(sys.argv[1])
        wrong += check_layers(trace.calls, summary, costs)
        wrong += check_hits(trace.group_properties, summary["process_list"])
        wrong += check_processes(summary, costs)
    print("\n".join(wrong[:5]), end="")
    if not costs:
        return 2
    return 1 if wrong else 2 if any(cost["site_ns"] is None for cost in costs.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
