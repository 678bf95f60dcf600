#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What ioprobe runs with and gives on: the launched program is as its user started it, capabilities replace root, what continues
# without being recorded is named, and interrupted archives are made again.
. "$(dirname "$0")/../lib/e2e.sh"
have setpriv || { skip all "no setpriv"; exit 0; }

ME=65534 MINE=65534 NAME=nobody
ioprobe_sudo() { SUDO_UID=$ME SUDO_GID=$MINE SUDO_USER=$NAME SUDO_COMMAND=ioprobe limited 60 "$IOPROBE" "$@"; }
H=$TMP/home
mkdir "$H" && chown $ME:$MINE "$H"
cp "$IOPROBE" "$TMP/ioprobe" && chmod 755 "$TMP/ioprobe"       # the user can read this one

# ---- the environment of a program under sudo ----

# value_of VARIABLE FILE: prints the variable's value in FILE, an output of env.
value_of() { sed -n "s/^$1=//p" "$2"; }
HOME=/root USER=root LOGNAME=root SHELL=/bin/bash MAIL=/var/mail/root ioprobe_sudo -o "$H/env" -- env >"$H.env" 2>"$H.err" \
	</dev/null
entry=$(getent passwd $NAME)
verdict "HOME and SHELL" "$([ "$(value_of HOME "$H.env"):$(value_of SHELL "$H.env")" = "$(echo "$entry" | cut -d: -f 6,7)" ] ||
	value_of HOME "$H.env")"
verdict "USER, LOGNAME and MAIL" "$([ "$(value_of USER "$H.env") $(value_of LOGNAME "$H.env") $(value_of MAIL "$H.env")" = \
	"$NAME $NAME /var/mail/$NAME" ] ||
	grep -E '^(USER|LOGNAME|MAIL)=' "$H.env")"
verdict "no SUDO_*" "$(grep '^SUDO_' "$H.env")"
ioprobe_sudo -o "$H/ids" -- sh -c 'id -u; id -g; id -G; grep -E "^(Cap|NoNewPrivs|SigIgn|SigBlk)" /proc/self/status' >"$H.ids" \
	2>"$H.err" </dev/null
setpriv --reuid $ME --regid $MINE --init-groups sh -c \
	'id -u; id -g; id -G; grep -E "^(Cap|NoNewPrivs|SigIgn|SigBlk)" /proc/self/status' >"$H.plain" \
	</dev/null
# Signals 32 and 33 are libc's own: make leaves them ignored, and a process with threads handles them, which its exec resets.
without_libc_signals() {
	local key value
	while read -r key value; do
		[ "$key" = SigIgn: ] && value=$(printf %016x $((0x$value & ~0x180000000)))
		echo "$key $value"
	done
}
verdict "ids, groups, capabilities and signals" "$(head -n "$(wc -l <"$H.plain")" "$H.ids" | without_libc_signals |
	diff - <(without_libc_signals <"$H.plain"))"

mkdir "$H/bin"
printf '#!/bin/sh\necho "$MODULES"\n' >"$H/bin/of_a_module" && chmod 755 "$H/bin/of_a_module"
setpriv --reuid $ME --regid $MINE --clear-groups env -i MODULES=mine PATH="$H/bin:/usr/bin:/bin" sleep 30 & mine=$!
sleep 30 & roots=$!
sleep 0.3
ioprobe_sudo -o "$H/from" --env-from $mine -- of_a_module >"$H.out" 2>"$H.err" </dev/null
verdict "--env-from" "$([ "$(head -n 1 "$H.out")" = mine ] || tail -n 2 "$H.err")"
ioprobe_sudo -o "$H/none" --env-from $roots -- env >"$H.out" 2>"$H.err" </dev/null
verdict "--env-from root's process" "$([ $? = 1 ] && grep -q 'does not belong' "$H.err" && [ ! -s "$H.out" ] &&
	[ ! -e "$H/none" ] || cat "$H.err")"
kill $mine $roots

# ---- capabilities instead of root ----

# with CAPABILITIES ARGUMENT...: ioprobe as the user with these alone.
with() {
	setpriv --reuid $ME --regid $MINE --clear-groups --inh-caps "-all,$1" --ambient-caps "-all,$1" timeout 30 "$TMP/ioprobe" \
		"${@:2}" \
		>"$H.out" 2>"$H.err" </dev/null
}
with +bpf,+perfmon -o "$H/caps" -- sh -c 'grep -E "^Cap(Eff|Prm|Inh|Amb)" /proc/self/status; cat /etc/hostname'
verdict "CAP_BPF and CAP_PERFMON" "$([ $? = 0 ] && [ "$(stat -c %u "$H/caps/traces.otf2")" = $ME ] || cat "$H.err")"
verdict "the program gets no capabilities" "$(grep -E '^Cap' "$H.out" | grep -v '0000000000000000$')"
contract capabilities "$H/caps/traces.otf2"
if have setcap && setcap cap_bpf,cap_perfmon+ep "$TMP/ioprobe" 2>/dev/null; then
	setpriv --reuid $ME --regid $MINE --clear-groups timeout 30 "$TMP/ioprobe" -o "$H/file" -- cat /etc/hostname >"$H.out" \
		2>"$H.err" </dev/null
	verdict "capabilities of the file" \
		"$([ $? = 0 ] && grep -q '^ISOC' "$H.err" && ! grep 'not probed' "$H.err" || cat "$H.err")"
	# What opens other users' files is for a recorder that has these rights, not for whoever starts its helper.
	setcap cap_dac_read_search,cap_sys_ptrace+ep "$TMP/ioprobe"
	verdict "capabilities of the file, the reader of layouts" "$(setpriv --reuid $ME --regid $MINE --clear-groups timeout 30 \
		"$PYTHON" - "$TMP/ioprobe" 2>&1 <<-'END'
		import os, re, socket, subprocess, sys, time
		ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		reader = subprocess.Popen(["/bin/sh", "-c", f'exec 3<&{theirs.fileno()}; exec "$0" stripes-reader', sys.argv[1]],
		                          pass_fds=[theirs.fileno()])
		theirs.close()
		ours.settimeout(20)
		ours.send(bytes(16 + 4 + 4 + 4) + b"/nowhere")
		if len(ours.recv(1 << 16)) < 20:
		    print("no answer")
		sets = re.findall(r"Cap(?:Prm|Eff|Inh|Amb):\t(\w+)", open(f"/proc/{reader.pid}/status").read())
		if len(sets) != 4 or any(int(s, 16) for s in sets):
		    print(sets)
		ours.close()
		reader.wait()
	END
	)"
	setcap -r "$TMP/ioprobe"
