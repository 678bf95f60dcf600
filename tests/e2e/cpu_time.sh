#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# --cpu-time: what calls, and the time between them, are made of: computing, sleep, waiting for a CPU; against the clocks of the
# program.
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/report.sh"

memory=/dev/shm/ioprobe_cpu_time.$$
loop=
cleanup() {
	if [ -n "$loop" ]; then
		limit_pages 0
		umount -l "$TMP/slow"
		losetup -d "$loop"
	fi 2>/dev/null
	rm -f "$memory" "$memory.image"
}
trap cleanup EXIT

# Of the calls of a part of the program, in the order of time.
pipe="[c for c in select('read') if c.read == 1 and c.location.name == 'Master thread']"
written="select('pwrite64', path='$memory')"
synced="select('fsync')"
computed="select('lseek', path='*/data/disk')[:5]"
slept="select('lseek', path='*/data/disk')[5:]"
sum_of() { echo "sum(c.attributes.get('$1', 0) for c in $2)"; }
outermost="[c for c in trace.calls if not c.parent and not c.abandoned]"

fresh parts >/dev/null
record parts --cpu-time "--json=$TMP/parts/summary.json" -- "$P/cpu_time" "$memory" "$TMP/parts/data/disk"
verdict "parts, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/parts")")"
read -r _ _ pipe_wall pipe_cpu pipe_delay pipe_sleeps <<<"$(grep ^pipe "$TMP/parts/stdout")"
read -r _ _ memory_wall memory_cpu memory_delay _ <<<"$(grep ^memory "$TMP/parts/stdout")"

# The program's own clocks include a little more than the calls. A call has all its parts, exactly; a sleep of 10 ms may end early
# only by what the thread did before it asked.
contract parts && expect parts \
	"len($pipe) == 20 and len($written) == 128 and len($synced) == 4 and len($computed) == len($slept) == 5" \
	"all('cpu time' in c.attributes for c in $outermost)" \
	"not any('cpu time' in c.attributes or 'sleep before' in c.attributes for c in trace.calls if c.parent)" \
	"all(sum(c.attributes.get(n, 0) for n in ('cpu time', 'sleep', 'run delay')) == c.end - c.begin for c in $outermost)" \
	"0.9 * ($pipe_wall - $pipe_cpu - $pipe_delay) <= $(sum_of sleep "$pipe") <= 1.01 * ($pipe_wall - $pipe_cpu - $pipe_delay)" \
	"all(c.attributes['sleep'] > 5000000 for c in $pipe)" \
	"$(sum_of 'run delay' "$pipe") <= $pipe_delay" \
	"$(sum_of 'sleep for i/o' "$pipe") == 0" \
	"$(sum_of 'cpu time' "$pipe") <= 0.2 * $(sum_of sleep "$pipe")" \
	"$(sum_of 'cpu time' "$written") >= 0.9 * $memory_cpu" \
	"$(sum_of 'run delay' "$written") <= $memory_delay" \
	"$(sum_of sleep "$written") <= $memory_wall - $memory_cpu - $memory_delay + 1000000" \
	"$(sum_of 'system time' "$written") >= 10 * $(sum_of 'user time' "$written")" \
	"all(c.attributes['sleep before'] >= 20000000 for c in $slept)" \
	"$(sum_of 'sleep before' "$computed") <= 5000000"
lost_nothing parts

# The summary and its JSON have the same sums.
text=$("$PYTHON" "$TESTS/lib/check_summary.py" "$TMP/parts/summary.json" \
	"all(c['time_ns'] == c['cpu_ns'] + c['sleep_ns'] + c['run_delay_ns'] + c['undivided_ns'] + c['unknown_ns']
		for l in s['layers'] for c in [l['outermost']])" \
	"layer('POSIX')['outermost']['sleeps'] >= 20" "layer('POSIX')['outermost']['sleep_ns'] > 200 * 10**6" \
	"layer('POSIX')['outermost']['calls_unknown'] == 0" \
	"processes('*/cpu_time')[0]['between_calls']['cpu_ns'] >= 100 * 10**6" \
	"processes('*/cpu_time')[0]['between_calls']['sleep_ns'] >= 300 * 10**6" 2>&1)
verdict "parts, JSON" "$text"
DIVIDED='^of [0-9.]+ s inside outermost calls: [0-9.]+ s on a CPU, [0-9.]+ s asleep, [0-9.]+ s waiting for a CPU; '
verdict "parts, summary" "$(grep -Eq "$DIVIDED" "$TMP/parts/out" ||
	head -n 20 "$TMP/parts/out")"

# Sleep for I/O, where the file is on a block device.
if [ -b "$(findmnt -n -o SOURCE --target "$TMP")" ]; then
	expect parts "all(0 < c.attributes.get('sleep for i/o', 0) <= c.attributes['sleep'] for c in $synced)"
else
	skip "parts, sleep for I/O" "$TMP is not on a block device"
fi

