#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The node's service under real SLURM daemons, two nodes on this host with a service each: what starts by srun, sbatch, mpirun and
# job arrays is recorded from its first instruction, one archive per node and job, of the job's user and of that job alone. Whatever
# goes wrong with the service, jobs run and nodes stay.
. "$(dirname "$0")/../lib/e2e.sh"
. "$TESTS/lib/slurm.sh"
. "$TESTS/lib/service.sh"

why=$(have_slurm) || { skip all "$why"; exit; }
id games >/dev/null 2>&1 && id daemon >/dev/null 2>&1 || { skip all "no users games and daemon"; exit; }

trap 'services_stop; slurm_stop' EXIT
trap 'exit 130' INT TERM

SERVICE_DIR=$TMP/service
WRITES="calls('write', path='*/data/*')"

as() { setpriv --reuid "$1" --regid "$1" --clear-groups -- env HOME=/tmp "${@:2}"; }

# The site's hooks: slurmd calls them with SLURM's variables; each node has its own service here.
make_hooks() {
	local hook
	for hook in prolog epilog; do
		cat >"$TMP/$hook" <<-HOOK
		#!/bin/sh
		export IOPROBE=\$(cat "$TMP/hook_program") IOPROBE_SOCKET=$SERVICE_DIR/\$SLURMD_NODENAME.socket
		exec "$TESTS/../tools/slurm/$hook"
		HOOK
		chmod 755 "$TMP/$hook"
	done
	echo "$IOPROBE" >"$TMP/hook_program"
}

# data NAME: a directory that every user can write to.
data() { fresh "$1" >/dev/null; chmod 777 "$TMP/$1" "$TMP/$1/data"; }

# script NAME LINE...: a batch script.
script() { printf '%s\n' '#!/bin/bash' "${@:2}" >"$TMP/$1/script"; chmod 755 "$TMP/$1/script"; }

# submit USER NAME OPTION...: sets JOB and waits for its end; STATUS 0 if SLURM calls it completed.
submit() {
	JOB=$(as "$1" sbatch --parsable --comment=ioprobe -D /tmp -o "$TMP/$2/job.out" "${@:3}" "$TMP/$2/script") ||
		{ not_ok "$2" "sbatch failed"; return 1; }
	job_ends "$JOB" && job_verdict "$2" "$JOB"
}
# The newest job's id; of a heterogeneous one the first component's. SLURM knows it before the service has made a directory for its
# archive.
last_job() {
	scontrol -o show jobs | sed -n 's/^JobId=\([0-9]*\) HetJobId=\([0-9]*\) .*/\1 \2/p; t; s/^JobId=\([0-9]*\) .*/\1 \1/p' |
		sort -n | tail -n 1 | cut -d ' ' -f 2
}
job_ends() {
	local i
	for ((i = 0; i < 400; i++)); do
		[[ $(squeue -h -j "$1" -o %T 2>/dev/null) =~ PENDING|RUNNING|COMPLETING ]] || return 0
		sleep 0.1
	done
	scancel --quiet "$1"
}
job_starts() {
	local i
	for ((i = 0; i < 300; i++)); do
		[ "$(squeue -h -j "$1" -o %T 2>/dev/null)" = RUNNING ] && return 0
		sleep 0.1
	done
}
job_verdict() { verdict "$1, job" "$(scontrol -o show job "$2" 2>&1 | grep -v 'JobState=COMPLETED.* ExitCode=0:0' |
	grep -o 'JobState=[A-Z_]*.*ExitCode=[0-9:]*' | cut -c 1-200; tail -n 2 "$TMP/$1/job.out" 2>/dev/null | grep -i error)"; }

# nodes_are_well NAME: nothing that went wrong drained one.
nodes_are_well() { verdict "$1, nodes" "$(node_drained)"; }

# ---- what is recorded ----

# Four ranks over two nodes, started by srun without a batch script.
by_srun() {
	data by_srun
	(cd /tmp && as games timeout 60 srun --mpi=pmix -N2 -n4 --ntasks-per-node=2 --comment=ioprobe "$P/parallel_nc" \
		"$TMP/by_srun/data/p.nc" 3 512) \
		>"$TMP/by_srun/job.out" 2>&1
	STATUS=$?
	verdict "by_srun, program" "$([ $STATUS = 0 ] || tail -n 3 "$TMP/by_srun/job.out")"
	JOB=$(last_job)
	by_ranks by_srun "$JOB" "0, 1" "2, 3"
}

