/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The files of an archive in a directory: check for completeness, and removal.
 */
#include "sink/otf2/otf2.h"
#include "otf2/otf2_library.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#define ANCHOR OTF2_ARCHIVE_NAME ".otf2"

/* The library leaks its archive object if it cannot read the anchor file (OTF2 3.0.2): excluded from leak detection. */
static OTF2_Reader *otf2_files_open_reader(void)
{
	OTF2_Reader *reader;

#ifdef __SANITIZE_ADDRESS__
	__lsan_disable();
#endif
	reader = OTF2_Reader_Open(ANCHOR);
#ifdef __SANITIZE_ADDRESS__
	__lsan_enable();
#endif
	return reader;
}

/* The library opens by name: the directory temporarily becomes the current one. */
static bool can_be_read(int dir)
{
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	OTF2_Reader *reader = NULL;

	otf2_library_watch();
	if (here >= 0 && !fchdir(dir)) {
		reader = otf2_files_open_reader();
		if (reader && OTF2_Reader_Close(reader) != OTF2_SUCCESS)
			reader = NULL;
		if (fchdir(here))
			reader = NULL;
	}
	if (here >= 0)
		close(here);
	return reader && !otf2_library_failed();
}

bool otf2_archive_is_complete(int dir)
{
	struct stat st;

	return !fstatat(dir, ANCHOR, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) && st.st_size && can_be_read(dir);
}

static int remove_name(int dir, const char *name, int flags)
{
	return unlinkat(dir, name, flags) && errno != ENOENT ? -errno : 0;
}

static int empty_directory(int above)
{
	int fd = openat(above, OTF2_ARCHIVE_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && !err)
			err = remove_name(fd, entry->d_name, 0);
	closedir(dir);
	return err;
}

int otf2_archive_remove(int dir)
{
	struct stat st;
	int err = remove_name(dir, ANCHOR, 0);

	if (!err)
		err = remove_name(dir, OTF2_ARCHIVE_NAME ".def", 0);
	if (err || fstatat(dir, OTF2_ARCHIVE_NAME, &st, AT_SYMLINK_NOFOLLOW))
		return err;
	if (!S_ISDIR(st.st_mode))
		return remove_name(dir, OTF2_ARCHIVE_NAME, 0);
	err = empty_directory(dir);
	return err ? err : remove_name(dir, OTF2_ARCHIVE_NAME, AT_REMOVEDIR);
}
