#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Recordings of the service share one set of BPF programs: ten of them have one set of tracepoints attached, each archive has its
# own process' calls and no other's, one whose recorder is killed harms none of the others, and with the last one everything is
# detached.
. "$(dirname "$0")/../lib/e2e.sh"
. "$TESTS/lib/service.sh"

trap 'end_workers; services_stop' EXIT
trap 'exit 130' INT TERM

SERVICE_DIR=$TMP/s
DATA=$TMP/data
WRITES=1000
mkdir -m 755 "$DATA"
declare -A WORKER
end_workers() { [ ${#WORKER[@]} = 0 ] || kill "${WORKER[@]}" 2>/dev/null; WORKER=(); }
links() { "$PYTHON" "$TESTS/lib/bpf_links.py" "$@"; }

# begin NAME: a worker, recorded as job NAME.
begin() {
	local text
	"$P/numbered" "$DATA" "$1" $WRITES &
	WORKER[$1]=$!
	wait_for_file "$DATA/$1"
	text=$(ask n1 start --job "$1" --uid 0 --gid 0 --always --timeout 15000 --pid "${WORKER[$1]}" 2>&1)
	[[ $text == 'recording to '* ]] || not_ok "$1, begins" "$text"
}

recorder() { state_value n1 "$1" pid; }

# own_calls NAME COUNT: of the archive of that job: so many writes to its worker's file, and nothing of the others'.
own_calls() {
	archive_is "$1" n1 "$1" root "calls('pwrite64', path='$DATA/$1') $2" \
		"[f for f in files if '$DATA/' in f and '$DATA/$1' != f and '$DATA/go' != f] == []" \
		"offsets('pwrite64', '$DATA/$1') == [8 * i for i in range(len(offsets('pwrite64', '$DATA/$1')))]"
}

service_start n1 "spare 2" "max-jobs 24" || { not_ok service "$(tail -n 2 "$SERVICE_DIR/n1.log")"; exit; }

begin w0
one=$(links "$(recorder w0)")
for i in 1 2 3 4 5 6 7 8 9; do begin "w$i"; done
recorders=()
for i in 0 1 2 3 4 5 6 7 8 9; do recorders+=("$(recorder "w$i")"); done
all=$(links "${recorders[@]}")
verdict "ten, tracepoints" "$([ -n "$one" ] && [ "$one" = "$all" ] || echo "links of one: $one, of ten: $all")"

touch "$DATA/go"
spool=$(state_value n1 w5 output)/spool
size=$(stat -c %s "$spool")
for ((i = 0; i < 200; i++)); do [ "$(stat -c %s "$spool")" = "$size" ] || break; sleep 0.02; done
kill -KILL "${recorders[5]}"
wait_for_phase n1 w5 'done|failed'
rm "$DATA/go"
begin again             # its slot, or another one, is free
touch "$DATA/go"
for i in 0 1 2 3 4 6 7 8 9; do own_calls "w$i" "== $WRITES"; done
killed_archive_is w5 n1 w5 root "calls('pwrite64', path='$DATA/w5') in range(1, $WRITES)" \
	"[f for f in files if '$DATA/' in f and '$DATA/w5' != f and '$DATA/go' != f] == []"
own_calls again "== $WRITES"

# The calls of a process that is recorded already are in one recording of the shared programs: another one takes a set of its own.
mkdir "$TMP/beside" && rm "$DATA/go"
begin first
second=$(ask n1 start --job second --uid 0 --gid 0 --always --timeout 15000 --pid "${WORKER[first]}" 2>&1)
verdict "the same process again" "$([[ $second == 'recording to '* ]] || echo "$second")"
verdict "the same process again, own set" \
	"$([ -n "$(links "$(recorder second)")" ] && [ "$(links "$(recorder second)")" != "$(links "$(recorder first)")" ] ||
	echo "links $(links "$(recorder second)")")"
every=$(links "$(recorder first)" "$(recorder second)")

# A recording with programs of its own is refused where as many are attached as the node is to bear.
refused=$(IOPROBE_MAX_SETS=1 limited 30 "$IOPROBE" -o "$TMP/refused" --pid "${WORKER[first]}" 2>&1) && refused="status 0: $refused"
verdict "limit, one line" "$([[ $refused == *'recordings have BPF programs attached on this node'*'--force'* ]] &&
	[ "$(echo "$refused" | wc -l)" = 1 ] ||
	echo "$refused")$(ls -d "$TMP/refused" 2>/dev/null)"
IOPROBE_MAX_SETS=1 limited 30 "$IOPROBE" -q -o "$TMP/forced" --force --duration 0.2 --pid "${WORKER[first]}" >/dev/null \
	2>"$TMP/forced.err"
verdict "limit, --force" "$([ $? = 0 ] || cat "$TMP/forced.err")"
touch "$DATA/go"
own_calls first "== $WRITES"
archive_is second n1 second root "calls('pwrite64', path='$DATA/first') == $WRITES"

left=$(links --alive $all $every)
verdict "after the last one, tracepoints" "${left:+links $left are still attached}"

# A new service knows nothing of the set of one that was killed. When it has, too, lost a recorder of that set, the slot is closed
# all the same: no process is recorded for nobody while the other recordings of the set go on.
rm "$DATA/go"
begin lost
begin other
before=$(links --slots "$(recorder other)")
service_kill n1
service_start n1 || not_ok "service killed, another one" "$(tail -n 2 "$SERVICE_DIR/n1.log")"
kill -KILL "$(recorder lost)"
wait_for_phase n1 lost 'done|empty|failed'
for ((i = 0; i < 100; i++)); do
	after=$(links --slots "$(recorder other)")
	[ "$(wc -w <<<"$after")" != 1 ] || break
	sleep 0.05
done
verdict "service and recorder killed, slots" \
	"$([ "$(wc -w <<<"$before")" -ge 2 ] && [ "$(wc -w <<<"$after")" = 1 ] || echo "open before: $before, after: $after")"
touch "$DATA/go"
own_calls other "== $WRITES"

# With perf events, too, each recording of a set has its own probes: a hit carries the number of the recording that it is for.
IOPROBE_WITHOUT=uprobe-multi service_start n2 "spare 2" "max-jobs 4" "layers posix,isoc" ||
	not_ok "perf, service" "$(tail -n 2 "$SERVICE_DIR/n2.log")"
programs=()
for name in p0 p1; do
	mkdir "$TMP/$name"
	"$P/already_running" "$TMP/$name" &
	programs+=($!)
	wait_for_file "$TMP/$name/ready"
	text=$(ask n2 start --job $name --uid 0 --gid 0 --always --timeout 15000 --pid $! 2>&1)
	[[ $text == 'recording to '* ]] || not_ok "perf, $name, begins" "$text"
done
touch "$TMP/p0/go" "$TMP/p1/go"
wait "${programs[@]}"
for name in p0 p1; do archive_is $name n2 $name root "calls('fwrite', path='$TMP/$name/stream') == 25"; done
