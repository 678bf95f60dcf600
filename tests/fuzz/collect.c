/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What a follower sends to "ioprobe collect": the first byte selects whether its token and its first line are sent before it.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/session.h"

static bool send_text(struct session *session, const char *text, size_t len)
{
	char *answer = NULL;
	bool goes_on = session_take(session, text, len, &answer);

	free(answer);
	return goes_on;
}

static void introduce(struct session *session, const struct token_secret *secret, bool begin)
{
	static const char first[] =
		"{\"type\":\"begin\",\"host\":null,\"kernel\":null,\"version\":null,\"batch_job\":null,\"command_line\":null,"
		"\"time\":\"1700000000.000000000\",\"interval_ns\":1000000000,\"recording\":7}\n";
	char token[TOKEN_ROOM], hello[TOKEN_ROOM + 100];

	if (!token_make(token, sizeof(token), secret, "c/1/1000"))
		abort();
	snprintf(hello, sizeof(hello), "{\"format\":\"ioprobe collect 1\",\"token\":\"%s\"}\n", token);
	if (!send_text(session, hello, strlen(hello)))
		abort();
	if (begin && !send_text(session, first, strlen(first)))
		abort();
}

int fuzz_collect(const uint8_t *data, size_t size)
{
	static const char *const files[] = { "c,1,1000.db", "c,1,1000.db-wal", "c,1,1000.db-shm", "c,1,1000.db-journal" };
	struct collect_counts counts = { 0 };
	struct token_secret secret = { .len = 32 };
	struct collect_space space = { fuzz_directory(), 1 << 20, 0, 0 };
	struct session *session;
	char path[4200];

	if (!size)
		return 0;
	session = session_create(&secret, &space, &counts);
	if (!session)
		return 0;
	if (data[0] % 3)
		introduce(session, &secret, data[0] % 3 == 2);
	send_text(session, (const char *)data + 1, size - 1);
	session_destroy(session);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", fuzz_directory(), files[i]);
		unlink(path);
	}
	return 0;
}
