/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Checks the kernel, its settings and the caller's privileges: one line each, with the remedy. Every feature is tried; nothing is
 * inferred from a version.
 */
#include "cmd/commands.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bpf/features.h"
#include "bpf/bpf_side.h"
#include "proc/procfs.h"
#include "elf/symbols.h"
#include "privilege/capabilities.h"

enum verdict { OK, NOTE, FAIL };

static bool failed;

static void check_say(enum verdict verdict, const char *what, const char *detail)
{
	static const char *const words[] = { "ok", "note", "FAIL" };

	printf("%-5s %s: %s\n", words[verdict], what, detail);
	failed |= verdict == FAIL;
}

static void check_capability(const struct capability_use *use)
{
	char detail[512];

	if (capability_has(use->number)) {
		snprintf(detail, sizeof(detail), "to %s", use->purpose);
		check_say(OK, use->name, detail);
		return;
	}
	snprintf(detail, sizeof(detail),
		 "missing, is needed to %s; run as root (sudo), or give it to ioprobe (setcap, ambient capabilities)",
		 use->purpose);
	check_say(use->required ? FAIL : NOTE, use->name, detail);
}

static void check_privileges(void)
{
	size_t n = 0;

	while (n < ncapability_uses && capability_has(capability_uses[n].number))
		n++;
	if (!geteuid() && n == ncapability_uses) {
		check_say(OK, "privileges", "root");
		return;
	}
	for (size_t i = 0; i < ncapability_uses; i++)
		check_capability(&capability_uses[i]);
	if (geteuid())
		check_say(NOTE, "ioprobe serve", "needs root: it writes for the users of jobs");
}

static void check_namespace(void)
{
	if (proc_initial_pid_namespace())
		check_say(OK, "pid namespace", "the initial one");
	else
		check_say(FAIL, "pid namespace", "a container's: the kernel reports other process ids; run ioprobe on the host");
}

/* Each of these is optional for library calls, but at least one of the ways to attach is required. */
static void check_feature(enum feature feature)
{
	const struct feature_info *info = feature_info(feature);
	char detail[512];

	if (feature_available(feature)) {
		check_say(OK, info->name, info->brings);
		return;
	}
	snprintf(detail, sizeof(detail), "%s (%s); %s", feature_reason(feature), info->since, info->without);
	check_say(info->required ? FAIL : NOTE, info->name, detail);
}

static void check_features(void)
{
	for (enum feature feature = 0; feature < FEATURES; feature++)
		check_feature(feature);
}

static void check_lockdown(void)
{
	char text[128] = "";
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");

	if (file && fgets(text, sizeof(text), file) && strstr(text, "[confidentiality]"))
		check_say(FAIL, "lockdown",
			  "mode confidentiality forbids BPF to read memory; boot with lockdown=integrity or none");
	else
		check_say(OK, "lockdown", strstr(text, "[integrity]") ? "integrity (no hindrance)" : "off");
	if (file)
		fclose(file);
}

static void check_attach(struct bpf_side *kernel)
{
	char err[512];

	if (bpf_side_attach(kernel, err, sizeof(err)))
		check_say(FAIL, "system calls and processes", err);
	else
		check_say(OK, "system calls and processes", "their tracepoints can be attached");
}

static void check_method(const struct bpf_side *kernel)
{
	switch (bpf_side_method(kernel)) {
	case ATTACH_SESSION:
		check_say(OK, "library probes", "uprobe_multi session links");
		break;
	case ATTACH_MULTI:
		check_say(OK, "library probes", "uprobe_multi entry and return links (Linux 6.13 would pair them)");
		break;
	case ATTACH_PERF:
		check_say(NOTE, "library probes", feature_available(FEATURE_UPROBE_DEFINITIONS) ?
			"perf events only, in recorded processes: attach is slower than with Linux 6.10" :
			"perf events only: attach is slow, and every process that uses a probed library is slowed and has its "
			"return addresses replaced; use Linux 6.10 or newer");
		break;
	case ATTACH_NONE:
		check_say(NOTE, "library probes", "none: only system calls are recorded; use Linux 6.0 or newer");
		break;
	}
	if (*bpf_side_refused(kernel))
		check_say(NOTE, "library probes, refused", bpf_side_refused(kernel));
}

static void check_bpf(void)
{
	struct kernel_options options = { .programs = { .ring_bytes = 64 << 10, .recognise = true } };
	struct bpf_side *kernel;
	struct table_set set;
	char err[1024];

	table_set_init(&set);
	if (table_parse_builtin(&set, err, sizeof(err))) {
		check_say(FAIL, "probe tables", err);
	} else if (bpf_side_create(&kernel, &set, &options, err, sizeof(err))) {
		check_say(FAIL, "BPF programs", err);
	} else {
		check_say(OK, "BPF programs", "load and pass the verifier");
		check_method(kernel);
		check_attach(kernel);
		bpf_side_destroy(kernel);
	}
	table_set_deinit(&set);
}

static void check_linker(void)
{
	static const char linker[] = "/lib64/ld-linux-x86-64.so.2";
	const char *const names[] = { "_dl_debug_state" };
	struct elf_function *functions = NULL;
	struct elf_file *file;
	const char *reason;
	size_t n = 0;
	int fd = open(linker, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || elf_file_open(&file, fd, &reason)) {
		check_say(NOTE, "launched programs",
			  "no dynamic linker at /lib64/ld-linux-x86-64.so.2: they cannot be held until their probes are in place");
		return;
	}
	elf_file_functions(file, names, 1, &functions, &n);
	check_say(n ? OK : NOTE, "launched programs", n ? "wait at the dynamic linker until their probes are in place" :
		  "the dynamic linker has no _dl_debug_state: what they do before their probes are in place is a gap");
	free(functions);
	elf_file_destroy(file);
	close(fd);
}

/* Processes that stay for calls in flight: of recordings that have ended. */
static void check_guards(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		pid_t pid = atoi(entry->d_name);
		char what[64], *comm;
		size_t len;

		if (pid <= 0 || proc_text_read(pid, "comm", &comm, &len))
			continue;
		snprintf(what, sizeof(what), "process %d", pid);
		if (!strcmp(comm, "ioprobe-guard\n"))
			check_say(NOTE, what, "guards calls that were in flight when their recording ended, and ends with them; a "
					"program whose exception leaves such a call ends if this process is killed");
		free(comm);
	}
	if (dir)
		closedir(dir);
}

static void no_option(struct cli *cli, int key, const char *value, void *input)
{
	(void)cli, (void)key, (void)value, (void)input;
}

static int run_check(struct cli *cli)
{
	struct utsname uts;
	char missing[64];

	cli_parse(cli, no_option, NULL);
	uname(&uts);
	check_say(!strcmp(uts.machine, "x86_64") ? OK : FAIL, "machine", uts.machine);
	check_say(OK, "kernel", uts.release);
	check_privileges();
	check_namespace();
	check_lockdown();
	if (!capability_missing(missing, sizeof(missing))) {
		check_features();
		check_bpf();
	}
	check_linker();
	check_guards();
	return failed;
}

const struct cli_command command_check = {
	.name = "check",
	.summary = "Show what this host allows, with a remedy for each restriction",
	.usage = (const char *const []){ "", NULL },
	.description = "Try everything that a recording needs of this kernel, its settings and the caller's privileges, and print "
		"one line for each: ok; note (something cannot be recorded or costs more); or FAIL with the remedy.",
	.statuses = "also 1 if recording is impossible",
	.run = run_check,
};
