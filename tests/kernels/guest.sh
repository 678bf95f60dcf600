#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What a guest of tests/kernels/run does, in a root file system of busybox, ioprobe and the test programs (/m). Prints "result NAME
# VALUE".
cd /m
echo 'root:x:0:0:root:/:/bin/sh' >/etc/passwd
result() { echo "result $*"; }

echo    # behind what the firmware has left on this line

text=$(./ioprobe check)
result method "$(echo "$text" |
	sed -n 's/.*library probes: \(uprobe_multi session\|uprobe_multi entry\|perf events\|none\).*/\1/p')"
result calls "$(echo "$text" | grep -q '^ok    atomic-tracepoints' && echo raw tracepoints || echo perf events)"
result refused "$(echo "$text" | sed -n 's/^FAIL  BPF programs: //p')"
echo "$text" | grep -E '^(FAIL|note)'
echo "$text" | grep -q '^FAIL  BPF programs' && exit

# counts: 4000 writes of 64 bytes by 4 threads of 2 processes
runs=0 exact=0 lost=0
while [ $runs -lt "$RUNS" ]; do
	runs=$((runs + 1))
	rm -rf /tmp/t /tmp/d; mkdir /tmp/d
	./ioprobe --layers posix -o /tmp/t -- ./writes4000 /tmp/d >/tmp/out 2>&1
	[ "$(grep -c ' 62.50 KiB .* 1000 ' /tmp/out)" = 4 ] && exact=$((exact + 1))
	grep -q 'records lost 0' /tmp/out || lost=$((lost + 1))
done
result counts "$exact of $runs"
result lost "$lost of $runs"

# streams: 358 calls on streams
rm -rf /tmp/t /tmp/d; mkdir /tmp/d
./ioprobe --layers isoc,posix -o /tmp/t -- ./streams /tmp/d >/tmp/out 2>&1
result streams "$(awk '$1 == "ISOC" { print $2 }' /tmp/out) calls$(grep -q 'ISOC: .* in all:' /tmp/out && echo ', a gap')"
grep -E '^(ISOC|note)' /tmp/out

# exceptions through probed calls
./exceptions >/tmp/plain; plain=$?
rm -rf /tmp/t
./ioprobe --layers isoc,posix --probes nest.probes -o /tmp/t -- ./exceptions >/tmp/o 2>/tmp/out
status=$?
result exceptions "$(if [ $plain = 42 ] && [ $status = 42 ] &&
	cmp -s /tmp/plain /tmp/o; then echo same run; else echo "status $status, without ioprobe $plain"; fi)"

# attach: 25 fwrites after it
rm -rf /tmp/t /tmp/d; mkdir /tmp/d
./already_running /tmp/d & pid=$!
i=0; while [ ! -e /tmp/d/ready ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i + 1)); done
./ioprobe --layers isoc,posix --json=/tmp/json --pid $pid -o /tmp/t >/tmp/out 2>&1 & recorder=$!
i=0; while ! grep -q recording /tmp/out && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done
touch /tmp/d/go
wait $recorder
result attach "$(if [ "$(grep -c ' 400 B .* 25  POSIX' /tmp/out)" = 3 ] &&
	grep -q '^ISOC .* 400 B' /tmp/out; then echo exact; else echo 'not exact'; fi)"
grep -E '^(ISOC|POSIX|records|note)|400 B' /tmp/out

# in flight: calls that are open when the recording ends, and are left by an unwinder afterwards
in_flight=
for mode in cancel throw; do
	rm -rf /tmp/t /tmp/d; mkdir /tmp/d
	./in_flight $mode /tmp/d & pid=$!
	./ioprobe --layers isoc,posix --json=/tmp/json --pid $pid -o /tmp/t >/tmp/out 2>&1 & recorder=$!
	i=0; while ! grep -q recording /tmp/out && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done
	touch /tmp/d/line
	i=0; while [ ! -e /tmp/d/blocked ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i + 1)); done
	kill -INT $recorder
	wait $recorder
	touch /tmp/d/go /tmp/d/end
	wait $pid
	status=$?
	[ $status = 43 ] || in_flight="$in_flight $mode: status $status"
	grep 'in flight' /tmp/out || in_flight="$in_flight $mode: no guard"
