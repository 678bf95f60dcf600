#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs that switch stacks inside of probed calls run as without ioprobe, by every method of attaching; their calls are all
# recorded.
. "$(dirname "$0")/../lib/e2e.sh"

# What the kernel says when it ends a program whose return address it does not know.
uretprobe_failures() { dmesg 2>/dev/null | grep -c 'uprobe: \(coroutines\|python3\).*failed to handle uretprobe'; }
failures_before=$(uretprobe_failures)

# switches NAME METHOD COMMAND...: same status and output as without ioprobe. DATA in the command is replaced by a file of this
# case.
switches() {
	local name=$1 method=$2 plain lines
	shift 2
	fresh "$name" >/dev/null
	limited 20 "${@//DATA/$TMP/$name/data}" >"$TMP/$name/plain" 2>"$TMP/$name/plain_err" </dev/null
	plain=$?
	record "$name" --attach "$method" --probes "$TESTS/programs/nest.probes" -- "${@//DATA/$TMP/$name/data}"
	lines=$(wc -l <"$TMP/$name/plain")
	if [ $plain = 0 ] || [ "$lines" = 0 ]; then
		not_ok "$name, same run" "status $plain without ioprobe: $(head -n 1 "$TMP/$name/plain_err")"
	elif [ $STATUS != $plain ]; then
		not_ok "$name, same run" "status $STATUS instead of $plain: $(said "$TMP/$name")"
	elif ! cmp -s "$TMP/$name/stdout" "$TMP/$name/plain"; then
		not_ok "$name, same run" "output differs: $(diff "$TMP/$name/stdout" "$TMP/$name/plain" | head -n 5)"
	else
		ok "$name, same run"
	fi
	contract "$name" && lost_nothing "$name"
}

# says_how_many NAME N: the summary has the number of calls without an end.
says_how_many() {
	if grep -q "note: $2 library calls have no end" "$TMP/$1/out"; then ok "$1, calls without end"; else
		not_ok "$1, calls without end" "$(grep 'no end' "$TMP/$1/out")"; fi
}

# ucontext NAME METHOD KIND: stacks on the heap, in main's frame, of a second thread, and the thread's own as one of them.
ucontext() {
	switches "$1" "$2" "$P/coroutines" "$3" DATA/lines
	expect "$1" "calls('fwrite') == 20 and calls('fputs') == 20" "failed('fwrite') == 0 and failed('fputs') == 0" \
		"calls('write', path='*/lines') == 40 and written('write', path='*/lines') == 320"
	verdict "$1, numbers" "$([ "$(sort -u "$TMP/$1/data/lines" | wc -l)" = 40 ] ||
		echo "$(sort -u "$TMP/$1/data/lines" | wc -l) of 40 lines")"
}
for kind in heap frame thread main; do ucontext $kind session $kind; done
ucontext multi multi heap
ucontext perf perf heap

# Whether a program switches stacks is not known if the parser of its file fails: here it is stopped.
unread() {
	local name=unread_$1 dir recorder parsers
	dir=$(fresh "$name")
	cp "$P/coroutines" "$dir/data/program"
	mkfifo "$dir/data/go"
	"$IOPROBE" --attach "$1" -o "$dir/trace" --summary "$dir/out" -- sh -c ": >'$dir/data/ready'; read x <'$dir/data/go'
		'$dir/data/program' heap '$dir/data/lines'; exit \$?" >"$dir/stdout" 2>"$dir/err" </dev/null & recorder=$!
	wait_for_file "$dir/data/ready" || not_ok "$name" "the program did not start: $(said "$dir")"
	mapfile -t parsers < <(pgrep -P $recorder -f parser-process)
	kill -STOP "${parsers[@]}"
	echo >"$dir/data/go"
	end_of $recorder 60
	verdict "$name, same run" "$([ $STATUS = 44 ] && grep -q '^heap: begun 20 20, written 20 20' "$dir/stdout" ||
		echo "status $STATUS instead of 44: $(said "$dir")")"
	verdict "$name, reason" "$(grep -q 'program was not probed: its symbols could not be read: the parser' "$dir/out" ||
		grep '^note' "$dir/out")"
	contract "$name"
}
for method in session multi perf; do unread $method; done

# Other processes with links of their own to the same library do not take return probes in this one.
switches below_shell session sh -c "'$P/coroutines' heap DATA/lines; exit \$?" &&
	expect below_shell "calls('fwrite') == 20 and calls('fputs') == 20"

# A switch that no symbol tells of: calls on the threads' own stacks have their end, those on other stacks have none.
switches bare session "$P/coroutines_bare" &&
	expect bare "calls('nest_call') == 26 and abandoned('nest_call') == 12" && says_how_many bare 12

attached() {
	local dir pid recorder
	dir=$(fresh attached)
	"$P/coroutines_bare" "$dir/data" >"$dir/plain" 2>&1 & pid=$!
	wait_for_file "$dir/data/ready" || { end_of $pid 1; not_ok attached "the program did not start"; return; }
	limited 60 "$IOPROBE" --probes "$TESTS/programs/nest.probes" --pid $pid -o "$dir/trace" --summary "$dir/out" \
		>"$dir/stdout" 2>"$dir/err" & recorder=$!
	wait_for_line "$dir/err" 'recording' || not_ok attached "not ready: $(said "$dir")"
	touch "$dir/data/go"
	end_of $pid 30
	verdict "attached, same run" "$([ $STATUS = 47 ] || echo "status $STATUS: $(cat "$dir/plain")")"
	end_of $recorder 30
	contract attached && expect attached "calls('nest_call') == 26 and abandoned('nest_call') == 12"
}
attached

# C++: Boost.Context, exceptions inside of coroutines, and a stack that is unwound with an open call on it.
if [ -x "$P/coroutines_boost" ]; then
	for method in session multi; do
		switches boost_$method $method "$P/coroutines_boost" &&
			expect boost_$method "calls('fwrite') == 40" "calls('nest_call') == 4"
	done
else
	skip boost "Boost.Context is not installed"
fi

# oneTBB switches stacks in programs that suspend tasks, and in no others: those have the ends of their calls.
if [ -x "$P/coroutines_tbb" ]; then
	for method in session multi; do
		switches tbb_$method $method "$P/coroutines_tbb" DATA && expect tbb_$method "calls('fwrite') == 40"
	done
	switches tbb_tasks session "$P/tbb_tasks" DATA && expect tbb_tasks "calls('fwrite') == 40 and abandoned('fwrite') == 0" \
		"calls('write', under='fwrite') == 40"
else
	skip tbb "oneTBB is not installed"
fi

# Python: greenlets exchange the contents of the thread's stack.
if "$PYTHON" -c 'import greenlet' 2>/dev/null; then
	for method in session multi; do
		switches greenlet_$method $method "$PYTHON" "$TESTS/programs/coroutines.py" DATA/lines &&
			expect greenlet_$method "calls('fwrite') == 20" "calls('write', path='*/lines') == 20"
	done
else
	skip greenlet "python3-greenlet is not installed"
fi

# Callbacks of MPI and HDF5, with MPI-IO and streams inside of them.
for method in session multi; do
	switches mpi_$method $method "$P/coroutines_mpi" DATA &&
		expect mpi_$method "calls('MPI_Comm_dup') == 5 and calls('fwrite') == 5" "calls('MPI_File_write_at') == 7" \
			"failed('MPI_File_write_at') == 0"
done

verdict "kernel log" "$([ "$(uretprobe_failures)" = "$failures_before" ] || echo "failed to handle uretprobe")"
