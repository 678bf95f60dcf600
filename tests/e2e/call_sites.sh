#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# From which lines calls come (--call-sites): exact chains of functions and lines, whatever the program is built and run like.
# How many calls come before the callers are known depends on the machine; known callers must be right, and all calls are counted.
. "$(dirname "$0")/../lib/e2e.sh"
. "$TESTS/lib/call_sites.sh"

# round NAME PROGRAM MODE ROUNDS TAIL: records PROGRAM (call_sites.c) in MODE; the chains of ROUNDS rounds end with TAIL.
round() {
	local dir
	dir=$(fresh "$1")
	record "$1" --call-sites=16 -- "$P/$2" "$dir/data/out" "$3"
	[ "$STATUS" = 0 ] || { not_ok "$1" "exit status $STATUS: $(said "$dir")"; return; }
	CHAINS=()
	chains "$4" "$5"
	sites "$1" call_sites.c $((376 * $4)) "${CHAINS[@]}"
	contract "$1"
}

round plain call_sites plain 4 'rounds@round main@main'
round nopie call_sites_nopie plain 4 'rounds@round main@main'
round static call_sites_static plain 4 'rounds@round main@main'
round static_pie call_sites_static_pie plain 4 'rounds@round main@main'
round fork call_sites fork 16 'rounds@round in_thread run_children main'
round thread call_sites thread 4 'rounds@round in_thread'
round signal call_sites signal 4 'rounds@round on_signal'

# Two coroutines on stacks of their own that take turns after each write: each has its own chains.
coroutines() {
	local dir
	dir=$(fresh coroutines)
	record coroutines --call-sites=16 -- "$P/call_sites" "$dir/data/out" coroutines
	[ "$STATUS" = 0 ] || not_ok coroutines "exit status $STATUS: $(said "$dir")"
	CHAINS=()
	chains 4 'rounds@round first_coroutine'
	chains 4 'rounds@round second_coroutine'
	sites coroutines call_sites.c 3008 "${CHAINS[@]}"
	contract coroutines
}

boost_fibers() {
	local dir
	[ -x "$P/call_sites_boost" ] || { skip boost "libboost-context-dev is not installed"; return; }
	dir=$(fresh boost)
	record boost --call-sites=16 -- "$P/call_sites_boost" "$dir/data/out"
	[ "$STATUS" = 0 ] || not_ok boost "exit status $STATUS: $(said "$dir")"
	sites boost call_sites_boost.cc 400 '200 put@write produce@produce operator()@producer operator()@run' \
		'200 put@write consume@consume operator()@consumer operator()@run'
	contract boost
}

# The Python frames of a greenlet do not reach down to the interpreter's first one: what lies beyond is not known.
greenlets() {
	local dir
	"$PYTHON" -c 'import greenlet' 2>/dev/null && python_reads_frames ||
		{ skip greenlet "python3-greenlet is not installed, or of another Python"; return; }
	dir=$(fresh greenlet)
	record greenlet --call-sites=16 -- "$PYTHON" "$TESTS/programs/call_sites_greenlet.py" "$dir/data/out"
	[ "$STATUS" = 0 ] || not_ok greenlet "exit status $STATUS: $(said "$dir")"
	sites greenlet call_sites_greenlet.py OPEN:240 '120 put@put produce@produce' '120 put@put consume@consume'
	contract greenlet
}

# Calls from machine code in no file have no caller that is known; below the function that such code calls the chain ends, too.
generated_code() {
	local dir text
	dir=$(fresh jit)
	record jit --call-sites=16 -- "$P/call_sites" "$dir/data/out" jit
	[ "$STATUS" = 0 ] || not_ok jit "exit status $STATUS: $(said "$dir")"
	text=$("$PYTHON" - "$dir/trace/summary.json" <<'END'
import json, sys
sites = json.load(open(sys.argv[1]))["call_sites"]
rows = [s for s in sites["sites"] if s["bytes_written"]]
through = [s for s in rows if any(f["application"] for f in s["frames"])]
direct = [s for s in rows if s not in through]
calls = [sum(s["calls"] for s in some) for some in (direct, through)]
own = {tuple(f["function"] for f in s["frames"] if f["application"]) for s in through}
if calls != [200, 120] or not own <= {("put_one", "write_for_jit")}:
    print(calls, own)
if any(s["callers"] == "whole" for s in rows) or not any(s["callers"] == "truncated" for s in direct):
    print([(s["calls"], s["callers"]) for s in rows])
if not sites["incomplete"]["code_in_no_file"]:
    print(sites["incomplete"])
END
)
	verdict "jit, sites" "$text"
	verdict "jit, reason" \
		"$(grep -q '^incomplete (times): .*code in no file' "$dir/out" || grep '^incomplete' "$dir/out" || echo none)"
	contract jit
}
coroutines
boost_fibers
generated_code

