/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Paths of look-ups: how often each thread looked for each. A path is identified by its string in the archive, with the
 * directory that it is relative to.
 */
#include "analysis/collect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LOOKUPS 200000      /* different ones per reading thread; further ones are not named */

struct lookup {
	UT_hash_handle hh;
	struct { uint32_t location, path, directory; } key;
	uint64_t n, found;              /* that failed, that did not */
};

static struct lookup *lookup_get(struct collector *c, const struct trace_leave *leave)
{
	struct lookup *l, *made;

	made = calloc(1, sizeof(*made));
	c->failed |= !made;
	if (!made)
		return NULL;
	made->key.location = c->location;
	made->key.path = leave->path;
	made->key.directory = leave->directory;
	HASH_FIND(hh, c->lookups, &made->key, sizeof(made->key), l);
	if (l || HASH_COUNT(c->lookups) >= MAX_LOOKUPS) {
		free(made);
		return l;
	}
	HASH_ADD(hh, c->lookups, key, sizeof(made->key), made);
	if (hash_added(made))
		return made;
	c->failed = true;
	free(made);
	return NULL;
}

void collect_lookup(struct collector *c, const struct trace_leave *leave)
{
	struct lookup *l = leave->path == TRACE_NONE ? NULL : lookup_get(c, leave);

	if (!l)
		return;
	l->n += leave->failed;
	l->found += !leave->failed;
}

/* ---- after the pass: by directory ---- */

struct place { UT_hash_handle hh; uint64_t n; char key[]; };    /* location, directory */

/* Returns the directory that a path is looked for in, absolute if that is known; NULL without memory. */
static char *lookups_directory_of(const struct trace *t, const struct lookup *l)
{
	const char *path = trace_string(t, l->key.path), *from = trace_string(t, l->key.directory);
	const char *end = path ? strrchr(path, '/') : NULL;
	int len = end ? (int)(end - path) : 0;
	char *text;

	if (end == path && path)
		return strdup("/");
	if (asprintf(&text, "%s%s%.*s", from ? from : "", from && len ? "/" : "", len, path ? path : "") < 0)
		return NULL;
	return text;
}

static struct place *place_get(struct place **places, uint32_t location, const char *directory)
{
	size_t len = sizeof(location) + strlen(directory);
	struct place *made = calloc(1, sizeof(*made) + len + 1), *p;

	if (!made)
		return NULL;
	memcpy(made->key, &location, sizeof(location));
	strcpy(made->key + sizeof(location), directory);
	HASH_FIND(hh, *places, made->key, len, p);
	if (p) {
		free(made);
		return p;
	}
	HASH_ADD_KEYPTR(hh, *places, made->key, len, made);
	if (hash_added(made))
		return made;
	free(made);
	return NULL;
}

/* The most frequent directory; of equals the first by name, whatever the order of reading. */
static int lookups_choose(struct facts *f, const struct place *p)
{
	const char *directory = p->key + sizeof(uint32_t);
	struct location_stat *s;
	uint32_t location;
	char *copy;

	memcpy(&location, p->key, sizeof(location));
	s = &f->locations[location];
	if (s->missed_in && (p->n < s->missed_n || (p->n == s->missed_n && strcmp(directory, s->missed_in) >= 0)))
		return 0;
	copy = strdup(directory);
	if (!copy)
		return -ENOMEM;
	free(s->missed_in);
	s->missed_in = copy;
	s->missed_n = p->n;
	return 0;
}

static void add_found(struct facts *f, const struct lookup *l)
{
	struct location_stat *s = &f->locations[l->key.location];

	s->found += l->found;
	s->found_paths++;
	if (l->found < s->found_most || (l->found == s->found_most && l->key.path > s->found_path))
		return;
	s->found_most = l->found;
	s->found_path = l->key.path;
	s->found_directory = l->key.directory;
}

static int lookups_add_place(struct collector *c, struct place **places, const struct lookup *l)
{
	char *directory = lookups_directory_of(c->trace, l);
	struct place *p = directory ? place_get(places, l->key.location, directory) : NULL;

	free(directory);
	if (!p)
		return -ENOMEM;
	p->n += l->n;
	c->facts->locations[l->key.location].missed_paths++;
	return 0;
}

int lookups_take(struct collector *c)
{
	struct place *places = NULL, *p, *next_place;
	struct lookup *l, *next;
	int ret = 0;

	HASH_ITER(hh, c->lookups, l, next) {
		if (l->found)
			add_found(c->facts, l);
		if (l->n)
			ret = ret ? ret : lookups_add_place(c, &places, l);
	}
	HASH_ITER(hh, places, p, next_place) {
		ret = ret ? ret : lookups_choose(c->facts, p);
		HASH_DEL(places, p);
		free(p);
	}
	return ret;
}

void lookups_free(struct collector *c)
{
	struct lookup *l, *next;

	HASH_ITER(hh, c->lookups, l, next) {
		HASH_DEL(c->lookups, l);
		free(l);
	}
}
