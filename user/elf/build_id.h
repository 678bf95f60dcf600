/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The build-id of an ELF file: identifies a build, whatever the file's name.
 */
#ifndef IOPROBE_BUILD_ID_H
#define IOPROBE_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#include "elf/symbols.h"

#define BUILD_ID_MAX 64         /* bytes; linkers generate 8 to 20, --build-id=0x… any number */

/* Reads the file's NT_GNU_BUILD_ID note from its program headers. Returns its length in bytes, 0 if there is none, or only longer
 * ones than BUILD_ID_MAX. */
size_t elf_file_build_id(struct elf_file *file, uint8_t id[BUILD_ID_MAX]);

#endif
