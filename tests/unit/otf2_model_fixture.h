/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A model and events made by hand, and an archive of them in a fresh directory.
 */
#ifndef IOPROBE_TESTS_OTF2_MODEL_FIXTURE_H
#define IOPROBE_TESTS_OTF2_MODEL_FIXTURE_H

#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

#define T0 ((uint64_t)1000000)

enum { R_UNUSED, R_WRITE, R_OPEN, R_MPI_OPEN, R_CLOSE, R_IWRITE, R_WAIT, N_REGIONS };
enum { P_POSIX, P_MPIIO, N_PARADIGMS };
enum { L_RANK0, L_UNUSED, L_RANK1, L_SHELL, L_RANK0_THREAD, N_LOCATIONS };
enum { H_STDOUT, H_MPI, H_POSIX, H_DUP, N_HANDLES };

extern struct model_handle otf2_handles[N_HANDLES];
/* A collective open over a POSIX descriptor, a write at an offset, a non-blocking one that another thread completes, failures. */
extern const struct model_event otf2_script[];
extern const size_t otf2_script_events;        /* their number */

struct model otf2_model_make(void);

/* For cmocka: otf2_dir is a fresh directory for each test. */
extern char otf2_dir[64];
int otf2_dir_setup(void **state);
int otf2_dir_teardown(void **state);
bool otf2_dir_has(const char *name);

/* Returns a sink that has got the events of otf2_script; not finished. */
struct sink *otf2_write_script(const char *where, const struct model *model);

/* n writes of one thread. Returns the first error of the sink. */
int otf2_many_writes(struct sink *sink, const struct model *model, uint64_t n);

OTF2_Reader *otf2_open_reader(void);            /* of the archive in otf2_dir */
void otf2_assert_logged(const char *lines);     /* these lines follow each other in otf2_log */

#endif
