/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * libdw uses the same client only through its own search for debug files, which needs the code file; a recording's is often gone.
 */
#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libdebuginfod.so.1"

/* <elfutils/debuginfod.h>, version 0.188; not a build dependency */
typedef struct debuginfod_client debuginfod_client;
typedef debuginfod_client *begin_function(void);
typedef int find_function(debuginfod_client *client, const unsigned char *build_id, int build_id_len, char **path);
typedef void end_function(debuginfod_client *client);

struct debuginfod {
	debuginfod_client *client;
	find_function *find;
	end_function *end;
	int failure;            /* -errno */
};

int debuginfod_create(struct debuginfod **out, char *err, size_t err_len)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	begin_function *begin = library ? (begin_function *)dlsym(library, "debuginfod_begin") : NULL;
	struct debuginfod *client = calloc(1, sizeof(*client));
	const char *why;

	if (client && library) {
		client->find = (find_function *)dlsym(library, "debuginfod_find_debuginfo");
		client->end = (end_function *)dlsym(library, "debuginfod_end");
	}
	if (client && begin && client->find && client->end)
		client->client = begin();
	if (client && client->client) {
		*out = client;
		return 0;
	}
	why = !library ? dlerror() : !client ? "out of memory" :
	      !begin || !client->find || !client->end ? LIBRARY " lacks a function" : "its client cannot be created";
	snprintf(err, err_len, "debuginfod servers cannot be asked: %s", why);
	free(client);
	return library ? -ENOMEM : -ENOENT;
}

void debuginfod_destroy(struct debuginfod *client)
{
	if (!client)
		return;
	client->end(client->client);
	free(client);
}

int debuginfod_find(struct debuginfod *client, const char *build_id)
{
	char *path = NULL;
	int fd;

	if (client->failure)
		return -1;
	fd = client->find(client->client, (const unsigned char *)build_id, 0, &path);   /* 0: it is text */
	free(path);
	if (fd < 0 && fd != -ENOENT)
		client->failure = fd;
	return fd < 0 ? -1 : fd;
}

const char *debuginfod_failure(const struct debuginfod *client)
{
	return client->failure ? strerror(-client->failure) : NULL;
}
