# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Memory of call sites: of the BPF maps of nodes and rules when they are full, and at the peak of the parser process and of the
recorder for a program with 500 MB of debug information that makes calls from each of its compilation units."""
import ctypes
import json
import os
import platform
import re
import subprocess
import time

import stats
import variants

DEBUG_BYTES = 500e6
QUICK_BYTES = 50e6
FUNCTIONS, VARIABLES = 2000, 40         # of a unit: some 1.5 MB of debug information
MAPS = ("site_rules", "site_nodes", "site_pythons", "site_codes")
MAPS_TARGET_MIB = 16
PARSER_TARGET_MIB = 384                 # besides the file's pages; its limit of address space is 2 GiB


def unit_text():
    variables = " ".join(f"volatile int v{i} = n;" for i in range(VARIABLES))
    functions = "\n".join(f"__attribute__((used)) static void f{i}(int n) {{ {variables} }}" for i in range(FUNCTIONS))
    return (f"#include <unistd.h>\n{functions}\n__attribute__((constructor)) static void unit(void)\n"
            "{ if (write(1, \"x\", 1) < 0) _exit(3); }\n")


def debug_bytes(path):
    text = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
    return sum(int(size, 16) for size in re.findall(r"\] \.debug_\S+ +\S+ +\S+ \S+ (\S+)", text))


def build(directory, wanted):
    """Links one object file as often as it takes: all that it has is static. Returns its path and the number of units."""
    unit, program = f"{directory}/unit", f"{directory}/program"
    with open(f"{unit}.c", "w") as file:
        file.write(unit_text())
    with open(f"{program}.c", "w") as file:
        file.write("#include <unistd.h>\nint main(void) { usleep(500000); return 0; }\n")
    subprocess.run(["gcc", "-g", "-c", "-o", f"{unit}.o", f"{unit}.c"], check=True)
    subprocess.run(["gcc", "-g", "-c", "-o", f"{program}.o", f"{program}.c"], check=True)
    units = int(wanted / debug_bytes(f"{unit}.o")) + 1
    subprocess.run(["gcc", "-o", program, f"{program}.o", *[f"{unit}.o"] * units], check=True)
    return program, units


def memory_mib(pid, field):
    try:
        with open(f"/proc/{pid}/status") as file:
            return next((int(line.split()[1]) / 1024 for line in file if line.startswith(field + ":")), 0)
    except (FileNotFoundError, ProcessLookupError):
        return 0


def parsers_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = file.read().split()
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                children += file.read().split()
    except FileNotFoundError:
        return []
    found = []
    for child in set(children):
        try:
            with open(f"/proc/{child}/cmdline") as file:
                found += [child] if "parser-process" in file.read() else []
        except FileNotFoundError:
            pass
    return found


def maps_of(pid):
    """The recorder's maps of call sites, as the kernel describes them."""
    ids = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{fd}") as file:
            ids.update(int(line.split()[1]) for line in file if line.startswith("map_id:"))
    maps = json.loads(subprocess.run(["bpftool", "-j", "map", "list"], check=True, capture_output=True, text=True).stdout)
    return [m for m in maps if m["id"] in ids and m.get("name") in MAPS]


def fill(description):
    """Adds elements until the map is full."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 321, "aarch64": 280}[platform.machine()]
    attributes = (ctypes.c_uint32 * 4)(description["id"])
    fd = libc.syscall(number, 14, attributes, 16)                       # BPF_MAP_GET_FD_BY_ID
    if fd < 0:
        raise OSError(ctypes.get_errno(), "BPF map")
    value = ctypes.create_string_buffer(description["bytes_value"])
    for i in range(description["max_entries"]):
        key = ctypes.create_string_buffer(os.urandom(description["bytes_key"]), description["bytes_key"])
        element = (ctypes.c_uint64 * 4)(fd, ctypes.addressof(key), ctypes.addressof(value), 0)
        if libc.syscall(number, 2, element, 32):                        # BPF_MAP_UPDATE_ELEM
            break
    os.close(fd)
    return i + 1


def full_maps_mib(directory):
    child = subprocess.Popen([variants.IOPROBE, "-o", f"{directory}/full", "--call-sites", "--", "sleep", "60"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            maps = maps_of(child.pid)
            if len(maps) == len(MAPS) and parsers_of(child.pid):
                break
            time.sleep(0.1)
        elements = {m["name"]: fill(m) for m in maps}
        return elements, sum(m["bytes_memlock"] for m in maps_of(child.pid)) / (1 << 20)
    finally:
        child.terminate()
        child.wait()


def record(program, directory):
    trace = f"{directory}/trace"
    parser = own = recorder = 0
    begin = time.monotonic()
    child = subprocess.Popen([variants.IOPROBE, "-o", trace, "--call-sites", "--", program], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    while child.poll() is None:
        recorder = max(recorder, memory_mib(child.pid, "VmHWM"))
        for pid in parsers_of(child.pid):
            parser, own = max(parser, memory_mib(pid, "VmHWM")), max(own, memory_mib(pid, "RssAnon"))
        time.sleep(0.005)
    with open(f"{trace}/summary.json") as file:
        sites = json.load(file)["call_sites"]["sites"]
    lines = sum(s["calls"] for s in sites if s["bytes_written"] and s["frames"] and s["frames"][0]["function"] == "unit" and
                s["frames"][0]["line"])
    return {"parser_mib": parser, "parser_own_mib": own, "recorder_mib": recorder, "seconds": time.monotonic() - begin,
            "calls": sum(s["calls"] for s in sites if s["bytes_written"]), "calls_with_lines": lines}


def memory(directory, quick):
    try:
        program, units = build(directory, QUICK_BYTES if quick else DEBUG_BYTES)
    except subprocess.CalledProcessError as error:
        raise ValueError(error) from error
    elements, maps = full_maps_mib(directory)
    report = {"debug_bytes": debug_bytes(program), "units": units, "elements": elements, "maps_mib": maps,
              **record(program, directory)}
    rows = [["maps of call sites, full", stats.number(report["maps_mib"]),
             stats.judge_limit(report["maps_mib"], MAPS_TARGET_MIB, "MiB")],
            ["parser process, peak, without the file's pages", stats.number(report["parser_own_mib"]),
             stats.judge_limit(report["parser_own_mib"], PARSER_TARGET_MIB, "MiB")],
            ["parser process, peak, with them", stats.number(report["parser_mib"]), ""],
            ["recorder with its rings, peak", stats.number(report["recorder_mib"]), ""]]
    text = (f"\n{report['debug_bytes'] / 1e6:.0f} MB of debug information: {report['calls']} calls from {units} units, "
            f"{report['calls_with_lines']} with their lines, {report['seconds']:.1f} s\n")
    return report, stats.table(["memory of call sites", "MiB", "target"], rows) + text


SECTIONS = {"debug information": memory}
