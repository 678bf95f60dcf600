/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Symbols as the programmers wrote them, where there is no debug information.
 */
#ifndef IOPROBE_DEMANGLE_H
#define IOPROBE_DEMANGLE_H

/* "_ZN4Plot5writeEi" is "Plot::write(int)", gfortran's "__writer_MOD_write_field" is "writer::write_field"; others are as they are.
 * Returns NULL without memory; free(). C++ needs libstdc++.so.6, which is loaded at the first such symbol; without it they stay. Not
 * for a process with rights that the symbols' owner does not have. */
char *demangle(const char *symbol);

#endif