# exec renews all: the second program has other addresses.
exec_in_place() {
	local dir
	dir=$(fresh exec)
	record exec --call-sites=16 -- "$P/call_sites" "$dir/data/out" exec
	CHAINS=()
	chains 4 'rounds@round main@main'
	chains 4 'rounds@round main@exec'
	sites exec call_sites.c $((376 * 8)) "${CHAINS[@]}"
	contract exec
}

# The file that ran is gone, and another one of its name must not be read.
unlinked() {
	local dir
	dir=$(fresh unlink)
	cp "$P/call_sites" "$dir/data/program"
	record unlink --call-sites=16 -- "$dir/data/program" "$dir/data/out" unlink
	plain_sites unlink
}

# The return addresses of write_field and outer are those of another tool's return probes.
foreign_return_probes() {
	local dir probes
	dir=$(fresh return_probes)
	cp "$P/call_sites" "$dir/data/program"
	probes=$("$PYTHON" "$TESTS/lib/symbol_offsets.py" "$dir/data/program" write_field outer)
	limited 90 "$P/return_probes" "$dir/hits" "$dir/data/program" $probes -- "$IOPROBE" -o "$dir/trace" --summary "$dir/out" \
		--call-sites=16 -- "$dir/data/program" "$dir/data/out" plain >"$dir/stdout" 2>"$dir/err" </dev/null
	STATUS=$?
	verdict "return_probes, hit" "$([ "$STATUS" = 0 ] && [ "$(cat "$dir/hits")" = "1304 4" ] ||
		echo "status $STATUS, hits $(cat "$dir/hits"): $(said "$dir")")"
	plain_sites return_probes
	contract return_probes
}

# Without debug information: its functions. With a separate file of it, by name: its lines.
stripped() {
	local dir text
	have strip && have objcopy || { skip stripped "binutils are not installed"; return; }
	dir=$(fresh stripped)
	cp "$P/call_sites" "$dir/data/program"
	strip --strip-debug "$dir/data/program"
	record stripped --call-sites -- "$dir/data/program" "$dir/data/out" plain
	functions stripped
	verdict "stripped, why there are no lines" \
		"$(grep -q "^without a line: [1-9][0-9]* .* in $dir/data/program.*: no debug information for them" "$dir/out" ||
		grep '^without' "$dir/out" || echo none)"
	dir=$(fresh debuglink)
	cp "$P/call_sites" "$dir/data/program"
	(cd "$dir/data" && objcopy --only-keep-debug program program.debug && strip program &&
		objcopy --add-gnu-debuglink=program.debug program)
	record debuglink --call-sites=16 -- "$dir/data/program" "$dir/data/out" plain
	plain_sites debuglink
	verdict "debuglink, all have lines" "$(grep '^without a line' "$dir/out")"
	dir=$(fresh offsets)
	cp "$P/call_sites" "$dir/data/program"
	strip "$dir/data/program"
	record offsets --call-sites -- "$dir/data/program" "$dir/data/out" plain
	text=$("$PYTHON" "$TESTS/lib/call_site_offsets.py" "$dir/trace/summary.json" "$P/call_sites" 1504 write_field with_vla 2>&1)
	verdict "offsets, of the functions" "$text"
}

