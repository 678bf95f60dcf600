# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""From rounds to figures: medians with their spread, what a variant adds, and whether that is within the target."""
import statistics

SYSCALL_FACTOR = 2.0    # of what empty tracepoints add
JOB_FACTOR = 1.3        # of the time of a job of small transfers with empty programs at all points
LIBRARY_FACTOR = 1.25   # of what empty probes add
BOUND_FACTOR = 1.15     # of what the least recorder adds at the points of recorded calls


class Figure:
    """The median of several rounds, with the least and the greatest."""

    def __init__(self, values):
        self.values = list(values)
        self.median = statistics.median(self.values)
        self.low, self.high = min(self.values), max(self.values)

    def json(self):
        return {"median": self.median, "min": self.low, "max": self.high, "rounds": self.values}


def added(rounds, variant):
    """What a variant adds to the bare call, round by round."""
    return [v - b for v, b in zip(rounds[variant], rounds["bare"])]


def allowance(rule, rounds, i):
    """What may be added in round i by the design's targets."""
    bare = rounds["bare"][i]
    if rule == "syscall":
        return SYSCALL_FACTOR * (rounds["tracepoints"][i] - bare)
    if rule == "library":
        return LIBRARY_FACTOR * (rounds["probes"][i] - bare)
    if rule == "bound":
        return BOUND_FACTOR * (rounds["bound"][i] - bare)
    if rule == "mixed":
        return LIBRARY_FACTOR * (rounds["probes"][i] - bare) + SYSCALL_FACTOR * (rounds["tracepoints"][i] - bare)
    if rule in ("small", "small both"):
        return JOB_FACTOR * rounds["tracepoints" if rule == "small" else "both"][i] - bare
    if rule == "beside":
        return rounds["tracepoints"][i] - bare
    return {"job 1%": 0.01, "job 2%": 0.02, "nothing": 0.01}[rule] * bare


RULES = {
    "syscall": "2 x empty tracepoints", "library": "1.25 x empty probes", "mixed": "1.25 x probes + 2 x tracep.",
    "bound": "1.15 x the bound",
    "small": "1.3 x with empty tracepoints", "small both": "1.3 x with both", "beside": "1 x empty tracepoints",
    "job 1%": "1 % of the call", "job 2%": "2 % of the call", "nothing": "nothing (1 %)",
}


def judge(rule, rounds):
    """Added by ioprobe against the allowance: {target, allowed_ns, added_ns, share, verdict}. In the verdict a '?' says that the
    rounds differ more than the median is away from the limit."""
    n = len(rounds["ioprobe"])
    over = Figure(rounds["ioprobe"][i] - rounds["bare"][i] - allowance(rule, rounds, i) for i in range(n))
    allowed = statistics.median(allowance(rule, rounds, i) for i in range(n))
    gained = statistics.median(added(rounds, "ioprobe"))
    unsure = " ?" if over.low <= 0 < over.high else ""
    if gained <= allowed:
        verdict = "met"
    elif allowed > 0:
        verdict = f"missed: {gained / allowed:.2f} x"
    else:
        verdict = f"missed by {gained - allowed:.0f} ns"
    bound = statistics.median(added(rounds, "least")) if rounds.get("least") else None
    if gained > allowed and bound:
        verdict += f", {gained / bound:.2f} x the least"
    return {"target": RULES[rule], "allowed_ns": allowed, "added_ns": gained, "least_ns": bound, "verdict": verdict + unsure}


def judge_limit(value, limit, unit, below=True):
    """One figure against a limit."""
    good = value <= limit if below else value >= limit
    return f"{'<' if below else '>'} {limit:g} {unit}: {'met' if good else f'missed: {value / limit:.2f} x'}"


# ---- text ----

def number(value):
    if abs(value) >= 10000:
        return f"{value / 1000:.1f}k"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}"


def signed(value):
    return ("" if value < 0 else "+") + number(value)


def table(columns, rows):
    """Aligned text; the first column to the left."""
    widths = [max(len(str(line[i])) for line in [columns, *rows]) for i in range(len(columns))]
    text = []
    for line in [columns, *rows]:
        cells = [str(cell).ljust(w) if i == 0 or i == len(columns) - 1 else str(cell).rjust(w)
                 for i, (cell, w) in enumerate(zip(line, widths))]
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)
