#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The short form of "make check-faults": some random moments, full disks, too few descriptors, a pid that is used again, a library
# that is replaced while it is being probed.
. "$(dirname "$0")/../lib/e2e.sh"

limited 300 "$TESTS/faults/run" --short --moments 12 --disks 3 --kinds launched,attached,service --jobs 3 2>"$TMP/err" |
	grep -E '^(ok|not ok|skip) '
[ "${PIPESTATUS[0]}" -le 1 ] || not_ok all "the driver ended with status ${PIPESTATUS[0]}: $(tail -n 2 "$TMP/err")"
