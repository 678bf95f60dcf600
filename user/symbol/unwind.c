/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The rules that compilers write into call frame information for x86-64 fit into 16 bytes; any other rule ends a chain.
 */
#include "symbol/unwind.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define REGISTER_BP 6           /* System V ABI, AMD64, figure 3.36 */
#define REGISTER_SP 7
#define REGISTER_RETURN 16

struct unwind_file {
	Elf *elf;
	Dwarf_CFI *eh_frame, *debug_frame;
	Dwarf *dwarf;           /* for .debug_frame, which it owns */
	bool looked_for_debug_frame;
};

int unwind_file_open(struct unwind_file **out, int fd, const char **reason)
{
	struct unwind_file *file = calloc(1, sizeof(*file));
	GElf_Ehdr header;

	if (!file) {
		*reason = "out of memory";
		return -ENOMEM;
	}
	elf_version(EV_CURRENT);
	file->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &header) || header.e_machine != EM_X86_64 ||
	    gelf_getclass(file->elf) != ELFCLASS64) {
		*reason = "it is not an ELF file of this architecture";
		unwind_file_destroy(file);
		return -ENOEXEC;
	}
	elf_cntl(file->elf, ELF_C_FDDONE);
	file->eh_frame = dwarf_getcfi_elf(file->elf);
	*out = file;
	return 0;
}

void unwind_file_destroy(struct unwind_file *file)
{
	if (!file)
		return;
	if (file->eh_frame)
		dwarf_cfi_end(file->eh_frame);
	if (file->dwarf)
		dwarf_end(file->dwarf);
	if (file->elf)
		elf_end(file->elf);
	free(file);
}

size_t unwind_file_build_id(struct unwind_file *file, uint8_t *id, size_t max)
{
	const void *bits;
	ssize_t len = dwelf_elf_gnu_build_id(file->elf, &bits);

	if (len <= 0 || (size_t)len > max)
		return 0;
	memcpy(id, bits, len);
	return len;
}

bool unwind_file_address(struct unwind_file *file, uint64_t offset, uint64_t *address)
{
	size_t n = 0;

	elf_getphdrnum(file->elf, &n);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(file->elf, i, &header) || header.p_type != PT_LOAD || offset < header.p_offset ||
		    offset - header.p_offset >= header.p_filesz)
			continue;
		*address = header.p_vaddr + (offset - header.p_offset);
		return true;
	}
	return false;
}

/* ---- one rule ---- */

static bool unwind_fits(uint64_t number)
{
	return (int64_t)number >= INT32_MIN && (int64_t)number <= INT32_MAX;
}

/* Matches a register and an offset in any of their encodings. */
static bool base_register(const Dwarf_Op *op, unsigned *reg, int32_t *offset)
{
	uint64_t number;

	if (op->atom == DW_OP_bregx) {
		*reg = op->number;
		number = op->number2;
	} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*reg = op->atom - DW_OP_breg0;
		number = op->number;
	} else {
		return false;
	}
	*offset = number;
	return unwind_fits(number);
}

static bool cfa_rule(Dwarf_Frame *frame, struct iop_site_rule *rule)
{
	Dwarf_Op *ops;
	unsigned reg;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) || !n)
		return false;
	if (n == 1 && base_register(&ops[0], &reg, &rule->cfa) && (reg == REGISTER_SP || reg == REGISTER_BP)) {
		rule->kind = reg == REGISTER_SP ? IOP_RULE_SP : IOP_RULE_BP;
		return true;
	}
	/* the caller's stack pointer, saved by a function that has realigned its own */
	if (n == 2 && base_register(&ops[0], &reg, &rule->deref) && reg == REGISTER_BP && ops[1].atom == DW_OP_deref) {
		rule->kind = IOP_RULE_BP_DEREF;
		rule->cfa = 0;
		return true;
	}
	return false;
}

/* Finds where the caller's rbp is. */
static bool bp_rule(Dwarf_Frame *frame, struct iop_site_rule *rule)
{
	Dwarf_Op mem[3], *ops;
	unsigned reg;
	size_t n;

	if (dwarf_frame_register(frame, REGISTER_BP, mem, &ops, &n))
		return false;
	if (!n) {
		rule->bp_saved = IOP_BP_SAME;   /* or undefined: then no caller's rule uses it */
		return true;
	}
	if (ops[0].atom == DW_OP_call_frame_cfa && (n == 1 || (n == 2 && ops[1].atom == DW_OP_plus_uconst))) {
		rule->bp_saved = IOP_BP_AT_CFA;
		rule->bp = n == 1 ? 0 : ops[1].number;
		return n == 1 || unwind_fits(ops[1].number);
	}
	/* An expression begins with the CFA on its stack (DWARF 5, 6.4.2.3 DW_CFA_expression), which such a one leaves alone:
	 * functions that have realigned their stack save rbp so. */
	if (n == 2 && ops[0].atom == DW_OP_call_frame_cfa) {
		ops++;
		n--;
	}
	rule->bp_saved = IOP_BP_AT_BP;
	return n == 1 && base_register(&ops[0], &reg, &rule->bp) && reg == REGISTER_BP;
}

enum return_place { RETURN_NONE, RETURN_AT_CFA, RETURN_ELSEWHERE };

static enum return_place return_rule(Dwarf_Frame *frame)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, REGISTER_RETURN, mem, &ops, &n))
		return RETURN_ELSEWHERE;
	if (!n)
		return ops == mem ? RETURN_NONE : RETURN_ELSEWHERE;     /* undefined; the same value */
	if (n == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst && (int64_t)ops[1].number == -8)
		return RETURN_AT_CFA;
	return RETURN_ELSEWHERE;
}

static struct iop_site_rule rule_of_frame(Dwarf_Frame *frame)
{
	const struct iop_site_rule truncated = { .kind = IOP_RULE_END, .flags = IOP_RULE_TRUNCATED };
	struct iop_site_rule rule = { 0 };
	bool is_signal = false;

	dwarf_frame_info(frame, NULL, NULL, &is_signal);
	if (is_signal)
		return truncated;
	switch (return_rule(frame)) {
	case RETURN_NONE: return (struct iop_site_rule){ .kind = IOP_RULE_END };
	case RETURN_ELSEWHERE: return truncated;
	case RETURN_AT_CFA: break;
	}
	return cfa_rule(frame, &rule) && bp_rule(frame, &rule) ? rule : truncated;
}

/* Some files have it only there (-fno-asynchronous-unwind-tables -g). */
static Dwarf_CFI *debug_frame(struct unwind_file *file)
{
	if (file->looked_for_debug_frame)
		return file->debug_frame;
	file->looked_for_debug_frame = true;
	file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	file->debug_frame = file->dwarf ? dwarf_getcfi(file->dwarf) : NULL;
	return file->debug_frame;
}

struct iop_site_rule unwind_file_rule(struct unwind_file *file, uint64_t offset)
{
	struct iop_site_rule rule = { .kind = IOP_RULE_END, .flags = IOP_RULE_TRUNCATED };
	Dwarf_Frame *frame = NULL;
	uint64_t address;

	/* the call's own address: the next instruction may belong to another function */
	if (!offset || !unwind_file_address(file, offset - 1, &address))
		return rule;
	if ((!file->eh_frame || dwarf_cfi_addrframe(file->eh_frame, address, &frame)) &&
	    (!debug_frame(file) || dwarf_cfi_addrframe(file->debug_frame, address, &frame)))
		return rule;
	rule = rule_of_frame(frame);
	free(frame);
	return rule;
}