# by_ranks NAME ID RANKS-OF-N1 RANKS-OF-N2: of a run of parallel_nc with 3 steps.
by_ranks() {
	local node ranks
	for node in n1 n2; do
		ranks=$3
		[ $node = n1 ] || ranks=$4
		archive_is "$1" $node "$2" games "[calls('nc_put_vara_double', f'MPI Rank {r}*') for r in [$ranks]] == [3, 3]" \
			"calls('nc_put_vara_double') == 6 and calls('nc_get_vara_double') == 6" "calls('nc_create_par') == 2" \
			"calls('MPI_Init') + calls('MPI_Init_thread') in (0, 2)" "has_file('*/data/p.nc')" "calls('nc_close') == 4"
	done
}

by_mpirun() {
	data by_mpirun
	script by_mpirun "mpirun -n 4 --map-by ppr:2:node $P/parallel_nc $TMP/by_mpirun/data/p.nc 3 512"
	submit games by_mpirun -N2 -n4 --ntasks-per-node=2 || return
	by_ranks by_mpirun "$JOB" "0, 1" "2, 3"
}

# A batch script with work of its own, steps one after another and side by side, a program without environment, and one in the
# background.
by_steps() {
	data by_steps
	mkdir -m 777 "$TMP/by_steps/data"/{a,b,c,d,e,s}
	script by_steps "$P/writes4000 $TMP/by_steps/data/a" "srun -n1 $P/writes4000 $TMP/by_steps/data/b" \
		"srun -n1 $P/streams $TMP/by_steps/data/s" \
		"srun --exact -n1 $P/writes4000 $TMP/by_steps/data/c &" \
		"srun --exact -n1 env -i $P/writes4000 $TMP/by_steps/data/d &" "wait" \
		"(setsid $P/writes4000 $TMP/by_steps/data/e &)" "sleep 0.5"
	submit games by_steps -N1 -n2 -w n1 || return
	archive_is by_steps n1 "$JOB" games "calls('write', path='*/data/[a-e]/*') == 20000" \
		"written('write', path='*/data/[a-e]/*') == 5 * 256000" \
		"calls('fwrite', path='*/data/s/*') == 200 and written('fwrite', path='*/data/s/*') == 20000"
	verdict "by_steps, other node" "$([ -z "$(phase n2 "$JOB")" ] || echo "n2 knows of it: $(phase n2 "$JOB")")"
}

# What a setuid program does is not for the eyes of its user; what comes after it is recorded again.
by_setuid() {
	data by_setuid
	mkdir -m 777 "$TMP/by_setuid/data"/{a,b} "$TMP/by_setuid/bin"
	cp "$P/writes4000" "$TMP/by_setuid/bin/" && chmod 4755 "$TMP/by_setuid/bin/writes4000"
	script by_setuid "$TMP/by_setuid/bin/writes4000 $TMP/by_setuid/data/a" "$P/writes4000 $TMP/by_setuid/data/b"
	submit games by_setuid -N1 -n1 -w n1 || return
	[ "$(stat -c %U "$TMP/by_setuid/data/a/main")" = root ] ||
		{ skip by_setuid "no setuid programs on this file system"; return; }
	archive_is by_setuid n1 "$JOB" games "$WRITES == 4000" "not has_file('*/data/a/*')"
	verdict "by_setuid, reported" "$(grep -q '1 programs with more rights' "$TMP/by_setuid/out" || echo "not in the summary")"
}