# Libraries that come and go at the same addresses are never taken for each other.
libraries() {
	local dir text
	dir=$(fresh dlopen)
	record dlopen --call-sites=16 -- "$P/call_sites" "$dir/data/out" dlopen "$P/libsites_first.so" "$P/libsites_second.so"
	text=$("$PYTHON" - "$dir/trace/summary.json" <<'END'
import json, sys
calls = {}
for site in json.load(open(sys.argv[1]))["call_sites"]["sites"]:
    function = next((f["function"] for f in site["frames"] if f["application"]), None)
    if site["bytes_written"] and (function or site["callers"] == "unknown"):
        calls[function] = calls.get(function, 0) + site["calls"]
wrong = {f: n for f, n in calls.items() if f not in ("first_library", "second_library", None)}
if wrong or any(calls.get(f, 0) > 50 for f in ("first_library", "second_library")) or sum(calls.values()) != 100:
    print(calls)
END
)
	verdict "dlopen, sites" "$text"
}

# No unwind information: a chain that ends, and says so.
bare() {
	local dir text
	dir=$(fresh bare)
	record bare --call-sites -- "$P/call_sites_bare" "$dir/data/out" plain
	text=$("$PYTHON" - "$dir/trace/summary.json" <<'END'
import json, sys
sites = [s for s in json.load(open(sys.argv[1]))["call_sites"]["sites"] if s["bytes_written"]]
rows = [s for s in sites if s["callers"] == "truncated"]
one = all(len([f for f in s["frames"] if f["application"]]) == 1 for s in rows)
if not one or sum(s["calls"] for s in sites) != 1504 or any(s["callers"] == "whole" for s in sites):
    print([(s["calls"], s["callers"], [f["function"] for f in s["frames"]]) for s in sites])
END
)
	verdict "bare, truncated" "$text"
}

# The agent is stopped while the program runs: its calls are counted, and nothing is made up.
agent_stopped() {
	local dir recorder
	dir=$(fresh agent_stopped)
	"$IOPROBE" -o "$dir/trace" --call-sites=16 -- sh -c \
		"touch $dir/data/go; while [ -e $dir/data/go ]; do :; done; $P/call_sites $dir/data/out plain; \
touch $dir/data/done" >"$dir/out" 2>"$dir/err" </dev/null &
	recorder=$!
	wait_for_file "$dir/data/go" || not_ok agent_stopped "the program did not start: $(said "$dir")"
	kill -STOP $recorder
	rm "$dir/data/go"
	wait_for_file "$dir/data/done" 60
	kill -CONT $recorder
	wait $recorder
	verdict "agent_stopped, calls" "$("$PYTHON" - "$dir/trace/summary.json" <<'END'
import json, sys
summary = json.load(open(sys.argv[1]))
written = sum(s["bytes_written"] for s in summary["call_sites"]["sites"])
if written != 4 * 1504 and not summary["records_lost"]:
    print(written)
END
)"
}

# The debug file comes after the recording, the program has gone meanwhile: the same lines as with both.
symbolized() {
	local dir text
	have strip && have objcopy || { skip symbolize "binutils are not installed"; return; }
	dir=$(fresh symbolize)
	cp "$P/call_sites" "$dir/data/program"
	mkdir "$dir/debug"
	objcopy --only-keep-debug "$dir/data/program" "$dir/debug/program.debug"
	strip "$dir/data/program"
	record symbolize --keep-spool --call-sites=16 -- "$dir/data/program" "$dir/data/out" plain
	mv "$dir/data/program" "$dir/data/gone"
	text=$("$IOPROBE" symbolize "$dir/trace" 2>&1 >/dev/null)
	verdict "symbolize, nothing found" \
		"$(grep -q 'no file with build-id [0-9a-f]* was found; .*--debug-dir' <<<"$text" || echo "$text")"
	text=$("$IOPROBE" symbolize --debug-dir "$dir/debug" "$dir/trace" 2>&1 >/dev/null) || not_ok symbolize "$text"
	plain_sites symbolize
	contract symbolize
	rm "$dir/trace/spool"
	text=$("$IOPROBE" symbolize "$dir/trace" 2>&1) && text="status 0"
	verdict "symbolize, no records" "$(grep -q 'spool does not exist: .*--keep-spool' <<<"$text" || echo "$text")"
}

