#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""recorder_costs.py ARCHIVE SUMMARY: what recorded calls cost must be in both, the same, and the summary's times of ioprobe's own
must follow from it: computed again here from the calls of the archive."""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../contract"))
sys.dont_write_bytecode = True


def key_of(prefix, layer):
    return "IOPROBE::" + prefix + "".join(c if c.isascii() and c.isalnum() else "_" for c in layer.upper())


def check_properties(properties, costs):
    for cost in costs["layers"]:
        for prefix, name in (("PROBE_NS_", "call_ns"), ("PROBE_INSIDE_NS_", "inside_ns")):
            key = key_of(prefix, cost["layer"])
            if properties.get(key) != str(cost[name]):
                yield f"{key} is {properties.get(key)}, {cost[name]} in the summary"
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


def main():
    import otf2_raw
    import tracefile
    with open(sys.argv[2], encoding="utf-8") as file:
        summary = json.load(file)
    costs = {cost["layer"]: cost for cost in summary["recorder_costs"]["layers"]}
    wrong = [] if costs else ["nothing was measured"]
    if costs:
        wrong += check_properties(otf2_raw.Archive(sys.argv[1]).properties, summary["recorder_costs"])
        wrong += check_layers(tracefile.Trace(sys.argv[1]).calls, summary, costs)
        wrong += check_processes(summary, costs)
    print("\n".join(wrong[:5]), end="")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
