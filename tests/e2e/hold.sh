#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs that start are held until they are probed: without a breakpoint in others, without harm when the recorder is killed or
# stopped, and what they ran unobserved is a gap.
. "$(dirname "$0")/../lib/e2e.sh"
IN_TEXT="$PYTHON $TESTS/lib/in_text.py"

leaks() { dmesg 2>/dev/null | grep -c 'leaking uprobe'; }

# starts FILE: a shell that starts two programs a round until the file is gone, each start's time on a line of FILE.starts.
starts() {
	touch "$1"
	echo "while [ -e $1 ]; do date +%s.%N; /bin/true; done >$1.starts"
}

# longest FILE: seconds between two lines at most, those of the last two seconds that FILE has.
longest() { awk '{ if (n && $1 - last > most) most = $1 - last; last = $1; n++ } END { printf "%.3f %d\n", most, n }' "$1"; }

# A recorder that is killed leaves nothing: no wait, no process, no breakpoint.
killed() {
	local dir before recorder gone=no
	dir=$(fresh killed)
	before=$(leaks)
	starts "$dir/data/go" >"$dir/loop.sh"
	"$IOPROBE" -o "$dir/trace" --summary "$dir/out" -- sh "$dir/loop.sh" >"$dir/stdout" 2>"$dir/err" &
	recorder=$!
	wait_for_file "$dir/data/go.starts" || not_ok killed "the program did not start: $(said "$dir")"
	sleep 1
	kill -KILL $recorder
	for _ in $(seq 20); do
		sleep 0.05
		case $(ps -o stat= -p $recorder) in '' | Z*) gone=yes; break ;; esac
	done
	verdict "killed, recorder gone" "$([ $gone = yes ] || ps -o stat=,wchan= -p $recorder)"
	wait $recorder 2>/dev/null
	tail -n 1 "$dir/data/go.starts" >"$dir/after"
	sleep 2
	cp "$dir/data/go.starts" "$dir/all"
	rm "$dir/data/go"
	sed -n "/$(cat "$dir/after")/,\$p" "$dir/all" >"$dir/after"
	# 10 starts in the 2 s that the former one needed for each
	verdict "killed, programs start" "$(longest "$dir/after" |
		awk '$1 > 1 || $2 < 10 { print "longest wait and starts: " $0 }')"
	verdict "killed, nothing leaked" "$([ "$(leaks)" -le "$before" ] || dmesg | grep 'leaking uprobe' | tail -n 2)"
	if limited 60 "$IOPROBE" recover "$dir/trace" >"$dir/out" 2>"$dir/err"; then contract killed; else
		not_ok "killed, recover" "$(said "$dir")"; fi
}

# One that is stopped holds nobody for long.
stopped() {
	local dir recorder
	dir=$(fresh stopped)
	starts "$dir/data/go" >"$dir/loop.sh"
	"$IOPROBE" -o "$dir/trace" --summary "$dir/out" -- sh "$dir/loop.sh" >"$dir/stdout" 2>"$dir/err" &
	recorder=$!
	wait_for_file "$dir/data/go.starts" || not_ok stopped "the program did not start: $(said "$dir")"
	sleep 1
	kill -STOP $recorder
	sleep 0.3
	tail -n 1 "$dir/data/go.starts" >"$dir/after"
	sleep 1.5
	cp "$dir/data/go.starts" "$dir/all"
	kill -CONT $recorder
	rm "$dir/data/go"
	wait $recorder
	STATUS=$?
	sed -n "/$(cat "$dir/after")/,\$p" "$dir/all" >"$dir/after"
	verdict "stopped, programs start" \
		"$(longest "$dir/after" | awk '$1 > 0.6 || $2 < 10 { print "longest wait and starts: " $0 }')"
	verdict "stopped, gap" "$(grep -q 'before its probes were in place' "$dir/out" || echo "none in the summary")"
	verdict "stopped, status" "$([ $STATUS = 0 ] || echo "$STATUS")"
	contract stopped
}

# A program is launched only when it can be held: however late the hold server begins, the first calls are recorded.
late_server() {
	local dir
	dir=$(fresh late_server)
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=$P/liblate_setsid.so limited 60 "$IOPROBE" \
		-o "$dir/trace" --summary "$dir/out" -- env -u LD_PRELOAD "$P/lookups" "$dir/data" >"$dir/stdout" 2>"$dir/err"
	verdict "late_server, held" "$(grep -E 'ran on before|was not observed' "$dir/out")"
	contract late_server && expect late_server "named('fopen', '*/data/c/*') == [1, 1, 1]" && lost_nothing late_server
}

