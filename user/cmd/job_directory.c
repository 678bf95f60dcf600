/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Asks the node's service where it writes a job's recording.
 */
#include "cmd/job_directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "service/wire.h"

#define LIMIT_MS 5000

bool job_directory_is_name(const char *text)
{
	return *text && !strchr(text, '/') && access(text, F_OK);
}

/* The answer is one packet per recording; the last one is the newest. */
static int read_answers(int fd, char *dir, size_t len)
{
	bool end = false;
	int err = 0;

	while (!end && !err) {
		json_t *answer;

		err = wire_receive(fd, WIRE_MAX_BYTES, &answer);
		if (err)
			break;
		end = json_is_true(json_object_get(answer, "end")) || !json_is_true(json_object_get(answer, "ok"));
		if (!end && wire_text(answer, "output")[0] == '/' && !strchr(wire_text(answer, "output"), '%'))
			snprintf(dir, len, "%s", wire_text(answer, "output"));
		json_decref(answer);
	}
	return err;
}

int job_directory_find(const char *job, char *dir, size_t len, char *err, size_t err_len)
{
	const char *socket = getenv("IOPROBE_SOCKET") ?: DEFAULT_SOCKET;
	json_t *request = json_pack("{ss ss}", "request", "status", "job", job);
	int fd = wire_connect(socket, LIMIT_MS), ret = fd < 0 ? fd : !request ? -ENOMEM : wire_send(fd, request);

	dir[0] = 0;
	if (!ret)
		ret = read_answers(fd, dir, len);
	if (fd >= 0)
		close(fd);
	json_decref(request);
	if (ret)
		snprintf(err, err_len, "%s: there is no such directory, and no service at %s that may know a job of this name: %s",
			 job, socket, strerror(-ret));
	else if (!dir[0])
		snprintf(err, err_len, "%s: there is no such directory, and the service knows no recording of a job of this name",
			 job);
	return ret ? ret : dir[0] ? 0 : -ENOENT;
}
