#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# How many probes a call hits: netCDF's own calls of HDF5 before each transfer are not probed, until the program calls HDF5 itself;
# then its sizes are known, too. Counts, not times.
. "$(dirname "$0")/../lib/e2e.sh"
[ -x "$P/direct_hdf5" ] || { skip all "no netCDF or HDF5"; exit 0; }
"$IOPROBE" check 2>/dev/null | grep -q "^ok *uprobe-session" ||
	{ skip all "without sessions each call has a return probe"; exit 0; }

run() {
	local name=$1
	fresh "$name" >/dev/null
	record "$name" -- "$P/direct_hdf5" "$TMP/$name/data" "${@:2}"
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$name")")"
	lost_nothing "$name"
	contract "$name"
}

# beside NAME: hits of probes beside those of recorded calls, two each, in the program's process.
beside() {
	"$PYTHON" -c 'import json, sys
p = next(p for p in json.load(open(sys.argv[1]))["process_list"] if any(l["name"] == "netCDF" for l in p["layers"]))
print(p["probe_hits"] - 2 * p["calls"])' "$TMP/$1/trace/summary.json"
}

# hits NAME LESS MORE STEPS EXPECTED: of two runs, per step. A program that was not held has other probes, and a gap.
hits() {
	local each
	grep -hq "before its probes were in place" "$TMP/$2/out" "$TMP/$3/out" && { skip "$1" "the program was not held"; return; }
	each=$((($(beside "$3") - $(beside "$2"))))
	verdict "$1" "$([ $each = $(($4 * $5)) ] || echo "$each in $4 calls, not $5 in each")"
}

# H5Screate_simple tells the size of the inner H5Dwrite.
run few 10
run many 60
hits "netCDF alone" few many 50 2
expect many "calls('nc_put_vara_double') == calls('H5Dwrite', under='nc_put_vara_double') == 60" \
	"written('nc_put_vara_double') == written('H5Dwrite') == 60 * 16 and unknown('H5Dwrite') == 0"

# In a program that also calls HDF5 itself netCDF's calls are hit once more each, and not recorded.
run direct_few 10 10
run direct_many 10 60
hits "both" direct_few direct_many 50 6
expect direct_many "calls('H5Dwrite', under='nc_put_vara_double') == 70 and calls('H5Dwrite') == 70 + 61" \
	"sorted(c.written for c in select('H5Dwrite')) == [16] * 70 + [24] * 60 + [80]" "unknown('H5Dwrite') == 0"

# The first call of its own makes a dataspace: the probes are there when it returns.
run space 1 1 space
grep -hq "before its probes were in place" "$TMP/space/out" && skip "space, sizes" "the program was not held" ||
	expect space "calls('H5Dwrite') == 2 and unknown('H5Dwrite') == 0" \
		"sorted(c.written for c in select('H5Dwrite')) == [16, 24]"

# From the ninth process on the links are for all: a child that was forked has those of calls of its own later than the others.
forked() {
	fresh forked >/dev/null
	record forked -- bash -c 'for i in 1 2 3 4 5 6 7 8 9; do mkdir "$1/$i" && "$0" "$1/$i" 1 0 fork "$1/go" & done
		until [ "$(ls "$1"/*/ready 2>/dev/null | wc -l)" = 9 ]; do sleep 0.05; done
		touch "$1/go"; wait' "$P/direct_hdf5" "$TMP/forked/data"
	verdict "forked, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/forked")")"
	contract forked
	verdict "forked, gap" "$(grep -q 'HDF5.*a forked process ran before its own probes were in place' "$TMP/forked/out" ||
		echo "no gap of HDF5")"
}
forked

# in_vain NAME MODE: the selection is missed, and the size is unknown, not that of the whole dataspace. An ENTER that was sent has
# an EXIT. Only the first call waits.
in_vain() {
	local text
	fresh "$1" >/dev/null
	record "$1" --keep-spool "--json=$TMP/$1/summary.json" -- "$P/direct_hdf5" "$TMP/$1/data" 1 1 "$2"
	verdict "$1, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$1")")"
	contract "$1"
	expect "$1" "calls('H5Dwrite') == 2 and unknown('H5Dwrite') == 1" \
		"sorted(c.written for c in select('H5Dwrite') if c.written) == [16]" \
		"[c.read for c in select('pread64', path='*/direct_hdf5')] == [1]"
	text=$(limited 60 "$PYTHON" "$TESTS/lib/spool.py" "$TMP/$1/trace/spool" "len(records(ENTER)) == len(records(EXIT))" 2>&1)
	verdict "$1, every ENTER has an EXIT" "$text"
	verdict "$1, said" "$(grep -qx "note: 1 processes ran on before their probes were in place" "$TMP/$1/out" ||
		grep 'ran on' "$TMP/$1/out" || said "$TMP/$1")"
	verdict "$1, gap" "$(grep -q 'HDF5.*a library was used before its probes were in place' "$TMP/$1/out" ||
		echo "no gap of HDF5")"
}
in_vain stopped stop
in_vain hangs hang

# The call that waited in vain never returns.
left_by_jump() {
	fresh jumps >/dev/null
	record jumps -- "$P/direct_hdf5" "$TMP/jumps/data" 1 1 jump
	verdict "jumps, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/jumps")")"
	contract jumps
	verdict "jumps, gap" "$(grep -q 'HDF5.*a library was used before its probes were in place' "$TMP/jumps/out" ||
		echo "no gap of HDF5")"
}
left_by_jump
