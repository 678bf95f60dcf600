#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Checks that an OTF2 archive keeps the contract of ioprobe's traces, and prints what it contains. Exit status: 0 clean, 1 with a
# line "RULE: what is wrong" per breach, 2 if the archive cannot be read or the check was stopped by its own limits.
import argparse
import json
import os
import resource
import select
import signal
import sys

sys.dont_write_bytecode = True
try:
    import otf2_raw
except ImportError as error:
    sys.exit("check_archive.py: cannot load python3-otf2: %s (Debian's package serves /usr/bin/python3)" % error)
from definition_rules import Definitions
from event_rules import EventRules
from trace_stats import Stats, expression_names

UNUSABLE = 2


class Breaches:
    def __init__(self, limit):
        self.limit, self.lines, self.count = limit, [], 0

    def __call__(self, rule, text):
        self.count += 1
        if len(self.lines) < self.limit:
            self.lines.append((rule, text))


def check(anchor, breaches, max_events):
    archive = otf2_raw.Archive(anchor)
    definitions = Definitions(archive, breaches)
    definitions.check()
    stats = Stats(definitions)
    rules = EventRules(definitions, breaches, stats)
    declared = sum(location["events"] for location in definitions.locations.values())
    total = 0
    if definitions.locations and not any(rule == "location-file" for rule, _ in breaches.lines):
        # one more than declared, so that a surplus shows, and a damaged file cannot deliver events for ever
        total = archive.read_events(rules.event, min(declared + 1, max_events))
    if total < declared and total == max_events:
        raise otf2_raw.Unusable("%s: more than %d events, see --max-events" % (anchor, max_events))
    rules.check_end(total)
    return stats


def check_expressions(expressions, stats, breaches):
    names = expression_names(stats)
    for expression in expressions:
        try:
            result = eval(expression, {"__builtins__": {}}, names)
        except Exception as error:
            breaches("expect", "%s: %s: %s" % (expression, type(error).__name__, error))
            continue
        if not result:
            left = expression.split("==")[0].strip() if "==" in expression else None
            try:
                detail = " (%s is %r)" % (left, eval(left, {"__builtins__": {}}, names)) if left else ""
            except Exception:
                detail = ""
            breaches("expect", "%s is false%s" % (expression, detail))


def report(arguments, breaches, stats):
    if arguments.json:
        json.dump({"breaches": [{"rule": r, "text": t} for r, t in breaches.lines], "count": breaches.count,
                   "stats": stats.as_dict()}, sys.stdout, indent=1)
        print()
        return
    for rule, text in breaches.lines:
        print("%s: %s" % (rule, text))
    if breaches.count > len(breaches.lines):
        print("and %d more breaches" % (breaches.count - len(breaches.lines)))
    if arguments.stats:
        json.dump(stats.as_dict(), sys.stdout, indent=1)
        print()
    elif not breaches.count:
        totals = stats.totals
        open_text = ", %d operations open" % totals["open_operations"] if totals["open_operations"] else ""
        print("%s: clean, %d events, %d locations%s" % (arguments.archive, totals["events"], len(stats.d.locations), open_text))


def run(arguments):
    breaches = Breaches(arguments.max_lines)
    anchor = arguments.archive
    if os.path.isdir(anchor):
        anchor = os.path.join(anchor, "traces.otf2")
    if not os.path.isfile(anchor):
        raise otf2_raw.Unusable("%s: there is no such anchor file" % anchor)
    stats = check(anchor, breaches, arguments.max_events)
    if arguments.expect:
        check_expressions(arguments.expect, stats.as_dict(), breaches)
    report(arguments, breaches, stats)
    return 1 if breaches.count else 0


def run_limited(arguments):
    """The library may loop for ever in a damaged file, where Python's signal handlers do not run: a child does the work."""
    child = os.fork()
    if not child:
        status = UNUSABLE
        try:
            limit = arguments.max_memory << 20
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            status = run(arguments)
        except otf2_raw.Unusable as error:
            print("check_archive.py: %s" % error, file=sys.stderr)
        except MemoryError:
            print("check_archive.py: more than %d MiB of memory, see --max-memory" % arguments.max_memory, file=sys.stderr)
        except Exception:
            sys.excepthook(*sys.exc_info())
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return wait_limited(child, arguments.timeout)


def wait_limited(child, timeout):
    handle = os.pidfd_open(child)
    try:
        ended = select.select([handle], [], [], timeout)[0]
    finally:
        os.close(handle)
    if not ended:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if not ended:
        print("check_archive.py: stopped after %g s, see --timeout" % timeout, file=sys.stderr)
        return UNUSABLE
    if os.WIFSIGNALED(status):
        print("check_archive.py: the reader was killed by signal %d" % os.WTERMSIG(status), file=sys.stderr)
        return UNUSABLE
    return os.WEXITSTATUS(status)


def parse_arguments(words=None):
    parser = argparse.ArgumentParser(description="Check an OTF2 archive against ioprobe's contract.")
    parser.add_argument("archive", help="anchor file, or the directory that has traces.otf2")
    parser.add_argument("--json", action="store_true", help="breaches and statistics as one JSON object")
    parser.add_argument("--stats", action="store_true", help="statistics as JSON, after the breaches")
    parser.add_argument("--expect", action="append", nargs="+", metavar="EXPR", default=[],
                        help="Python expression that must be true, e.g. 'calls(\"pwrite64\", \"MPI Rank 0\") == 10'; its words: "
                             "calls failed abandoned (region, group), bytes_read bytes_written reads writes flushes created "
                             "destroyed (paradigm, group), chain(\"POSIX>MPI-IO>HDF5\", path, group), files scopes (path), "
                             "property(NAME), lost, ranks, processes, stats")
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="default 300")
    parser.add_argument("--max-memory", type=int, default=4096, metavar="MIB", help="default 4096")
    parser.add_argument("--max-events", type=int, default=50000000, metavar="N", help="default 50 million")
    parser.add_argument("--max-lines", type=int, default=200, metavar="N", help="breaches that are listed, default 200")
    arguments = parser.parse_args(words)
    arguments.expect = [e for several in arguments.expect for e in several]
    return arguments


if __name__ == "__main__":
    sys.exit(run_limited(parse_arguments()))
