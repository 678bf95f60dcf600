#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""expect.py ARCHIVE EXPRESSION...: evaluates Python expressions over a trace (tracefile.py has the words); prints those that are
not true.

Exit status 0 if all are true, 1 if some are not, 2 if the archive cannot be read or an expression is wrong."""
import ast
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True


def shown(expression, words):
    """Values of both sides of a comparison, so that a failure shows what was found."""
    node = ast.parse(expression, mode="eval").body
    if not isinstance(node, ast.Compare):
        return ""
    sides = [node.left] + node.comparators
    values = [repr(eval(compile(ast.Expression(s), "expression", "eval"), dict(words))) for s in sides
              if not isinstance(s, ast.Constant)]
    return " (found " + ", ".join(v if len(v) < 400 else v[:400] + "…" for v in values) + ")"


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        import tracefile as reader
        words = reader.queries(reader.Trace(sys.argv[1]))
    except Exception as error:
        print(f"cannot read {sys.argv[1]}: {type(error).__name__}: {error}")
        return 2
    status = 0
    for expression in sys.argv[2:]:
        try:
            if not eval(expression, dict(words)):
                print(expression + shown(expression, words))
                status = max(status, 1)
        except Exception as error:
            print(f"{expression}: {type(error).__name__}: {error}")
            status = 2
    return status


if __name__ == "__main__":
    sys.exit(main())
