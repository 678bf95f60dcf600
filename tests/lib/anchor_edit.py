#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# anchor_edit.py FILE PATTERN EXPRESSION: replaces every match m of a regular expression in a file by the expression's value, which
# must be as long; n counts the matches from 0. Makes archives that differ in one thing. Status 1 if nothing matched.
import re
import sys


def main():
    path, pattern, expression = sys.argv[1:]
    with open(path, "rb") as file:
        old = file.read()
    count = 0

    def replace(m):
        nonlocal count
        new = str(eval(expression, {"m": [g.decode() for g in (m.group(0),) + m.groups()], "n": count, "int": int})).encode()
        if len(new) != len(m.group(0)):
            sys.exit(f"anchor_edit.py: {m.group(0)} and {new} differ in length")
        count += 1
        return new
    new = re.sub(pattern.encode(), replace, old)
    with open(path, "wb") as file:
        file.write(new)
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
