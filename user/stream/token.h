/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The token with which the follower of a job may write to the store that "ioprobe collect" keeps of that job:
 * "CLUSTER/JOB/UID/MAC". The service makes it and the collector verifies it, both with the site's secret.
 */
#ifndef IOPROBE_STREAM_TOKEN_H
#define IOPROBE_STREAM_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#define TOKEN_ROOM 512
#define TOKEN_VARIABLE "IOPROBE_COLLECT_TOKEN"
#define TOKEN_CA_VARIABLE "IOPROBE_COLLECT_CA" /* the file with the certificate that the collector's is signed with */
#define TOKEN_SECRET_MAX 4096

struct token_secret {
	unsigned char bytes[TOKEN_SECRET_MAX];
	size_t len;
};

/* Reads the site's secret: at least 32 bytes, in a file that no one but its owner can read. Returns 0, or -errno with one line in
 * err. */
int token_secret_read(struct token_secret *secret, const char *file, char *err, size_t err_len);

/* name: "CLUSTER/JOB/UID", names that can be part of a path, and a number. Returns false if it is none. */
bool token_make(char *token, size_t len, const struct token_secret *secret, const char *name);
/* name: buffer for "CLUSTER/JOB/UID". */
bool token_verify(const char *token, const struct token_secret *secret, char *name, size_t len);

#endif
