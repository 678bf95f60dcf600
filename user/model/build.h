/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Building a model: its strings, which live as long as the model, and its arrays. All functions return NULL or REF_NONE without
 * memory.
 */
#ifndef IOPROBE_BUILD_H
#define IOPROBE_BUILD_H

#include "model/model.h"

const char *model_string(struct model *model, const char *text, size_t len);
__attribute__((format(printf, 2, 3)))
const char *model_stringf(struct model *model, const char *format, ...);

/* Appends a zeroed element to a MODEL_ARRAY; its index is then array.n - 1. */
void *model_grow(void **v, size_t *n, size_t *cap, size_t size);
#define MODEL_ADD(array) ((typeof((array).v))model_grow((void **)&(array).v, &(array).n, &(array).cap, sizeof(*(array).v)))

__attribute__((format(printf, 2, 3)))
int model_note(struct model *model, const char *format, ...);  /* 0 or -ENOMEM */
__attribute__((format(printf, 2, 3)))
/* for the archive only; the digest contains it in another form */
int model_note_exact(struct model *model, const char *format, ...);
__attribute__((format(printf, 2, 3)))
int model_digest(struct model *model, const char *format, ...);

#endif
