# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A SLURM cluster of two nodes on this host, with daemons, key, ports and directories of its own; sourced by end-to-end tests.
# slurm_start DIR [CONF-LINE...] and slurm_stop; all that was started is stopped by its pid, also when the test is interrupted.

SLURM_PIDS=()

have_slurm() {
	local tool
	for tool in munged slurmctld slurmd srun sbatch; do
		have $tool || [ -x /usr/sbin/$tool ] || { echo "$tool is not installed"; return 1; }
	done
	return 0
}

# Three unused ports, so that several clusters can be on one host.
free_ports() {
	"$PYTHON" -c 'import socket
s = [socket.socket() for _ in range(3)]
for x in s: x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])'
}

slurm_conf() {
	local host ports
	host=$(hostname)
	read -r -a ports <<<"$(free_ports)"
	cat <<-CONF
	ClusterName=lab
	SlurmctldHost=$host(127.0.0.1)
	SlurmctldPort=${ports[0]}
	SlurmUser=slurm
	AuthType=auth/munge
	AuthInfo=socket=$SLURM_DIR/munge/socket
	StateSaveLocation=$SLURM_DIR/state
	SlurmdSpoolDir=$SLURM_DIR/spool/%n
	SlurmctldPidFile=$SLURM_DIR/slurmctld.pid
	SlurmdPidFile=$SLURM_DIR/slurmd-%n.pid
	SlurmctldLogFile=$SLURM_DIR/log/slurmctld.log
	SlurmdLogFile=$SLURM_DIR/log/slurmd-%n.log
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	JobAcctGatherType=jobacct_gather/none
	AccountingStorageType=accounting_storage/none
	SelectType=select/cons_tres
	SelectTypeParameters=CR_Core
	SlurmdParameters=config_overrides
	SchedulerType=sched/backfill
	SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
	MpiDefault=none
	ReturnToService=2
	PrologFlags=Alloc
	KillWait=5
	NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[1]} CPUs=4 RealMemory=1000 State=UNKNOWN
	NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[2]} CPUs=4 RealMemory=1000 State=UNKNOWN
	PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	CONF
	printf '%s\n' "$@"
}

# A directory of configuration for the clients and one per node: PMIx needs a directory for clients of its own on each.
slurm_write_conf() {
	local node
	mkdir -p "$SLURM_DIR"/{conf,conf-n1,conf-n2,pmix-n1,pmix-n2,log,spool/n1,spool/n2,state}
	slurm_conf "$@" >"$SLURM_DIR/conf/slurm.conf"
	: >"$SLURM_DIR/conf/cgroup.conf"
	for node in n1 n2; do
		cp "$SLURM_DIR"/conf/*.conf "$SLURM_DIR/conf-$node/"
		chmod 1777 "$SLURM_DIR/pmix-$node"
		echo "PMIxCliTmpDirBase=$SLURM_DIR/pmix-$node" >"$SLURM_DIR/conf-$node/mpi.conf"
	done
	chown slurm: "$SLURM_DIR/state" "$SLURM_DIR/log"
}

munge_start() {
	local dir=$SLURM_DIR/munge
	mkdir -p "$dir" && head -c 128 /dev/urandom >"$dir/key" && chmod 400 "$dir/key" && chown -R munge: "$dir"
	setpriv --reuid munge --regid munge --clear-groups -- /usr/sbin/munged -F --socket="$dir/socket" --key-file="$dir/key" \
		--pid-file="$dir/pid" \
		--seed-file="$dir/seed" --log-file="$dir/log" >"$dir/out" 2>&1 </dev/null &
	SLURM_PIDS+=($!)
	wait_for_file "$dir/socket" 10
}

# slurm_start DIR [CONF-LINE...]: DIR must be short (UNIX sockets are made in it). Prints the reason of a failure.
slurm_start() {
	local node i
	SLURM_DIR=$1
	export SLURM_CONF=$SLURM_DIR/conf/slurm.conf
	# Two nodes with one kernel and one name: their ranks' shared memory would have the same names. Open MPI 5 finds no other
	# network in a container without interfaces.
	export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_mpi_yield_when_idle=1
	slurm_write_conf "${@:2}"
	munge_start || { echo "munged: $(tail -n 2 "$SLURM_DIR/munge/out" | tr '\n' ' ')"; return 1; }
	/usr/sbin/slurmctld -D -f "$SLURM_CONF" -c >"$SLURM_DIR/log/ctld.out" 2>&1 </dev/null &
	SLURM_PIDS+=($!)
	for node in n1 n2; do slurmd_start $node; done
	for ((i = 0; i < 200; i++)); do
		[ "$(sinfo -h -N -o %T 2>/dev/null | grep -c idle)" = 2 ] && return 0
		sleep 0.1
	done
	echo "no idle nodes: $(sinfo -N -o '%N %T %E' 2>&1 | tr '\n' ' ')"
	return 1
}

slurmd_start() {
	/usr/sbin/slurmd -D -f "$SLURM_DIR/conf-$1/slurm.conf" -N "$1" >"$SLURM_DIR/log/slurmd-$1.out" 2>&1 </dev/null &
	SLURM_PIDS+=($!)
}

# Jobs are cancelled, daemons ended by their pids; what outlives them is known by the cluster's configuration in its environment.
slurm_stop() {
	local pid i
	[ ${#SLURM_PIDS[@]} != 0 ] && [ $BASHPID = $$ ] || return 0    # not in a subshell that inherited the trap
	timeout 5 squeue -h -o %A 2>/dev/null | timeout 5 xargs -r scancel --quiet 2>/dev/null
	for ((i = 0; i < 50; i++)); do [ -z "$(timeout 5 squeue -h 2>/dev/null)" ] && break; sleep 0.1; done
	for ((i = ${#SLURM_PIDS[@]} - 1; i >= 0; i--)); do kill "${SLURM_PIDS[$i]}" 2>/dev/null; done
	for pid in "${SLURM_PIDS[@]}"; do end_of "$pid" 10; done
	SLURM_PIDS=()
	for pid in /proc/[0-9]*; do
		grep -qz "^SLURM_CONF=$SLURM_DIR/" "$pid/environ" 2>/dev/null && [ "${pid#/proc/}" != $BASHPID ] &&
			kill -KILL "${pid#/proc/}" 2>/dev/null
	done
}

# node_drained: a line for every node that takes no jobs.
node_drained() { sinfo -h -N -o '%N %T %E' | grep -Ei 'drain|down|fail'; }
