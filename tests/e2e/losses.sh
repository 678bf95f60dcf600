#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What was made is what was recorded and what is reported to be lost: on a full disk, and when the recorder was killed.
. "$(dirname "$0")/../lib/e2e.sh"

made=50000

# counted NAME: the recovered archive in $TMP/NAME/trace has fewer writes than were made, and what is missing is counted.
counted() {
	local lost recorded
	lost=$(sed -n 's/^records lost \(at least \)\?\([0-9]*\)$/\2/p' "$TMP/$1/out")
	recorded=$(otf2-print "$TMP/$1/trace/traces.otf2" | grep -c '^ENTER.*Region: "write"')
	verdict "$1, counted" "$([ "${recorded:-0}" -lt $made ] && [ $((recorded + ${lost:-0})) -ge $made ] ||
		echo "$recorded of $made writes are recorded, $lost records lost: $(said "$TMP/$1")")"
}

# A file system that the program fills to the last byte before it makes its calls: no record fits any more, the end does.
full_disk() {
	fresh full >/dev/null
	mkdir "$TMP/full/small"
	mount -t tmpfs -o size=300k small "$TMP/full/small" || { skip full "cannot mount a tmpfs"; return; }
	limited 90 "$IOPROBE" -o "$TMP/full/small/trace" -- sh -c 'head -c 400k /dev/zero >"$0/filler"
		exec dd if=/dev/zero of=/dev/null bs=1 count="$1"' "$TMP/full/small" $made >/dev/null 2>"$TMP/full/err"
	STATUS=$?
	mkdir "$TMP/full/trace"
	cp "$TMP/full/small/trace/spool" "$TMP/full/trace/spool"
	umount "$TMP/full/small"
	verdict "full, failed" "$([ $STATUS != 0 ] || echo 'status 0')"
	limited 60 "$IOPROBE" recover "$TMP/full/trace" >"$TMP/full/out" 2>>"$TMP/full/err"
	contract full && counted full
	verdict "full, has its end" "$(grep 'has no end' "$TMP/full/out")"
}

# Killed in the middle: never "records lost 0".
killed() {
	local recorder
	fresh killed >/dev/null
	"$IOPROBE" -o "$TMP/killed/trace" -- sh -c 'echo >"$0/data/ready"; sleep 2; echo >>"$0/data/ready"; sleep 4' "$TMP/killed" \
		>"$TMP/killed/out" 2>"$TMP/killed/err" & recorder=$!
	wait_for_file "$TMP/killed/data/ready"
	sleep 3
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	limited 60 "$IOPROBE" recover "$TMP/killed/trace" >"$TMP/killed/out" 2>>"$TMP/killed/err"
	contract killed
	verdict "killed, says what it cannot know" "$(grep -q '^records lost at least [0-9]*$' "$TMP/killed/out" &&
		grep -q 'it has no end; what was lost in its last second is not known' "$TMP/killed/out" ||
		grep -i 'lost' "$TMP/killed/out")"
}

# The exit record of the only target finds its ring full, because the recorder is stopped: the recording ends all the same.
exit_lost() {
	local dir target recorder i
	dir=$(fresh exit_lost)
	sh -c 'while [ ! -e "$0/go" ]; do sleep 0.1; done; exec dd if=/dev/zero of=/dev/null bs=1 count=200000' "$dir/data" \
		2>"$dir/program.err" & target=$!
	SLURM_CLUSTER_NAME=fjord "$IOPROBE" --ring-size 1 --pid $target -o "$dir/trace" --summary "$dir/out" >"$dir/stdout" \
		2>"$dir/err" & recorder=$!
	wait_for_line "$dir/err" 'recording' 30 || { not_ok exit_lost "not ready: $(said "$dir")"; kill $target $recorder; return; }
	kill -STOP $recorder
	touch "$dir/data/go"
	end_of $target 60
	kill -CONT $recorder
	for ((i = 0; i < 600; i++)); do kill -0 $recorder 2>/dev/null || break; sleep 0.05; done
	verdict "exit_lost, ends with its target" "$(kill -0 $recorder 2>/dev/null && echo 'it still records after 30 s')"
	end_of $recorder 1
	verdict "exit_lost, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$dir")")"
	verdict "exit_lost, reported" "$(grep -q '1 processes ended without a record of their end' "$dir/out" ||
		grep -i 'lost\|end' "$dir/out" | head -n 3)"
	contract exit_lost
	verdict "exit_lost, cluster and kernel" "$(archive=$dir/trace/traces.otf2
		otf2-print -G "$archive" | grep -q '^SYSTEM_TREE_NODE .*Name: "fjord".*Class: "machine"' ||
			echo 'the root node has another name.'
		otf2-print -I "$archive" | grep -A 1 IOPROBE::KERNEL | grep -q "$(uname -r)" || echo 'no property KERNEL')"
}

full_disk
killed
exit_lost