# A library that was loaded while its program could not be held, and a program that has ended before the library could be inspected:
# a gap.
ended_unseen() {
	local dir recorder program lib
	lib=$(ldconfig -p | awk '/libhdf5_serial\.so|libhdf5\.so/ { print $NF; exit }')
	[ -n "$lib" ] || { skip ended_unseen "no serial HDF5 library"; return; }
	dir=$(fresh ended_unseen)
	mkfifo "$dir/data/go"
	"$IOPROBE" -o "$dir/trace" --summary "$dir/out" -- "$PYTHON" -c \
		"import ctypes, os; print(os.getpid(), file=open('$dir/data/pid', 'w'), flush=True)
open('$dir/data/go').read(); ctypes.CDLL('$lib').H5open()" >"$dir/stdout" 2>"$dir/err" &
	recorder=$!
	wait_for_line "$dir/data/pid" . || not_ok ended_unseen "the program did not start: $(said "$dir")"
	read -r program <"$dir/data/pid"
	kill -STOP $recorder
	sleep 0.3       # until its heartbeat is too old
	echo >"$dir/data/go"
	for _ in $(seq 200); do
		[ "$(ps -o stat= -p "$program" | cut -c 1)" = Z ] && break
		sleep 0.05
	done
	kill -CONT $recorder
	wait $recorder
	verdict "ended_unseen, gap" "$(grep -q \
		'^note: libraries: 1 process, .* a library was used before its probes were in place' "$dir/out" ||
		grep note "$dir/out")"
	contract ended_unseen
}

# started_without_parser NAME: records a shell that starts a new program, which waits because the parser of its file is stopped.
# Sets recorder, server, parsers and pid (the program's). The recorder notices within 0.1 s that a parser is stopped, and lets the
# program go: if it has ended before it was found, that is tried again.
started_without_parser() {
	local try
	for try in 1 2 3 4 5; do
		start_without_parser "$1" && return
		kill -CONT "${parsers[@]}" 2>/dev/null
		wait $recorder
	done
	not_ok "$1" "the program was not held"
}

start_without_parser() {
	local i
	dir=$(fresh "$1")
	mkfifo "$dir/data/go"
	cp "$(command -v sleep)" "$dir/data/held"
	echo "/bin/true; : >$dir/data/ready; read x <$dir/data/go; $dir/data/held 0 & echo \$! >$dir/data/pid; wait \$!
		echo \$? >$dir/data/status" >"$dir/loop.sh"
	"$IOPROBE" -o "$dir/trace" --summary "$dir/out" -- sh "$dir/loop.sh" >"$dir/stdout" 2>"$dir/err" &
	recorder=$!
	wait_for_file "$dir/data/ready" || not_ok "$1" "the program did not start: $(said "$dir")"
	server=$(pgrep -P $recorder -x ioprobe-hold)
	mapfile -t parsers < <(pgrep -P $recorder -f 'parser-process 0$')       # of probes, and of call sites
	kill -STOP "${parsers[@]}" || not_ok "$1" "no parser process"
	echo >"$dir/data/go"
	for ((i = 0; i < 500000; i++)); do      # without a pause
		[ -s "$dir/data/pid" ] && read -r pid <"$dir/data/pid" && break
	done
	sleep 0.02      # longer than the program runs
	[ ! -e "$dir/data/status" ]
}

# Its parent learns at once that a waiting program was killed.
killed_while_held() {
	local dir recorder server parsers pid
	started_without_parser killed_while_held
	kill -KILL "$pid"
	wait_for_file "$dir/data/status" 1
	verdict killed_while_held \
		"$([ "$(cat "$dir/data/status")" = 137 ] || echo "status $(cat "$dir/data/status"): $(ps -o stat= -p "$pid")")"
	kill -CONT "${parsers[@]}"
	wait $recorder
	contract killed_while_held
}

# A waiting program goes on when the process that let it wait is stopped.
server_stopped() {
	local dir recorder server parsers pid
	started_without_parser server_stopped
	kill -STOP "$server"
	wait_for_file "$dir/data/status" 8
	verdict server_stopped "$([ "$(cat "$dir/data/status")" = 0 ] || echo "status $(cat "$dir/data/status")")"
	kill -CONT "${parsers[@]}" "$server"
	wait $recorder
	contract server_stopped
}

