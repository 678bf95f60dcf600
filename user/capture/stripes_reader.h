/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The process that reads layouts of files on Lustre for the recorder (stripes.c), and its messages: over a socket that keeps their
 * bounds.
 */
#ifndef IOPROBE_CAPTURE_STRIPES_READER_H
#define IOPROBE_CAPTURE_STRIPES_READER_H

#include <stdint.h>
#include <sys/types.h>

#include "capture/lov.h"

#define STRIPES_COMMAND "stripes-reader"        /* of main.c, not for users */
#define STRIPES_SOCKET_FD 3
#define STRIPES_PATH_ROOM 4096

struct stripes_file { uint32_t dev_major, dev_minor; uint64_t ino; };

/* As long as its path, without a NUL. */
struct stripes_request { struct stripes_file file; pid_t tgid, tid; int32_t fd; char path[STRIPES_PATH_ROOM]; };
/* error: an errno; 0: there is a layout. */
struct stripes_reply { struct stripes_file file; int32_t error; struct lov_layout layout; };

/* Reads requests from STRIPES_SOCKET_FD until it is closed, or the parent ends. */
int stripes_reader_main(int argc, char **argv);

#endif
