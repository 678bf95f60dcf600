#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Attaching to programs that run already: complete from the moment that ioprobe says it records; handles that were open before are
# known.
. "$(dirname "$0")/../lib/e2e.sh"

# start_waiting NAME: already_running up to its wait. Sets DIR and PID.
start_waiting() {
	DIR=$(fresh "$1")
	"$P/already_running" "$DIR/data" 2>"$DIR/program.err" & PID=$!
	wait_for_file "$DIR/data/ready" && return 0
	end_of $PID 1
	not_ok "$1" "the program did not start"
	return 1
}

# attach NAME OPTION...: a recorder in the background that is ready. Sets RECORDER.
attach() {
	# A shell's background jobs ignore ^C unless told otherwise.
	env --default-signal=INT "$IOPROBE" "${@:2}" -o "$TMP/$1/trace" --summary "$TMP/$1/out" >"$TMP/$1/stdout" 2>"$TMP/$1/err" \
		& RECORDER=$!
	wait_for_line "$TMP/$1/err" 'recording' 30 && return 0
	end_of $RECORDER 1
	not_ok "$1" "not ready: $(said "$TMP/$1")"
	return 1
}

running() {
	start_waiting running || return
	attach running --pid $PID || { touch "$DIR/data/go"; end_of $PID; return; }
	touch "$DIR/data/go"
	end_of $PID 30
	verdict "running, program" "$([ $STATUS = 0 ] || echo "status $STATUS")"
	end_of $RECORDER 30
	verdict "running, ends with its targets" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$DIR")")"
	contract running || return
	expect running "calls('write', path='*/data/fd') == 25" "calls('write', path='*/data/thread') == 25" \
		"calls('fwrite') == 25 and written('fwrite') == 400" "calls('write', path='*/data/stream') == 25" \
		"calls('lseek', path='*/data/fd') == 1" \
		"calls('read', path='*/data/fd') == 5 and read('read', path='*/data/fd') == 80" \
		"precreated('*/data/fd') == 1 and precreated('*/data/stream') >= 1 and precreated('*/data/thread') == 1" \
		"calls('fclose') == 1" "locations_with('write') == 2" "stacks('write') == [(), ('fflush',)]" \
		"alive('Found') == len(trace.locations) == 2 and not any('Begin' in m for m in trace.moments.values())"
	# Between two access there is one fflush that has nothing to do. With sessions system calls and library calls are recorded
	# from the same moment on, else there is a gap.
	if "$IOPROBE" check 2>/dev/null | grep -q 'session links'; then
		expect running "-1 <= $(begun access) - $(begun fflush) <= 1 and $(begun access) > 0"
	else
		verdict "running, gap" "$(grep -q '^note: ISOC: 1 process, .* attached to before its probes' "$TMP/running/out" ||
			echo 'not said')"
	fi
	lost_nothing running
}

# begun FUNCTION: an expression, calls of the main thread of already_running before it goes on.
begun() {
	echo "len([c for c in select('$1') for w in [select('write', path='*/data/fd')[0]] if c.location == w.location and
		c.begin < w.begin])"
}

# ^C ends the recording, not the program.
interrupted() {
	start_waiting interrupted || return
	attach interrupted --pid $PID || { touch "$DIR/data/go"; end_of $PID; return; }
	sleep 0.5
	kill -INT $RECORDER
	end_of $RECORDER 30
	verdict "interrupted, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$DIR")")"
	verdict "interrupted, program lives" "$(kill -0 $PID 2>/dev/null || echo 'it is gone')"
	touch "$DIR/data/go"
	end_of $PID 30
	verdict "interrupted, program" "$([ $STATUS = 0 ] || echo "status $STATUS")"
	contract interrupted
}

limited_time() {
	local began
	start_waiting limited_time || return
	began=$SECONDS
	attach limited_time --pid $PID --duration 1 && end_of $RECORDER 20
	verdict "limited_time, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$DIR")")"
	verdict "limited_time, ends" "$([ $((SECONDS - began)) -le 10 ] || echo "after $((SECONDS - began)) s")"
	touch "$DIR/data/go"
	end_of $PID 30
	contract limited_time
}

# Two recorders at the same process, both complete.
two_recorders() {
	local first
	start_waiting two_recorders || return
	mkdir -p "$TMP/second"
	attach two_recorders --pid $PID && first=$RECORDER && attach second --pid $PID ||
		{ touch "$DIR/data/go"; end_of $PID; return; }
	touch "$DIR/data/go"
	end_of $PID 30
	end_of $first 30
	end_of $RECORDER 30
	contract two_recorders && expect two_recorders "calls('write', path='*/data/fd') == 25" "calls('fwrite') == 25"
	contract second && expect second "calls('write', path='*/data/fd') == 25" "calls('fwrite') == 25"
}

# Children that a process makes after the attach belong to the recording from their first instruction.
later_children() {
	DIR=$(fresh later_children)
	mkdir "$DIR/data/churn"
	sh -c "while [ ! -e '$DIR/data/go' ]; do sleep 0.1; done; '$P/churn' '$DIR/data/churn'; '$P/writes4000' '$DIR/data/churn'" \
		& PID=$!
	attach later_children --pid $PID || { touch "$DIR/data/go"; end_of $PID; return; }
	touch "$DIR/data/go"
	end_of $PID 60
	end_of $RECORDER 30
	contract later_children || return
	expect later_children "calls('write', path='*/churn/[0-9]*') == 360" "written('write', path='*/churn/[a-z]*') == 256000" \
		"len(groups_with('write')) >= 23"
	lost_nothing later_children
}