done
result in_flight "${in_flight:-same run}"

# 32-bit programs: their system calls are not recorded, and the summary says so; the 64-bit program before them is recorded.
for abi in i386 x32; do
	[ -e ./compat_$abi ] || { result $abi 'not built'; continue; }
	rm -rf /tmp/t /tmp/d; mkdir /tmp/d
	if ./compat_$abi /tmp/d/probe 2>/dev/null; then
		./ioprobe --layers posix -o /tmp/t -- ./compat /tmp/d/file ./compat_$abi >/tmp/out 2>&1
		result $abi "$(if [ "$(stat -c %s /tmp/d/file)" = 160 ] && grep -q ' 80 B .* 10  POSIX .*/tmp/d/file' /tmp/out &&
			grep -q 'note: 1 32-bit programs (i386, x32) ran' /tmp/out &&
			grep -q 'note: [0-9]* system calls by the 32-bit ABIs' /tmp/out; then echo noted; else
			echo 'not noted'; fi)"
		grep -E 'file$|32-bit|records lost' /tmp/out
	else
		result $abi 'not run by this kernel'
	fi
done

# clock: the wall clock is set an hour forward while a program sleeps
rm -rf /tmp/t
./ioprobe --layers posix --json=/tmp/json -o /tmp/t -- /bin/busybox sh -c \
	'sleep 1; date -s @$(($(date +%s) + 3600)) >/tmp/o; sleep 1' >/tmp/out 2>&1
step=$(sed -n '/"clock_steps"/,/\]/s/.*"step_ns": \([0-9]*\),*/\1/p' /tmp/json)
result clock "$(if [ "${step:-0}" -gt 3598000000000 ] &&
	[ "$step" -lt 3602000000000 ]; then echo one step; else echo "steps: $step"; fi)"

# CPU times: a read of a pipe that sleeps for seconds
rm -rf /tmp/t
./ioprobe --layers posix --cpu-time --json=/tmp/json -o /tmp/t -- /bin/busybox sh -c 'sleep 3 | cat' >/tmp/out 2>&1
slept=$(sed -n 's/.*"sleep_ns": \([0-9]*\),*/\1/p' /tmp/json | head -n 1)
unknown=$(sed -n 's/.*"calls_unknown": \([0-9]*\),*/\1/p' /tmp/json | head -n 1)
result cpu_time "$(if [ "${slept:-0}" -gt 2000000000 ] &&
	[ "$unknown" = 0 ]; then echo known; else echo "slept $slept ns, unknown calls $unknown"; cat /tmp/out; fi)"

# Four layers: two ranks write 80 KiB to a netCDF file and read them back, 22 netCDF calls each. System calls write what MPI-IO
# writes; they may read more: newer netCDF libraries ask HDF5 first whether it can read the file, which it finds out without MPI-IO.
rm -rf /tmp/t; mkdir /tmp/nc
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=isolated OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
./ioprobe -o /tmp/t -- mpirun --oversubscribe -n 2 ./parallel_nc /tmp/nc/a.nc 5 1024 >/tmp/o 2>/tmp/out
grep -q correct /tmp/o || { cat /tmp/o; head -n 20 /tmp/out; }
result layers "$(awk '$1 == "netCDF" || $1 == "HDF5" || $1 == "MPI-IO" { layers = layers (layers ? ", " : "") $1 " " $2 }
	$1 == "netCDF" && $2 == 44 && $4 " " $5 " " $6 " " $7 == "80.00 KiB 80.00 KiB" { exact = 1 }
	$1 == "MPI-IO" { read = $4; written = $6 $7 }
	/ POSIX .*\/tmp\/nc\/a.nc / { moved = read != "" && $3 >= read && $5 $6 == written }
	/^records lost 0/ { lost_none = 1 }
	END { print layers (exact && lost_none && moved ? ": exact" : ": not exact") }' /tmp/out)"
grep -E '^(netCDF|HDF5|MPI|ISOC|POSIX|note|records)|a.nc' /tmp/out
