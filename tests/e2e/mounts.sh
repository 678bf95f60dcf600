#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Which file system a file is on, what is mounted where, and the scope that follows: ext4 on a loop device, tmpfs, overlay, FUSE, a
# bind mount, a file system on top of another, a mount namespace and a chroot of the program's own.

# In a mount namespace of its own: whatever happens, nothing stays mounted.
if [ -z "${IOPROBE_TEST_NAMESPACE:-}" ]; then
	IOPROBE_TEST_NAMESPACE=1 exec unshare -m --propagation private bash "$0"
fi
. "$(dirname "$0")/../lib/e2e.sh"

# on_mount NAME TYPE SOURCE MOUNT_POINT [DIR]: the program "deleted" (and a file that stays) below the mount point.
on_mount() {
	local name=$1 type=$2 source=$3 point=$4 dir=${5:-$4}
	mkdir -p "$TMP/$name"
	record "$name" -- "$P/deleted" "$dir"
	verdict "$name, status" "$([ $STATUS = 0 ] || echo "status $STATUS: $(said "$TMP/$name")")"
	contract "$name" || return
	expect "$name" "prop('$dir/*', 'File system') == ['$type']" "prop('$dir/*', 'Mount Point') == ['$point']" \
		"prop('$dir/*', 'Mount Source') == ['$source']" \
		"prop('$dir/*', 'Block Size') == [${block:-$(stat -f -c %s "$dir")}]" \
		"has_file('$dir/gone') and has_file('$dir/old')" \
		"written('write') == 1500" \
		"not any(f.endswith('/gone') and f != '$dir/gone' for f in files)"
}

mkdir -p "$TMP"/{ext4,tmpfs,lower,merged,upper,bound,inner,private,root,fuse,source}
mkdir "$TMP/tmpfs/point" "$TMP/ext4/point"

mount -t tmpfs ioprobe_scratch "$TMP/tmpfs/point" && on_mount tmpfs tmpfs ioprobe_scratch "$TMP/tmpfs/point" ||
	skip tmpfs "cannot mount"

if have mkfs.ext4 && head -c 16777216 /dev/zero >"$TMP/image" && mkfs.ext4 -q -F "$TMP/image" 2>/dev/null &&
	mount -o loop "$TMP/image" "$TMP/ext4/point" 2>"$TMP/mount.err"; then
	on_mount ext4 ext4 "$(findmnt -n -o SOURCE "$TMP/ext4/point")" "$TMP/ext4/point"
	expect ext4 "scope('$TMP/ext4/point/*') == ['node']"
	mkdir "$TMP/ext4/point/below"
	mount -t tmpfs on_top "$TMP/ext4/point/below"
	on_mount nested tmpfs on_top "$TMP/ext4/point/below"
	umount "$TMP/ext4/point/below" "$TMP/ext4/point"
else
	skip ext4 "no loop device: $(head -n 1 "$TMP/mount.err" 2>/dev/null)"
fi

mkdir "$TMP/tmpfs/point/"{upper,work}
if mount -t overlay layers \
	-o "lowerdir=$TMP/lower,upperdir=$TMP/tmpfs/point/upper,workdir=$TMP/tmpfs/point/work" "$TMP/merged" 2>/dev/null; then
	block=None on_mount overlay overlay layers "$TMP/merged"        # overlay has no block size of its own
	umount "$TMP/merged"
else
	skip overlay "the kernel has no overlay file system"
fi

mount --bind "$TMP/tmpfs/point/upper" "$TMP/bound" && on_mount bind tmpfs ioprobe_scratch "$TMP/bound" || skip bind "cannot mount"

if have bindfs && [ -e /dev/fuse ] && bindfs "$TMP/source" "$TMP/fuse" 2>"$TMP/fuse.err"; then
	on_mount fuse "$(findmnt -n -o FSTYPE "$TMP/fuse")" "$(findmnt -n -o SOURCE "$TMP/fuse")" "$TMP/fuse"
	umount "$TMP/fuse"
else
	skip fuse "no FUSE file system: $(head -n 1 "$TMP/fuse.err" 2>/dev/null)"
fi

# The program makes the mount itself, in a namespace that ioprobe is not in.
mkdir -p "$TMP/namespace"
record namespace -- unshare -m --propagation private sh -c \
	"mount -t tmpfs only_inside '$TMP/private' && exec '$P/deleted' '$TMP/private'"
contract namespace &&
	expect namespace "has_file('$TMP/private/gone')" "prop('$TMP/private/gone', 'Mount Source') == ['only_inside']" \
		"prop('$TMP/private/gone', 'Mount Point') == ['$TMP/private']" \
		"prop('$TMP/private/gone', 'File system') == ['tmpfs']"

# Processes that have ended before the agent could read their mount table: the mount ids and device numbers are those of the one
# before.
mkdir -p "$TMP/brief/data"
record brief -- "$P/namespaces" "$TMP/brief/data"
contract brief && expect brief \
	"[prop('$TMP/brief/data/f%d' % i, 'Mount Source') for i in range(12)] == [['inside_%d' % i] for i in range(12)]" \
	"[scope('$TMP/brief/data/f%d' % i) for i in range(12)] == [['node']] * 12" \
	"prop('$TMP/brief/data/f*', 'Mount Point') == ['$TMP/brief/data']"
# Twelve file systems, one after the other, have a file of this name, mostly with the same device and inode numbers.
expect brief "sorted(prop('$TMP/brief/data/same', 'Mount Source')) == sorted('inside_%d' % i for i in range(12))" \
	"written('write', path='$TMP/brief/data/same') == sum(range(13))"

# Three inodes have one name in turn; the pages of the second are those of that name and not of the one that it had before.
fresh replaced >/dev/null
record replaced --mmap-faults -- "$P/replaced" "$TMP/replaced/data"
contract replaced && expect replaced "prop('$TMP/replaced/data/file', 'Inodes') == [3]" \
	"prop('$TMP/replaced/data/same', 'Inodes') == [None]" \
	"written('write', path='$TMP/replaced/data/file') == 40 and written('write', path='$TMP/replaced/data/same') == 20" \
	"prop('$TMP/replaced/data/file', 'Mapped Write Faults') == [1]" \
	"prop('$TMP/replaced/data/new', 'Mapped Write Faults') == [None]"
verdict "replaced, summary.json" "$("$PYTHON" - "$TMP/replaced" 2>&1 <<-'END'
	import json, sys
	files = {f["path"]: f["inodes"] for f in json.load(open(sys.argv[1] + "/trace/summary.json"))["files"]}
	want = {sys.argv[1] + "/data/" + name: n for name, n in (("file", 3), ("same", 1))}
	print({path: files.get(path) for path in want} if any(files.get(path) != n for path, n in want.items()) else "", end="")
END
)"

# In a chroot the path is still the one that everybody else knows.
mkdir -p "$TMP/chroot" "$TMP/root/data"
cp "$P/static" "$TMP/root/static"
record chroot -- chroot "$TMP/root" /static /data
contract chroot && expect chroot "has_file('$TMP/root/data/stream')" "written('write', path='$TMP/root/data/stream') == 20160"

# By a link, relative, and from another directory: one file, one name.
mkdir -p "$TMP/names/data"
ln -s "$TMP/names/data" "$TMP/names/link"
record names -- sh -c "cd '$TMP/names/link' && echo a >file && cd .. && echo b >>link/file && echo c >>./data/../data/file"
contract names && expect names "[f for f in files if f.endswith('/file')] == ['$TMP/names/data/file']" \
	"layer_bytes('POSIX', '*/file')[1] == 6"
