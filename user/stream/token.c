/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The MAC is HMAC-SHA-256 over the purpose and the name, so that the secret is of no use for anything else.
 */
#include "stream/token.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PURPOSE "ioprobe collect 1\n"
#define SECRET_LEAST 32
#define MAC_BYTES 32
#define NAME_MOST 300

static int refuse_secret(const char *file, int error, const char *why, char *err, size_t err_len)
{
	snprintf(err, err_len, "%s: cannot use it as the secret: %s", file, why);
	return error;
}

int token_secret_read(struct token_secret *secret, const char *file, char *err, size_t err_len)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	ssize_t len;

	if (fd < 0 || fstat(fd, &st)) {
		int error = errno;

		if (fd >= 0)
			close(fd);
		return refuse_secret(file, -error, strerror(error), err, err_len);
	}
	len = read(fd, secret->bytes, sizeof(secret->bytes));
	close(fd);
	if (!S_ISREG(st.st_mode) || st.st_mode & 077)
		return refuse_secret(file, -EPERM, "others than its owner may read or write it (chmod 600)", err, err_len);
	if (len < SECRET_LEAST)
		return refuse_secret(file, -EINVAL, "it has less than 32 bytes", err, err_len);
	secret->len = len;
	return 0;
}

static bool is_part(const char *text, size_t len)
{
	if (!len || text[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("._-+@:[]", text[i]))
			return false;
	return true;
}

/* CLUSTER/JOB/UID */
static bool valid_name(const char *name)
{
	size_t cluster = strcspn(name, "/"), job, uid;

	if (strlen(name) > NAME_MOST || !is_part(name, cluster) || !name[cluster])
		return false;
	name += cluster + 1;
	job = strcspn(name, "/");
	if (!is_part(name, job) || !name[job])
		return false;
	name += job + 1;
	uid = strspn(name, "0123456789");
	return uid && uid <= 10 && !name[uid];
}

bool token_make(char *token, size_t len, const struct token_secret *secret, const char *name)
{
	unsigned char mac[MAC_BYTES];
	char text[sizeof(PURPOSE) + NAME_MOST];
	int used;

	if (!valid_name(name))
		return false;
	snprintf(text, sizeof(text), PURPOSE "%s", name);
	if (gnutls_hmac_fast(GNUTLS_MAC_SHA256, secret->bytes, secret->len, text, strlen(text), mac) < 0)
		return false;
	used = snprintf(token, len, "%s/", name);
	for (size_t i = 0; i < sizeof(mac) && used >= 0 && (size_t)used < len; i++)
		used += snprintf(token + used, len - used, "%02x", mac[i]);
	return used >= 0 && (size_t)used < len;
}

bool token_verify(const char *token, const struct token_secret *secret, char *name, size_t len)
{
	const char *mac = strrchr(token, '/');
	char expected[TOKEN_ROOM];

	if (!mac || (size_t)(mac - token) >= len)
		return false;
	memcpy(name, token, mac - token);
	name[mac - token] = 0;
	return token_make(expected, sizeof(expected), secret, name) && strlen(expected) == strlen(token) &&
	       !gnutls_memcmp(expected, token, strlen(token));
}
