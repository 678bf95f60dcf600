#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Observation must not change a program: same output and exit status with and without ioprobe, in the cases that are
# known to break under return probes.
. "$(dirname "$0")/../lib/e2e.sh"

same_run() {
	local name=$1 plain
	shift
	fresh "$name" >/dev/null
	limited 60 "$@" >"$TMP/$name/plain" 2>/dev/null </dev/null
	plain=$?
	record "$name" --probes "$TESTS/programs/nest.probes" -- "$@"
	if [ $STATUS != $plain ]; then
		not_ok "$name, same run" "status $STATUS instead of $plain: $(said "$TMP/$name")"
	elif ! cmp -s "$TMP/$name/stdout" "$TMP/$name/plain"; then
		not_ok "$name, same run" "output differs: $(diff "$TMP/$name/stdout" "$TMP/$name/plain" | head -n 5)"
	else
		ok "$name, same run"
	fi
	contract "$name"
}

same_run exceptions "$P/exceptions" &&
	# Two more calls than the ten that an exception left return after it was caught below them: their return address was given
	# back before the unwinder looked, so that their end may be unknown, too.
	expect exceptions "calls('nest_call') == 13" "10 <= abandoned('nest_call') <= 12"
same_run exceptions_static "$P/exceptions_static"
same_run cancel "$P/cancel" && expect cancel "calls('nest_call') == 2 and abandoned('nest_call') == 2"
same_run longjmp "$P/longjmp"
same_run shell_status sh -c 'echo one; exit 7'
same_run shell_signal sh -c 'echo one; kill -TERM $$'
same_run shell_pipe sh -c 'seq 1 2000 | sort -n | tail -n 3'
have python3 && same_run python "$PYTHON" -c 'import json, sys; print(json.dumps({"a": list(range(5))})); sys.exit(9)'

# With a stack per CPU, threads that preempt each other in a program on a uprobe would overwrite each other's variables in the
# kernel (bpf/kernel_stack.bpf.h). The other programs, which the kernel keeps apart, show whether this kernel has such stacks.
private_stacks() {
	fresh private_stacks >/dev/null
	record private_stacks -- "$PYTHON" "$TESTS/lib/private_stacks.py"
	if [ $STATUS != 0 ]; then
		not_ok private_stacks "$(said "$TMP/private_stacks")"
	elif grep -qx 'others: 0' "$TMP/private_stacks/stdout"; then
		skip private_stacks "this kernel's BPF programs have no private stacks"
	else
		verdict "private_stacks, none on uprobes" "$(sed -n 's/^uprobes: *//p' "$TMP/private_stacks/stdout")"
	fi
}
private_stacks

# A program that was attached to goes on when ioprobe is killed.
killed_recorder() {
	local dir pid recorder
	dir=$(fresh killed_recorder)
	"$P/already_running" "$dir/data" & pid=$!
	wait_for_file "$dir/data/ready" || { end_of $pid 1; not_ok killed_recorder "the program did not start"; return; }
	"$IOPROBE" --pid $pid -o "$dir/trace" --summary "$dir/out" >"$dir/stdout" 2>"$dir/err" & recorder=$!
	wait_for_line "$dir/err" 'recording' || not_ok killed_recorder "not ready: $(said "$dir")"
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	touch "$dir/data/go"
	end_of $pid 30
	verdict "killed_recorder, program goes on" "$([ $STATUS = 0 ] || echo "status $STATUS")"
	if limited 60 "$IOPROBE" recover "$dir/trace" >"$dir/out" 2>"$dir/err"; then contract killed_recorder; else
		not_ok "killed_recorder, recover" "$(said "$dir")"; fi
}
killed_recorder