# Chains of frames of all kinds, compared with what libdwfl sees of the same stacks. SEED=N takes other ones.
random_chains() {
	local dir text
	dir=$(fresh random)
	record random --call-sites=32 -- "$P/stack_witness" "$dir/data/seen" "$P/random_chains" "$dir/data/out" "${SEED:-1}" 1000
	[ "$STATUS" = 0 ] || { not_ok random "exit status $STATUS: $(said "$dir")"; return; }
	text=$(limited 60 "$PYTHON" "$TESTS/lib/random_chains.py" "$dir/trace" "$dir/data/seen" "$P/random_chains" 2>&1) &&
		{ ok "random, chains"; return; }
	not_ok "random, chains" "SEED=${SEED:-1}: $text"
}

# The program's file is in a mount namespace of its own.
other_namespace() {
	local dir helper
	dir=$(fresh namespace)
	mkdir "$dir/data/root"
	(cd "$dir/data" && exec unshare -m sh -c 'mount -t tmpfs tests root && cp "$1" root/program && touch ready &&
		exec sleep 100' sh "$P/call_sites") &
	helper=$!
	wait_for_file "$dir/data/ready" || not_ok namespace "no namespace"
	record namespace --call-sites=16 -- nsenter --mount="/proc/$helper/ns/mnt" "$dir/data/root/program" "$dir/data/out" plain
	kill $helper
	wait $helper 2>/dev/null
	verdict namespace "$([ "$STATUS" = 0 ] && [ ! -e "$dir/data/root/program" ] || echo "status $STATUS: $(said "$dir")")"
	plain_sites namespace
}

# No room for nodes: calls without a site are counted, those before have theirs.
full_map() {
	local dir text
	dir=$(fresh full)
	IOPROBE_SITE_NODES=30 record full --call-sites=16 -- "$P/call_sites" "$dir/data/out" plain
	text=$("$PYTHON" - "$dir/trace/summary.json" <<'END'
import json, sys
sites = json.load(open(sys.argv[1]))["call_sites"]
written = [s for s in sites["sites"] if s["bytes_written"]]
calls, without = (sum(s["calls"] for s in rows) for rows in (written, [s for s in written if not s["frames"]]))
if calls != 1504 or not without or without > sites["incomplete"]["no_room"]:
    print(calls, without, sites["incomplete"])
END
)
	verdict "full, counted" "$text"
}

# What ended processes had in the maps is dropped: there is room for all, though not for all together.
many_processes() {
	local dir text
	dir=$(fresh processes)
	IOPROBE_SITE_NODES=1200 record processes --call-sites -- sh -c \
		"i=0; while [ \$i -lt 150 ]; do /bin/true; i=\$((i + 1)); done"
	text=$("$PYTHON" - "$dir/trace/summary.json" <<'END'
import json, sys
s = json.load(open(sys.argv[1]))
sites = s["call_sites"]
if sites["incomplete"]["no_room"] or sum(r["calls"] for r in sites["sites"]) < 150 * 10:
    print(sites["incomplete"], sum(r["calls"] for r in sites["sites"]))
END
)
	verdict "processes, room" "$text"
}

exec_in_place
many_processes
unlinked
other_namespace
full_map
foreign_return_probes
stripped
symbolized
random_chains
libraries
bare
agent_stopped

cxx() {
	local dir
	dir=$(fresh cxx)
	record cxx --call-sites=16 -- "$P/call_sites_cxx" "$dir/data/out"
	sites cxx call_sites.cc OF:480 '200 PlotFile<double>::write@write dump@dump main@first' \
		'280 PlotFile<double>::write@write dump@dump operator()@lambda main@second'
	contract cxx
}
cxx

# By the run time's library, which has no symbols.
fortran() {
	local dir library
	[ -e "$P/call_sites_fortran" ] || { skip fortran "gfortran is not installed"; return; }
	dir=$(fresh fortran)
	library=$(ldd "$P/call_sites_fortran" | awk '/libgfortran/ { print $3 }')
	cp "$library" "$dir/data/" && have strip && strip "$dir/data/${library##*/}"
	LD_LIBRARY_PATH=$dir/data record fortran --call-sites=16 -- "$P/call_sites_fortran" "$dir/data/out"
	[ "$STATUS" = 0 ] || not_ok fortran "exit status $STATUS: $(said "$dir")"
	sites fortran call_sites.f90 OF:400 '160 writer::write_field@flush MAIN__@first main' \
		'240 writer::write_field@flush MAIN__@second main'
	contract fortran
}
fortran

# Of the calls of a library's Fortran binding the caller is the application's procedure.
fortran_hdf5() {
	local dir
	[ -e "$P/call_sites_hdf5" ] || { skip fortran_hdf5 "gfortran or HDF5's Fortran modules are not installed"; return; }
	dir=$(fresh fortran_hdf5)
	record fortran_hdf5 --call-sites=16 -- "$P/call_sites_hdf5" "$dir/data/out"
	[ "$STATUS" = 0 ] || not_ok fortran_hdf5 "exit status $STATUS: $(said "$dir")"
	sites fortran_hdf5 call_sites_hdf5.f90 'OF:320*512' '120 writer::write_field MAIN__@first main' \
		'200 writer::write_field MAIN__@second main'
	contract fortran_hdf5
}
fortran_hdf5

# Lines of Python code: each frame is the interpreter's own, not that of its loop.
python_reads_frames() { "$PYTHON" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'; }

python_code() {
	local dir main='main@round <module>@main'
	python_reads_frames || { skip python "Python's version is not one whose frames are known"; return; }
	dir=$(fresh python)
	record python --call-sites=16 -- "$PYTHON" "$TESTS/programs/call_sites.py" "$dir/data/out"
	[ "$STATUS" = 0 ] || not_ok python "exit status $STATUS: $(said "$dir")"
	CHAINS=("4 Writer.__init__@constructor a_round@new $main" "40 Writer.put@put a_round@loop $main"
		"20 Writer.put@put numbers@generator a_round@next $main" "12 Writer.put@put a_round@map $main"
		"16 Writer.put@put a_round.<locals>.<lambda>@reduce a_round@reduce $main"
		"12 a_round.<locals>.<lambda>@sorted a_round@sorted $main")
	local i deep='deep@deep'
	for ((i = 0; i <= 10; i++)); do
		CHAINS+=("4 Writer.put@put $deep a_round@recursion $main")
		deep="$deep deep@deeper"
	done
	sites python call_sites.py 148 "${CHAINS[@]}"
	contract python
}
python_code

# The application's line, not h5py's.
h5py_code() {
	local dir
	python_reads_frames && "$PYTHON" -c 'import h5py' 2>/dev/null ||
		{ skip h5py "python3-h5py is not installed, or of another Python"; return; }
	dir=$(fresh h5py)
	record h5py --call-sites -- "$PYTHON" "$TESTS/programs/call_sites_h5py.py" "$dir/data/out.h5"
	[ "$STATUS" = 0 ] || not_ok h5py "exit status $STATUS: $(said "$dir")"
	sites h5py call_sites_h5py.py 'OF:120*512' '40 write_field@write outer@first <module>@round' \
		'80 write_field@write outer@second <module>@round'
	contract h5py
}
h5py_code
greenlets

# By default: up to 4 frames of the application, so a chain ends before main.
by_default() {
	local dir
	dir=$(fresh default)
	record default -- "$P/call_sites" "$dir/data/out" plain
	CHAINS=("400 put_one@write write_field@field outer@first a_round@outer rounds@round"
		"800 put_one@write write_field@field outer@second a_round@outer rounds@round"
		"200 put_one@write with_vla@vla outer@third a_round@outer rounds@round"
		"100 put_one@write write_field@field aligned@aligned outer@fourth a_round@outer"
		"4 put_one@write write_field@field a_round@once rounds@round main@main")
	sites default call_sites.c 1504 "${CHAINS[@]}"
	contract default
}
by_default

# Nothing of it with --no-call-sites.
off() {
	local dir
	dir=$(fresh off)
	record off --no-call-sites -- "$P/call_sites" "$dir/data/out" plain
	verdict "off" "$("$PYTHON" -c "import json, sys
s = json.load(open(sys.argv[1]))
s['call_sites'] is None or print(s['call_sites'])" \
		"$dir/trace/summary.json" 2>&1)"
	contract off
}
off
