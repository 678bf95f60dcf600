/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Opens and closes the files of the summary. They are the caller's, so nothing of them is opened with root's rights.
 */
#include "cmd/summary_output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cmd/replace_file.h"

static int summary_output_open_file(FILE **out, const char *what, const char *name, const struct identity *who, char *err,
				    size_t err_len)
{
	struct identity_saved saved;
	int fd, ret = identity_begin(who, &saved);

	if (!ret) {
		fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
		ret = fd < 0 ? -errno : 0;
		identity_end(&saved);
	}
	if (!ret && !(*out = fdopen(fd, "w"))) {
		ret = -errno;
		close(fd);
	}
	if (ret)
		snprintf(err, err_len, "cannot write the %s to %s: %s", what, name, strerror(-ret));
	return ret;
}

int summary_output_open(struct summary_output *output, const struct identity *who, bool quiet, char *err, size_t err_len)
{
	int ret = 0;

	if (output->text_file && strcmp(output->text_file, "none"))
		ret = summary_output_open_file(&output->text, "summary", output->text_file, who, err, err_len);
	else if (!output->text_file && !quiet && !(output->want_json && !output->json_file))
		output->text = stderr;
	if (!ret && output->want_json && !output->json_file)
		output->json = stdout;
	else if (!ret && output->want_json)
		ret = summary_output_open_file(&output->json, "summary", output->json_file, who, err, err_len);
	if (!ret && output->report_file && (ret = replace_file_check(output->report_file, who)))
		snprintf(err, err_len, "cannot write the report to %s: %s", output->report_file, strerror(-ret));
	return ret;
}

static int close_one(FILE **file, const char *what, const char *name, char *err, size_t err_len)
{
	FILE *closing = *file;
	bool failed;

	*file = NULL;
	if (!closing)
		return 0;
	errno = 0;
	failed = ferror(closing);
	failed |= closing == stdout || closing == stderr ? fflush(closing) : fclose(closing);
	if (!failed)
		return 0;
	if (errno)
		snprintf(err, err_len, "the %s cannot be written to %s: %s", what, name, strerror(errno));
	else                    /* an earlier write failed: its errno is no longer available */
		snprintf(err, err_len, "the %s could not be written to %s", what, name);
	return errno ? -errno : -EIO;
}

int summary_output_close(struct summary_output *output, char *err, size_t err_len)
{
	int text = close_one(&output->text, "summary", output->text_file ? output->text_file : "stderr", err, err_len);
	int json = close_one(&output->json, "summary", output->json_file ? output->json_file : "stdout", err, err_len);

	return text ? text : json;
}
