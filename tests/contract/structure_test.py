#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The structure checks of "make lint" that need no tool: includes, call cycles, lines, names, and what the documents name.

"make check" runs this, so that a breach is found also if "make lint" is not run. In a tree without git (a tarball) the checks that
ask git are skipped.
"""
import os
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("BUILD", os.path.join(TOP, "build"))
IOPROBE = os.environ.get("IOPROBE", os.path.join(BUILD, "ioprobe"))


def checks():
    yield "check-includes", []
    yield "check-names", []
    for room in ("model", "replay"):
        yield "call-cycles", [os.path.join(os.path.abspath(BUILD), "obj/user", room)]
    if os.path.exists(os.path.join(TOP, ".git")):
        yield "check-lines", []
        yield "check-documents", [os.path.abspath(IOPROBE)]


def main():
    passed = failed = 0
    for name, arguments in checks():
        result = subprocess.run([os.path.join(TOP, "tools/structure", name), *arguments], cwd=TOP, capture_output=True, text=True,
                                check=False)
        if result.returncode == 0:
            passed += 1
            continue
        failed += 1
        print(f"not ok {name} {' '.join(arguments)}:\n{result.stdout}{result.stderr}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
