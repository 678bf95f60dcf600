#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Wrong use, missing rights, bad tables, full disks: one clear line on stderr, the documented exit status, no half archive.
. "$(dirname "$0")/../lib/e2e.sh"
D=$(fresh bad)

# refuses NAME STATUS PATTERN ARGUMENT...: ends with this status and a line that says why, without a stack trace or a traceback.
refuses() {
	local name=$1 status=$2 pattern=$3
	shift 3
	limited 30 "$@" >"$D/out" 2>"$D/err" </dev/null
	STATUS=$?
	if [ $STATUS != "$status" ]; then not_ok "$name" "status $STATUS instead of $status: $(said "$D")"
	elif ! grep -Eiq -- "$pattern" "$D/err"; then not_ok "$name" "stderr has no '$pattern': $(said "$D")"
	elif grep -Eq 'Sanitizer|Segmentation|core dumped' "$D/err"; then not_ok "$name" "$(said "$D")"
	else ok "$name"; fi
}

refuses "no arguments" 2 'nothing to do' "$IOPROBE"
refuses "unknown option" 2 'unrecognized|unknown|usage' "$IOPROBE" --no-such-option
refuses "pid that is none" 2 'abc' "$IOPROBE" --pid abc
refuses "pid zero" 2 '0' "$IOPROBE" --pid 0
refuses "pid list with a hole" 2 'pid' "$IOPROBE" --pid 1,,2
refuses "pid and command" 2 'pid' "$IOPROBE" --pid $$ -- true
refuses "negative duration" 2 'duration' "$IOPROBE" --pid $$ --duration -1
for option in --output --summary --json= --report= --probes; do
	value=$([ "${option%=}" != "$option" ] || echo ' ')
	refuses "empty name, ${option%=}" 2 "${option%=} '': the name is empty" "$IOPROBE" "$option" ${value:+""} -- true
done
refuses "empty name, merge" 2 "output '': the name is empty" "$IOPROBE" merge -o '' "$D"
refuses "kernel thread" 1 'process 2: .*kernel' "$IOPROBE" --pid 2 -o "$D/a"
refuses "no such process" 1 '4194303|process' "$IOPROBE" --pid 4194303 -o "$D/a"
verdict "no such process, no folder left" "$(ls -d "$D/a" 2>/dev/null)"
refuses "no such command" 127 'no-such-command' "$IOPROBE" -o "$D/b" -- no-such-command
touch "$D/plain"
refuses "not executable" 126 'plain' "$IOPROBE" -o "$D/c" -- "$D/plain"

mkdir "$D/full"
echo keep >"$D/full/traces.otf2"
refuses "folder in use" 1 'not empty|exists' "$IOPROBE" -o "$D/full" -- touch "$D/touched"
verdict "folder in use, untouched" "$([ "$(cat "$D/full/traces.otf2")" = keep ] || echo 'file was changed')"
verdict "folder in use, program did not run" "$(ls "$D/touched" 2>/dev/null)"
refuses "folder below a file" 1 'plain' "$IOPROBE" -o "$D/plain/x" -- true
refuses "folder that cannot be made" 1 '/proc/x' "$IOPROBE" -o /proc/x -- true

printf 'layer X\n  libraries libx.so\nfoo nonsense a b\n' >"$D/bad.probes"
refuses "bad table" 1 'bad.probes:3:[0-9]+' "$IOPROBE" --probes "$D/bad.probes" -o "$D/d" -- touch "$D/touched"
verdict "bad table, program did not run" "$(ls "$D/touched" 2>/dev/null)"
refuses "missing table" 1 'missing.probes' "$IOPROBE" --probes "$D/missing.probes" -o "$D/e" -- true
head -c 100000 /dev/urandom >"$D/random.probes"
refuses "random table" 1 'random.probes' "$IOPROBE" --probes "$D/random.probes" -o "$D/f" -- true
refuses "recover of nothing" 1 'bad|spool|No such' "$IOPROBE" recover "$D/nowhere"
mkdir "$D/noise"
head -c 100000 /dev/urandom >"$D/noise/spool"
refuses "recover of noise" 1 'spool|noise' "$IOPROBE" recover "$D/noise"

