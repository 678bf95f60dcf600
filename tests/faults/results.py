# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""One line for each result, as the end-to-end tests print them."""


class Results:
    def __init__(self, only):
        self.passed = self.failed = self.skipped = 0
        self.only = only

    def wanted(self, name):
        return not self.only or any(part in name for part in self.only)

    def verdict(self, name, reasons, detail=""):
        reasons = [str(r) for r in reasons if r]
        if reasons:
            self.failed += 1
            print(f"not ok faults/{name}: {'; '.join(reasons)}"[:1500].replace("\n", " "), flush=True)
        else:
            self.passed += 1
            print(f"ok faults/{name}" + (f" ({detail})" if detail else ""), flush=True)

    def skip(self, name, reason):
        self.skipped += 1
        print(f"skip faults/{name}: {reason}", flush=True)
