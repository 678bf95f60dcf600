/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One row per option word.
 */
#include "capture/settings.h"

#include <errno.h>
#include <ioprobe/sites.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DURATION_S 1e9

static int set_layers(struct settings *s, const char *value, char *err, size_t err_len)
{
	(void)err, (void)err_len;       /* whether such layers exist is known when the tables are loaded */
	snprintf(s->filter.layers, sizeof(s->filter.layers), "%s", value);
	return 0;
}

static int settings_add_path(struct settings *s, const char *value, char *err, size_t err_len)
{
	return filter_add_paths(&s->filter, value, false, err, err_len);
}

static int add_excluded(struct settings *s, const char *value, char *err, size_t err_len)
{
	return filter_add_paths(&s->filter, value, true, err, err_len);
}

static int set_kinds(struct settings *s, const char *value, char *err, size_t err_len)
{
	return filter_set_kinds(&s->filter, value, err, err_len);
}

static int set_min_duration(struct settings *s, const char *value, char *err, size_t err_len)
{
	return filter_set_min_duration(&s->filter, value, err, err_len);
}

static int set_min_bytes(struct settings *s, const char *value, char *err, size_t err_len)
{
	return filter_set_min_bytes(&s->filter, value, err, err_len);
}

static int set_stream_calls(struct settings *s, const char *value, char *err, size_t err_len)
{
	return filter_set_stream_calls(&s->filter, value, err, err_len);
}

static int set_max_size(struct settings *s, const char *value, char *err, size_t err_len)
{
	return bounds_set_max_size(&s->bounds, value, err, err_len);
}

static int set_min_free(struct settings *s, const char *value, char *err, size_t err_len)
{
	return bounds_set_min_free(&s->bounds, value, err, err_len);
}

static int set_max_rate(struct settings *s, const char *value, char *err, size_t err_len)
{
	return bounds_set_max_rate(&s->bounds, value, err, err_len);
}

static int set_duration(struct settings *s, const char *value, char *err, size_t err_len)
{
	char *end;
	double seconds = strtod(value, &end);

	if (end == value || *end || !(seconds > 0 && seconds <= MAX_DURATION_S)) {
		snprintf(err, err_len, "--duration: '%.64s' is not a positive number of seconds", value);
		return -EINVAL;
	}
	s->duration_s = seconds;
	return 0;
}

/* In the form of mount tables: absolute, without trailing slashes. */
static int add_shared_mount(struct settings *s, const char *value, char *err, size_t err_len)
{
	size_t len = strlen(value);

	if (value[0] != '/' || s->nshared_mounts == SETTINGS_MAX_MOUNTS) {
		snprintf(err, err_len, "--shared-mount: '%s' %s", value,
			 value[0] != '/' ? "is not an absolute path" : "is one path too many");
		return -EINVAL;
	}
	while (len > 1 && value[len - 1] == '/')
		len--;
	s->shared_mounts[s->nshared_mounts] = strndup(value, len);
	if (!s->shared_mounts[s->nshared_mounts]) {
		snprintf(err, err_len, "--shared-mount: out of memory");
		return -ENOMEM;
	}
	s->nshared_mounts++;
	return 0;
}

static int set_keep(struct settings *s, const char *value, char *err, size_t err_len)
{
	s->keep_spool = !strcmp(value, "yes");
	if (s->keep_spool || !strcmp(value, "no"))
		return 0;
	snprintf(err, err_len, "--keep: '%.64s' is neither 'yes' (the spool stays beside the archive) nor 'no'", value);
	return -EINVAL;
}

static int set_shared_links(struct settings *s, const char *value, char *err, size_t err_len)
{
	s->no_shared_links = !strcmp(value, "no");
	if (s->no_shared_links || !strcmp(value, "yes"))
		return 0;
	snprintf(err, err_len,
		 "--shared-links: '%.64s' is neither 'yes' (one link serves a library that more than 8 processes share) nor 'no'",
		 value);
	return -EINVAL;
}

static int set_lazy_streams(struct settings *s, const char *value, char *err, size_t err_len)
{
	s->lazy_streams = !strcmp(value, "yes");
	if (s->lazy_streams || !strcmp(value, "no"))
		return 0;
	snprintf(err, err_len, "--lazy-streams: '%.64s' is neither 'yes' (no probes on streams in a process' first 10 ms) nor 'no'",
		 value);
	return -EINVAL;
}