# Elements of an array, each a job of its own, two at a time on one node.
by_array() {
	local id ids element
	data by_array
	mkdir -m 777 "$TMP/by_array/data"/{0,1,2}
	script by_array "$P/writes4000 $TMP/by_array/data/\$SLURM_ARRAY_TASK_ID" \
		"echo \$SLURM_ARRAY_TASK_ID > $TMP/by_array/id.\$SLURM_JOB_ID"
	submit games by_array -N1 -n1 -w n1 --array=0-2 || return
	ids=$(ls "$TMP/by_array" | sed -n 's/^id\.//p')
	verdict "by_array, jobs" "$([ "$(echo "$ids" | wc -l)" = 3 ] || echo "$ids")"
	for id in $ids; do
		element=$(cat "$TMP/by_array/id.$id")
		archive_is "by_array_$element" n1 "$id" games "$WRITES == 4000" "calls('write', path='*/data/$element/*') == 4000"
	done
}

# Components of a heterogeneous job have an id each, their programs that of the first.
by_components() {
	data by_components
	mkdir -m 777 "$TMP/by_components/data"/{a,b}
	(cd /tmp && as games timeout 60 srun --comment=ioprobe -N1 -n1 -w n1 "$P/writes4000" "$TMP/by_components/data/a" : \
		--comment=ioprobe -N1 -n1 -w n2 "$P/writes4000" "$TMP/by_components/data/b") >"$TMP/by_components/job.out" 2>&1
	verdict "by_components, program" "$([ $? = 0 ] || tail -n 3 "$TMP/by_components/job.out")"
	JOB=$(last_job)
	archive_is by_components n1 "$JOB" games "$WRITES == 4000" "calls('write', path='*/data/a/*') == 4000"
	archive_is by_components n2 "$JOB" games "$WRITES == 4000" "calls('write', path='*/data/b/*') == 4000"
}

# Two users' jobs at once on both nodes: nothing of one in the other's archive.
two_users() {
	local first second user
	for user in games daemon; do
		data "of_$user"
		script "of_$user" "srun -N2 -n2 bash -c 'd=$TMP/of_$user/data/\$SLURM_PROCID; mkdir \$d
			for i in 1 2 3; do $P/writes4000 \$d; done'"
	done
	first=$(as games sbatch --parsable --comment=ioprobe -D /tmp -o "$TMP/of_games/job.out" -N2 -n2 "$TMP/of_games/script")
	second=$(as daemon sbatch --parsable --comment=ioprobe -D /tmp -o "$TMP/of_daemon/job.out" -N2 -n2 "$TMP/of_daemon/script")
	job_ends "$first"; job_ends "$second"
	job_verdict of_games "$first"; job_verdict of_daemon "$second"
	archive_is of_games n1 "$first" games "$WRITES == 12000" "not has_file('*/of_daemon/*')"
	archive_is of_games n2 "$first" games "$WRITES == 12000" "not has_file('*/of_daemon/*')"
	archive_is of_daemon n1 "$second" daemon "$WRITES == 12000" "not has_file('*/of_games/*')"
	archive_is of_daemon n2 "$second" daemon "$WRITES == 12000" "not has_file('*/of_games/*')"
}

# Not asked for by comment: only the programs that have the policy's variable, and nothing where there is none.
by_variable() {
	data by_variable
	script by_variable "$P/writes4000 $TMP/by_variable/data" "IOPROBE=1 $P/writes4000 $TMP/by_variable/data"
	JOB=$(as games sbatch --parsable -D /tmp -o "$TMP/by_variable/job.out" -N1 -n1 -w n1 "$TMP/by_variable/script")
	job_ends "$JOB"
	job_verdict by_variable "$JOB"
	archive_is by_variable n1 "$JOB" games "$WRITES == 4000"
	JOB=$(as games sbatch --parsable -D /tmp -o /dev/null -N1 -n1 -w n1 --wrap true)
	job_ends "$JOB"
	wait_for_phase n1 "$JOB" 'empty|done|failed'
	verdict "by_variable, not asked for" \
		"$([ "$(phase n1 "$JOB")" = empty ] || phase n1 "$JOB"; ls -d "$SERVICE_DIR/archives/games/$JOB.n1" 2>/dev/null)"
}

