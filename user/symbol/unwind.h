/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Unwind rules of single return addresses, from the call frame information (.eh_frame, .debug_frame) of an ELF file. Runs in the
 * parser process: the file is a user's.
 */
#ifndef IOPROBE_UNWIND_H
#define IOPROBE_UNWIND_H

#include <ioprobe/sites.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_file;

/* Maps the file behind fd, which stays the caller's and may be closed. Returns 0, or -errno with static text in *reason. */
int unwind_file_open(struct unwind_file **out, int fd, const char **reason);
void unwind_file_destroy(struct unwind_file *file);     /* NULL is allowed */

/* Returns the rule for the return address at this offset of the file. A rule that cannot be expressed, or is missing, is
 * IOP_RULE_END with IOP_RULE_TRUNCATED; a frame without a caller is IOP_RULE_END alone. Never IOP_RULE_PENDING. */
struct iop_site_rule unwind_file_rule(struct unwind_file *file, uint64_t offset);

/* Reads the GNU build-id. Returns its length in bytes, 0 if there is none or it is longer than max. */
size_t unwind_file_build_id(struct unwind_file *file, uint8_t *id, size_t max);

/* Converts this offset of the file to a link-time address; returns false if no segment contains it. */
bool unwind_file_address(struct unwind_file *file, uint64_t offset, uint64_t *address);

#endif
