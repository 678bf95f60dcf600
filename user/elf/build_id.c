/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Finds the build-id in the note segments of an ELF file.
 */
#include "elf/build_id.h"

#include <string.h>
#include <unistd.h>

#include "elf/elf_file.h"

#define MAX_NOTES_BYTES (64u << 10)

/* Searches one note segment; a note that exceeds the segment is damaged and ends the search. */
static size_t find_in_notes(const uint8_t *notes, size_t len, size_t align, uint8_t id[BUILD_ID_MAX])
{
	size_t at = 0;

	while (len - at >= sizeof(Elf64_Nhdr)) {
		size_t name_at = at + sizeof(Elf64_Nhdr), id_at, next;
		Elf64_Nhdr header;

		memcpy(&header, notes + at, sizeof(header));
		if (header.n_namesz > len || header.n_descsz > len)
			return 0;
		id_at = (name_at + header.n_namesz + align - 1) & ~(align - 1);
		next = (id_at + header.n_descsz + align - 1) & ~(align - 1);
		if (id_at + header.n_descsz > len)
			return 0;
		if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(notes + name_at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU))) {
			if (header.n_descsz > BUILD_ID_MAX)
				return 0;
			memcpy(id, notes + id_at, header.n_descsz);
			return header.n_descsz;
		}
		if (next > len)
			return 0;
		at = next;
	}
	return 0;
}

size_t elf_file_build_id(struct elf_file *file, uint8_t id[BUILD_ID_MAX])
{
	static uint8_t notes[MAX_NOTES_BYTES];

	for (size_t i = 0; i < file->nsegments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];
		ssize_t n;
		size_t len;

		if (segment->p_type != PT_NOTE || segment->p_filesz > sizeof(notes))
			continue;
		n = pread(file->fd, notes, segment->p_filesz, segment->p_offset);
		len = n > 0 ? find_in_notes(notes, n, segment->p_align == 8 ? 8 : 4, id) : 0;
		if (len)
			return len;
	}
	return 0;
}
