#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# libaio and io_uring: programs whose operations are known exactly, and fio, whose own report is the witness.
. "$(dirname "$0")/../lib/e2e.sh"

# golden NAME [ARGUMENT...] -- EXPRESSION...: the program with a folder for its files.
golden() {
	local name=$1 args=() data
	shift
	while [ "$1" != -- ]; do args+=("$1") && shift; done
	local case=$name${args[*]:+-${args[*]}}
	fresh "$case" >/dev/null
	data=$TMP/$case/data
	record "$case" -- "$P/$name" "$data" "${args[@]}"
	verdict "$case, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$case")")"
	contract "$case" || return
	expect "$case" "${@:2}"
	lost_nothing "$case"
	rm -rf "$data" && mkdir "$data"
	same_as_strace "$case" "$P/$name" "$data" "${args[@]}"
}

golden libaio -- "layer_bytes('POSIX', '*/data/data') == [1000, 11300]" "operations('POSIX', '*/data/data') == [2, 24]" \
	"calls('io_submit') == 11 and failed('io_submit') == 1 and calls('io_getevents') == 8" "failed('io_cancel') == 1" \
	"written('io_submit') == 11300 and read('io_submit') == 1000" "errors == {27: 1}" "moved == 5" \
	"trace.open_operations == 1" \
	"trace.counts['IoOperationIssued'] == 27 and trace.counts['IoOperationCancelled'] == 0" \
	"offsets('io_submit') == sorted([i * 1000 for i in range(10)] + [0, 0, 9600, 0, 1 << 20] + [i * 70 for i in range(5)]
		+ [i * 50 for i in range(5)] + [0])"

uring=("layer_bytes('POSIX', '*/data/data') == [1300, 10750]" "operations('POSIX', '*/data/data') == [6, 24]" \
	"errors.get(9) == 2 and errors.get(27) == 1 and errors.get(22) == 1" \
	"(trace.counts['IoOperationIssued'] - trace.counts['IoOperationCancelled'] - trace.open_operations - errors.get(4, 0)
		== 30)" \
	"sorted(h.name for h in trace.handles if h.file and h.file.name.endswith('/data/data')) == ['', '', 'registered file']" \
	"precreated('*/data/data') == 1" "calls('io_uring_setup') == 1 and calls('io_uring_register') == 2")
golden uring -- "${uring[@]}" "written('io_uring_enter') == 10750 and read('io_uring_enter') == 1300" "moved >= 5" \
	"trace.counts['IoOperationIssued'] == 33"
# Whether the polling thread still takes the last read before the program ends is chance.
golden uring sqpoll -- "${uring[@]}" "written('io_uring_sqpoll') == 10750 and read('io_uring_sqpoll') == 1300"

# fio CASE ENGINE OPTION...: random reads and writes of 4 KiB to a file that is there already.
fio_case() {
	local case=$1 engine=$2 job want
	fresh "$case" >/dev/null
	job=(--name=job --directory="$TMP/$case/data" --ioengine="$engine" --size=2m --bs=4k --rw=randrw --iodepth=16 \
		--fallocate=none
		--fsync_on_close=0 --group_reporting)
	limited 60 fio "${job[@]}" "${@:3}" --create_only=1 >/dev/null 2>&1
	record "$case" -- fio "${job[@]}" "${@:3}" --output-format=json --output="$TMP/$case/fio.json"
	verdict "$case, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$case")")"
	want=$("$PYTHON" -c "import json, sys
job, = json.load(open(sys.argv[1]))['jobs']
print([job[k]['io_bytes'] for k in ('read', 'write')], [job[k]['total_ios'] for k in ('read', 'write')], sep=';')" \
	"$TMP/$case/fio.json" 2>&1)
	contract "$case" || return
	expect "$case" "layer_bytes('POSIX', '*/data/job*') == ${want%;*}" "operations('POSIX', '*/data/job*') == ${want#*;}" \
		"trace.open_operations == 0" "sum(${want#*;}) == 512"
	lost_nothing "$case"
}

# attach_case CASE ENGINE OPTION...: to a fio that has contexts, rings and operations under way. What ends is what began, but for
# those.
attach_case() {
	local case=$1 engine=$2 pid
	fresh "$case" >/dev/null
	limited 60 fio --name=job --directory="$TMP/$case/data" --ioengine="$engine" --size=2m --bs=4k --rw=randrw --iodepth=16 \
		--thread \
		--time_based --runtime=20 --rate_iops=2000 "${@:3}" >/dev/null 2>&1 &
	pid=$!
	wait_for_file "$TMP/$case/data/job.0.0"
	sleep 1
	limited 60 "$IOPROBE" -o "$TMP/$case/trace" --duration 1 --summary "$TMP/$case/out" --pid "$(pgrep -P "$pid" | head -n 1)" \
		>/dev/null 2>"$TMP/$case/err"
	kill "$(pgrep -P "$pid" | head -n 1)" 2>/dev/null
	wait "$pid"
	contract "$case" && expect "$case" "all(n > 100 for n in operations('POSIX', '*/data/job.0.0'))" \
		"trace.open_operations <= 16" \
		"layer_bytes('POSIX', '*/data/job.0.0')[0] <= 4096 * operations('POSIX', '*/data/job.0.0')[0]" "not errors" \
		"trace.counts['IoOperationIssued'] > 200"
	lost_nothing "$case"
}

if have fio; then
	fio_case fio-libaio libaio
	fio_case fio-libaio-batches libaio --iodepth_batch=8 --iodepth_batch_complete_min=4 --direct=1
	fio_case fio-libaio-reaped-in-user-space libaio --userspace_reap=1
	fio_case fio-uring io_uring
	fio_case fio-uring-registered io_uring --registerfiles --fixedbufs
	fio_case fio-uring-polled io_uring --sqthread_poll=1 --direct=1
	fio_case fio-uring-workers io_uring --nonvectored=0 --force_async=1
	fio_case fio-uring-two-jobs io_uring --numjobs=2 --size=1m
	attach_case attach-libaio libaio --userspace_reap=1
	attach_case attach-uring io_uring --registerfiles --sqthread_poll=1
else
	skip fio "fio is not installed"
fi

# What the filter by file leaves out is counted, and its ends are no riddle.
for program in libaio uring; do
	case=$program-left-out
	fresh "$case" >/dev/null
	record "$case" --exclude-path "$TMP/$case/data" -- "$P/$program" "$TMP/$case/data"
	contract "$case" && expect "$case" "operations('POSIX', '*/data/data') == [0, 0]" "not has_file('*/data/data')"
	lost_nothing "$case"
	verdict "$case, counted" "$(grep -Eq '^excluded by --exclude-path .*: POSIX [0-9]+ calls, .* unknown size' \
		"$TMP/$case/out" ||
		grep 'left out' "$TMP/$case/out" || echo 'not counted')"
	verdict "$case, nothing unexplained" "$(grep 'began before the recording' "$TMP/$case/out")"
done

# A spool is the user's: where the kernel has its objects is none of his business.
fresh addresses >/dev/null
record addresses --keep-spool -- "$P/uring" "$TMP/addresses/data"
found=$("$PYTHON" "$TESTS/lib/spool_records.py" "$TMP/addresses/trace/spool" 2>&1)
verdict "no addresses of the kernel in a spool" \
	"$([ "${found%% *}" -gt 50 ] && [ "${found#* }" = 0 ] || echo "records, addresses: $found")"
