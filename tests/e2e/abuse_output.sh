#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A user attacks the directories that root writes to for him: exchanges them, plants links and FIFOs. He gains nothing: root's files
# stay as they are, nothing becomes his, and nothing of root's is in his directories.
. "$(dirname "$0")/../lib/e2e.sh"
have setpriv || { skip all "no setpriv"; exit 0; }

ME=65534 MINE=65534 NAME=nobody
as_user() { setpriv --reuid $ME --regid $MINE --clear-groups "$@"; }
# ioprobe_sudo ARGUMENT...: as sudo starts it for the user.
ioprobe_sudo() { SUDO_UID=$ME SUDO_GID=$MINE SUDO_USER=$NAME limited 60 "$IOPROBE" "$@"; }

SECRET=$TMP/secret
mkdir -m 755 "$SECRET"
echo 'root only' >"$SECRET/file"
chmod 600 "$SECRET/file"

# A directory of the user's, empty.
home() { mkdir "$TMP/$1" && chown $ME:$MINE "$TMP/$1" && echo "$TMP/$1"; }

# gained_nothing NAME HOME [DIR]: what the attack changed; HOME/DIR is a directory that root had made there.
gained_nothing() {
	verdict "$1, root's file" "$([ "$(stat -c '%u %a %h' "$SECRET/file") $(cat "$SECRET/file")" = "0 600 1 root only" ] ||
		stat -c '%U %a %h %s' "$SECRET/file")"
	verdict "$1, root's directory" "$(find "$SECRET" -mindepth 1 \( ! -name file -o ! -user 0 \))"
	verdict "$1, nothing of root's in the user's" "$(find "$2" -mindepth 1 -user 0 ${3:+! -path "$2/$3*"} | head -n 3)"
}

# The recorded program attacks while it is recorded; at the end links stand where root will write.
attack_links() {
	local home
	home=$(home links)
	ioprobe_sudo -o "$home/x" -- "$P/evil" "$home" x "$SECRET/file" >"$home.out" 2>"$home.err" </dev/null
	gained_nothing "exchange for links" "$home"
	verdict "exchange for links, recorded" "$([ -e "$home/kept/traces.otf2" ] || tail -n 2 "$home.err")"
}
attack_links

# At the end a directory full of root's files stands there.
attack_directory() {
	local home
	home=$(home directory)
	mkdir "$home/roots"
	touch "$home/roots/plain"{1..300}
	ioprobe_sudo -o "$home/x" -- "$P/evil" "$home" x "$SECRET/file" roots >"$home.out" 2>"$home.err" </dev/null
	gained_nothing "exchange for root's directory" "$home" x
	verdict "exchange for root's directory, files given away" \
		"$(find "$home/x" "$home/roots" ! -user 0 2>/dev/null | head -n 3)"
}
attack_directory

# Links appear while root recovers a user's directory.
attack_recover() {
	local home planter i
	home=$(home recover)
	ioprobe_sudo -q --keep-spool -o "$home/r" -- true >/dev/null 2>"$home.err" </dev/null
	setpriv --reuid $ME --regid $MINE --clear-groups timeout 60 bash -c \
		'while :; do for f in traces.def traces.otf2 summary.json collectives.json; do ln -s "$1" "$0/$f"; done; done' \
		"$home/r" "$SECRET/file" 2>/dev/null & planter=$!
	for i in 1 2 3 4 5 6 7 8; do
		rm -rf "$home/r/traces"* "$home/r/"*.json
		limited 20 "$IOPROBE" recover "$home/r" >/dev/null 2>"$home.err" </dev/null
	done
	kill $planter
	wait $planter 2>/dev/null
	sleep 0.3               # its last ln
	gained_nothing "recover among links" "$home"
	rm -rf "$home/r/traces"* "$home/r/"*.json
	verdict "recover as the owner" "$(limited 20 "$IOPROBE" recover "$home/r" 2>&1 >/dev/null </dev/null)"
	gained_nothing "recover as the owner" "$home"
	as_user mv "$home/r/spool" "$home/r/moved"
	as_user ln -s "$SECRET/file" "$home/r/spool"
	limited 20 "$IOPROBE" recover "$home/r" >/dev/null 2>"$home.err" </dev/null
	verdict "recover of a link" "$([ $? = 1 ] && grep -q 'symbolic link' "$home.err" || cat "$home.err")"
	as_user rm "$home/r/spool"
	as_user mkfifo "$home/r/spool"
	limited 20 "$IOPROBE" recover "$home/r" >/dev/null 2>"$home.err" </dev/null
	verdict "recover of a FIFO" "$([ $? = 1 ] && grep -q 'spool' "$home.err" || cat "$home.err")"
}
attack_recover

# refuses NAME PATTERN COMMAND...: status 1 and one line, nothing written to $home/d.
refuses() {
	"${@:3}" >/dev/null 2>"$TMP/err" </dev/null
	verdict "$1" "$([ $? = 1 ] && [ "$(wc -l <"$TMP/err")" = 1 ] && grep -q "$2" "$TMP/err" && [ -z "$(ls -A "$home/d/")" ] ||
		cat "$TMP/err")"
}
home=$(home refused)
mkdir "$home/d"
refuses "empty directory of another user" 'does not belong to user' ioprobe_sudo -o "$home/d" -- true
chown $ME "$home/d"
refuses "root, a user's empty directory" 'does not belong to user' limited 20 "$IOPROBE" -o "$home/d" -- true
ln -s d "$home/link"
refuses "a link" 'symbolic link' ioprobe_sudo -o "$home/link" -- true
chown 0 "$home/d" && chmod 777 "$home/d"
refuses "root, a directory that others may write to" 'other users may write' limited 20 "$IOPROBE" -o "$home/d" -- true
refuses "user who does not exist" 'SUDO_UID' env SUDO_UID=77777 timeout 20 "$IOPROBE" -o "$home/e" -- true
chmod 700 "$home/d"
refuses "where the user may not write" 'Permission denied for user' ioprobe_sudo -o "$home/d/x" -- true

# Root merges what is root's; under sudo the merge is the caller's.
merging() {
	local home
	home=$(home merging)
	ioprobe_sudo -q -o "$home/n1" -- true >/dev/null 2>&1 </dev/null
	limited 20 "$IOPROBE" merge -o "$TMP/merged" "$home/n1" >/dev/null 2>"$home.err" </dev/null
	verdict "root merges no user's archive" \
		"$([ $? = 1 ] && grep -q "belongs to user $NAME" "$home.err" && [ ! -e "$TMP/merged" ] || cat "$home.err")"
	ioprobe_sudo merge -o "$home/merged" "$home/n1" >/dev/null 2>"$home.err" </dev/null
	verdict "merge under sudo" "$([ $? = 0 ] || cat "$home.err")"
	gained_nothing "merge under sudo" "$home"
	limited 30 "$IOPROBE" -q -o "$TMP/n2" -- true >/dev/null 2>&1 </dev/null
	limited 20 "$IOPROBE" merge -o "$home/merged2" "$TMP/n2" >/dev/null 2>"$home.err" </dev/null
	verdict "root merges to no user's directory" \
		"$([ $? = 1 ] && grep -q 'other users may change' "$home.err" || cat "$home.err")"
}
merging
