# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Two hosts on one machine, n1 and n2: UTS, network and mount namespaces of their own on one bridge; processes and kernel are
# common. Sourced after e2e.sh, by a script that runs in a mount namespace of its own. hosts_up SETUP runs SETUP in each host;
# hosts_down leaves nothing.

HOSTS=h$$       # prefix of the links and the network namespaces

# Bridges of runs that were killed: a second one with this address would get the packets.
remove_dead_bridges() {
	local link pid
	for link in $(ip -br link show type bridge | awk '$1 ~ /^h[0-9]+br$/ { print $1 }'); do
		pid=${link#h}
		[ -d "/proc/${pid%br}" ] || ip link del "$link"
	done
}

hosts_up() {
	local i
	remove_dead_bridges
	trap hosts_down EXIT
	trap 'exit 143' TERM INT
	ip link add ${HOSTS}br type bridge && ip addr add 10.79.0.1/24 dev ${HOSTS}br && ip link set ${HOSTS}br up || return 1
	for i in 1 2; do
		ip netns add ${HOSTS}n$i && ip link add ${HOSTS}v$i type veth peer name eth0 netns ${HOSTS}n$i &&
			ip link set ${HOSTS}v$i master ${HOSTS}br up && ip -n ${HOSTS}n$i addr add 10.79.0.1$i/24 dev eth0 &&
			ip -n ${HOSTS}n$i link set eth0 up && ip -n ${HOSTS}n$i link set lo up || return 1
		ip netns exec ${HOSTS}n$i unshare -u -m --propagation private \
			bash -c "hostname n$i && mount -t tmpfs -o mode=1777 shm /dev/shm && $1 && touch '$TMP/n$i.up' &&
				exec sleep 600" &
		echo $! >"$TMP/n$i.pid"
	done
	wait_for_file "$TMP/n1.up" 10 && wait_for_file "$TMP/n2.up" 10
}

hosts_down() {
	local i
	for i in 1 2; do
		[ ! -e "$TMP/n$i.pid" ] || kill "$(cat "$TMP/n$i.pid")" 2>/dev/null
		ip netns del ${HOSTS}n$i 2>/dev/null
	done
	wait
	ip link del ${HOSTS}br 2>/dev/null
}

# hosts_agent COMMAND...: writes $TMP/agent, for mpirun's plm_rsh_agent; COMMAND runs in the host, before "sh -c …", $host is its
# name.
hosts_agent() {
	cat >"$TMP/agent" <<-END
		#!/bin/sh
		host=\$1; shift
		exec >'$TMP'/\$host.out 2>'$TMP'/\$host.err
		exec nsenter -t \$(cat '$TMP'/\$host.pid) -n -u -m -- $* /bin/sh -c "cd /; \$*"
	END
	chmod 755 "$TMP/agent"
}

# Options for mpirun to reach hosts by the agent: Open MPI 5 has another launcher.
agent_options() {
	case $(mpirun --version 2>&1 | head -n 1) in
	*"Open MPI) 4."*) echo "-mca plm rsh -mca plm_rsh_agent $TMP/agent --leave-session-attached" ;;
	*) echo "--prtemca plm ssh --prtemca plm_ssh_agent $TMP/agent --leave-session-attached" ;;
	esac
}

# hosts_mpirun N COMMAND...: N ranks, equally many on each host; returns when both agents have ended.
hosts_mpirun() {
	local half=$(($1 / 2)) status
	limited 120 mpirun --host n1:$half,n2:$half --map-by ppr:$half:node --bind-to none $(agent_options) -n "$@" \
		>"$TMP/mpirun.out" 2>"$TMP/mpirun.err" </dev/null
	status=$?
	return $status
}
