/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Chooses the place of a probe in a function, x86-64. arch/x86/kernel/uprobes.c of the kernel decides which instructions are
 * emulated and which are refused.
 */
#include "elf/placement.h"

#include <Zydis/Zydis.h>

/* How the kernel handles an instruction under a uprobe. */
enum emulation {
	EMULATED_PUSH,          /* push of a register, as an instruction of one byte or with REX.B only */
	EMULATED_BRANCH,        /* jmp, call, jcc, all relative; nop */
	EMULATED_LATELY,        /* multi-byte nop: emulated since Linux 6.18, single-stepped before */
	SINGLE_STEPPED,
	REFUSED,
};

struct insn {
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	const uint8_t *bytes;
};

struct code { const uint8_t *bytes; size_t len; };

static const ZydisDecoder *placement_decoder(void)
{
	static _Thread_local ZydisDecoder instance;
	static _Thread_local bool ready;

	if (!ready)
		ready = ZYAN_SUCCESS(ZydisDecoderInit(&instance, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
	return ready ? &instance : NULL;
}

static bool decode_at(const struct code *code, size_t at, struct insn *insn)
{
	if (at >= code->len || !placement_decoder())
		return false;
	insn->bytes = code->bytes + at;
	return ZYAN_SUCCESS(
		ZydisDecoderDecodeFull(placement_decoder(), insn->bytes, code->len - at, &insn->decoded, insn->operands));
}

/* ---- how the kernel handles an instruction ---- */

/* Segment and lock prefixes are refused, except fs and gs. These are the overrides without effect in 64-bit mode. */
static bool has_refused_prefix(const struct insn *insn)
{
	for (unsigned i = 0; i < insn->decoded.raw.prefix_count; i++) {
		switch (insn->decoded.raw.prefixes[i].value) {
		case 0x26: case 0x2e: case 0x36: case 0x3e: case 0xf0:
			return true;
		}
	}
	return false;
}

static bool has_operand_size_prefix(const struct insn *insn)
{
	for (unsigned i = 0; i < insn->decoded.raw.prefix_count; i++)
		if (insn->decoded.raw.prefixes[i].value == 0x66)
			return true;
	return false;
}

/* Traps, system calls and privileged instructions; EVEX (AVX-512) is not among the opcodes that the kernel accepts. */
static bool is_refused(const struct insn *insn)
{
	const ZydisDecodedInstruction *decoded = &insn->decoded;

	if (has_refused_prefix(insn) || decoded->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ||
	    (decoded->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED))
		return true;
	switch (decoded->meta.category) {
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
		return true;
	default:
		return decoded->mnemonic == ZYDIS_MNEMONIC_UD0 || decoded->mnemonic == ZYDIS_MNEMONIC_UD1 ||
		       decoded->mnemonic == ZYDIS_MNEMONIC_UD2;
	}
}

static bool is_emulated_branch(const ZydisDecodedInstruction *decoded)
{
	if (decoded->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT)
		return decoded->opcode == 0xe8 || decoded->opcode == 0xe9 || decoded->opcode == 0xeb || decoded->opcode == 0x90 ||
		       (decoded->opcode >= 0x70 && decoded->opcode <= 0x7f);
	return decoded->opcode_map == ZYDIS_OPCODE_MAP_0F && decoded->opcode >= 0x80 && decoded->opcode <= 0x8f;
}

static bool is_emulated_push(const struct insn *insn)
{
	const ZydisDecodedInstruction *decoded = &insn->decoded;

	if (decoded->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || decoded->opcode < 0x50 || decoded->opcode > 0x57)
		return false;
	return decoded->length == 1 || (decoded->length == 2 && insn->bytes[0] == 0x41);
}

/* "nop" with REX.B is xchg r8, rax. With prefix 66 a branch opcode is refused; so is 66 90 before Linux 6.18. */
static enum emulation emulation_of(const struct insn *insn)
{
	const ZydisDecodedInstruction *decoded = &insn->decoded;

	if (is_refused(insn))
		return REFUSED;
	if (is_emulated_push(insn))
		return EMULATED_PUSH;
	if (decoded->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return SINGLE_STEPPED;
	if (is_emulated_branch(decoded)) {
		if (decoded->opcode == 0x90 && decoded->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
		    decoded->mnemonic != ZYDIS_MNEMONIC_NOP)
			return SINGLE_STEPPED;
		return has_operand_size_prefix(insn) ? REFUSED : EMULATED_BRANCH;
	}
	if (decoded->opcode_map == ZYDIS_OPCODE_MAP_0F && decoded->opcode == 0x1f)
		return EMULATED_LATELY;
	return SINGLE_STEPPED;
}

/* ---- effects of an instruction on the state that a probe reads ---- */

static int argument_register(ZydisRegister reg)
{
	static const ZydisRegister arguments[] = {
		ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDX,
		ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_R8,  ZYDIS_REGISTER_R9,
	};
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	for (int i = 0; i < 6; i++)
		if (whole == arguments[i])
			return i;
	return -1;
}

static const char *register_obstacle(ZydisRegister reg, unsigned arg_regs)
{
	int argument = argument_register(reg);

	if (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg) == ZYDIS_REGISTER_RSP)
		return "stack pointer changed";
	return argument >= 0 && (arg_regs & 1u << argument) ? "argument register written" : NULL;
}

/* Returns why the probe may not be placed behind this instruction; NULL if it may. Memory must be as at the entry too: targets of
 * pointer arguments, the return address and arguments on the stack. */
static const char *placement_obstacle(const struct insn *insn, unsigned arg_regs)
{
	switch (insn->decoded.meta.category) {
	case ZYDIS_CATEGORY_RET:
		return "return before any emulated instruction";
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_COND_BR:
		return "branch before any emulated instruction";
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSTEM:
		return "system instruction";
	default:
		break;
	}
	for (unsigned i = 0; i < insn->decoded.operand_count; i++) {
		const ZydisDecodedOperand *operand = &insn->operands[i];
		const char *why = NULL;

		if (!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
			return "memory written";
		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER)
			why = register_obstacle(operand->reg.value, arg_regs);
		if (why)
			return why;
	}
	return NULL;
}

/* ---- jumps back to the probe ---- */

struct jumps {
	bool undecodable;       /* part of the function could not be decoded */
	bool to_entry, into_prologue;   /* to offset 0; to an offset in (0, probe] */
	bool indirect;          /* jmp through a register or memory */
	bool leaves; /* a conditional branch out of the function, for instance to a part that the compiler placed elsewhere */
};

/* Finds the target that an instruction refers to relative to itself: a branch target, or an address relative to rip. */
static bool relative_target(const ZydisDecodedInstruction *decoded, size_t at, int64_t *target)
{
	for (int i = 0; i < 2; i++) {
		if (!decoded->raw.imm[i].is_relative)
			continue;
		*target = (int64_t)at + decoded->length + decoded->raw.imm[i].value.s;
		return true;
	}
	if (!(decoded->attributes & ZYDIS_ATTRIB_IS_RELATIVE) || !decoded->raw.disp.size)
		return false;
	*target = (int64_t)at + decoded->length + decoded->raw.disp.value;
	return true;
}

static void note_jump(struct jumps *jumps, const ZydisDecodedInstruction *decoded, size_t at, size_t len, uint32_t probe)
{
	bool branch = decoded->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE;
	int64_t target;

	if (!relative_target(decoded, at, &target)) {
		jumps->indirect |= decoded->meta.category == ZYDIS_CATEGORY_UNCOND_BR;
		return;
	}
	/* a call of the entry is recursion, an ordinary call */
	jumps->to_entry |= branch && target == 0 && decoded->meta.category != ZYDIS_CATEGORY_CALL;
	jumps->into_prologue |= target > 0 && target <= probe;
	jumps->leaves |= decoded->meta.category == ZYDIS_CATEGORY_COND_BR && (target < 0 || target >= (int64_t)len);
}

static struct jumps find_jumps(const struct code *code, uint32_t probe)
{
	struct jumps jumps = { 0 };
	ZydisDecodedInstruction decoded;

	for (size_t at = 0; at < code->len; at += decoded.length) {
		if (!placement_decoder() || !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(placement_decoder(), NULL, code->bytes + at,
											code->len - at, &decoded))) {
			jumps.undecodable = true;
			break;
		}
		note_jump(&jumps, &decoded, at, code->len, probe);
	}
	return jumps;
}

/* Returns why control might reach (entry, probe] on another path than from the entry. Two kinds of paths cannot be detected: a jump
 * table may lead to the head of a loop, and a part of the function that lies elsewhere may jump back. Neither can lead to a push of
 * the prologue or before it: the stack would grow by one word in each iteration. They could lead to any other instruction; then the
 * probe is not moved. */
static const char *why_not_moved(const struct jumps *jumps, enum emulation emulation)
{
	if (jumps->undecodable)
		return "function not decodable";
	if (jumps->into_prologue)
		return "branch back";
	if (emulation == EMULATED_PUSH)
		return NULL;
	if (jumps->indirect)
		return "indirect jump";
	return jumps->leaves ? "function in parts" : NULL;
}

/* ---- behind the prologue ----
 *
 * Functions of variable arguments (printf, scanf) take room on the stack and save registers there before the first emulated
 * instruction. A return probe is impossible then, since the kernel takes what rsp points to for the return address. But where all
 * ways out lead over one emulated instruction before the epilogue, a second probe there sees the return as well. */

/* Computes how the instruction changes rsp; returns false if that is unknown. */
static bool stack_change(const struct insn *insn, int64_t *change)
{
	const ZydisDecodedInstruction *decoded = &insn->decoded;
	bool add = decoded->mnemonic == ZYDIS_MNEMONIC_ADD, sub = decoded->mnemonic == ZYDIS_MNEMONIC_SUB;

	*change = 0;
	if (decoded->mnemonic == ZYDIS_MNEMONIC_POP && decoded->operand_width == 64) {
		*change = 8;
		return insn->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && insn->operands[0].reg.value != ZYDIS_REGISTER_RSP;
	}
	for (unsigned i = 0; i < decoded->operand_count; i++) {
		const ZydisDecodedOperand *operand = &insn->operands[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER || !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) ||
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand->reg.value) != ZYDIS_REGISTER_RSP)
			continue;
		if (i || operand->reg.value != ZYDIS_REGISTER_RSP || !(add || sub) ||
		    insn->operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return false;
		*change = add ? insn->operands[1].imm.value.s : -insn->operands[1].imm.value.s;
	}
	return true;
}

