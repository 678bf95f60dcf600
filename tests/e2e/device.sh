#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# --device: what was read from the device and what from the page cache; --mmap-faults. Both need a file system on a block device.
. "$(dirname "$0")/../lib/e2e.sh"

# Bytes that each pread64 on the file read from the device, in the order of the calls.
bytes="[c.attributes.get('device read', 0) for c in select('pread64', path='*/data/data')]"

source=$(findmnt -n -o SOURCE --target "$TMP")
if [ -b "$source" ]; then
	fresh device >/dev/null
	record device --device -- "$P/device" "$TMP/device/data"
	verdict "device, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/device")")"
	contract device &&
		expect device "len($bytes) == 144" "sum($bytes[:64]) == 4 << 20" "sum($bytes[64:128]) == 0" \
		"$bytes[128:] == [4096] * 16" \
			"sum(c.attributes.get('i/o wait', 0) for c in select('*')) > 0" \
			"read('pread64', path='*/data/data') == (8 << 20) + (64 << 10)"
	lost_nothing device
	grep -q "^[0-9]* of [0-9]* system calls were not served from memory: they read" "$TMP/device/out" && ok "device, summary" ||
		not_ok "device, summary" "$(head -n 20 "$TMP/device/out")"
else
	skip device "$TMP is on $source, not on a block device"
fi

# Without the option there is nothing of it.
fresh without >/dev/null
record without -- "$P/device" "$TMP/without/data"
contract without && expect without "not any('device read' in c.attributes for c in trace.calls)"
verdict "without, summary" "$(grep "not served from memory" "$TMP/without/out")"

# --mmap-faults: of mapped files, in the archive as properties of the files. Pages are written back by syncfs (in a thread of the
# kernel) and by msync.
fresh faults >/dev/null
record faults --mmap-faults -- "$P/faults" "$TMP/faults/data"
contract faults && expect faults "(prop('*/data/shared', 'Mapped Write Faults') == [20]
	and prop('*/data/shared', 'Mapped Read Faults') == [0])" \
	"prop('*/data/private', 'Mapped Write Faults') == [0]" "1 <= prop('*/data/private', 'Mapped Read Faults')[0] <= 3"
if [ -b "$source" ]; then expect faults "prop('*/data/shared', 'Mapped Pages Written Back')[0] == 20"; fi
verdict "faults, measured" "$(grep 'through a mapping, not' "$TMP/faults/out")"
lost_nothing faults

# Shared memory that the kernel keeps as files of its own is no file of a mount, and not /dev/zero.
fresh memory >/dev/null
record memory --mmap-faults -- "$P/memory"
contract memory && expect memory "([prop(n + ':*', 'Mapped Write Faults') for n in ('memfd:own', 'shared_memory', 'SYSV00000000')]
	== [[2], [3], [1]])" \
	"layer_bytes('POSIX', 'memfd:own:*') == [0, 3]" \
	"not has_file('/memfd*') and not has_file('/SYSV*') and not has_file('/dev/zero')" \
	"scope('memfd:own:*') == [None] and prop('memfd:own:*', 'Mount Point') == [None]"
lost_nothing memory
for name in faults memory; do verdict "$name, no note twice" "$(grep '^note: ' "$TMP/$name/out" | sort | uniq -d)"; done