# The device keeps its limits when the file is detached. MAX_BYTES 0: none.
limit_pages() {
	echo "$(($1 > 0))" >"$bdi/strict_limit"
	if [ "$1" = 0 ]; then echo 100 >"$bdi/max_ratio"; else echo "$1" >"$bdi/max_bytes"; fi
}
# Writers that the kernel slows down because too many pages are dirty sleep for I/O: on a disk of their own, with and without a
# limit of 1 MiB. The program's own counters are the witness.
slow_disk() {
	have mkfs.ext4 && have losetup && mkdir "$TMP/slow" && truncate -s 256M "$memory.image" &&
		mkfs.ext4 -q -F "$memory.image" && loop=$(losetup -f --show "$memory.image") || return 1
	mount "$loop" "$TMP/slow" || { losetup -d "$loop" && loop= ; return 1; }
	bdi=/sys/class/bdi/$(cat "/sys/block/${loop##*/}/dev")
	[ -w "$bdi/strict_limit" ] && limit_pages 0
}
cat >"$TMP/writer.py" <<-'END'
	import os, sys, time
	def counters():
	    on, delay, _ = map(int, open("/proc/self/schedstat").read().split())
	    return time.monotonic_ns(), on, delay
	file, block = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o644), bytes(1 << 20)
	begin = counters()
	for _ in range(64):
	    os.write(file, block)
	wall, on, delay = (b - a for a, b in zip(begin, counters()))
	print(wall - on - delay)
END
# throttled NAME CONDITION: SLEPT in the condition is the time that the program slept by its own measurement, in ns.
# The time on a CPU in schedstat is as old as the last clock tick, at both looks.
throttled() {
	fresh "$1" >/dev/null
	record "$1" --cpu-time -- "$PYTHON" "$TMP/writer.py" "$TMP/slow/$1"
	read -r slept <"$TMP/$1/stdout"
	local written="select('write', path='$TMP/slow/$1')"
	contract "$1" && expect "$1" "len($written) == 64" "${2//SLEPT/$slept}" \
		"0.9 * $slept - 10000000 <= $(sum_of 'sleep' "$written") <= 1.01 * $slept + 10000000"
	lost_nothing "$1"
}
if slow_disk; then
	asleep="sum('sleep for i/o' in c.attributes for c in select('write', path='*/slow/*'))"
	# beside others that write, the kernel may throttle these writes too: ten such sleeps take more than 20 ms
	throttled unlimited "$asleep < 10 or $asleep * 2000000 <= SLEPT"
	limit_pages 1048576
	throttled limited "$asleep >= 20"
	written="select('write', path='$TMP/slow/limited')"
	expect limited "$(sum_of 'sleep for i/o' "$written") >= 0.9 * $(sum_of 'sleep' "$written")"
else
	skip throttled "no loop device with a limit of dirty pages"
fi

# Calls inside others have no times of their own; the outermost call has those of all.
fresh nested >/dev/null
record nested --cpu-time -- "$P/streams" "$TMP/nested/data"
contract nested && expect nested "any(c.parent for c in trace.calls)" "all('cpu time' in c.attributes for c in $outermost)" \
	"not any('cpu time' in c.attributes for c in trace.calls if c.parent)"

# Without the option there is nothing of it.
fresh without >/dev/null
record without "--json=$TMP/without/summary.json" -- "$P/cpu_time" "$memory" "$TMP/without/data/disk"
contract without && expect without "not any('cpu time' in c.attributes for c in trace.calls)"
verdict "without, summary" "$(grep -e "waiting for a CPU" "$TMP/without/out"; grep -l between_calls "$TMP/without/summary.json")"

# The report has the parts, and tells a rank that is late because it computes from one that sleeps.
report_of parts
verdict "parts, report" "$(check_report parts is "r['time']['cpu']['calls_unknown'] == 0" \
	"r['time']['cpu']['cpu_seconds'] <= r['time']['io_seconds']" \
	"r['time']['cpu']['between_cpu_seconds'] >= 0.1" "not [c for c in r['cannot_tell'] if c['code'] == 'X24']")"
if have mpirun; then
	recorded sleeps --cpu-time -- mpirun -n 4 "$P/planted_mpi" late bad "$TMP/sleeps/data" &&
		COMPUTE=1 recorded computes --cpu-time -- mpirun -n 4 "$P/planted_mpi" late bad "$TMP/computes/data" &&
		verdict "late rank" "$("$PYTHON" - "$TMP/sleeps/report.json" "$TMP/computes/report.json" 2>&1 <<-'END'
			import json, re, sys
			unit = {"s": 1, "ms": 1e-3, "us": 1e-6}
			found = []
			for name in sys.argv[1:]:
			    evidence, = [f["evidence"] for f in json.load(open(name))["findings"] if f["code"] == "X10"]
			    parts = re.search(r"between its calls it computes ([0-9.]+) (\w+), sleeps ([0-9.]+) (\w+), "
			        r"waits for a CPU", evidence)
			    found.append([float(parts[1]) * unit[parts[2]], float(parts[3]) * unit[parts[4]]])
			(sleeper_computes, sleeper_sleeps), (computer_computes, computer_sleeps) = found
			if computer_computes - sleeper_computes < 0.12 or sleeper_sleeps - computer_sleeps < 0.12:
			    print(found)
		END
		)"
else
	skip "late rank" "no mpirun"
fi