# A job that runs already, with a step that starts later; by hand, as root.
running_job() {
	local recorder
	data running_job
	script running_job "touch $TMP/running_job/data/started" "while [ ! -e $TMP/running_job/data/go ]; do sleep 0.1; done" \
		"srun -n2 bash -c 'd=$TMP/running_job/data/\$SLURM_PROCID; mkdir \$d; $P/writes4000 \$d'" \
		"while [ ! -e $TMP/running_job/data/end ]; do sleep 0.1; done"
	JOB=$(as games sbatch --parsable -D /tmp -o "$TMP/running_job/job.out" -N2 -n2 "$TMP/running_job/script")
	wait_for_file "$TMP/running_job/data/started"
	env --default-signal=INT "$IOPROBE" --job "$JOB" -o "$TMP/running_job/trace" --summary "$TMP/running_job/out" \
		>"$TMP/running_job/stdout" 2>"$TMP/running_job/err" & recorder=$!
	wait_for_line "$TMP/running_job/err" 'recording' 30 || not_ok running_job "not ready: $(said "$TMP/running_job")"
	touch "$TMP/running_job/data/go"
	wait_for_file "$TMP/running_job/data/1/child" 20
	sleep 0.3
	touch "$TMP/running_job/data/end"
	job_ends "$JOB"
	kill -INT $recorder
	end_of $recorder 30
	verdict "running_job, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/running_job")")"
	contract running_job && expect running_job "calls('write', path='*/data/[01]/*') == 8000" \
		"len(groups_with('write')) >= 4" && lost_nothing running_job
	limited 20 "$IOPROBE" --job 4000000 -o "$TMP/running_job/none" 2>"$TMP/running_job/err" >/dev/null
	verdict "running_job, no such job" \
		"$([ $? = 1 ] && grep -q 'no process on this node belongs to it' "$TMP/running_job/err" ||
			said "$TMP/running_job"; ls -d "$TMP/running_job/none" 2>/dev/null)"
}

# ---- what goes wrong ----

refused() {
	local name=$1 pattern=$2 text
	text=$("${@:3}" 2>&1) && { not_ok "$name" "no failure: $text"; return; }
	verdict "$name" "$(echo "$text" | grep -q "$pattern" && [ "$(echo "$text" | wc -l)" = 1 ] || echo "$text")"
}

requests() {
	data requests
	script requests "touch $TMP/requests/data/began" "while [ ! -e $TMP/requests/data/end ]; do sleep 0.1; done"
	JOB=$(as games sbatch --parsable --comment=ioprobe -D /tmp -o "$TMP/requests/job.out" -N1 -n1 -w n1 "$TMP/requests/script")
	job_starts "$JOB"
	wait_for_file "$TMP/requests/data/began"        # SLURM calls a job running before its script is
	refused "requests, duplicate start" "being recorded already" ask n1 start --job "$JOB" --uid 5 --gid 60 --always
	refused "requests, stop without start" "is not being recorded" ask n1 stop --job 4000000
	refused "requests, no such job" "job 4000000 is not known" ask n1 status --job 4000000
	refused "requests, another user's stop" "another user's" as daemon "$IOPROBE" job --socket "$SERVICE_DIR/n1.socket" stop \
		--job "$JOB"
	refused "requests, another user's process" "not yours" as daemon "$IOPROBE" job --socket "$SERVICE_DIR/n1.socket" start \
		--pid $$
	refused "requests, no id" "is not a job id" ask n1 start --job ../x --uid 5 --gid 60 --always
	refused "requests, no user" "user and group are missing" ask n1 start --job 4000001 --always
	refused "requests, no message" "not a message" "$PYTHON" -c 'import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.send(b"\x00{")
sys.exit(s.recv(9999).decode())' "$SERVICE_DIR/n1.socket"
	verdict "requests, another user sees nothing" \
		"$(as daemon "$IOPROBE" job --socket "$SERVICE_DIR/n1.socket" status | grep games)"
	verdict "requests, its user sees it" \
		"$(as games "$IOPROBE" job --socket "$SERVICE_DIR/n1.socket" status --job "$JOB" | grep -q recording ||
			echo "not seen")"
	verdict "requests, its user may stop it" \
		"$(as games "$IOPROBE" job --socket "$SERVICE_DIR/n1.socket" stop --job "$JOB" >/dev/null || echo refused)"
	touch "$TMP/requests/data/end"
	job_ends "$JOB"
	archive_is requests n1 "$JOB" games "calls('openat') > 0"
}