# Without task work (kernels before 6.18) a program waits at its linker's rendezvous, if its process was known before. The hold
# server is its tracer meanwhile; the parser of its file is stopped, which takes the recorder some 0.3 s to notice.
fallback() {
	local dir recorder parsers pid held=no i
	dir=$(fresh fallback)
	mkfifo "$dir/data/go"
	cp "$(command -v sleep)" "$dir/data/held"
	echo "(: >$dir/data/ready; read x <$dir/data/go; exec $dir/data/held 0) & echo \$! >$dir/data/pid; wait \$!
		echo \$? >$dir/data/status" >"$dir/loop.sh"
	IOPROBE_WITHOUT=task-work "$IOPROBE" -o "$dir/trace" --summary "$dir/out" -- sh "$dir/loop.sh" >"$dir/stdout" 2>"$dir/err" &
	recorder=$!
	wait_for_file "$dir/data/ready" || not_ok fallback "the program did not start: $(said "$dir")"
	wait_for_file "$dir/data/pid"
	sleep 0.5       # until the forked process has its rendezvous' link
	mapfile -t parsers < <(pgrep -P $recorder -f 'parser-process 0$')
	kill -STOP "${parsers[@]}"
	read -r pid <"$dir/data/pid"
	echo >"$dir/data/go"
	for ((i = 0; i < 1000; i++)); do
		grep -qs '^TracerPid:[[:space:]]*[1-9]' "/proc/$pid/status" && held=yes && break
		[ ! -e "$dir/data/status" ] || break
	done
	verdict "fallback, held" "$([ $held = yes ] || echo "the program was not held")"
	wait_for_file "$dir/data/status" 20
	wait $recorder
	verdict "fallback, goes on" "$([ "$(cat "$dir/data/status")" = 0 ] || cat "$dir/data/status")"
	contract fallback
}

# copied_library DIR LIBRARY...: files of our own, so that breakpoints in them are of no other recording on this machine. Programs
# with LD_LIBRARY_PATH=DIR/lib map them.
copied_library() {
	mkdir "$1/lib" && cp -L "${@:2}" "$1/lib"
}

# A translator of programs reads the linker's text, breakpoints and all. It may not work before ours either: another recorder's.
beside_valgrind() {
	local i
	have valgrind || { skip "texts, valgrind" "it is not installed"; return; }
	[ -e "$TMP/valgrind_works" ] || { skip "texts, valgrind" "it does not work without a recording"; return; }
	for ((i = 0; i < 5; i++)); do
		limited 60 valgrind -q /bin/true >"$1/valgrind" 2>&1 ||
			{ not_ok "texts, valgrind" "$(tail -n 2 "$1/valgrind")"; return; }
	done
	ok "texts, valgrind"
}

# Others have no breakpoints; who is recorded has. in_text.py waits for what it is told to find.
texts() {
	local dir other mapped pid recorder libc hdf5 library i
	dir=$(fresh texts)
	libc=$(ldd /bin/true | awk '/libc\.so/ { print $3 }')
	hdf5=$(ldconfig -p | awk '/libhdf5_serial\.so/ { print $NF; exit }')
	copied_library "$dir" "$libc" ${hdf5:+"$hdf5"} || { not_ok texts "cannot copy libraries"; return; }
	libc=$dir/lib/$(basename "$libc")
	hdf5=${hdf5:+$dir/lib/$(basename "$hdf5")}
	LD_LIBRARY_PATH=$dir/lib "$PYTHON" -c 'import time; time.sleep(60)' & other=$!
	LD_LIBRARY_PATH=$dir/lib "$PYTHON" -c "import ctypes, time; ctypes.CDLL('${hdf5:-libm.so.6}'); time.sleep(60)" & mapped=$!
	"$IOPROBE" -o "$dir/trace" -- env LD_LIBRARY_PATH="$dir/lib" "$PYTHON" -c "import ctypes, time
ctypes.CDLL('${hdf5:-libm.so.6}')
print('up', flush=True); time.sleep(60)" >"$dir/out" 2>"$dir/err" &
	recorder=$!
	wait_for_line "$dir/out" up || not_ok texts "the program did not start: $(said "$dir")"
	pid=$(pgrep -P $recorder python)
	for library in "$libc" ${hdf5:+"$hdf5"}; do
		"$IOPROBE" probes --library "$library" >"$dir/probes" 2>/dev/null
		verdict "texts, recorded $(basename "$library")" "$($IN_TEXT "$pid" "$library" "$dir/probes" some 2>&1)"
		verdict "texts, others $(basename "$library")" "$({ $IN_TEXT "$other" "$library" "$dir/probes" none
			$IN_TEXT "$mapped" "$library" "$dir/probes" none; } 2>&1)"
	done
	LD_LIBRARY_PATH=$dir/lib beside_valgrind "$dir"
	kill $pid $other $mapped
	wait $recorder $other $mapped 2>/dev/null
}

