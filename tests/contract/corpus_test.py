# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The corpus of spools (tests/data/spools): the present version must read them and make the archives that are expected of them.
# corpus_test.py checks; "--write" writes tests/data/spools/expected anew (see the README there); "--text DIR [NAME...]" writes the
# text that is hashed to DIR/NAME/PART, to compare two versions of ioprobe. Needs no root. IOPROBE names the executable.
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPOOLS = os.path.join(TESTS, "data", "spools")
EXPECTED = os.path.join(SPOOLS, "expected")
IOPROBE = os.environ.get("IOPROBE", os.path.join(TESTS, "..", "build", "ioprobe"))
PARTS = ("events", "definitions", "properties", "notes")


def printed(*args):
    """What otf2-print writes, without its heading."""
    text = subprocess.run(["otf2-print", *args], capture_output=True, check=True, timeout=60).stdout.decode("utf-8", "replace")
    return text.split("\n" + "-" * 80 + "\n", 1)[-1].splitlines()


def without_refs(line):
    return re.sub(r" <\d+>", "", line)


def properties(archive):
    """[(name, value)] of the archive's properties; without the version that wrote it."""
    lines = printed("-I", archive)
    names = [line.split(None, 2)[2] for line in lines if line.startswith("Property name")]
    values = [line.split(None, 2)[2:] for line in lines if line.startswith("Property value")]
    return [(n, v[0] if v else "") for n, v in zip(names, values) if n != "IOPROBE::VERSION"]


def content(archive):
    """{part: lines}. Names are resolved and refs dropped, so that a further definition changes no event."""
    definitions = [line for line in printed("-G", archive) if line and not line.startswith("STRING ")]
    named = ["%s=%s" % p for p in properties(archive)]
    return {"events": [without_refs(line) for line in printed(archive)],
            "definitions": sorted(re.sub(r"^(\w+) +\d+ ", r"\1 ", without_refs(line)) for line in definitions),
            "properties": sorted(p for p in named if not p.startswith("IOPROBE::NOTE")),
            "notes": sorted(p for p in named if p.startswith("IOPROBE::NOTE"))}


def one_cpu():
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])


def recover(spool, directory, prepare=None):
    os.mkdir(directory)
    shutil.copy(spool, os.path.join(directory, "spool"))
    done = subprocess.run([IOPROBE, "recover", directory], capture_output=True, timeout=120, preexec_fn=prepare)
    if done.returncode:
        raise RuntimeError("recover: status %d: %s" % (done.returncode, done.stderr.decode("utf-8", "replace").strip()))
    return os.path.join(directory, "traces.otf2")


def digests(name, tmp):
    """["NAME PART LINES SHA256"] for one spool; its text stays in tmp/NAME/PART."""
    directory = os.path.join(tmp, name)
    result = []
    for part, lines in content(recover(os.path.join(SPOOLS, name + ".spool"), directory)).items():
        text = "".join(line + "\n" for line in lines)
        with open(os.path.join(directory, part), "w") as out:
            out.write(text)
        result.append("%s %s %d %s" % (name, part, len(lines), hashlib.sha256(text.encode()).hexdigest()))
    return result


def files_differ(name, tmp):
    """Files of the archive that one thread, which is used where there is one CPU, does not write byte for byte as several do.
    The anchor has a random number."""
    several, one = os.path.join(tmp, name), os.path.join(tmp, name + ".one")
    recover(os.path.join(SPOOLS, name + ".spool"), one, one_cpu)
    files = ["traces.def", "summary.json", "collectives.json"]
    for directory in several, one:
        files += [os.path.join("traces", file) for file in os.listdir(os.path.join(directory, "traces"))]
    return [file for file in sorted(set(files)) if read(os.path.join(several, file)) != read(os.path.join(one, file))]


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def check(name, expected, tmp):
    """Reasons against it."""
    wanted = [line for line in expected if line.split()[0] == name]
    try:
        found = digests(name, tmp)
        differing = files_differ(name, tmp)
    except (RuntimeError, subprocess.SubprocessError, OSError) as error:
        return [str(error)]
    if len(wanted) != len(PARTS):
        return ["%s has no lines for it" % EXPECTED]
    if differing:
        return ["with one CPU it has other files: %s" % ", ".join(differing)]
    return ["%s: %s lines, %s expected" % (w.split()[1], f.split()[2],
                                           w.split()[2] if w.split()[2] != f.split()[2] else "the same, otherwise")
            for w, f in zip(wanted, found) if w != f]


def write(names):
    with tempfile.TemporaryDirectory() as tmp:
        lines = [line for name in names for line in digests(name, tmp)]
    with open(EXPECTED, "w") as out:
        out.write("".join(line + "\n" for line in lines))
    return 0


def texts(directory, names):
    os.makedirs(directory)
    for name in names:
        digests(name, directory)
    return 0


def check_all(names):
    with open(EXPECTED) as lines:
        expected = lines.read().splitlines()
    failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        for name in names:
            reasons = check(name, expected, tmp)
            failed += bool(reasons)
            print("not ok %s: %s" % (name, "; ".join(reasons)) if reasons else "ok %s" % name)
    print("%d passed, %d failed" % (len(names) - failed, failed))
    return 1 if failed else 0


def main():
    names = sorted(f[:-len(".spool")] for f in os.listdir(SPOOLS) if f.endswith(".spool"))
    if sys.argv[1:2] == ["--write"]:
        return write(names)
    if sys.argv[1:2] == ["--text"]:
        return texts(sys.argv[2], sys.argv[3:] or names)
    return check_all(names)


sys.exit(main())
