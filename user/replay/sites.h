/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Call sites: maps the numbers in the records of calls to contexts of the model. Functions and lines are written at the end of a
 * recording but the first event needs them: they are read from the spool before the replay.
 */
#ifndef IOPROBE_REPLAY_SITES_H
#define IOPROBE_REPLAY_SITES_H

#include "model/model.h"
#include "spool/spool.h"

struct call_sites;

/* For a caller that reads the spool itself: takes each record in turn. Sites are destroyed by call_sites_destroy. */
struct call_sites *call_sites_create(void);     /* NULL without memory */
int call_sites_add(struct call_sites *sites, const struct iop_rec *rec);        /* Returns 0 or -ENOMEM. */
bool call_sites_were_recorded(const struct call_sites *sites);  /* at the end; without that, sites are not for use */

/* Reads to the spool's end if call sites were recorded, else only the first records: then *out is NULL. Damage ends the reading
 * like the end of the file. Returns 0 or -ENOMEM. */
int call_sites_read(struct call_sites **out, struct spool_reader *spool);
void call_sites_destroy(struct call_sites *sites);      /* NULL is allowed */

/* Functions and lines that were looked up later (archive/symbolize.h): they replace the recording's. Returns 0 or -ENOMEM. */
int call_sites_read_symbols(struct call_sites *sites, struct spool_reader *symbols);

/* A place in a file of code that call sites have. lines: its line is known. address: link-time, of the call, 0: not known. */
struct call_site_place { const char *path, *build_id; uint32_t module; uint64_t offset, address; bool lines; };
/* All of them, by module; texts live as long as the sites. The array is the caller's; NULL without memory. */
struct call_site_place *call_sites_places(const struct call_sites *sites, size_t *n);

/* Fills model->contexts, code_lines and sites. Returns 0 or -ENOMEM. */
int call_sites_build(struct call_sites *sites, struct model *model);

/* Returns the model's site for the number in a call's record, REF_NONE if unknown. sites may be NULL. */
uint32_t call_sites_lookup(struct call_sites *sites, const struct iop_rec_call *rec);

#endif
