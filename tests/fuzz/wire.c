/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A message to the service: the packet, and whether the policy wants such a job.
 */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "service/policy.h"
#include "service/state.h"
#include "service/wire.h"

static const char rules[] = "record user al* b?b\nrecord account [a-c]*\nrecord comment *ioprobe*\nskip account x\nrecord env A=1\n"
			    "record sample 50%\n";

static void consider(const json_t *message)
{
	static struct policy policy;
	static int ready;
	const char *entry;
	char why[256], text[256], err[256];

	if (!ready)
		ready = !policy_read(&policy, fuzz_file("policy", rules, sizeof(rules) - 1), err, sizeof(err));
	if (ready)
		policy_wants(&policy, message, &entry, why, sizeof(why));
	snprintf(text, sizeof(text), "%s", wire_text(message, "comment"));
	wire_make_printable(text);
	state_valid_id(wire_text(message, "id"));
	state_valid_name(wire_text(message, "user"));
	state_is_final(message);
}

int fuzz_wire(const uint8_t *data, size_t size)
{
	json_t *message;
	int fds[2];

	if (size > WIRE_MAX_BYTES || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds))
		return 0;
	if (send(fds[0], data, size, MSG_NOSIGNAL) == (ssize_t)size && !wire_receive(fds[1], WIRE_MAX_BYTES, &message)) {
		consider(message);
		json_decref(message);
	}
	close(fds[0]);
	close(fds[1]);
	return 0;
}
