/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes MAPPING records, once per mapping of a program.
 */
#include "capture/mappings.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/rings.h"
#include "capture/notes.h"

static bool is_known(const struct mappings *known, const struct mapping_key *key)
{
	for (size_t i = 0; i < known->n; i++)
		if (!memcmp(&known->v[i], key, sizeof(*key)))
			return true;
	return false;
}

static void mappings_remember(struct mappings *known, const struct mapping_key *key)
{
	struct mapping_key *v = reallocarray(known->v, known->n + 1, sizeof(*v));

	if (!v)
		return;
	known->v = v;
	v[known->n++] = *key;
}

static void add_build_id(struct note *note, const struct library *library)
{
	char text[2 * BUILD_ID_MAX + 1];

	if (!library || !library->plan.build_id_len)
		return;
	for (size_t i = 0; i < library->plan.build_id_len; i++)
		sprintf(text + 2 * i, "%02x", library->plan.build_id[i]);
	note_add(note, "build_id", text);
}

static void write_mapping(struct spool_writer *spool, pid_t pid, const struct mapping_key *key, const struct proc_module *module,
			  const struct library *library, uint64_t since_ns)
{
	struct note note = { 0 };

	note_addf(&note, "start", "%llx", (unsigned long long)key->start);
	note_addf(&note, "end", "%llx", (unsigned long long)key->end);
	note_addf(&note, "offset", "%llx", (unsigned long long)key->offset);
	note_add(&note, "path", module->path);
	if (module->deleted)
		note_add(&note, "deleted", "1");
	note_addf(&note, "dev", "%llu", (unsigned long long)key->dev);
	note_addf(&note, "ino", "%llu", (unsigned long long)key->ino);
	add_build_id(&note, library);
	if (since_ns)
		note_addf(&note, "since_ns", "%llu", (unsigned long long)since_ns);
	if (note.text)
		spool_writer_text(spool, IOP_REC_MAPPING, pid, monotonic_ns(), note.text, NULL);
	note_free(&note);
}

void mappings_note(struct mappings *known, struct spool_writer *spool, struct libraries *libraries,
		   const struct proc_modules *modules, pid_t pid, uint64_t since_ns)
{
	for (size_t i = 0; i < modules->nmappings; i++) {
		const struct proc_mapping *mapping = &modules->mappings[i];
		const struct proc_module *module = &modules->v[mapping->module];
		struct mapping_key key = { mapping->start, mapping->end, mapping->offset, module->dev, module->ino };

		if (is_known(known, &key))
			continue;
		write_mapping(spool, pid, &key, module, libraries_get(libraries, module), since_ns);
		mappings_remember(known, &key);
	}
}

void mappings_forget(struct mappings *known)
{
	free(known->v);
	*known = (struct mappings){ 0 };
}
