/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Connections to the service: limits per user, root's own places, time limits, budgets.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "service/clients.h"

#define SECOND 1000000000ull

/* The other end is given back in *other (NULL: closed). */
static int connect_as(struct clients *clients, uid_t uid, uint64_t now_ns, int *other)
{
	struct ucred peer = { .pid = 1, .uid = uid, .gid = uid };
	int pair[2], err;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	err = clients_add(clients, pair[0], &peer, now_ns);
	if (err)
		close(pair[0]);
	if (other)
		*other = pair[1];
	else
		close(pair[1]);
	return err;
}

static void test_limit_per_user(void **state)
{
	struct clients clients = { 0 };

	(void)state;
	for (int i = 0; i < CLIENTS_MAX_PER_USER; i++)
		assert_int_equal(connect_as(&clients, 1000, 0, NULL), 0);
	assert_int_equal(connect_as(&clients, 1000, 0, NULL), -EUSERS);
	assert_int_equal(connect_as(&clients, 1001, 0, NULL), 0);
	assert_int_equal(connect_as(&clients, 0, 0, NULL), 0);
	assert_int_equal(clients.nusers, CLIENTS_MAX_PER_USER + 1);
	assert_int_equal(clients.nroot, 1);
	clients_deinit(&clients);
	assert_int_equal(clients.nusers + clients.nroot, 0);
}

/* Many users: the oldest connection goes, never root's. */
static void test_all_places(void **state)
{
	struct clients clients = { 0 };
	int root, other;

	(void)state;
	assert_int_equal(connect_as(&clients, 0, 0, &root), 0);
	assert_int_equal(connect_as(&clients, 1, 0, &other), 0);
	for (uid_t uid = 2; uid <= CLIENTS_MAX_USERS + 1; uid++)
		assert_int_equal(connect_as(&clients, uid, uid, NULL), 0);
	assert_int_equal(clients.nusers, CLIENTS_MAX_USERS);
	assert_int_equal(read(other, &(char){ 0 }, 1), 0);      /* the first user's was closed */
	assert_int_equal(clients.first->peer.uid, 0);
	for (int i = 1; i < CLIENTS_MAX_ROOT; i++)
		assert_int_equal(connect_as(&clients, 0, 0, NULL), 0);
	assert_int_equal(connect_as(&clients, 0, 0, NULL), -EUSERS);
	close(root);
	close(other);
	clients_deinit(&clients);
}

static void test_root_first(void **state)
{
	struct clients clients = { 0 };
	struct ucred peer;
	int fds[3], fd;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(connect_as(&clients, i < 2 ? 1000 + i : 0, 0, &fds[i]), 0);
	assert_int_equal(clients_take_ready(&clients, true, &peer), -1);
	assert_int_equal(clients_take_ready(&clients, false, &peer), -1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(write(fds[i], "{}", 2), 2);
	fd = clients_take_ready(&clients, true, &peer);
	assert_true(fd >= 0 && !peer.uid);
	close(fd);
	for (uid_t uid = 1000; uid < 1002; uid++) {
		fd = clients_take_ready(&clients, false, &peer);
		assert_true(fd >= 0);
		assert_int_equal(peer.uid, uid);
		close(fd);
	}
	assert_null(clients.first);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

static void test_silent_ones_are_closed(void **state)
{
	struct clients clients = { 0 };
	int root;

	(void)state;
	assert_int_equal(connect_as(&clients, 0, 0, &root), 0);
	for (uid_t uid = 1; uid < 9; uid++)
		assert_int_equal(connect_as(&clients, uid, 0, NULL), 0);
	clients_expire(&clients, SECOND);
	assert_int_equal(clients.nusers, 8);
	clients_expire(&clients, SECOND + 1);
	assert_int_equal(clients.nusers, 0);
	assert_int_equal(clients.nroot, 1);
	clients_expire(&clients, 2 * SECOND + 1);
	assert_int_equal(clients.nroot, 0);
	close(root);
}

static void test_budget(void **state)
{
	struct clients clients = { 0 };
	int given = 0;

	(void)state;
	while (clients_charge(&clients, 1000, 4, SECOND))
		given++;
	assert_int_equal(given, (int)(BUDGET_BURST / 4));
	assert_true(clients_charge(&clients, 1001, 4, SECOND));
	for (int i = 0; i < 1000; i++)
		assert_true(clients_charge(&clients, 0, 4, SECOND));
	assert_false(clients_charge(&clients, 1000, 1, SECOND));
	assert_true(clients_charge(&clients, 1000, BUDGET_PER_S, 2 * SECOND));
	assert_false(clients_charge(&clients, 1000, 1, 2 * SECOND));
	assert_true(clients_charge(&clients, 1000, BUDGET_BURST, 1000 * SECOND));       /* never more than the burst */
	assert_false(clients_charge(&clients, 1000, 1, 1000 * SECOND));
}

/* More users than the list has room for: who has asked most is not forgotten. */
static void test_budgets_of_many(void **state)
{
	struct clients clients = { 0 };

	(void)state;
	assert_true(clients_charge(&clients, 1, BUDGET_BURST, SECOND));
	for (uid_t uid = 2; uid < 10 * BUDGETS; uid++)
		assert_true(clients_charge(&clients, uid, 1, SECOND));
	assert_int_equal(clients.nbudgets, BUDGETS);
	assert_false(clients_charge(&clients, 1, 1, SECOND));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit_per_user), cmocka_unit_test(test_all_places),
		cmocka_unit_test(test_root_first),     cmocka_unit_test(test_silent_ones_are_closed),
		cmocka_unit_test(test_budget),         cmocka_unit_test(test_budgets_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