# A recording ends with the last of its processes, however short they lived.
brief() {
	DIR=$(fresh brief)
	"$P/brief" "$DIR/data" & PID=$!
	attach brief --pid $PID || { touch "$DIR/data/go"; end_of $PID; return; }
	touch "$DIR/data/go"
	end_of $PID 60
	verdict "brief, program" "$([ $STATUS = 0 ] || echo "status $STATUS")"
	end_of $RECORDER 30
	verdict "brief, ends by itself" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$DIR")")"
	contract brief || return
	expect brief "calls('write', path='*/data/brief') == 300 and written('write') == 1500" "len(groups_with('write')) == 300"
	lost_nothing brief
}

# Four ranks with their files open on every layer; attached by their pids, or by mpirun's.
ranks() {
	local name=$1 mpirun pids
	have mpirun || { skip "$name" "no mpirun"; return; }
	DIR=$(fresh "$name")
	mpirun -n 4 "$P/parallel_nc" "$DIR/data/p.nc" 5 4096 "$DIR/data/go" >"$DIR/program.out" 2>"$DIR/program.err" & mpirun=$!
	wait_for_line "$DIR/program.err" 'waiting' 30 || { end_of $mpirun 1; not_ok "$name" "the program did not start"; return; }
	pids=$mpirun
	[ "$2" = mpirun ] || pids=$(pgrep -P $mpirun -f parallel_nc | paste -sd,)
	attach "$name" --pid "$pids" || { touch "$DIR/data/go"; end_of $mpirun; return; }
	touch "$DIR/data/go"
	end_of $mpirun 60
	verdict "$name, program" "$([ $STATUS = 0 ] && grep -q correct "$DIR/program.out" || echo "status $STATUS")"
	end_of $RECORDER 30
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$DIR")")"
	contract "$name" || return
	expect "$name" "[calls('nc_put_vara_double', f'MPI Rank {r}*') for r in range(4)] == [5] * 4" \
		"calls('nc_get_vara_double') == 20" \
		"calls('nc_close') == 8 and calls('nc_open_par') == 4 and calls('nc_create_par') == 0" \
		"calls('H5Dwrite', under='nc_put_vara_double') == 20" "layer_bytes('POSIX', '*/p.nc')[1] >= 4 * 5 * 4096 * 8" \
		"any('nc_put_vara_double' in s for f in ('pwrite64', 'pwritev') for s in stacks(f))" "has_file('*/data/p.nc')" \
		"written('nc_put_vara_double') == read('nc_get_vara_double') == 4 * 5 * 4096 * 8"
	lost_nothing "$name"
}

# A program that does nothing but fputc: the overhead limit detaches the probe, reports it, and keeps the rest.
storm() {
	local name=$1 expected=$2
	DIR=$(fresh "$name")
	"$P/storm" "$DIR/data" & PID=$!
	wait_for_file "$DIR/data/ready" || { end_of $PID 1; not_ok "$name" "the program did not start"; return; }
	attach "$name" --pid $PID "${@:3}" || { touch "$DIR/data/go" "$DIR/data/stop"; end_of $PID; return; }
	touch "$DIR/data/go"
	sleep 1
	touch "$DIR/data/stop"
	end_of $PID 30
	verdict "$name, program" "$([ $STATUS = 0 ] || echo "status $STATUS")"
	end_of $RECORDER 60
	verdict "$name, turned off" "$([ "$(grep -c 'turned off to keep the overhead limit' "$DIR/out")" = "$expected" ] ||
		echo "$(grep -c 'turned off' "$DIR/out") notes")"
	lost_nothing "$name"
	[ "$expected" = 1 ] || return 0         # the trace of a whole storm takes long to check
	contract "$name" || return
	expect "$name" "calls('write', path='*/data/end') == 10" "calls('fputc') >= 1" "abandoned('write') == 0"
}

# A process that has ended, but was not waited for: refused, instead of a recording that never ends.
zombie() {
	local dir text
	dir=$(fresh zombie)
	text=$(limited 60 "$PYTHON" - "$IOPROBE" "$dir/trace" 2>&1 <<-'END'
		import subprocess, sys, time
		program = subprocess.Popen(["/bin/true"])
		while open(f"/proc/{program.pid}/stat").read().rpartition(")")[2].split()[0] != "Z":
		    time.sleep(0.01)
		try:
		    done = subprocess.run([sys.argv[1], "--pid", str(program.pid), "-o", sys.argv[2]],
		        capture_output=True, text=True, timeout=20)
		    refused = done.returncode == 1 and "it does not exist or has ended" in done.stderr
		    print("" if refused else f"status {done.returncode}: {done.stderr}")
		except subprocess.TimeoutExpired:
		    print("the recording does not end")
	END
	)
	verdict "zombie, refused" "$text"
}

running
interrupted
zombie
storm ceiling 1
storm no_ceiling 0 --max-overhead 0
limited_time
two_recorders
later_children
brief
ranks ranks_by_pid ranks
ranks ranks_by_mpirun mpirun
