#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Attacks on the node's service by a user without rights: he gains nothing, and takes nothing from root and from others. What the
# service refuses is one line that names object, action, reason and remedy.
. "$(dirname "$0")/../lib/e2e.sh"
. "$TESTS/lib/service.sh"

id games >/dev/null 2>&1 && id nobody >/dev/null 2>&1 || { skip all "no users games and nobody"; exit; }

trap 'end_helpers; services_stop' EXIT
trap 'exit 130' INT TERM

SERVICE_DIR=$TMP/s
HELPERS=()
end_helpers() { [ ${#HELPERS[@]} = 0 ] || kill "${HELPERS[@]}" 2>/dev/null; HELPERS=(); }

as() { setpriv --reuid "$1" --regid "$(id -g "$1")" --clear-groups -- "${@:2}"; }
nobody_asks() { as nobody "$IOPROBE" job --socket "$SERVICE_DIR/$1.socket" "${@:2}"; }
client() { as nobody "$PYTHON" "$TESTS/lib/service_client.py" "$SERVICE_DIR/$1.socket" "${@:2}"; }

# runs NAME USER [VARIABLE=VALUE...]: a process of the user's that lives until the test ends; sets PROGRAM.
runs() {
	(exec setpriv --reuid "$1" --regid "$(id -g "$1")" --clear-groups -- env "${@:2}" sleep 120) </dev/null >/dev/null 2>&1 &
	PROGRAM=$!
	HELPERS+=($!)
	local i
	for ((i = 0; i < 100; i++)); do [ "$(stat -c %U /proc/$PROGRAM/exe 2>/dev/null)" ] && grep -q sleep "/proc/$PROGRAM/comm" &&
		return; sleep 0.05; done
}

# refused NAME PATTERN COMMAND...: fails with one line that has the pattern.
refused() {
	local name=$1 pattern=$2 text
	text=$("${@:3}" 2>&1) && { not_ok "$name" "no failure: $text"; return; }
	verdict "$name" "$(echo "$text" | grep -qE "$pattern" && [ "$(echo "$text" | wc -l)" = 1 ] || echo "'$text'")"
}

# root_starts NAME JOB: at once, for a job of the user games.
root_starts() {
	local text
	text=$(ask n1 start --job "$2" --uid "$(id -u games)" --gid "$(id -g games)" --always --timeout 5000 2>&1)
	verdict "$1" "$([[ $text == 'recording to '* ]] || echo "'$text'")"
}
root_stops() {
	ask n1 stop --job "$1" >/dev/null 2>&1
	wait_for_phase n1 "$1" 'done|empty|failed'
}

# ---- what he says of himself ----

fields() {
	local secret=$TMP/site/secret text
	mkdir -p "$TMP/site" && mkdir -m 700 "$secret"
	service_start n2 "output $TMP/site/%c/%j.%n" || { not_ok fields "no service: $(tail -n 2 "$SERVICE_DIR/n2.log")"; return; }
	runs nobody
	text=$(client n2 send "{\"request\": \"start\", \"job\": \"1\", \"pids\": [$PROGRAM], \"cluster\": \"secret\",
		\"node\": \"evil\", \"uid\": 0, \"gid\": 0, \"user\": \"root\", \"work_dir\": \"/root\",
		\"output\": \"/root/%j\", \"log\": \"/root/log\",
		\"id\": \"2\", \"account\": \"a\"}" 2>&1)
	verdict "fields, nothing in root's directory" "$(ls -A "$secret")"
	verdict "fields, refused" "$(echo "$text" | grep -q "the cluster's name is missing" && [ "$(echo "$text" | wc -l)" = 1 ] ||
		echo "'$text'")"
	verdict "fields, none is kept" "$(cat "$SERVICE_DIR"/state-n2/jobs/*.json 2>/dev/null |
		grep -E 'secret|evil|/root|account')"
	verdict "fields, no directory left" "$(ls -A "$TMP/site" | grep -v secret)"
}

always() {
	runs nobody
	refused "always" "always is for root" nobody_asks n1 start --pid $PROGRAM --always --timeout 5000
	nobody_asks n1 stop --job "pid-$PROGRAM" >/dev/null 2>&1
}

forged_line() {
	refused "forged_line" "is not a job id" nobody_asks n1 start --job $'x\nioprobe: job 1: done'
	client n1 send '{"request": "stop\nioprobe: job 1: done", "job": "a\nioprobe: job 1: done"}' >/dev/null 2>&1
	client n1 send '{"request": "stop", "job": "a\nioprobe: job 1: done"}' >/dev/null 2>&1
	verdict "forged_line, log" "$(grep '^ioprobe: job 1: done' "$SERVICE_DIR/n1.log")"
}

# ---- what he takes from others ----

slots() {
	client n1 jobs 16 >/dev/null 2>&1
	verdict "slots, jobs that do not exist" "$(ask n1 version | grep -v ' 0 jobs are')"
	client n1 idle 64 "$TMP/idle" >"$TMP/idle.out" 2>&1 &
	HELPERS+=($!)
	wait_for_file "$TMP/idle" 10
	root_starts "slots, root beside 64 idle connections" 900001
	root_stops 900001
	end_helpers
}

own_limit() {
	local i text pids=()
	for ((i = 0; i < 4; i++)); do runs nobody; pids+=($PROGRAM); done
	for ((i = 0; i < 2; i++)); do
		nobody_asks n1 start --pid ${pids[i]} --timeout 10000 >/dev/null 2>"$TMP/limit" ||
			not_ok "own_limit, start $i" "$(cat "$TMP/limit")"
	done
	refused "own_limit, one more" "max-jobs-per-user" nobody_asks n1 start --pid ${pids[2]} --timeout 5000
	root_starts "own_limit, root" 900002
	for ((i = 0; i < 4; i++)); do nobody_asks n1 stop --job "pid-${pids[i]}" >/dev/null 2>&1; done
	root_stops 900002
	for ((i = 0; i < 2; i++)); do wait_for_phase n1 "u$(id -u nobody).pid-${pids[i]}" 'done|empty|failed'; done
}

huge() {
	local text
	text=$(client n1 entries 200 2>&1)
	verdict "huge, entries" "$(echo "$text" | grep -q 'at most 4 are allowed' || echo "'$text'")"
	text=$(client n1 entries 4000 2>&1)
	verdict "huge, bytes" "$(echo "$text" | grep -q 'longer than 4096 bytes' || echo "'${text:0:200}'")"
	verdict "huge, nothing kept" "$(ls "$SERVICE_DIR"/state-n1/jobs | grep '\.77\.')"
}

often() {
	local text
	text=$(client n1 send '{"request": "start", "job": "1"}'; for ((i = 0; i < 15; i++)); do client n1 send \
		'{"request": "start", "job": "1"}' & done; wait)
	verdict "often, answered or refused" "$(echo "$text" | grep -vE 'no process of yours|more often|too many open' | head -n 1)"
	root_starts "often, root" 900003
	root_stops 900003
	sleep 2         # his budget is filled again
}

# While he is recorded he puts something else in the spool's place: a FIFO, on which an archiver would wait for ever; nothing at
# all.
exchanged_spool() {
	local what dir id
	for what in fifo nothing; do
		runs nobody
		id=u$(id -u nobody).pid-$PROGRAM
		nobody_asks n1 start --pid $PROGRAM --timeout 10000 >/dev/null 2>"$TMP/exchanged" ||
			{ not_ok "exchanged_spool, $what" "$(cat "$TMP/exchanged")"; return; }
		dir=$(state_value n1 "$id" output)
		as nobody rm "$dir/spool"
		if [ $what = fifo ]; then as nobody mkfifo "$dir/spool"; else as nobody rmdir "$dir"; fi
		nobody_asks n1 stop --job "pid-$PROGRAM" >/dev/null
		wait_for_phase n1 "$id" 'done|empty|failed' 15
		verdict "exchanged_spool, $what" \
			"$([ "$(phase n1 "$id")" = failed ] && state_value n1 "$id" message | grep -q 'the records are gone' ||
			echo "$(phase n1 "$id"): $(state_value n1 "$id" message)")"
		[ $what = nothing ] || rm -r "$dir"
	done
}

