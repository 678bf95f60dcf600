#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# record.sh IOPROBE PROGRAMS OUT: records the corpus anew (root): IOPROBE is the executable, PROGRAMS the directory of the test
# programs. One spool per case in OUT. Not part of the tests: the corpus is from an old version on purpose (see README.md).
set -u
IOPROBE=$(realpath "$1") P=$(realpath "$2") OUT=$(realpath "$3")
NEST=$(realpath "$(dirname "$0")/../../programs/nest.probes")
WORK=$(mktemp -d /tmp/spools.XXXXXX) || exit 1
trap 'rm -rf --one-file-system "$WORK"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_btl_vader_single_copy_mechanism=none

# A case works in a directory of its own; relative names keep this machine's directories out of the records.
enter() {
	mkdir -p "$WORK/$1/data" && cd "$WORK/$1" || exit 1
	cp "$NEST" nest.probes
}
keep() { cp "$1/spool" "$OUT/$2.spool" || echo "$2: no spool: $(tail -n 2 err)" >&2; }

# launched NAME [OPTION...] -- COMMAND...
launched() {
	enter "$1"
	timeout -k 5 90 "$IOPROBE" -q --keep-spool -o trace "${@:2}" >out 2>err </dev/null
	keep trace "$1"
}

# attached NAME GO SECONDS SIGNAL [OPTION...]: to the process $PID; then the file GO lets it run, and SIGNAL ends the recorder, if
# any.
attached() {
	local recorder i
	"$IOPROBE" --keep-spool -o trace --pid "$PID" "${@:5}" >out 2>err & recorder=$!
	for ((i = 0; i < 200; i++)); do grep -q recording err && break; sleep 0.1; done
	touch "$2"
	sleep "$3"
	[ "$4" = - ] || kill -s "$4" "$recorder"
	wait "$recorder"
	keep trace "$1"
}

waiting() {
	enter "$1"
	"$P/$2" data "${@:3}" >/dev/null 2>&1 & PID=$!
	while [ ! -e data/ready ]; do sleep 0.1; done
}

for name in writes4000 fork_exec dup_inherit signals locks copies streams deleted; do launched $name -- "$P/$name" data; done
for name in aio libaio uring; do launched $name -- "$P/$name" data; done
launched aio_joined -- "$P/aio" data    # by a later version: see README.md
launched uring_sqpoll -- "$P/uring" data sqpoll
launched longjmp --probes nest.probes -- "$P/longjmp"
launched too_deep --probes nest.probes -- "$P/recursion" deep
launched exceptions -- "$P/exceptions"
launched sockets --sockets -- "$P/sockets" data
launched device --device -- "$P/device" data
launched faults --mmap-faults -- "$P/faults" data
launched filters --stream-calls count --min-bytes 100 --fd-kinds regular --exclude-path "$WORK/filters/data/s" -- "$P/streams" data
launched mpiio -- mpirun -n 2 "$P/mpiio" data/m
launched mpi_requests --layers mpiio -- mpirun -n 2 "$P/mpi_requests" data/file
launched comms --layers mpiio -- mpirun -n 2 "$P/comms" data
launched pnetcdf --path "$WORK/pnetcdf/data" -- mpirun -n 2 "$P/pnetcdf" data/p.nc
launched parallel_nc -- mpirun -n 2 "$P/parallel_nc" data/p.nc 3 256
launched hdf5_sizes -- "$P/hdf5_sizes" data
launched netcdf_sizes -- "$P/netcdf_sizes" data

waiting attached already_running
attached attached data/go 3 -

# Killed while the program waits, so there is no END.
waiting interrupted already_running
attached interrupted data/none 3 KILL
touch data/go
wait

# losses_of NAME SIGNAL: the rings overflow while the recorder is stopped; later SIGNAL ends it.
losses_of() {
	local recorder pid
	enter "$1"
	sh -c 'until [ -e data/go ]; do sleep 0.1; done; dd if=/dev/zero of=data/x bs=16 count=12000; touch data/done; sleep 3' \
		2>dd & pid=$!
	"$IOPROBE" --keep-spool -o trace --ring-size 1 --max-overhead 0 --pid $pid >out 2>err & recorder=$!
	until grep -q recording err; do sleep 0.1; done
	kill -s STOP $recorder
	touch data/go
	until [ -e data/done ]; do sleep 0.1; done
	kill -s CONT $recorder
	sleep 1.5
	kill -s "$2" $recorder
	wait
	keep trace "$1"
}
losses_of losses INT
losses_of losses_interrupted KILL

# Cut inside its last block: what precedes it is read.
truncate -s -1000 "$OUT/losses_interrupted.spool"
