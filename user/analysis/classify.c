/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Classifies functions and files by name, for what their events do not show.
 */
#include "analysis/classify.h"

#include <fnmatch.h>
#include <string.h>

static const char *const class_names[CLASSES] = {
	"read", "write", "open", "close", "stat", "seek", "sync", "lock", "resize", "define", "redefine", "attribute", "delete",
	"map", "init", "metadata", "other",
};

const char *call_class_name(enum call_class class)
{
	return class_names[class];
}

const char *file_class_name(enum file_class class)
{
	static const char *const names[FILE_CLASSES] = { "data", "log", "system", "program", "scratch", "excluded", "none" };

	return names[class];
}

/* Patterns of fnmatch(3); the first match decides. */
static const struct { const char *pattern; enum call_class class; } functions[] = {
	{ "nc_enddef", CLASS_DEFINE }, { "nc__enddef", CLASS_DEFINE }, { "ncmpi_enddef", CLASS_DEFINE },
	{ "ncmpi__enddef", CLASS_DEFINE }, { "nc_redef", CLASS_REDEFINE }, { "ncmpi_redef", CLASS_REDEFINE },
	{ "nc_put_att*", CLASS_ATTRIBUTE }, { "ncmpi_put_att*", CLASS_ATTRIBUTE }, { "H5A*", CLASS_ATTRIBUTE },
	{ "MPI_Init*", CLASS_INIT }, { "MPI_Finalize", CLASS_INIT },
	{ "*ftruncate*", CLASS_RESIZE }, { "truncate*", CLASS_RESIZE }, { "*fallocate*", CLASS_RESIZE },
	{ "MPI_File_set_size", CLASS_RESIZE }, { "MPI_File_preallocate", CLASS_RESIZE }, { "H5Dset_extent", CLASS_RESIZE },
	{ "*stat", CLASS_STAT }, { "*stat64", CLASS_STAT }, { "statx", CLASS_STAT }, { "newfstatat", CLASS_STAT },
	{ "*access*", CLASS_STAT }, { "readlink*", CLASS_STAT }, { "getdents*", CLASS_STAT }, { "H5Fis_*", CLASS_STAT },
	{ "mmap*", CLASS_MAP }, { "munmap", CLASS_MAP }, { "msync", CLASS_SYNC }, { "*sync*", CLASS_SYNC },
	{ "*flush*", CLASS_SYNC }, { "*lseek*", CLASS_SEEK }, { "fseek*", CLASS_SEEK }, { "MPI_File_seek*", CLASS_SEEK },
	{ "rewind", CLASS_SEEK }, { "flock", CLASS_LOCK }, { "*unlink*", CLASS_DELETE }, { "rmdir", CLASS_DELETE },
	{ "remove", CLASS_DELETE }, { "rename*", CLASS_DELETE }, { "MPI_File_delete", CLASS_DELETE },
	{ "*close*", CLASS_CLOSE }, { "*open*", CLASS_OPEN }, { "*create*", CLASS_OPEN }, { "creat", CLASS_OPEN },
};

enum call_class classify_function(const char *name, enum trace_layer layer)
{
	if (layer == LAYER_MPI && strncmp(name, "MPI_Init", 8) && strcmp(name, "MPI_Finalize"))
		return CLASS_NONE;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!fnmatch(functions[i].pattern, name, 0))
			return functions[i].class;
	return CLASS_NONE;
}

bool looks_up_name(const char *name)
{
	static const char *const names[] = { "open", "openat", "openat2", "creat", "stat", "lstat", "newfstatat", "statx", "access",
		"faccessat", "faccessat2", "readlink", "readlinkat" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

bool creates_space(const char *name)
{
	return !fnmatch("H5Dcreate*", name, 0) || !fnmatch("H5Dset_extent*", name, 0) || !fnmatch("*enddef", name, 0) ||
		!fnmatch("nc_def_var*", name, 0);
}

static const struct { const char *pattern; enum file_class class; } paths[] = {
	{ "/proc/*", FILE_SYSTEM }, { "/sys/*", FILE_SYSTEM }, { "/dev/shm/*", FILE_SCRATCH }, { "/dev/*", FILE_SYSTEM },
	{ "/etc/*", FILE_SYSTEM },
	{ "/proc", FILE_SYSTEM }, { "/sys", FILE_SYSTEM }, { "/run/*", FILE_SYSTEM }, { "/var/lib/*", FILE_SYSTEM },
	{ "/usr/*", FILE_PROGRAM }, { "/lib/*", FILE_PROGRAM }, { "/lib64/*", FILE_PROGRAM }, { "/bin/*", FILE_PROGRAM },
	{ "*.so", FILE_PROGRAM }, { "*.so.*", FILE_PROGRAM }, { "*.py", FILE_PROGRAM }, { "*.pyc", FILE_PROGRAM },
	{ "*/site-packages/*", FILE_PROGRAM },
	{ "*/dist-packages/*", FILE_PROGRAM }, { "*/site-packages", FILE_PROGRAM }, { "*/dist-packages", FILE_PROGRAM },
	{ "*.mo", FILE_PROGRAM },
	/* interpreters that users install: pyenv, conda, virtual environments */
	{ "*/.pyenv/*", FILE_PROGRAM }, { "*/lib/python[23].*", FILE_PROGRAM }, { "*/lib64/python[23].*", FILE_PROGRAM },
	{ "*/lib/python[23][0-9]*.zip", FILE_PROGRAM }, { "*/__pycache__/*", FILE_PROGRAM }, { "*/pyvenv.cfg", FILE_PROGRAM },
	{ "*/conda-meta/*", FILE_PROGRAM },
	{ "*/ompi.*", FILE_SCRATCH }, { "*/pmix*", FILE_SCRATCH }, { "*/prte.*", FILE_SCRATCH }, { "*/.lockdirs/*", FILE_SCRATCH },
	{ "*vader_segment*", FILE_SCRATCH }, { "*.locktest.[0-9]*", FILE_SCRATCH },
	{ "*.log", FILE_LOG }, { "*.out", FILE_LOG }, { "*.err", FILE_LOG }, { "*/stdout*", FILE_LOG }, { "*/stderr*", FILE_LOG },
};

enum file_class classify_file(const struct trace_file *file)
{
	static const char *const kernel[] = { "proc", "sysfs", "cgroup", "cgroup2", "devtmpfs", "devpts", "debugfs", "tracefs" };

	if (!file->name || file->name[0] != '/')
		return file->name && *file->name && !strchr(file->name, ':') ? FILE_DATA : FILE_NONE;
	for (size_t i = 0; trace_mount_of(file)->fs_type && i < sizeof(kernel) / sizeof(*kernel); i++)
		if (!strcmp(trace_mount_of(file)->fs_type, kernel[i]))
			return FILE_SYSTEM;
	if (file->directory)
		return FILE_SYSTEM;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (!fnmatch(paths[i].pattern, file->name, 0))
			return paths[i].class;
	return FILE_DATA;
}

uint64_t file_alignment(const struct trace *trace, uint32_t file)
{
	const struct trace_file *f = &trace->files.v[file];
	const char *class = f->scope < trace->nodes.n ? trace->nodes.v[f->scope].class : NULL;

	if (trace_mount_of(f)->stripe_bytes)
		return trace_mount_of(f)->stripe_bytes;
	return class && !strcmp(class, "machine") ? trace_mount_of(f)->block_bytes : 0;
}