# limit OPTION VALUE ARGUMENT...: with this limit (ulimit).
limit() { (ulimit "$1" "$2" && exec "${@:3}"); }
export -f limit
for files in 4 12 40; do
	refuses "$files open files" 1 "may have $files open files, and a recording needs 128 or more: .*ulimit -n 128" \
		bash -c 'limit -n "$@"' - "$files" "$IOPROBE" -o "$D/g" -- true
	verdict "$files open files, one line" "$([ "$(wc -l <"$D/err")" = 1 ] && [ ! -e "$D/g" ] || said "$D")"
done
refuses "stack of 64 KiB" 1 'limited to 64 KiB, and ioprobe needs 256 KiB: .*ulimit -s 256' \
	bash -c 'limit -s "$@"' - 64 "$IOPROBE" -o "$D/g" -- true
# The limits that the messages ask for are sufficient; the program has the limits with which ioprobe was started.
fresh limits >/dev/null
limited 60 bash -c 'ulimit -n 128 -s 256; ulimit -S -n 100; exec "$@"' - "$IOPROBE" -o "$TMP/limits/trace" \
	--report="$TMP/limits/report" -- \
	sh -c 'ulimit -n; ulimit -s' >"$TMP/limits/out" 2>"$TMP/limits/err" </dev/null
verdict "smallest limits, status" "$([ $? = 0 ] || said "$TMP/limits")"
verdict "smallest limits, the program's" "$([ "$(head -n 2 "$TMP/limits/out" | tr '\n' ' ')" = '100 256 ' ] ||
	cat "$TMP/limits/out")"
contract limits

# Another user can read the program; he must be told what is missing.
cp "$IOPROBE" "$TMP/ioprobe" && chmod 755 "$TMP/ioprobe" && chmod 755 "$TMP"
if have setpriv; then
	mkdir -p "$D/nobody" && chmod 777 "$D/nobody" "$D"
	refuses "not root" 1 'root' setpriv --reuid 65534 --regid 65534 --clear-groups "$TMP/ioprobe" -o "$D/nobody/t" -- true
	refuses "not root, pid" 1 'root' setpriv --reuid 65534 --regid 65534 --clear-groups "$TMP/ioprobe" -o "$D/nobody/t" --pid $$
else
	skip "not root" "no setpriv"
fi

# While a launched program runs, the first ^C is the program's (a terminal sends it to both), the second ends the recording.
interrupt() {
	local pid program began
	mkdir -p "$TMP/interrupt"
	env --default-signal=INT "$IOPROBE" -o "$TMP/interrupt/trace" -- \
		sh -c 'echo started $$; exec sleep 30' >"$TMP/interrupt/out" 2>"$TMP/interrupt/err" & pid=$!
	wait_for_line "$TMP/interrupt/out" started 30 || not_ok interrupt "did not start: $(said "$TMP/interrupt")"
	program=$(awk '/started/ { print $2; exit }' "$TMP/interrupt/out")
	kill -INT $pid
	sleep 0.5
	verdict "interrupt, the first is the program's" "$(kill -0 $pid 2>/dev/null || echo 'the recorder ended')"
	kill -INT $pid
	began=$SECONDS
	end_of $pid 25
	verdict "interrupt, the second ends the recording" \
		"$([ $((SECONDS - began)) -lt 15 ] || echo "after $((SECONDS - began)) s")"
	contract interrupt && expect interrupt "calls('write') >= 1"
	[ -z "$program" ] || kill "$program" 2>/dev/null
}
interrupt