static int settings_set_call_sites(struct settings *s, const char *value, char *err, size_t err_len)
{
	char *end;
	unsigned long frames = strtoul(value, &end, 10);

	s->call_sites = 0;
	if (!strcmp(value, "no"))
		return 0;
	if (*value < '0' || *value > '9' || *end || frames < 1 || frames > IOP_SITE_MAX_FRAMES) {
		snprintf(err, err_len, "--call-sites: '%.64s' is neither 'no' nor a number of frames from 1 to %d", value,
			 IOP_SITE_MAX_FRAMES);
		return -EINVAL;
	}
	s->call_sites = frames;
	return 0;
}

static int add_stream(struct settings *s, const char *value, char *err, size_t err_len)
{
	if (s->nstreams == SETTINGS_MAX_STREAMS) {
		snprintf(err, err_len, "--stream: more than %d outputs", SETTINGS_MAX_STREAMS);
		return -EINVAL;
	}
	s->streams[s->nstreams] = strdup(value);
	if (!s->streams[s->nstreams]) {
		snprintf(err, err_len, "--stream: out of memory");
		return -ENOMEM;
	}
	s->nstreams++;
	return 0;
}

static int set_stream_interval(struct settings *s, const char *value, char *err, size_t err_len)
{
	(void)err, (void)err_len;
	snprintf(s->stream_interval, sizeof(s->stream_interval), "%s", value);
	return 0;
}

static int set_stream_names(struct settings *s, const char *value, char *err, size_t err_len)
{
	(void)err, (void)err_len;
	snprintf(s->stream_names, sizeof(s->stream_names), "%s", value);
	return 0;
}

static int settings_set_file(char *file, size_t len, const char *word, const char *value, char *err, size_t err_len)
{
	if (*value != '/' || strlen(value) >= len) {
		snprintf(err, err_len, "--%s: an absolute path is expected: %.200s", word, value);
		return -EINVAL;
	}
	strcpy(file, value);
	return 0;
}

static int set_collect_secret(struct settings *s, const char *value, char *err, size_t err_len)
{
	return settings_set_file(s->collect_secret, sizeof(s->collect_secret), "collect-secret", value, err, err_len);
}

static int set_collect_ca(struct settings *s, const char *value, char *err, size_t err_len)
{
	return settings_set_file(s->collect_ca, sizeof(s->collect_ca), "collect-ca", value, err, err_len);
}

static int set_stream_events(struct settings *s, const char *value, char *err, size_t err_len)
{
	(void)err, (void)err_len;
	snprintf(s->stream_events, sizeof(s->stream_events), "%s", value);
	return 0;
}

int settings_set(struct settings *settings, const char *word, const char *value, char *err, size_t err_len)
{
	static const struct { const char *word; int (*set)(struct settings *, const char *, char *, size_t); } words[] = {
		{ "layers", set_layers },       { "path", settings_add_path },           { "exclude-path", add_excluded },
		{ "fd-kinds", set_kinds },      { "min-bytes", set_min_bytes }, { "min-duration", set_min_duration },
		{ "max-size", set_max_size },   { "min-free", set_min_free },   { "stream-calls", set_stream_calls },
		{ "max-rate", set_max_rate },   { "max-duration", set_duration }, { "shared-mount", add_shared_mount },
		{ "keep", set_keep },           { "shared-links", set_shared_links }, { "lazy-streams", set_lazy_streams },
		{ "call-sites", settings_set_call_sites },
		{ "stream", add_stream },       { "stream-interval", set_stream_interval }, { "stream-names", set_stream_names },
		{ "stream-events", set_stream_events }, { "collect-secret", set_collect_secret }, { "collect-ca", set_collect_ca },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].word, word))
			return words[i].set(settings, value, err, err_len);
	return -ENOENT;
}

void settings_deinit(struct settings *settings)
{
	while (settings->nshared_mounts)
		free(settings->shared_mounts[--settings->nshared_mounts]);
	while (settings->nstreams)
		free(settings->streams[--settings->nstreams]);
}
