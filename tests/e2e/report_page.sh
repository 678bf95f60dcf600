#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The HTML of ioprobe report in Chromium, at 1280 and 400 pixels and printed. "make check-browser" sets IMAGES: pictures are kept
# there, and more archives are shown.
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/report.sh"
have chromium || { skip all "chromium is not installed"; exit 0; }
"$PYTHON" -c 'import otf2' 2>/dev/null || { skip all "no python3-otf2"; exit 0; }

# shown NAME: the report of $TMP/NAME/trace.
shown() {
	local dir=$TMP/$1 text
	report_of "$1" || { not_ok "$1" "$(cat "$dir/report.err")"; return; }
	limited 60 "$IOPROBE" report --format html -o "$dir/report.html" "$dir/trace" 2>"$dir/report.err"
	text=$(limited 90 "$PYTHON" "$TESTS/lib/report_page.py" "$dir/report.html" "$dir/report.json" "$dir/browser" \
		${IMAGES:+"$IMAGES/$1"} 2>&1)
	verdict "$1" "$text"
}

# written NAME MODULE STATEMENT: an archive that a test of contract/ writes; "directory" is where.
written() {
	fresh "$1" >/dev/null
	limited 60 "$PYTHON" -c "import sys; sys.path.insert(0, '$TESTS/contract'); from $2 import *; directory = sys.argv[1]; $3" \
		"$TMP/$1/trace" 2>"$TMP/$1/err" ||
		{ not_ok "$1" "no archive: $(said "$TMP/$1")"; return; }
	shown "$1"
}

[ -z "${IMAGES:-}" ] || mkdir -p "$IMAGES" || exit 1
written figures figures_test "write_archive(directory)"         # its file has a hostile name
[ -n "${IMAGES:-}" ] || exit 0
written findings findings_test "synthetic_shared_small(True, directory)"
written many_ranks findings_test "aggregators(directory, {i: 1 / 8 for i in range(8)}, ranks=128, nodes=16)"
fresh long_names >/dev/null
path=$TMP/long_names/data/$(printf 'd%.0s' {1..200})/$(printf 'f%.0s' {1..200})
mkdir -p "${path%/*}"
record long_names --call-sites -- dd if=/dev/zero "of=$path" bs=47 count=20000 status=none
shown long_names
have mpirun || { skip monc "no mpirun"; exit 0; }
fresh monc >/dev/null
record monc --call-sites -- mpirun -n 6 "$P/monc" "$TMP/monc/data/dump.nc" 5
shown monc