# ---- what must work all the same ----

# Root records job 123 of games, nobody has a recording of his own of that name.
own_stop() {
	runs nobody SLURM_JOB_ID=123
	root_starts "own_stop, root" 123
	nobody_asks n1 start --job 123 --entry SLURM_JOB_ID=123 --timeout 10000 >/dev/null 2>"$TMP/own" ||
		not_ok own_stop "$(cat "$TMP/own")"
	verdict "own_stop" "$(nobody_asks n1 stop --job 123 2>&1 | grep -v 'the recording ends')"
	wait_for_phase n1 "u$(id -u nobody).123" 'done|empty|failed'
	verdict "own_stop, his" "$(phase n1 "u$(id -u nobody).123" | grep -vE 'done|empty')"
	verdict "own_stop, root's goes on" "$([ "$(phase n1 123)" = recording ] || phase n1 123)"
	root_stops 123
}

hang_up() {
	"$PYTHON" "$TESTS/lib/service_client.py" "$SERVICE_DIR/deaf.socket" hang-up "$TMP/deaf" >/dev/null 2>&1 &
	HELPERS+=($!)
	wait_for_file "$TMP/deaf" 10
	refused "hang_up, start" "closed the connection without an answer" ask deaf start --job 1 --uid 5 --gid 5
	refused "hang_up, status" "closed the connection without an answer" ask deaf status
	end_helpers
}

broken_policy() {
	echo "users perhaps" >"$TMP/broken"
	limited 10 "$IOPROBE" serve --policy "$TMP/broken" --state "$TMP/none" --socket "$TMP/none.socket" >"$TMP/broken.out" 2>&1
	verdict "broken_policy, status" "$([ $? = 78 ] && [ "$(wc -l <"$TMP/broken.out")" = 1 ] || cat "$TMP/broken.out")"
	verdict "broken_policy, unit" "$(grep -qx 'RestartPreventExitStatus=78' "$TESTS/../tools/systemd/ioprobe.service" ||
		echo "systemd starts it again")"
}

leftovers() {
	local pid
	services_stop
	for pid in $(sed -n 's/.*"pid": \([0-9]*\).*/\1/p' "$SERVICE_DIR"/state-*/jobs/*.json); do
		grep -q service-recorder "/proc/$pid/cmdline" 2>/dev/null && end_of "$pid" 5 &&
			grep -q service-recorder "/proc/$pid/cmdline" 2>/dev/null &&
			echo "recorder $pid"
	done
	find "$SERVICE_DIR"/state-*/jobs -name '*.new'
	find "$SERVICE_DIR/archives" -mindepth 1 -type d -empty ! -name traces
}

service_start n1 'record comment ioprobe' 'max-jobs-per-user 2' 'user-idle-limit 5' ||
	{ not_ok service "$(tail -n 2 "$SERVICE_DIR/n1.log")"; exit; }
fields
always
forged_line
slots
own_limit
huge
often
exchanged_spool
own_stop
hang_up
broken_policy
end_helpers
verdict "leftovers" "$(leftovers)"