# More processes than have links of their own: each call is recorded once, or it was in a gap of its process.
forked() {
	local dir=$1 others=$2 library other calls=300
	[ -z "$SANITIZED" ] || calls=2000       # its probes are later
	shift 2
	dir=$(fresh "$dir")
	library=$(ldd /bin/true | awk '/libc\.so/ { print $3 }')
	copied_library "$dir" "$library" || { not_ok "$(basename "$dir")" "cannot copy $library"; return; }
	library=$dir/lib/$(basename "$library")
	LD_LIBRARY_PATH=$dir/lib "$PYTHON" -c 'import time; time.sleep(60)' & other=$!
	"$IOPROBE" probes --library "$library" >"$dir/probes" 2>/dev/null
	"$IOPROBE" -o "$dir/trace" "$@" -- env LD_LIBRARY_PATH="$dir/lib" "$P/forked_streams" 24 $calls >"$dir/out" 2>"$dir/err" &
	wait_for_line "$dir/err" recording
	sleep 0.6
	verdict "$(basename "$dir"), others" "$($IN_TEXT $other "$library" "$dir/probes" "$others" 2>&1)"
	wait $!
	kill $other 2>/dev/null
	contract "$(basename "$dir")" || return
	expect "$(basename "$dir")" "calls('fwrite') >= $calls"
	streams_are_whole "$(basename "$dir")" 24 $calls
}

# requests_of_one LOG: of the process for which the server made most links: requests (LINK_MULTI, its pid is at byte 16) and links.
# The recorder's own measurement makes links, too.
requests_of_one() {
	"$PYTHON" - "$1" <<-'END'
		import collections, re, sys
		requests, links, process = collections.Counter(), collections.Counter(), {}
		for line in open(sys.argv[1], encoding="latin-1"):
		    thread = line.split()[0]
		    if (text := re.search(r'recvfrom.*?"((?:[^"\\]|\\.)*)"', line)) and text[1].startswith("\\0" * 4):
		        process[thread] = text[1].encode().decode("unicode_escape").encode("latin-1")[16:20]
		        requests[process[thread]] += 1
		    elif "BPF_LINK_CREATE" in line and thread in process:
		        links[process[thread]] += 1
		most = max(links, key=links.get, default=None)
		print(requests[most], links[most])
	END
}

# All links of a program that starts (four with the C library alone) are made with one request to the hold server, or two if its
# file was read between fork and exec. When the program has ended the server opens each of them, to detach it itself.
one_request() {
	local dir recorder server tracer links=0 requests made reaped i
	have strace || { skip one_request "strace is not installed"; return; }
	dir=$(fresh one_request)
	mkfifo "$dir/data/go"
	"$IOPROBE" -o "$dir/trace" --summary "$dir/out" -- sh -c \
		": >$dir/data/ready; read x <$dir/data/go; /bin/ls /; read x <$dir/data/go" \
		>"$dir/stdout" 2>"$dir/err" &
	recorder=$!
	wait_for_file "$dir/data/ready" || not_ok one_request "the program did not start: $(said "$dir")"
	server=$(pgrep -P $recorder -x ioprobe-hold)
	strace -f -e trace=recvfrom,bpf -o "$dir/log" -p "$server" 2>"$dir/strace" &
	tracer=$!
	wait_for_line "$dir/strace" attached || not_ok one_request "strace: $(cat "$dir/strace")"
	echo >"$dir/data/go"
	for ((i = 0; i < 200; i++)); do
		reaped=$(grep -c 'BPF_OBJ_GET,' "$dir/log")
		links=$(grep -c 'BPF_LINK_CREATE' "$dir/log")   # after what was reaped of them: both may happen between two looks
		[ "$reaped" -lt 3 ] || break            # links of the recorder's own measurement are not reaped
		sleep 0.05
	done
	read -r requests made < <(requests_of_one "$dir/log")
	verdict one_request "$([ "$requests" -ge 1 ] && [ "$requests" -le 2 ] && [ "$made" -ge 4 ] ||
		echo "$made links by $requests requests")"
	verdict "one_request, reaped" "$([ "$reaped" -ge 3 ] && [ "$reaped" -le "$links" ] || echo "$reaped of $links links")"
	echo >"$dir/data/go"
	wait $recorder
	wait $tracer
}

have valgrind && limited 60 valgrind -q /bin/true >/dev/null 2>&1 && touch "$TMP/valgrind_works"
killed
stopped
late_server
ended_unseen
killed_while_held
server_stopped
fallback
one_request
texts
forked forked_own none --shared-links no
forked forked_shared any
