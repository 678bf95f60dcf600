/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Function names as in the source, where there is no debug information.
 */
#ifndef IOPROBE_DEMANGLE_H
#define IOPROBE_DEMANGLE_H

/* "_ZN4Plot5writeEi" becomes "Plot::write(int)", gfortran's "__writer_MOD_write_field" becomes "writer::write_field"; other symbols
 * are unchanged. Returns NULL without memory; the caller frees the result. C++ needs libstdc++.so.6, which is loaded at the first
 * such symbol; without it they are unchanged. Not for a process with privileges that the symbols' owner does not have. */
char *symbol_demangle(const char *symbol);

#endif
