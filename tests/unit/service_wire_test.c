/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Messages of the service: limits of length, what is no message, text that would forge lines.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "service/wire.h"

static int pair[2];

static int setup(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair);
}

static int teardown(void **state)
{
	(void)state;
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static int receive(const void *data, size_t len, size_t max)
{
	json_t *message;
	int err;

	assert_int_equal(send(pair[0], data, len, 0), len);
	err = wire_receive(pair[1], max, &message);
	assert_true(err ? !message : json_is_object(message));
	json_decref(message);
	return err;
}

static void test_messages(void **state)
{
	json_t *message;

	(void)state;
	assert_int_equal(wire_answer(pair[0], false, "job %d: no", 7), 0);
	assert_int_equal(wire_receive(pair[1], WIRE_MAX_BYTES, &message), 0);
	assert_true(json_is_false(json_object_get(message, "ok")));
	assert_string_equal(wire_text(message, "message"), "job 7: no");
	assert_string_equal(wire_text(message, "nothing"), "");
	assert_string_equal(wire_text(message, "ok"), "");
	json_decref(message);
	assert_int_equal(wire_receive(pair[1], WIRE_MAX_BYTES, &message), -EAGAIN);
	close(pair[0]);
	assert_int_equal(wire_receive(pair[1], WIRE_MAX_BYTES, &message), -ENODATA);
	pair[0] = -1;
}

static void test_malformed(void **state)
{
	static const char *const texts[] = {
		"{", "[]", "1", "\"a\"", "{\"a\":1,\"a\":2}", "{\"a\":\"\\u0000\"}", "{\"a\":\"\xff\"}", "{} {}", "null", " ",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (receive(texts[i], strlen(texts[i]), WIRE_MAX_BYTES) != -EBADMSG)
			fail_msg("accepted: %s", texts[i]);
	assert_int_equal(receive("\0{", 2, WIRE_MAX_BYTES), -EBADMSG);
	assert_int_equal(receive("{}", 2, WIRE_MAX_BYTES), 0);
}

/* The length alone decides: a message that is too long is not parsed, whatever it has. */
static void test_limits(void **state)
{
	char text[WIRE_MAX_USER_BYTES + 1];

	(void)state;
	memset(text, ' ', sizeof(text));
	memcpy(text, "{}", 2);
	assert_int_equal(receive(text, WIRE_MAX_USER_BYTES, WIRE_MAX_USER_BYTES), 0);
	assert_int_equal(receive(text, WIRE_MAX_USER_BYTES + 1, WIRE_MAX_USER_BYTES), -EMSGSIZE);
	memset(text, '[', sizeof(text));
	assert_int_equal(receive(text, WIRE_MAX_USER_BYTES, WIRE_MAX_USER_BYTES), -EBADMSG);
	assert_int_equal(receive(text, WIRE_MAX_USER_BYTES + 1, WIRE_MAX_USER_BYTES), -EMSGSIZE);
}

/* A descriptor that comes with a message is closed: none is open afterwards. */
static void test_descriptors_are_dropped(void **state)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec data = { "{}", 2 };
	struct msghdr header = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *part = CMSG_FIRSTHDR(&header);
	int lowest = dup(0);
	json_t *message;

	(void)state;
	close(lowest);
	*part = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(part), &pair[0], sizeof(int));
	assert_int_equal(sendmsg(pair[0], &header, 0), 2);
	assert_int_equal(wire_receive(pair[1], WIRE_MAX_BYTES, &message), 0);
	json_decref(message);
	assert_int_equal(fcntl(lowest, F_GETFD), -1);
}

static void test_printable(void **state)
{
	static const struct { const char *text, *printable; } cases[] = {
		{ "job 1: done", "job 1: done" }, { "a\nioprobe: b", "a?ioprobe: b" }, { "\033[2Jx\r\t\177", "?[2Jx???" },
		{ "/home/m\xc3\xbcller", "/home/m\xc3\xbcller" }, { "/home/m\xfcller\xc3\xbc", "/home/m?ller??" },
		{ "a\xc2\x9b" "2J", "a??2J" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];

		strcpy(text, cases[i].text);
		wire_make_printable(text);
		assert_string_equal(text, cases[i].printable);
	}
}

/* An answer reaches the client, whatever bytes a path in it has. */
static void test_answer_with_any_bytes(void **state)
{
	json_t *message;

	(void)state;
	assert_int_equal(wire_answer(pair[0], true, "recording to /tmp/\xff\n"), 0);
	assert_int_equal(wire_receive(pair[1], WIRE_MAX_BYTES, &message), 0);
	assert_string_equal(wire_text(message, "message"), "recording to /tmp/??");
	json_decref(message);
}

static void test_listen(void **state)
{
	char dir[] = "/tmp/wire_test.XXXXXX", path[64], longer[200];
	int fd, client;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/socket", dir);
	assert_int_equal(wire_connect(path, 100), -ENOENT);
	fd = wire_listen(path);
	assert_true(fd >= 0);
	assert_int_equal(wire_listen(path), -EADDRINUSE);
	client = wire_connect(path, 100);
	assert_true(client >= 0);
	close(client);
	close(fd);
	assert_int_equal(wire_connect(path, 100), -ECONNREFUSED);
	fd = wire_listen(path);         /* what a killed service left is replaced */
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	rmdir(dir);
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(wire_listen(longer), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_messages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptors_are_dropped, setup, teardown),
		cmocka_unit_test(test_printable),
		cmocka_unit_test_setup_teardown(test_answer_with_any_bytes, setup, teardown),
		cmocka_unit_test(test_listen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
