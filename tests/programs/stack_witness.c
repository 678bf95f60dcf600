/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Starts a program and stops it at each write to descriptor 9, walks its stack with libdwfl and writes a line to FILE: offsets, in
 * the program's file, of the addresses of those frames that are in it, the innermost first: stack_witness FILE PROGRAM ARGUMENT...
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define FD 9
#define PAUSE_US 500           /* at each write: the recorder has its time as well */

struct witness { pid_t pid; FILE *out; Dwfl *dwfl; char path[4096]; unsigned long start, end, offset; };

static void fail(const char *what)
{
	fprintf(stderr, "stack_witness: %s: %s\n", what, errno ? strerror(errno) : dwfl_errmsg(-1));
	exit(4);
}

static void find_code(struct witness *w)
{
	char name[64], line[4400], flags[8], path[4096];

	snprintf(name, sizeof(name), "/proc/%d/maps", w->pid);
	FILE *maps = fopen(name, "r");

	if (!maps)
		fail(name);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &w->start, &w->end, flags, &w->offset, path) == 5 &&
		    flags[2] == 'x' && !strcmp(path, w->path))
			break;
	fclose(maps);
}

static void attach(struct witness *w)
{
	static char *debuginfo_path = "";       /* unwind tables are in the files themselves */
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_linux_proc_find_elf,
						  .find_debuginfo = dwfl_standard_find_debuginfo,
						  .debuginfo_path = &debuginfo_path };

	find_code(w);
	w->dwfl = dwfl_begin(&callbacks);
	errno = 0;
	if (!w->dwfl || dwfl_linux_proc_report(w->dwfl, w->pid) || dwfl_report_end(w->dwfl, NULL, NULL) ||
	    dwfl_linux_proc_attach(w->dwfl, w->pid, true))
		fail("libdwfl");
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct witness *w = arg;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	if (pc > w->start && pc <= w->end)
		fprintf(w->out, " %lx", (unsigned long)pc - w->start + w->offset);
	return DWARF_CB_OK;
}

static void on_write(struct witness *w)
{
	if (!w->dwfl)
		attach(w);
	dwfl_getthread_frames(w->dwfl, w->pid, on_frame, w);    /* fails beyond the outermost frame */
	fputc('\n', w->out);
	usleep(PAUSE_US);
}

static int watch(struct witness *w)
{
	struct user_regs_struct regs;
	int status, entering = 1;

	ptrace(PTRACE_SETOPTIONS, w->pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, w->pid, 0, 0) || waitpid(w->pid, &status, 0) != w->pid)
			fail("ptrace");
		if (WIFEXITED(status) || WIFSIGNALED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 5;
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue;
		if (entering && !ptrace(PTRACE_GETREGS, w->pid, 0, &regs) && regs.orig_rax == SYS_write && regs.rdi == FD)
			on_write(w);
		entering = !entering;
	}
}

int main(int argc, char **argv)
{
	struct witness w = { 0 };
	int status, result;

	if (argc < 3 || !realpath(argv[2], w.path))
		return 2;
	w.out = fopen(argv[1], "w");
	w.pid = w.out ? fork() : -1;
	if (!w.pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[2], argv + 2);
		_exit(127);
	}
	if (w.pid < 0 || waitpid(w.pid, &status, 0) != w.pid)
		fail(argv[1]);
	result = watch(&w);
	if (w.dwfl)
		dwfl_end(w.dwfl);
	return fclose(w.out) ? 6 : result;
}
