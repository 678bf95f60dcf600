#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs of musl, dynamic and static: their streams are recorded, formatting in memory is no I/O, longjmp leaves calls as in
# glibc.
. "$(dirname "$0")/../lib/e2e.sh"

[ -x "$P/musl/streams" ] || { skip musl "musl-gcc is not installed"; exit 0; }

# musl NAME PROGRAM [OPTION...] -- EXPRESSION...
musl() {
	local name=$1 program=$2 options=()
	shift 2
	while [ "$1" != -- ]; do options+=("$1") && shift; done
	fresh "$name" >/dev/null
	record "$name" "${options[@]}" -- "$P/musl/$program" "$TMP/$name/data"
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$name")")"
	contract "$name" && expect "$name" "${@:2}" && lost_nothing "$name"
}

for kind in "" _static; do
	musl "strings$kind" "strings$kind" -- "calls('fopen') == 1 and calls('fclose') == 1" \
		"calls('fprintf') == 5 and written('fprintf') == 25" "calls('fscanf') + calls('__isoc99_fscanf') == 1" \
		"calls('vfprintf') <= 5 and calls('vfscanf') <= 1" "calls('v*w*') == 0" \
		"layer_bytes('ISOC', '*/data/file')[1] == 25" \
		"layer_bytes('POSIX', '*/data/file') == [32, 32]" \
		"all(h.file for c in trace.calls if 'printf' in c.name or 'scanf' in c.name for h in c.handles)"
	musl "streams$kind" "streams$kind" -- "calls('fopen') == 2 and calls('fclose') == 2" \
		"calls('fwrite', path='*/data/stream') >= 200 and calls('fprintf') == 10" \
		"calls('fgets') == 10 and calls('fputs') == 10" \
		"layer_bytes('POSIX', '*/data/stream')[1] == 20160" \
		"calls('openat', path='*/data/stream') + calls('open', path='*/data/stream') == 2"
	musl "lines$kind" "lines$kind" -- "[c.read for c in select('fgets')] == [4, 5999, 4002, 4, 3, 0, 2]" \
		"[c.written for c in select('fputs')] == [4, 10001] and unknown('fgets') == unknown('fputs') == 0"
	musl "standard$kind" "standard$kind" -- "layer_bytes('ISOC', '*/stdout') == [0, 30]" \
		"layer_bytes('ISOC', '*/data/reopened') == [0, 8]" \
		"len([h for h in trace.handles if h.io_paradigm.identification == 'ISOC']) == 4"
	musl "cancel_points$kind" "cancel_points$kind" --probes "$TESTS/programs/nest.probes" -- \
		"calls('nest_call') == 22 and abandoned('nest_call') == 22" \
		"[f for f in sorted({c.name for c in trace.calls}) if f != 'nest_call' and stacks(f) != [()]] == []"
done
