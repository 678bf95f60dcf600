#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""check_job_summary.py MERGED NODE...: the summary.json of a merged archive must fit its schema, and every number must be the sum
of those of the nodes' summaries. Arguments are directories."""
import json
import os
import sys

SCHEMA = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../user/merge/job_summary.schema.json"))
NODE_SCHEMA = "../sink/summary/summary.schema.json"
COUNTS = ("reads", "writes", "bytes_read", "bytes_written", "reads_of_known_size", "writes_of_known_size", "reads_of_unknown_size",
          "writes_of_unknown_size", "reads_failed", "writes_failed")


def load(directory):
    with open(os.path.join(directory, "summary.json"), encoding="utf-8") as file:
        return json.load(file)


def check_schema(summary):
    import jsonschema
    with open(SCHEMA, encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(os.path.dirname(SCHEMA), NODE_SCHEMA), encoding="utf-8") as file:
        definitions = json.load(file)["definitions"]
    schema = json.loads(text.replace(NODE_SCHEMA + "#", "#"))   # both have the definitions count and text
    schema["definitions"] = definitions
    errors = jsonschema.Draft7Validator(schema).iter_errors(summary)
    return [f"{'/'.join(map(str, e.path))}: {e.message[:200]}" for e in errors][:5]


def differences(place, found, parts, keys):
    return [f"{place}: {key} {found.get(key)}, the nodes have {sum(p[key] for p in parts)}" for key in keys
            if found.get(key) != sum(p[key] for p in parts)]


def identity(file):
    return tuple(file[key] for key in ("scope", "mount_source", "file_system", "path", "directory"))


def check_layers(found, parts, keys, place):
    wrong = []
    for name in {l["name"] for part in parts for l in part}:
        own = [l for l in found if l["name"] == name]
        if len(own) != 1:
            return [f"{place}: {len(own)} entries of layer {name}"]
        wrong += differences(f"{place}, {name}", own[0], [l for part in parts for l in part if l["name"] == name], keys)
    return wrong


def check_files(merged, nodes):
    wrong = []
    found = {identity(f): f for f in merged["files"]}
    wanted = {identity(f) for n in nodes for f in n["files"]}
    if set(found) != wanted or len(found) != len(merged["files"]) or merged["files_total"] != len(found):
        return [f"{len(merged['files'])} files, the nodes have {len(wanted)}"]
    for key, file in found.items():
        parts = [f for n in nodes for f in n["files"] if identity(f) == key]
        wrong += differences(key[3], file, parts, COUNTS + ("opens",))
        wrong += check_layers(file["layers"], [p["layers"] for p in parts], COUNTS + ("opens", "time_ns", "metadata_time_ns"),
                              key[3])
        if file["nodes"] != len(parts) or file["longest_time_ns"] != max(l["time_ns"] for l in file["layers"]):
            wrong.append(f"{key[3]}: nodes or longest_time_ns")
    times = [f["longest_time_ns"] for f in merged["files"]]
    return wrong + (["files are not in the order of time"] if times != sorted(times, reverse=True) else [])


def check_processes(merged, nodes):
    wanted = [dict(p, host=n["host"]) for n in nodes for p in n["process_list"]]
    return [] if [dict(p, index=None) for p in merged["process_list"]] == [dict(p, index=None) for p in wanted] and \
        [p["index"] for p in merged["process_list"]] == list(range(len(wanted))) else ["process_list is not that of the nodes"]


def main():
    merged, nodes = load(sys.argv[1]), [load(d) for d in sys.argv[2:]]
    totals = ("calls", "failed_calls", "records_lost", "records_late", "calls_abandoned", "sizes_unknown", "operations_open")
    wrong = check_schema(merged) or differences("job", merged, nodes, totals) + differences(
        "pipes_and_sockets", merged["pipes_and_sockets"], [n["pipes_and_sockets"] for n in nodes],
        COUNTS + ("count",)) + check_layers(
        merged["layers"], [n["layers"] for n in nodes], COUNTS + ("calls", "failed", "time_ns"), "job") + check_files(merged,
                nodes) + \
        check_processes(merged, nodes)
    for layer in merged["layers"]:
        parts = [l["outermost"] for n in nodes for l in n["layers"] if l["name"] == layer["name"] and "outermost" in l]
        if parts or "outermost" in layer:
            wrong += differences(f"{layer['name']}, outermost", layer.get("outermost", {}), parts, parts[0] if parts else ())
        longest = max(l["longest_call_ns"] for n in nodes for l in n["layers"] if l["name"] == layer["name"])
        if layer["longest_call_ns"] != longest:
            wrong.append(f"{layer['name']}: longest_call_ns {layer['longest_call_ns']} is not {longest}")
    print("\n".join(wrong[:5]), end="")
    return bool(wrong)


sys.exit(main())
