/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * mountinfo: rows, escapes, the mount of a path, scopes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mounts.h"

static const char table[] =
	"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
	"23 22 0:21 / /proc rw,nosuid - proc proc rw\n"
	"40 22 0:44 /export/home /home rw,relatime shared:9 master:3 propagate_from:2 - nfs4 server:/export rw,vers=4.2\n"
	"41 40 0:45 / /home/a\\040b\\134c\\043 rw - lustre 10.0.0.1@tcp:/scratch rw\n"
	"42 22 0:46 / /mnt rw - tmpfs  rw,size=1k\n"
	"43 42 0:47 / /mnt rw - xfs /dev/sdb1 rw\n"
	"44 22 259:4294967295 / /homes rw - fuse.something some-thing rw\n";

static int parse(struct mounts *mounts)
{
	return mounts_parse(mounts, table, sizeof(table) - 1);
}

static void test_rows(void **state)
{
	const struct mount_row *row;
	struct mounts mounts;

	(void)state;
	assert_int_equal(parse(&mounts), 0);
	assert_int_equal(mounts.n, 7);
	row = mounts_by_id(&mounts, 40);
	assert_int_equal(row->parent_id, 22);
	assert_int_equal(row->dev_major, 0);
	assert_int_equal(row->dev_minor, 44);
	assert_string_equal(row->root, "/export/home");
	assert_string_equal(row->mount_point, "/home");
	assert_string_equal(row->fs_type, "nfs4");
	assert_string_equal(row->source, "server:/export");
	assert_string_equal(row->options, "rw,relatime,rw,vers=4.2");
	assert_string_equal(mounts_by_id(&mounts, 41)->mount_point, "/home/a b\\c#");
	assert_string_equal(mounts_by_id(&mounts, 42)->source, "");
	assert_int_equal(mounts_by_id(&mounts, 44)->dev_minor, 4294967295u);
	assert_null(mounts_by_id(&mounts, 4));
	mounts_deinit(&mounts);
}

static uint32_t id_of(const struct mounts *mounts, const char *path)
{
	const struct mount_row *row = mounts_by_path(mounts, path);

	return row ? row->id : 0;
}

static void test_paths(void **state)
{
	struct mounts mounts;

	(void)state;
	assert_int_equal(parse(&mounts), 0);
	assert_int_equal(id_of(&mounts, "/"), 22);
	assert_int_equal(id_of(&mounts, "/etc/passwd"), 22);
	assert_int_equal(id_of(&mounts, "/home"), 40);
	assert_int_equal(id_of(&mounts, "/home/me/x"), 40);
	assert_int_equal(id_of(&mounts, "/homes/x"), 44);
	assert_int_equal(id_of(&mounts, "/homely"), 22);
	assert_int_equal(id_of(&mounts, "/home/a b\\c#/file"), 41);
	assert_int_equal(id_of(&mounts, "/mnt/x"), 43);         /* the later of two on the same place */
	assert_int_equal(id_of(&mounts, "relative"), 0);
	mounts_deinit(&mounts);
}

static void test_errors(void **state)
{
	static const char *const bad[] = {
		"22 1 8:1 / / rw", "22 1 8:1 / / rw shared:1 ext4 /dev/sda1 rw\n",
		"x 1 8:1 / / rw - ext4 a rw\n", "22 1 81 / / rw - ext4 a rw\n",
		"22 1 8:1x / / rw - ext4 a rw\n", "22 -1 8:1 / / rw - ext4 a rw\n", "22 1 8:1 / / rw - ext4 a\n",
		"99999999999 1 8:1 / / rw - ext4 a rw\n",
	};
	struct mounts mounts;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *text;

		assert_true(asprintf(&text, "%s%s", table, bad[i]) > 0);
		assert_int_equal(mounts_parse(&mounts, text, strlen(text)), -EINVAL);
		assert_int_equal(mounts.n, 0);
		free(text);
	}
	assert_int_equal(mounts_parse(&mounts, "", 0), 0);
	assert_null(mounts_by_path(&mounts, "/"));
	mounts_deinit(&mounts);
}

static void test_scopes(void **state)
{
	static const struct { const char *type; enum model_scope scope; } cases[] = {
		{ "nfs", SCOPE_SHARED }, { "nfs4", SCOPE_SHARED },
		{ "lustre", SCOPE_SHARED }, { "gpfs", SCOPE_SHARED }, { "beegfs", SCOPE_SHARED },
		{ "ceph", SCOPE_SHARED }, { "cifs", SCOPE_SHARED },
		{ "smb3", SCOPE_SHARED }, { "9p", SCOPE_SHARED }, { "virtiofs", SCOPE_SHARED },
		{ "fuse.glusterfs", SCOPE_SHARED }, { "fuse.sshfs", SCOPE_SHARED },
		{ "fuse.dfuse", SCOPE_SHARED }, { "pvfs2", SCOPE_SHARED },
		{ "gfs2", SCOPE_SHARED }, { "ocfs2", SCOPE_SHARED }, { "panfs", SCOPE_SHARED }, { "wekafs", SCOPE_SHARED },
		{ "ext4", SCOPE_NODE }, { "xfs", SCOPE_NODE }, { "btrfs", SCOPE_NODE }, { "tmpfs", SCOPE_NODE },
		{ "zfs", SCOPE_NODE },
		{ "overlay", SCOPE_NODE }, { "proc", SCOPE_NODE }, { "cgroup2", SCOPE_NODE }, { "fuseblk", SCOPE_NODE },
		{ "fuse.fuse-overlayfs", SCOPE_NODE }, { "fuse.squashfuse", SCOPE_NODE },
		{ "fuse.something", SCOPE_UNKNOWN }, { "fuse", SCOPE_UNKNOWN },
		{ "newfs", SCOPE_UNKNOWN }, { "nfs5", SCOPE_UNKNOWN }, { "", SCOPE_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct mount_row row = { .fs_type = (char *)cases[i].type };

		if (mount_scope(&row) != cases[i].scope)
			fail_msg("%s: scope %d", cases[i].type, mount_scope(&row));
	}
}

static void test_own_table(void **state)
{
	static char text[1 << 20];
	FILE *file = fopen("/proc/self/mountinfo", "re");
	struct mounts mounts;
	size_t len, lines = 0;

	(void)state;
	assert_non_null(file);
	len = fread(text, 1, sizeof(text), file);
	fclose(file);
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	assert_int_equal(mounts_parse(&mounts, text, len), 0);
	assert_int_equal(mounts.n, lines);
	assert_string_equal(mounts_by_path(&mounts, "/proc/self/maps")->fs_type, "proc");
	mounts_deinit(&mounts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),   cmocka_unit_test(test_paths),     cmocka_unit_test(test_errors),
		cmocka_unit_test(test_scopes), cmocka_unit_test(test_own_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
