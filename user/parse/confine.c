/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The order matters: steps that need privileges come before these are dropped, and setuid(2) makes a process dumpable again.
 */
#include "parse/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* Sanitizers reserve terabytes of address space, read /proc and write a log. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

#define MAX_FILES 16

/* When memory runs out, the kernel should kill a parser before any program of users and before the agent. */
static void prefer_for_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "1000", 4) < 0)
		errno = 0;      /* not critical: it is then treated like any other process */
	close(fd);
}

static int confine_limit(int resource, rlim_t value)
{
	struct rlimit limit = { value, value };

	return setrlimit(resource, &limit) ? -errno : 0;
}

static int limit_resources(unsigned long long memory_bytes)
{
	int err = confine_limit(RLIMIT_CORE, 0);

	if (!err && !SANITIZED)
		err = confine_limit(RLIMIT_FSIZE, 0);
	if (!err)
		err = confine_limit(RLIMIT_NPROC, 0);
	if (!err)
		err = confine_limit(RLIMIT_MEMLOCK, 0);
	if (!err)
		err = confine_limit(RLIMIT_NOFILE, MAX_FILES);
	if (!err && !SANITIZED)
		err = confine_limit(RLIMIT_AS, memory_bytes);
	return err;
}

void confine_cpu(unsigned seconds)
{
	struct rusage usage;
	struct rlimit limit;

	if (getrusage(RUSAGE_SELF, &usage) || getrlimit(RLIMIT_CPU, &limit))
		return;
	limit.rlim_cur = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 2 + seconds;   /* rounds up the fractions */
	if (limit.rlim_max != RLIM_INFINITY && limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_CPU, &limit);
}

/* Returns -EPERM if changing users is not permitted. */
static int change_user(uid_t uid)
{
	if (uid == 0 || uid == (uid_t)-1)
		uid = NOBODY;
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(uid, uid, uid))
		return errno == EINVAL ? -EPERM : -errno;       /* EINVAL: a user namespace without this user */
	return 0;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) ? -errno : 0;
}

/* ---- system calls ---- */

/* Needed to read a descriptor, allocate memory and answer. None of them opens, connects, executes or signals. */
static const uint16_t allowed[] = {
	SYS_read, SYS_pread64, SYS_lseek, SYS_fstat, SYS_newfstatat, SYS_fcntl, SYS_close, SYS_recvmsg, SYS_sendto, SYS_sendmsg,
#ifdef SYS_poll
	SYS_poll,
#endif
	SYS_ppoll, SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_futex, SYS_getrandom,
	SYS_clock_gettime, SYS_getrusage, SYS_prlimit64,
#ifdef SYS_setrlimit
	SYS_setrlimit, SYS_getrlimit,
#endif
	SYS_sysinfo, SYS_getppid, SYS_getpid, SYS_gettid, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_restart_syscall,
	SYS_exit, SYS_exit_group,
};
#define NALLOWED (sizeof(allowed) / sizeof(allowed[0]))

/* Other system calls fail with EPERM: a C library that tries a newer one can fall back. Returns -ENOSYS without seccomp. */
static int filter_syscalls(void)
{
#ifdef ARCH
	struct sock_filter code[NALLOWED + 7];
	struct sock_fprog program = { .filter = code };
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < NALLOWED; i++)
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], NALLOWED - i, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? -errno : 0;
#else
	return -ENOSYS;
#endif
}

int parse_confine(uid_t uid, int last_fd, unsigned long long memory_bytes)
{
	bool filtered = SANITIZED;
	int user, err;

	prefer_for_oom();
	if (chdir("/") || syscall(SYS_close_range, last_fd + 1, ~0u, 0))
		return -errno;
	user = change_user(uid);
	err = limit_resources(memory_bytes);
	if (!err)
		err = drop_capabilities();
	if (!err && (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)))
		err = -errno;
	if (err)
		return err;
	if (!SANITIZED)
		filtered = !filter_syscalls();
	/* root without the right to change users, as in some containers, can open root's files: only the filter prevents that */
	return user && !geteuid() && !filtered ? user : 0;
}