# The output's disk is full: said, status 1, the program itself is well.
full_disk() {
	mkdir -p "$TMP/full_disk/disk"
	mount -t tmpfs -o size=128k full "$TMP/full_disk/disk" || { skip "full disk" "cannot mount"; return; }
	mkdir "$TMP/full_disk/data"
	limited 60 "$IOPROBE" -o "$TMP/full_disk/disk/trace" -- "$P/writes4000" "$TMP/full_disk/data" \
		>"$TMP/full_disk/out" 2>"$TMP/full_disk/err" </dev/null
	STATUS=$?
	verdict "full disk, status" "$([ $STATUS = 1 ] || echo "status $STATUS: $(said "$TMP/full_disk")")"
	verdict "full disk, message" "$(grep -Eiq 'space|full|write' "$TMP/full_disk/err" || said "$TMP/full_disk")"
	verdict "full disk, program" "$([ "$(cat "$TMP/full_disk/data/"* | wc -c)" = 256000 ] || echo 'wrote too little')"
	umount "$TMP/full_disk/disk"
}
full_disk

# The disk gets full while the archive is made, at any place: never a crash (libotf2 must not be called after a failed flush, which
# takes more than 4 MiB for one location), one line, the records kept; with more room recover makes the archive of them.
full_sizes() {
	local dir=$TMP/full_sizes kib status needed bad=''
	mkdir -p "$dir/disk"
	limited 60 "$IOPROBE" -o "$dir/rec" --keep-spool -- dd if=/dev/zero of=/dev/null bs=1 count=50000 >/dev/null 2>"$dir/err" \
		</dev/null
	needed=$(du -sk "$dir/rec" | cut -f1)
	for ((kib = $(du -k "$dir/rec/spool" | cut -f1) + 8; kib < needed + 300; kib += kib > needed - 40 ? 4 : 300)); do
		mount -t tmpfs -o size=${kib}k full "$dir/disk" || { skip "full at all sizes" "cannot mount"; return; }
		mkdir "$dir/disk/rec" && cp "$dir/rec/spool" "$dir/disk/rec"
		MALLOC_PERTURB_=165 limited 60 "$IOPROBE" recover "$dir/disk/rec" >/dev/null 2>"$dir/err" </dev/null
		status=$?
		[ $status = 0 ] || { [ $status = 1 ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q 'No space left' "$dir/err" &&
			[ "$(ls "$dir/disk/rec")" = spool ]; } ||
			bad="$kib KiB: status $status: $(said "$dir"); $(ls "$dir/disk/rec")"
		[ $status = 0 ] || mount -o remount,size=20m "$dir/disk"
		[ $status = 0 ] || [ $((kib % 900)) -ge 300 ] ||
			limited 60 "$IOPROBE" recover "$dir/disk/rec" >/dev/null 2>"$dir/err" ||
			bad="$kib KiB, recover: $(said "$dir")"
		umount "$dir/disk"
		[ $status != 0 ] || break
	done
	verdict "full at all sizes" "$bad"
	verdict "full at all sizes, room in the end" "$([ "$status" = 0 ] || echo "status $status with $kib KiB")"
}
full_sizes

# Inside a pid namespace the ids of processes mean something else to the kernel: refused, nothing made.
mkdir -p "$TMP/namespace"
limited 30 unshare -p -f --mount-proc "$IOPROBE" -o "$TMP/namespace/trace" -- true >"$TMP/namespace/out" 2>"$TMP/namespace/err" \
	</dev/null
verdict "pid namespace" "$([ $? = 1 ] && grep -q 'pid namespace' "$TMP/namespace/err" && [ ! -e "$TMP/namespace/trace" ] ||
	said "$TMP/namespace")"

# Closed standard streams: no file of ours gets their numbers, and a message its place in it; the program finds them closed.
closed_streams() {
	local dir
	dir=$(fresh closed_streams)
	"$IOPROBE" -o "$dir/trace" -- sh -c '[ -e /proc/self/fd/0 ] || [ -e /proc/self/fd/1 ] || exit 4' <&- >&- 2>&-
	STATUS=$?
	verdict "closed streams, status" "$([ $STATUS = 4 ] || echo "status $STATUS")"
	verdict "closed streams, archive" "$([ -s "$dir/trace/traces.otf2" ] && [ ! -e "$dir/trace/spool" ] || ls "$dir/trace")"
}
closed_streams
