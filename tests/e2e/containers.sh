#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs in containers, seen from the host: paths are the container's, calls are exact. From inside a pid namespace ioprobe
# refuses.
. "$(dirname "$0")/../lib/e2e.sh"

# in_container NAME COMMAND...: a container with every namespace of its own, where $TMP/NAME/data is /data and the programs are in
# /programs. The program of the test becomes process 2 of it.
in_container() {
	local links=()
	for dir in /lib /lib64 /bin /sbin; do
		if [ -L $dir ]; then links+=(--symlink "usr$dir" $dir); else links+=(--ro-bind-try $dir $dir); fi
	done
	exec bwrap --unshare-all --die-with-parent --ro-bind /usr /usr "${links[@]}" --ro-bind-try /etc/ld.so.cache \
		/etc/ld.so.cache --proc /proc \
		--dev /dev --tmpfs /tmp --ro-bind "$P" /programs --bind "$TMP/$1/data" /data --chdir / "${@:2}"
}

# The pid on the host of the process below PID with this executable's name.
descendant() {
	local child
	for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
		if [ "$(cat /proc/"$child"/comm 2>/dev/null)" = "$2" ]; then echo "$child"; else descendant "$child" "$2"; fi
	done
}

# Attached to from the host.
attached() {
	local dir launcher pid recorder
	dir=$(fresh attached)
	in_container attached /programs/already_running /data 2>"$dir/program.err" & launcher=$!
	wait_for_file "$dir/data/ready" ||
		{ end_of $launcher 1; not_ok attached "the program did not start: $(cat "$dir/program.err")"; return; }
	pid=$(descendant $launcher already_running)
	env --default-signal=INT "$IOPROBE" --pid "${pid:-0}" -o "$dir/trace" --summary "$dir/out" >"$dir/stdout" 2>"$dir/err" & \
		recorder=$!
	wait_for_line "$dir/err" 'recording' 30 || not_ok attached "not ready: $(said "$dir")"
	touch "$dir/data/go"
	end_of $launcher 30
	verdict "attached, program" "$([ $STATUS = 0 ] || echo "status $STATUS")"
	end_of $recorder 30
	verdict "attached, ends with its target" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$dir")")"
	contract attached && expect attached "calls('write', path='/data/fd') == 25" "calls('write', path='/data/thread') == 25" \
		"calls('fwrite') == 25 and written('fwrite') == 400" \
		"calls('read', path='/data/fd') == 5 and read('read', path='/data/fd') == 80" \
		"precreated('/data/fd') == 1 and precreated('/data/stream') >= 1" && lost_nothing attached
}

# Launched: what the container runs is followed from its first call on.
launched() {
	local dir
	dir=$(fresh launched)
	export -f in_container
	export P TMP
	record launched -- bash -c 'in_container launched /programs/writes4000 /data'
	verdict "launched, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$dir")")"
	contract launched && expect launched "calls('write', path='/data/*') == 4000" "written('write', path='/data/*') == 256000" \
		"[written('write', path='/data/' + f) for f in ('main', 'thread0', 'thread1', 'child')] == [64000] * 4" &&
		lost_nothing launched
}

# inside NAME OPTION...: ioprobe in a pid namespace must refuse, and say why.
inside() {
	local dir status
	dir=$(fresh "$1")
	limited 60 unshare --pid --fork --mount-proc "$IOPROBE" "${@:2}" >"$dir/out" 2>&1
	status=$?
	verdict "$1, status" "$([ $status = 1 ] || echo "status $status, not 1")"
	verdict "$1, reason" "$(grep -q 'pid namespace' "$dir/out" || tail -n 3 "$dir/out")"
	verdict "$1, nothing made" "$([ ! -e "$dir/trace" ] || echo "there is an output directory")"
}

# Podman with a root file system of one static program. Its state is in the test's directory; where it cannot start, that is no
# failure.
podman_run() { limited 60 podman --root "$TMP/podman/root" --runroot "$TMP/podman/run" --storage-driver vfs --cgroup-manager \
	cgroupfs "$@"; }
podman_ends() {
	podman_run rm -fa >/dev/null 2>&1
	awk -v dir="$TMP/podman/" 'index($2, dir) == 1 { print $2 }' /proc/mounts | sort -r |
		while read -r mount; do umount -l "$mount"; done
	rm -rf --one-file-system "$TMP/podman" 2>/dev/null
	return 0
}
podman_container() {
	local options
	have podman || { skip podman "podman is not installed"; return; }
	mkdir -p "$TMP/podman/system/data" "$TMP/podman/system/proc" "$TMP/podman/system/dev" "$TMP/podman/system/sys" \
		"$TMP/podman/system/etc"
	cp "$P/static" "$TMP/podman/system/program"
	fresh podman_trace >/dev/null
	options=(run --rm --network none --cgroups disabled --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --volume \
		"$TMP/podman_trace/data:/data" --rootfs "$TMP/podman/system")
	if ! podman_run "${options[@]}" /program /data >"$TMP/podman.err" 2>&1 </dev/null; then
		podman_ends
		skip podman "podman cannot start a container here: $(tail -n 1 "$TMP/podman.err" | cut -c 1-150)"
		return
	fi
	export -f podman_run limited
	export TMP
	# shellcheck disable=SC2016
	record podman_trace -- bash -c 'podman_run "$@"' podman "${options[@]}" /program /data
	verdict "podman, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/podman_trace")")"
	contract podman_trace && expect podman_trace "layer_bytes('POSIX', '/data/stream')[1] == 20160"
	podman_ends
}

if ! have bwrap; then
	skip bubblewrap "bwrap is not installed"
elif ! (fresh try >/dev/null && in_container try /programs/strings /data) >"$TMP/try.err" 2>&1; then
	skip bubblewrap "it cannot start a container here: $(tail -n 1 "$TMP/try.err")"
else
	attached
	launched
fi
inside in_pid_namespace -o "$TMP/in_pid_namespace/trace" -- /bin/true
inside check_in_pid_namespace check
podman_container
