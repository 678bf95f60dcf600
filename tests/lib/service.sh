# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The node's service in end-to-end tests: one per node of a cluster, each with its own socket and state; sourced after e2e.sh.

declare -A SERVICE_PID
SERVICE_DIR=
# Traced, they would take most of the time.
COMMON_CALLS=read,write,close,openat,poll,mmap,munmap,mprotect,brk,ioctl,lseek,newfstatat,fstat,getdents64,rt_sigaction
COMMON_CALLS+=,rt_sigprocmask,futex,readlink,pread64

# service_start NODE [POLICY-LINE...]: in SERVICE_DIR; archives go to SERVICE_DIR/archives/USER/JOB.NODE. IOPROBE_CALLS: a file for
# its system calls, but for the most common ones (-D: the service stays our child, and gets our signals). A sanitized program must
# not look for leaks then: LeakSanitizer cannot attach to a traced process, and spins at its end.
service_start() {
	local node=$1
	mkdir -p "$SERVICE_DIR/archives"
	if [ $# -gt 1 ] || [ ! -e "$SERVICE_DIR/$node.policy" ]; then
		printf '%s\n' "output $SERVICE_DIR/archives/%u/%j.%n" "${@:2}" >"$SERVICE_DIR/$node.policy"
	fi
	${IOPROBE_CALLS:+env "ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"} \
		setpriv --bounding-set "$(service_capabilities)" -- \
		${IOPROBE_CALLS:+strace -D -f -qq --seccomp-bpf -e "trace=!$COMMON_CALLS" -o "$IOPROBE_CALLS"} "$IOPROBE" serve \
		--node "$node" --policy "$SERVICE_DIR/$node.policy" --state "$SERVICE_DIR/state-$node" \
		--socket "$SERVICE_DIR/$node.socket" >>"$SERVICE_DIR/$node.log" 2>&1 </dev/null &
	SERVICE_PID[$node]=$!
	service_answers "$node"
}

# Those of the systemd unit, and no others.
service_capabilities() {
	echo "-all,$(sed -n 's/^CapabilityBoundingSet=//p' "$TESTS/../tools/systemd/ioprobe.service" | tr 'A-Z ' 'a-z,' |
		sed 's/cap_/+/g')"
}

# Until its waiting recorders are loaded.
service_answers() {
	local i spare
	spare=$(sed -n 's/^spare //p' "$SERVICE_DIR/$1.policy")
	for ((i = 0; i < 400; i++)); do
		ask "$1" version 2>/dev/null | grep -q " ${spare:-1} recorders are loaded" && return 0
		sleep 0.05
	done
	return 1
}

# ask NODE ARGUMENT...: ioprobe job.
ask() { "$IOPROBE" job --socket "$SERVICE_DIR/$1.socket" "${@:2}"; }

service_kill() {
	kill -KILL "${SERVICE_PID[$1]}" 2>/dev/null
	wait "${SERVICE_PID[$1]}" 2>/dev/null
	unset "SERVICE_PID[$1]"
}

# phase NODE ID: the phase in the job's state file, also without a service.
state_value() {
	"$PYTHON" -c 'import json, sys; print(json.load(open(sys.argv[1])).get(sys.argv[2], ""))' \
		"$SERVICE_DIR/state-$1/jobs/$2.json" "$3" 2>/dev/null
}
phase() { state_value "$1" "$2" phase; }

# wait_for_phase NODE ID PATTERN [SECONDS]
wait_for_phase() {
	local i
	for ((i = 0; i < ${4:-30} * 10; i++)); do
		[[ $(phase "$1" "$2") =~ ^($3)$ ]] && return 0
		sleep 0.1
	done
	return 1
}

# Recorders outlive their service: those that run according to their state are ended by the number in it.
services_stop() {
	local node file pid
	[ -n "$SERVICE_DIR" ] && [ $BASHPID = $$ ] || return 0
	for node in "${!SERVICE_PID[@]}"; do
		kill "${SERVICE_PID[$node]}" 2>/dev/null
		end_of "${SERVICE_PID[$node]}" 10
	done
	SERVICE_PID=()
	for file in "$SERVICE_DIR"/state-*/jobs/*.json; do
		[ -e "$file" ] || continue
		pid=$("$PYTHON" -c 'import json, sys
s = json.load(open(sys.argv[1]))
print(s["pid"] if s["phase"] not in ("done", "empty", "failed") else "")' "$file" 2>/dev/null)
		[ -n "$pid" ] && grep -q service-recorder "/proc/$pid/cmdline" 2>/dev/null && kill "$pid"
	done
}

# killed_archive_is NAME NODE ID USER EXPRESSION...: as archive_is, of a recorder that was killed: it cannot know what was lost at
# last.
killed_archive_is() {
	clean_archive_is "$@" || return
	verdict "$1, incomplete" "$(grep -q 'the recording is incomplete' "$TMP/$1/out" || grep -i lost "$TMP/$1/out")"
}

# archive_is NAME NODE ID USER EXPRESSION...: the job is done, only the user can read its archive, it keeps the contract, the
# expressions are true of it, and no record was lost.
archive_is() { clean_archive_is "$@" && lost_nothing "$1"; }

clean_archive_is() {
	local name=$1 dir foreign
	wait_for_phase "$2" "$3" 'done|empty|failed' 40
	dir=$(state_value "$2" "$3" output)
	if [ "$(phase "$2" "$3")" != 'done' ]; then
		not_ok "$name, archive" "job $3 on $2: $(phase "$2" "$3") $(state_value "$2" "$3" message)"
		return 1
	fi
	foreign=$(find "$dir" ! -user "$4" -o -perm /077 2>&1 | head -n 3)
	verdict "$name, owner" "$foreign$([[ $dir == "$SERVICE_DIR/archives/$4/"*.$2* ]] || echo "in $dir")"
	mkdir -p "$TMP/$name" && rm -f "$TMP/$name/trace" && ln -s "$dir" "$TMP/$name/trace" &&
		cp "$dir/summary.txt" "$TMP/$name/out"
	contract "$name" && expect "$name" "${@:5}"
}