/* Returns whether all its memory writes go to the function's own frame, below the return address. */
static bool writes_own_frame_only(const struct insn *insn, int64_t frame)
{
	for (unsigned i = 0; i < insn->decoded.operand_count; i++) {
		const ZydisDecodedOperand *operand = &insn->operands[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (operand->mem.base != ZYDIS_REGISTER_RSP || operand->mem.index != ZYDIS_REGISTER_NONE ||
		    operand->mem.segment != ZYDIS_REGISTER_SS || operand->mem.disp.value < 0 ||
		    operand->mem.disp.value + operand->size / 8 > frame)
			return false;
	}
	return true;
}

static bool writes_register(const struct insn *insn, ZydisRegister reg)
{
	for (unsigned i = 0; i < insn->decoded.operand_count; i++) {
		const ZydisDecodedOperand *operand = &insn->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER && (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand->reg.value) == reg)
			return true;
	}
	return false;
}

static bool writes_argument(const struct insn *insn, unsigned arg_regs)
{
	for (unsigned i = 0; i < insn->decoded.operand_count; i++) {
		const ZydisDecodedOperand *operand = &insn->operands[i];
		int argument = operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? argument_register(operand->reg.value) : -1;

		if (argument >= 0 && (arg_regs & 1u << argument) && (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			return true;
	}
	return false;
}

static bool placement_is_transfer(const struct insn *insn)
{
	switch (insn->decoded.meta.category) {
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSTEM:
		return true;
	default:
		return false;
	}
}

/* Finds the first emulated instruction at which the arguments are still in their registers; its place and the frame are stored in
 * *inside. */
static bool find_inside_entry(const struct code *code, unsigned arg_regs, struct placement *inside)
{
	struct insn insn;
	int64_t frame = 0, change;

	for (size_t at = 0; decode_at(code, at, &insn); at += insn.decoded.length) {
		if (emulation_of(&insn) <= EMULATED_BRANCH) {
			inside->offset = at;
			inside->frame = frame;
			return frame > 0;
		}
		if (placement_is_transfer(&insn) || emulation_of(&insn) == REFUSED || !stack_change(&insn, &change) ||
		    !writes_own_frame_only(&insn, frame) || writes_argument(&insn, arg_regs))
			return false;
		frame -= change;
	}
	return false;
}

/* Finds the only return of the function, and the last conditional branch before it with only the epilogue between them. */
static bool find_inside_exit(const struct code *code, struct placement *inside, size_t *ret)
{
	struct insn insn;
	int64_t frame = 0, change;
	bool straight = false, found = false;

	for (size_t at = 0; at < code->len; at += insn.decoded.length) {
		if (!decode_at(code, at, &insn))
			return false;
		if (insn.decoded.meta.category == ZYDIS_CATEGORY_RET) {
			if (found || !straight || frame != inside->frame)
				return false;
			found = true;
			straight = false;
			*ret = at;
		} else if (insn.decoded.meta.category == ZYDIS_CATEGORY_COND_BR && emulation_of(&insn) == EMULATED_BRANCH) {
			straight = true;
			frame = 0;
			if (!found)
				inside->exit_offset = at;
		} else if (straight) {
			straight = !placement_is_transfer(&insn) && stack_change(&insn, &change) &&
				   !writes_register(&insn, ZYDIS_REGISTER_RAX);
			frame += straight ? change : 0;
		}
	}
	return found;
}

/* A taken branch must not come back to the probe, which would see two returns: it must lead to a call at the very end of the
 * function that does not return (__stack_chk_fail). */
static bool exit_falls_through(const struct code *code, const struct placement *inside)
{
	struct insn insn;
	int64_t target;

	return decode_at(code, inside->exit_offset, &insn) && relative_target(&insn.decoded, inside->exit_offset, &target) &&
	       target > inside->exit_offset && target < (int64_t)code->len && decode_at(code, target, &insn) &&
	       insn.decoded.meta.category == ZYDIS_CATEGORY_CALL && target + insn.decoded.length == (int64_t)code->len;
}

/* Returns whether control can reach the probes, and leave the function, only on the inspected paths. */
static bool inside_is_sound(const struct code *code, const struct placement *inside, size_t ret)
{
	ZydisDecodedInstruction decoded;

	for (size_t at = 0; at < code->len; at += decoded.length) {
		bool branch;
		int64_t target;

		if (!ZYAN_SUCCESS(
			    ZydisDecoderDecodeInstruction(placement_decoder(), NULL, code->bytes + at, code->len - at, &decoded)))
			return false;
		branch = decoded.meta.category == ZYDIS_CATEGORY_COND_BR || decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
		if (!branch)
			continue;
		if (!relative_target(&decoded, at, &target) || target < 0 || target >= (int64_t)code->len)
			return false;
		if (target <= inside->offset || (target > inside->exit_offset && target <= (int64_t)ret))
			return false;
	}
	return true;
}

static bool place_inside(const struct code *code, unsigned arg_regs, struct placement *inside)
{
	size_t ret = 0;

	*inside = (struct placement){ .kind = PLACED_INSIDE };
	return find_inside_entry(code, arg_regs, inside) && find_inside_exit(code, inside, &ret) &&
	       inside->offset < inside->exit_offset && exit_falls_through(code, inside) && inside_is_sound(code, inside, ret);
}

/* ---- decision ---- */

struct candidate { uint32_t offset; enum emulation emulation; const char *reason; };

/* Walks the straight line from the entry to the first emulated instruction; reason is set if there is none. */
static struct candidate find_candidate(const struct code *code, unsigned arg_regs)
{
	struct insn insn;
	size_t at = 0;

	while (at < code->len) {
		enum emulation emulation;
		const char *why;

		if (!decode_at(code, at, &insn))
			return (struct candidate){ .reason = "code not decodable" };
		emulation = emulation_of(&insn);
		if (emulation <= EMULATED_LATELY)
			return (struct candidate){ at, emulation, NULL };
		why = placement_obstacle(&insn, arg_regs);
		if (why)
			return (struct candidate){ .reason = why };
		at += insn.decoded.length;
	}
	return (struct candidate){ .reason = "no emulated instruction" };
}

static struct placement at_entry(enum emulation entry, const char *reason)
{
	if (entry == REFUSED)
		return (struct placement){ .kind = PLACED_IMPOSSIBLE,
					   .reason = "the kernel refuses probes on the first instruction" };
	return (struct placement){ .kind = PLACED_SINGLE_STEP, .reason = reason };
}

/* A function whose loop begins at its entry triggers the probe in each iteration, wherever the probe is. */
static const char *loop_warning(const struct jumps *jumps)
{
	return jumps->to_entry ? "branch back to the entry: each such round counts as a call" : NULL;
}

struct placement placement_decide(const uint8_t *bytes, size_t len, uint64_t vaddr, bool whole_function, unsigned arg_regs)
{
	struct code code = { bytes, len };
	struct candidate candidate;
	struct placement inside;
	struct jumps jumps;
	enum emulation entry;
	struct insn first;
	const char *why;

	(void)vaddr;    /* branches are relative */
	if (!decode_at(&code, 0, &first))
		return (struct placement){ .kind = PLACED_IMPOSSIBLE, .reason = "no valid instruction at the entry" };
	entry = emulation_of(&first);
	candidate = find_candidate(&code, arg_regs);
	if (candidate.reason && whole_function && place_inside(&code, arg_regs, &inside))
		return inside;
	if (candidate.reason)
		return at_entry(entry, candidate.reason);
	if (candidate.offset && !whole_function)
		return at_entry(entry, "function size unknown");
	jumps = find_jumps(&code, candidate.offset);
	if (!candidate.offset)
		return (struct placement){ .kind = PLACED_ENTRY, .reason = whole_function ? loop_warning(&jumps) : NULL };
	why = why_not_moved(&jumps, candidate.emulation);
	if (why)
		return at_entry(entry, why);
	return (struct placement){ .kind = PLACED_MOVED, .offset = candidate.offset, .reason = loop_warning(&jumps) };
}

/* ---- a second place ---- */

/* Computes the bytes by which the first instruction lowers rsp; returns false if the arguments are not intact behind it. */
static bool passes_entry_on(const struct insn *insn, unsigned arg_regs, uint32_t *frame)
{
	int64_t change = -8;

	if (emulation_of(insn) != EMULATED_PUSH && (placement_is_transfer(insn) || emulation_of(insn) == REFUSED ||
	    !stack_change(insn, &change) || !writes_own_frame_only(insn, 0) || writes_argument(insn, arg_regs)))
		return false;
	*frame = -change;
	return change <= 0;
}

static bool find_second(const struct code *code, unsigned arg_regs, struct second_entry *second)
{
	struct insn insn;
	struct jumps jumps;

	if (!decode_at(code, 0, &insn) || !passes_entry_on(&insn, arg_regs, &second->frame))
		return false;
	second->offset = insn.decoded.length;
	if (!decode_at(code, second->offset, &insn) || emulation_of(&insn) == REFUSED)
		return false;
	jumps = find_jumps(code, second->offset);
	return !why_not_moved(&jumps, emulation_of(&insn));
}

bool placement_second(const uint8_t *bytes, size_t len, bool whole_function, unsigned arg_regs, const struct placement *first,
		      struct second_entry *second)
{
	struct code code = { bytes, len };
	struct insn insn;

	*second = (struct second_entry){ 0 };
	if (first->kind == PLACED_MOVED)
		return decode_at(&code, 0, &insn) && emulation_of(&insn) != REFUSED;
	return (first->kind == PLACED_ENTRY || first->kind == PLACED_SINGLE_STEP) && whole_function &&
	       find_second(&code, arg_regs, second);
}