else
	skip "capabilities of the file" "setcap does not work here"
fi
with +bpf -o "$H/caps2" -- true
verdict "what is missing is named" "$([ $? = 1 ] && grep -q 'CAP_PERFMON is missing' "$H.err" && [ ! -e "$H/caps2" ] ||
	cat "$H.err")"
sleep 30 & roots=$!
with +bpf,+perfmon -o "$H/other" --pid $roots --duration 1
verdict "no other user's process without CAP_SYS_PTRACE" \
	"$([ $? = 1 ] && [ ! -e "$H/other" ] && grep -q "$roots" "$H.err" || cat "$H.err")"
kill $roots
install -m 600 /dev/null "$TMP/roots.probes" && echo 'secret of root' >"$TMP/roots.probes"
with +bpf,+perfmon,+dac_read_search -o "$H/table" --probes "$TMP/roots.probes" -- true
verdict "no table of another user's" "$([ $? = 1 ] && ! grep -q secret "$H.err" || cat "$H.err")"
with +bpf,+perfmon check
verdict "check names what is missing" "$(grep -q 'CAP_SYS_PTRACE' "$H.out" || cat "$H.out")"
limited 30 "$IOPROBE" check >"$H.out" 2>&1
verdict "check as root" "$([ $? = 0 ] && ! grep -q '^FAIL' "$H.out" || cat "$H.out")"

# ---- limits of the caller ----

(ulimit -f 16; limited 60 "$IOPROBE" -o "$H/small" --keep-spool -- dd if=/dev/zero of=/dev/null bs=1 count=5000 >"$H.out" \
	2>"$H.err" </dev/null)
verdict "file size limit" "$([ $? = 1 ] && grep -q 'File too large' "$H.err" || cat "$H.err")"

# ---- a program that goes on ----

limited 30 "$IOPROBE" -o "$H/on" --duration 0.5 -- sh -c 'echo $$; exec sleep 5' >"$H.out" 2>"$H.err" </dev/null
status=$?
pid=$(head -n 1 "$H.out")
verdict "the program goes on" "$([ $status = 0 ] && kill -0 "$pid" &&
	grep -q "sh (pid $pid) continues without being recorded" "$H.err" || cat "$H.err")"
kill "$pid"

# ---- an archive in any case ----

# readable NAME DIR: by both readers.
readable() {
	verdict "$1, otf2-print" "$(have otf2-print && otf2-print "$2/traces.otf2" 2>&1 >/dev/null)"
	verdict "$1, python3-otf2" "$("$PYTHON" -c "import otf2, sys
with otf2.reader.open(sys.argv[1]) as trace: assert len(trace.definitions.locations) >= 1, 'no location'" "$2/traces.otf2" 2>&1)"
	contract "$1" "$2/traces.otf2"
}
limited 30 "$IOPROBE" -o "$H/nothing" --layers netcdf -- true >/dev/null 2>&1 </dev/null
readable "no call" "$H/nothing"
sleep 30 & pid=$!
limited 30 "$IOPROBE" -o "$H/asleep" --pid $pid --duration 1 >/dev/null 2>&1 </dev/null
readable "asleep" "$H/asleep"
kill $pid

# What a kill while the archive is made leaves: any of its files, half of them, but no anchor that can be read.
limited 60 "$IOPROBE" -o "$H/again" --keep-spool -- cat /etc/hostname >/dev/null 2>&1 </dev/null
limited 30 "$IOPROBE" recover "$H/again" >/dev/null 2>"$H.err"
verdict "recover refuses a complete archive" \
	"$([ $? = 1 ] && grep -q 'traces.otf2 exists and is complete' "$H.err" || cat "$H.err")"
truncate -s 100 "$H/again/traces.otf2"
truncate -s 0 "$H/again/summary.json"
limited 30 "$IOPROBE" recover "$H/again" >/dev/null 2>"$H.err"
verdict "recover after a kill, half an anchor" "$([ $? = 0 ] || cat "$H.err")"
contract again "$H/again/traces.otf2"
rm "$H/again/traces.otf2"
limited 30 "$IOPROBE" recover "$H/again" >/dev/null 2>"$H.err"
verdict "recover after a kill, no anchor" "$([ $? = 0 ] || cat "$H.err")"
contract again "$H/again/traces.otf2"