# The job's first program ran before its recording began: it is recorded from then on, and the summary says so.
late_start() {
	local program
	data late_start
	(cd /tmp; SLURM_JOB_ID=3999999 SLURMD_NODENAME=n1 as games "$P/already_running" "$TMP/late_start/data" 2>/dev/null) & \
		program=$!
	wait_for_file "$TMP/late_start/data/ready"
	ask n1 start --job 3999999 --uid "$(id -u games)" --gid "$(id -g games)" --always --timeout 5000 >/dev/null
	sleep 0.5
	touch "$TMP/late_start/data/go"
	end_of $program 30
	ask n1 stop --job 3999999 >/dev/null
	archive_is late_start n1 3999999 games "calls('write', path='*/data/fd') == 25" "precreated('*/data/fd') == 1"
	verdict "late_start, reported" "$(grep -q '1 processes of the job ran already' "$TMP/late_start/out" ||
		echo "not in the summary")"
}

# A user's own process, requested by that user; its archive is in the user's directory.
own_process() {
	local program
	data own_process
	(exec setpriv --reuid games --regid games --clear-groups "$P/already_running" "$TMP/own_process/data" 2>/dev/null) & \
		program=$!
	wait_for_file "$TMP/own_process/data/ready"
	verdict "own_process, start" "$(as games "$IOPROBE" job --socket "$SERVICE_DIR/n1.socket" start --pid $program --timeout \
		5000 2>&1 | grep -v '^recording to')"
	touch "$TMP/own_process/data/go"
	end_of $program 30
	archive_is own_process n1 "$(as games "$IOPROBE" job --socket "$SERVICE_DIR/n1.socket" status |
		sed -n "s/^\(u[0-9]*\.pid-$program\) .*/\1/p")" games \
		"calls('write', path='*/data/fd') == 25"
}

# The service is killed after the prolog and started again before the epilog: the recording goes on. The same without an epilog: the
# recording ends without a report of the job's end.
killed_service() {
	[ "${1:-}" != forgotten ] || { service_kill n1; service_start n1 "${RULES[@]}" 'idle-limit 5'; }
	data killed
	script killed "$P/writes4000 $TMP/killed/data" "while [ ! -e $TMP/killed/data/end ]; do sleep 0.1; done" \
		"$P/writes4000 $TMP/killed/data"
	JOB=$(as games sbatch --parsable --comment=ioprobe -D /tmp -o "$TMP/killed/job.out" -N1 -n1 -w n1 "$TMP/killed/script")
	job_starts "$JOB"
	wait_for_file "$TMP/killed/data/child"
	service_kill n1
	service_start n1
	verdict "killed, adopted" "$(ask n1 status --job "$JOB" | grep -q recording || ask n1 status --job "$JOB" 2>&1)"
	[ "${1:-}" != forgotten ] || service_kill n1
	touch "$TMP/killed/data/end"
	job_ends "$JOB"
	job_verdict killed "$JOB"
	archive_is killed n1 "$JOB" games "$WRITES == 8000"
	[ "${1:-}" != forgotten ] || verdict "killed, reported" \
		"$(grep -q 'no end of the job was reported' "$TMP/killed/out" || echo "not in the summary")"
	nodes_are_well killed
	[ "${1:-}" != forgotten ] || service_start n1 "${RULES[@]}"
}

# wait_for_flush SPOOL FILE: until the spool was written half a second after the file was.
wait_for_flush() {
	local i
	for ((i = 0; i < 200; i++)); do
		awk "BEGIN { exit !($(stat -c %.Y "$1") > $(stat -c %.Y "$2") + 0.5) }" && return 0
		sleep 0.1
	done
	return 1
}

