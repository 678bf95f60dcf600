/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Names and paths as the program gave them. A path is kept as it is, beside the directory that it begins in: what ".." leads to
 * behind a symbolic link only the kernel knows, and it reports nothing about a call that failed.
 */
#include "replay/call_names.h"
#include "replay/fd/fds.h"
#include "replay/frame.h"
#include "replay/names.h"
#include "table/known_layers.h"

#include <errno.h>
#include <string.h>

#define AT_FDCWD (-100)
#define MAX_PATH_BYTES (64ull << 20)    /* of distinct paths: a walk over a file system of any size must fit in memory */

/* The path in an address of a local file or directory: "file:///d/x.zarr#mode=nczarr,file". */
bool name_of_local_address(const struct replay *r, const struct frame *f, struct str *path)
{
	static const char scheme[] = "file:///";
	size_t skip = sizeof(scheme) - 2, len;
	const char *end;

	if (path->len < sizeof(scheme) - 1 || memcmp(path->p, scheme, sizeof(scheme) - 1) ||
	    !known_layer_has_addresses(frame_layer(r, f)->paradigm))
		return false;
	len = path->len - skip;
	end = memchr(path->p + skip, '#', len);
	*path = (struct str){ path->p + skip, end ? (size_t)(end - path->p - skip) : len };
	return true;
}

struct str name_without_driver(const struct replay *r, const struct frame *f, struct str path)
{
	size_t driver = known_layer_driver(frame_layer(r, f)->paradigm, path.p, path.len);

	return (struct str){ path.p + driver, path.len - driver };
}

const char *name_directory(struct replay *r, struct thread *thread, const struct frame *f, enum table_role dirfd)
{
	struct open_file *inc;
	int64_t fd;

	if (!frame_arg(r, f, dirfd, &fd) || (int32_t)fd == AT_FDCWD)
		return thread->process->cwd;
	inc = fd_find(r, thread->process, thread->table, (int32_t)fd, f->enter_ns);
	return inc && inc->file != REF_NONE ? r->model->files.v[inc->file].path : NULL;
}

/* One path and the directory that it begins in. An empty path names the descriptor itself (AT_EMPTY_PATH). */
static int call_names_add_path(struct replay *r, struct thread *thread, const struct frame *f, enum table_role role,
			       enum table_role dirfd, uint32_t *path, uint32_t *directory)
{
	struct str text = frame_string(r, f, role);
	const char *base = NULL;
	int64_t pointer;

	if (!text.p) {
		bool none = frame_arg(r, f, role, &pointer) && !pointer;        /* futimens(3) gives none */

		r->names_unread += !none;
		return 0;
	}
	text = name_without_driver(r, f, text);
	if (!text.len)
		return 0;
	if (text.p[0] != '/' && !memmem(text.p, text.len, "://", 3))
		base = name_directory(r, thread, f, dirfd);
	if (r->path_bytes > MAX_PATH_BYTES) {
		r->names_beyond++;
		return 0;
	}
	r->path_bytes -= r->model->string_bytes;        /* what is new of both is added */
	*path = name_number(r, text.p, text.len);
	if (base)
		*directory = name_number(r, base, strlen(base));
	r->path_bytes += r->model->string_bytes;
	return *path && (!base || *directory) ? 0 : -ENOMEM;
}

int call_names_add(struct replay *r, struct thread *thread, const struct frame *f, struct model_event *leave)
{
	const struct row_info *info = frame_info(r, f);
	struct model_names *names = &leave->u.call.names;
	int ret;

	if (info->arg[ROLE_PATH] < 0 || (info->makes && !f->failed && !f->abandoned))
		return 0;
	ret = call_names_add_path(r, thread, f, ROLE_PATH, ROLE_DIRFD, &names->path, &names->directory);
	if (ret || info->arg[ROLE_PATH2] < 0)
		return ret;
	return call_names_add_path(r, thread, f, ROLE_PATH2, ROLE_DIRFD2, &names->new_path, &names->new_directory);
}

int call_names_finish(struct replay *r)
{
	int ret = 0;

	r->model->totals.names_unknown = r->names_unread + r->names_beyond;
	if (r->names_unread)
		ret = model_note(r->model, "%llu paths of calls on names are missing: they could not be read, or are too long",
				 (unsigned long long)r->names_unread);
	if (!ret && r->names_beyond)
		ret = model_note(r->model, "%llu paths of calls on names are missing: there were more than %llu MiB of different "
					   "ones",
				 (unsigned long long)r->names_beyond, MAX_PATH_BYTES >> 20);
	return ret;
}
