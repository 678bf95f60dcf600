# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What the end-to-end tests share; sourced by tests/e2e/*.sh, which tests/run starts with TMP, IOPROBE and SANITIZED set.
# Every check prints one line: "ok NAME", "not ok NAME: reason" or "skip NAME: reason".

set -u
TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
P=$TESTS/../build/programs    # plainly built, also where ioprobe is sanitized
P=$(cd "$P" && pwd)
PYTHON=/usr/bin/python3         # the distribution's: python3-otf2 is installed for it
SUITE=$(basename "$0" .sh)

# Open MPI refuses root and more ranks than cores unless told; other implementations do not look at these.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_btl_vader_single_copy_mechanism=none
export PATH=$PATH:/usr/lib64/openmpi/bin

ok() { echo "ok $SUITE/$1"; }
not_ok() { echo "not ok $SUITE/$1: ${*:2}" | tr '\n' ' '; echo; }
skip() { echo "skip $SUITE/$1: ${*:2}"; }
have() { command -v "$1" >/dev/null 2>&1; }
# limited SECONDS COMMAND...: runs COMMAND with a time limit. A message says when the limit ended it: a check that expects no output
# then fails.
limited() {
	local status
	timeout -k 5 "$1" "${@:2}"
	status=$?
	case $status in 124 | 137) echo "ended by the time limit of $1 s: $2" >&2 ;; esac
	return $status
}

# verdict NAME REASON...: ok if there is no reason against it.
verdict() {
	if [ -z "${*:2}" ]; then ok "$1"; else not_ok "$@"; fi
}

# A fresh directory for one case.
fresh() { rm -rf "$TMP/$1"; mkdir -p "$TMP/$1/data"; echo "$TMP/$1"; }

# The last lines of a recorder's output, as the reason of a failure.
said() { tail -n 3 "$1/err" | cut -c 1-300; }

# record NAME [OPTION...] -- COMMAND...: launches under ioprobe; the archive is in $TMP/NAME/trace, the summary in out, output in
# stdout and err. Sets STATUS. The directory $TMP/NAME must exist (fresh).
record() {
	local dir=$TMP/$1
	limited "${LIMIT:-90}" "$IOPROBE" -o "$dir/trace" --summary "$dir/out" "${@:2}" >"$dir/stdout" 2>"$dir/err" </dev/null
	STATUS=$?
}

# contract NAME [ARCHIVE]: the archive must keep the contract.
contract() {
	local archive=${2:-$TMP/$1/trace/traces.otf2} text
	if [ ! -e "$archive" ]; then
		not_ok "$1, contract" "no archive: $(said "$TMP/$1")"
		return 1
	fi
	text=$(limited 120 "$PYTHON" "$TESTS/contract/check_archive.py" "$archive" 2>&1) && { ok "$1, contract"; return 0; }
	not_ok "$1, contract" "$(echo "$text" | head -n 4 | cut -c 1-250)"
	return 1
}

# expect NAME EXPRESSION...: all must be true of the archive (words in tests/lib/tracefile.py).
expect() {
	local text
	text=$(limited 120 "$PYTHON" "$TESTS/lib/expect.py" "$TMP/$1/trace/traces.otf2" "${@:2}" 2>&1) &&
		{ ok "$1, trace"; return 0; }
	not_ok "$1, trace" "$text"
	return 1
}

# summary_is NAME EXPRESSION...: summary.json fits its schema, its sums agree, the text has the same counts, and these are true of
# it (words in tests/lib/check_summary.py).
summary_is() {
	local text json=$TMP/$1/trace/summary.json
	text=$(limited 60 "$PYTHON" "$TESTS/lib/check_summary.py" "$json" --text "$TMP/$1/out" "${@:2}" 2>&1) &&
		{ ok "$1, summary"; return 0; }
	not_ok "$1, summary" "$text"
	return 1
}

# lost_nothing NAME: the summary says so.
lost_nothing() {
	if grep -Eiq 'records lost:? +0( |$)' "$TMP/$1/out"; then ok "$1, nothing lost"; else
		not_ok "$1, nothing lost" "$(grep -i 'lost' "$TMP/$1/out" | head -n 2)"; fi
}

# streams_are_whole NAME CHILDREN CALLS: of forked_streams CHILDREN CALLS, each fwrite is recorded once, or it was in a gap of its
# process. Calls are a millisecond apart: a gap has room for so many, and for those under way when it began and ended.
streams_are_whole() {
	local gaps
	gaps=$(grep -aoE 'ISOC of process [0-9]+ was not observed between [0-9]+ and [0-9]+ ns' "$TMP/$1/trace/traces.otf2" |
		awk '{ printf "(%d, %d), ", $4, ($11 - $9) / 1000000 + 2 }')
	# the process that has executed programs is the parent of the others
	expect "$1" "len(groups) == $2 + 1 and [calls('fwrite', group=g) for g in groups if programs(g)] == [0]" \
		"[(pid, n, room) for g in groups if not programs(g) for pid in [int(g.split('pid ')[1][:-1])]
			for n in [calls('fwrite', group=g)] for room in [sum(ms for p, ms in [$gaps] if p == pid)]
			if not $3 - room <= n <= $3] == []"
}

STRACED=open,openat,creat,close,read,write,pread64,pwrite64,readv,writev,preadv,pwritev,preadv2,pwritev2,lseek,dup,dup2,dup3
STRACED=$STRACED,fsync,fdatasync,unlink,unlinkat,rename,mkdir,rmdir,ftruncate,sendfile,copy_file_range,splice
STRACED=$STRACED,io_setup,io_destroy,io_submit,io_getevents,io_cancel,io_uring_setup,io_uring_register

# same_as_strace NAME COMMAND...: calls, failures and bytes of a separate run of the same command under strace.
same_as_strace() {
	local text name=$1
	shift
	have strace || { skip "$name, strace" "strace is not installed"; return 0; }
	limited 90 strace -f -y -o "$TMP/$name/strace.log" -e "trace=$STRACED" "$@" >/dev/null 2>"$TMP/$name/strace.err" </dev/null
	text=$(limited 120 "$PYTHON" "$TESTS/lib/strace_sum.py" "$TMP/$name/strace.log" "$TMP/$name/trace/traces.otf2" 2>&1) &&
		{ ok "$name, strace"; return 0; }
	not_ok "$name, strace" "$text"
	return 1
}

# wait_for_line FILE PATTERN [SECONDS]: until a background recorder has printed it.
wait_for_line() {
	local i
	for ((i = 0; i < ${3:-20} * 20; i++)); do
		grep -q "$2" "$1" 2>/dev/null && return 0
		sleep 0.05
	done
	return 1
}

# wait_for_file FILE [SECONDS]
wait_for_file() {
	local i
	for ((i = 0; i < ${2:-20} * 20; i++)); do
		[ -e "$1" ] && return 0
		sleep 0.05
	done
	return 1
}

# end_of PID [SECONDS]: waits for a child of this shell; afterwards terminates it. Sets STATUS.
end_of() {
	local i
	for ((i = 0; i < ${2:-60} * 20; i++)); do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.05
	done
	kill -TERM "$1" 2>/dev/null && { sleep 2; kill -KILL "$1" 2>/dev/null; }
	wait "$1" 2>/dev/null
	STATUS=$?
}