# A recorder that is killed: its archive has all but the last second, and says so.
killed_recorder() {
	data killed_recorder
	script killed_recorder "$P/writes4000 $TMP/killed_recorder/data" "touch $TMP/killed_recorder/data/written" \
		"while [ ! -e $TMP/killed_recorder/data/end ]; do sleep 0.1; done"
	JOB=$(as games sbatch --parsable --comment=ioprobe -D /tmp -o "$TMP/killed_recorder/job.out" -N1 -n1 -w n1 \
		"$TMP/killed_recorder/script")
	job_starts "$JOB"
	wait_for_file "$TMP/killed_recorder/data/written"
	wait_for_flush "$SERVICE_DIR/archives/games/$JOB.n1/spool" "$TMP/killed_recorder/data/written"
	kill -KILL "$(state_value n1 "$JOB" pid)"
	wait_for_phase n1 "$JOB" 'done|failed'
	touch "$TMP/killed_recorder/data/end"
	job_ends "$JOB"
	job_verdict killed_recorder "$JOB"
	killed_archive_is killed_recorder n1 "$JOB" games "$WRITES == 4000"
	verdict "killed_recorder, reported" "$(state_value n1 "$JOB" message | grep -q 'ended from outside' ||
		state_value n1 "$JOB" message)"
	nodes_are_well killed_recorder
}

# without NAME SECONDS: a job while something is missing: it runs unprobed, soon.
without() {
	local began=$SECONDS
	data "$1"
	script "$1" "$P/writes4000 $TMP/$1/data"
	submit games "$1" -N1 -n1 -w n1
	verdict "$1, writes" "$([ "$(cat "$TMP/$1"/data/* | wc -c)" = 256000 ] || echo "not 256000 bytes")"
	verdict "$1, delay" "$([ $((SECONDS - began)) -le 20 ] || echo "$((SECONDS - began)) s")"
	nodes_are_well "$1"
}

broken_service() {
	service_kill n1
	without no_service
	echo /nowhere/ioprobe >"$TMP/hook_program"
	without no_program
	echo "$IOPROBE" >"$TMP/hook_program"
	service_start n1
	kill -STOP "${SERVICE_PID[n1]}"
	without hung_service
	kill -CONT "${SERVICE_PID[n1]}"
}

full_disk() {
	data full_disk
	mkdir "$TMP/full" && mount -t tmpfs -o size=64k,mode=1777 full "$TMP/full" || { skip full_disk "no tmpfs"; return; }
	service_kill n1
	service_start n1 'record comment ioprobe' "output $TMP/full/%j"
	without full_disk
	wait_for_phase n1 "$JOB" 'done|failed'
	verdict "full_disk, reported" "$([ "$(phase n1 "$JOB")" = failed ] && state_value n1 "$JOB" message | grep -qi 'space' ||
		echo "$(phase n1 "$JOB") $(state_value n1 "$JOB" message)")"
	verdict "full_disk, no archive" "$(ls "$TMP/full/$JOB" | grep -v '^spool$')"
	umount "$TMP/full"
}

policy() {
	local line
	mkdir -p "$TMP/policy"
	while read -r line; do
		echo "$line" >"$TMP/policy/p"
		"$IOPROBE" serve --check-policy --policy "$TMP/policy/p" 2>"$TMP/policy/err"
		verdict "policy, $line" "$([ $? = 1 ] && grep -q "^ioprobe: $TMP/policy/p:1: " "$TMP/policy/err" ||
			cat "$TMP/policy/err")"
	done <<-LINES
	record
	record everything
	record sample 120%
	record env NAME
	skip env A=1
	output relative/%j
	output /site/%u
	output /site/%q/%j
	spare many
	users perhaps
	what 1
	LINES
	refused "policy, no file" "cannot be read" "$IOPROBE" serve --check-policy --policy "$TMP/policy/none"
	refused "policy, two services" "another service does" "$IOPROBE" serve --state "$SERVICE_DIR/state-n1" --socket \
		"$SERVICE_DIR/n1.socket"
}

make_hooks
slurm_start "$TMP/c" "Prolog=$TMP/prolog" "Epilog=$TMP/epilog" >"$TMP/why" || { not_ok slurm "$(cat "$TMP/why")"; exit; }
RULES=('record comment ioprobe' 'record env IOPROBE=1' 'idle-limit 30' 'spare 3')
service_start n1 "${RULES[@]}" && service_start n2 "${RULES[@]}" || { not_ok service "$(tail -n 2 "$SERVICE_DIR"/n?.log)"; exit; }

by_srun
by_mpirun
by_steps
by_setuid
by_array
by_components
two_users
by_variable
running_job
requests
late_start
own_process
killed_service
killed_service forgotten
killed_recorder
broken_service
policy
full_disk
nodes_are_well all
