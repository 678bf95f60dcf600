/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * /proc of this very process and of children that it makes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/procfs.h"

#define NOBODY 0x7ffffff0       /* above pid_max */

/* In the place of libc's: how often each process' stat is opened. */
static unsigned char stat_opened[1 << 22];      /* by pid, which is less */

int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;
	int pid, end = 0;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (sscanf(path, "/proc/%d/stat%n", &pid, &end) == 1 && end && !path[end])
		stat_opened[pid]++;
	return openat(AT_FDCWD, path, flags, mode);
}

/* ---- modules ---- */

static const struct proc_module *module_with(const struct proc_modules *modules, const void *address)
{
	for (size_t i = 0; i < modules->n; i++)
		if ((uintptr_t)address - modules->v[i].text_addr < modules->v[i].text_len)
			return &modules->v[i];
	return NULL;
}

/* What the dynamic linker says of the module: its load bias. */
struct expected { const void *address; uintptr_t bias; };

static int find_bias(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct expected *expected = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD &&
		    (uintptr_t)expected->address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
			expected->bias = info->dlpi_addr;
	}
	return 0;
}

static void test_modules(void **state)
{
	const void *addresses[] = { (void *)close, (void *)test_modules };
	struct proc_modules modules;
	struct code_file file;
	struct stat st;

	(void)state;
	assert_int_equal(proc_modules_read(getpid(), &modules), 0);
	for (size_t i = 1; i < modules.n; i++)
		assert_true(modules.v[i].text_addr > modules.v[i - 1].text_addr);
	for (size_t i = 0; i < 2; i++) {
		const struct proc_module *module = module_with(&modules, addresses[i]);
		struct expected expected = { addresses[i], 0 };

		assert_non_null(module);
		dl_iterate_phdr(find_bias, &expected);
		assert_int_equal(module->base - module->base_offset, expected.bias);
		assert_int_equal(module->base_offset, 0);
		assert_true(i == 1 || module->text_offset > 0); /* gold puts the headers of a program into its code segment */
		assert_false(module->deleted);
		assert_int_equal(stat(module->path, &st), 0);
		assert_int_equal(st.st_ino, module->ino);
		assert_int_equal(st.st_dev, module->dev);
		assert_int_equal(proc_module_open(module, &file), 0);
		assert_int_equal(file.size, st.st_size);
		code_file_close(&file);
	}
	proc_modules_free(&modules);
	assert_int_equal(proc_modules_read(NOBODY, &modules), -ESRCH);
	assert_int_equal(modules.n, 0);
}

/* What is wrong in the earlier list shows which files were identified anew. */
static void assert_same_modules(const struct proc_modules *a, const struct proc_modules *b)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		const struct proc_module *x = &a->v[i], *y = &b->v[i];

		assert_string_equal(x->path, y->path);
		assert_true(x->base == y->base && x->base_offset == y->base_offset);
		assert_true(x->text_addr == y->text_addr && x->text_offset == y->text_offset && x->text_len == y->text_len);
		assert_true(x->dev == y->dev && x->ino == y->ino && x->map_dev == y->map_dev && x->map_ino == y->map_ino);
		assert_true(x->by_name == y->by_name && x->deleted == y->deleted && x->pid == y->pid);
	}
	assert_int_equal(a->nmappings, b->nmappings);
	assert_memory_equal(a->mappings, b->mappings, a->nmappings * sizeof(a->mappings[0]));
}

/* What the kernel answers to queries (Linux 6.11) is what the text says, also of images with gaps, of readers, and of a file that
 * is mapped twice. */
static void test_modules_text(void **state)
{
	const size_t page = 4096;
	struct proc_modules queried, again, parsed;
	char *text, *area = mmap(NULL, 32 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int libc = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);
	struct { size_t at, pages; int protection, fd; size_t offset; } maps[] = {
		{ 0, 1, PROT_READ, fd, 0 }, { 3, 2, PROT_READ | PROT_EXEC, fd, 1 }, { 5, 1, PROT_READ, fd, 4 },
		{ 7, 4, PROT_READ, libc, 0 }, { 12, 2, PROT_READ | PROT_EXEC, libc, 0 }, { 14, 1, PROT_READ | PROT_EXEC, libc, 3 },
		{ 16, 1, PROT_READ | PROT_EXEC, libc, 0 }, { 18, 1, PROT_READ | PROT_EXEC, -1, 0 },
	};
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		assert_true(mmap(area + maps[i].at * page, maps[i].pages * page, maps[i].protection,
				 MAP_PRIVATE | MAP_FIXED | (maps[i].fd < 0 ? MAP_ANONYMOUS : 0), maps[i].fd,
				 maps[i].offset * page) != MAP_FAILED);
	assert_int_equal(proc_modules_read(getpid(), &queried), 0);
	assert_int_equal(proc_text_read(getpid(), "maps", &text, &len), 0);
	assert_int_equal(proc_modules_parse(text, getpid(), NULL, &parsed), 0);
	assert_same_modules(&queried, &parsed);
	assert_int_equal(proc_modules_update(getpid(), &parsed, &again), 0);
	assert_same_modules(&again, &parsed);
	free(text);
	proc_modules_free(&queried);
	proc_modules_free(&again);
	proc_modules_free(&parsed);
	munmap(area, 32 * page);
	close(fd);
	close(libc);
}

static void test_modules_update(void **state)
{
	struct proc_modules before, after;
	uint64_t ino;

	(void)state;
	assert_int_equal(proc_modules_read(getpid(), &before), 0);
	assert_true(before.n > 1);
	ino = before.v[1].ino;
	before.v[0].ino = before.v[1].ino = 1;
	before.v[1].path[0] = '?';
	assert_int_equal(proc_modules_update(getpid(), &before, &after), 0);
	assert_int_equal(after.n, before.n);
	assert_int_equal(after.v[0].ino, 1);
	assert_int_equal(after.v[1].ino, ino);
	proc_modules_free(&after);
	before.v[0].text_len++;
	assert_int_equal(proc_modules_update(getpid(), &before, &after), 0);
	assert_int_not_equal(after.v[0].ino, 1);
	proc_modules_free(&after);
	proc_modules_free(&before);
}

/* Maps a page of a file for execution. */
static void *map_exec(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0700);
	void *at;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(pwrite(fd, path + strlen(path) - 16, 16, 0), 16);      /* how the name ends differs */
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_true(at != MAP_FAILED);
	return at;
}

/* Opened, it is the mapped file: its first bytes are those in memory. Without privileges that needs a name that leads to it. */
static void expect_opened(const struct proc_module *module, const void *at)
{
	struct code_file file;
	char bytes[16];
	int err = proc_module_open(module, &file), fd;

	if (module->by_name && module->deleted) {
		assert_int_equal(err, -EPERM);
		return;
	}
	assert_int_equal(err, 0);
	fd = code_file_reader(&file);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_memory_equal(bytes, at, sizeof(bytes));
	close(fd);
	code_file_close(&file);
}

static void expect_module(void *at, const char *path, bool deleted)
{
	struct proc_modules modules;
	const struct proc_module *module;

	assert_int_equal(proc_modules_read(getpid(), &modules), 0);
	module = module_with(&modules, at);
	assert_non_null(module);
	assert_string_equal(module->path, path);
	assert_int_equal(module->deleted, deleted);
	expect_opened(module, at);
	proc_modules_free(&modules);
}

static void test_odd_paths(void **state)
{
	static const char *const names[] = { "with space", "new\nline", "back\\040slash", "x (deleted)" };
	char dir[] = "/tmp/ioprobe procfs-XXXXXX", path[128];

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *at;

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		at = map_exec(path);
		expect_module(at, path, false);
		unlink(path);
		expect_module(at, path, true);
		munmap(at, 4096);
	}
	rmdir(dir);
}

/* Another file in the place of the mapped one must not be taken for it. */
static void test_replaced_file(void **state)
{
	char path[] = "/tmp/ioprobe-procfs-XXXXXX", other[64];
	void *at, *at_other;
	int fd = mkstemp(path);

	(void)state;
	close(fd);
	snprintf(other, sizeof(other), "%s.new", path);
	at = map_exec(path);
	at_other = map_exec(other);
	assert_int_equal(rename(other, path), 0);
	expect_module(at, path, true);
	expect_module(at_other, path, false);
	munmap(at, 4096);
	munmap(at_other, 4096);
	unlink(path);
}

/* ---- threads and children ---- */

static bool contains(const pid_t *list, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == pid)
			return true;
	return false;
}

static void *say_tid(void *arg)
{
	int *pipes = arg;
	pid_t tid = gettid();
	char byte;

	if (write(pipes[1], &tid, sizeof(tid)) != sizeof(tid))
		abort();
	while (read(pipes[2], &byte, 1) < 0)
		;
	return NULL;
}

static void test_threads(void **state)
{
	int pipes[4];
	pthread_t thread;
	pid_t *tids, tid;
	size_t n;

	(void)state;
	assert_int_equal(pipe(pipes) | pipe(pipes + 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, say_tid, pipes), 0);
	assert_int_equal(read(pipes[0], &tid, sizeof(tid)), sizeof(tid));
	assert_int_equal(proc_threads_read(getpid(), &tids, &n), 0);
	assert_int_equal(n, 2);
	assert_true(contains(tids, n, tid) && contains(tids, n, getpid()));
	free(tids);
	close(pipes[3]);
	pthread_join(thread, NULL);
	for (int i = 0; i < 3; i++)
		close(pipes[i]);
	assert_int_equal(proc_threads_read(NOBODY, &tids, &n), -ESRCH);
}

/* A child and a grandchild, which both end when the pipe is closed. */
static pid_t make_family(int *to_end, pid_t *grandchild)
{
	int tell[2], end[2];
	pid_t child;

	assert_int_equal(pipe(tell) | pipe(end), 0);
	child = fork();
	if (!child) {
		pid_t own = fork();
		char byte;

		close(end[1]);
		if (own && write(tell[1], &own, sizeof(own)) != sizeof(own))
			_exit(1);
		if (!own)
			prctl(PR_SET_NAME, ") R 1 (", 0, 0, 0);
		_exit(read(end[0], &byte, 1) || (own && waitpid(own, NULL, 0) != own));
	}
	assert_int_equal(read(tell[0], grandchild, sizeof(*grandchild)), sizeof(*grandchild));
	close(tell[0]);
	close(tell[1]);
	close(end[0]);
	*to_end = end[1];
	return child;
}

static void test_family(void **state)
{
	uint64_t start, child_start;
	pid_t child, grandchild, *pids, ppid;
	int to_end, status;
	uid_t uid;
	gid_t gid;
	size_t n;

	(void)state;
	child = make_family(&to_end, &grandchild);
	assert_int_equal(proc_descendants_read((pid_t[]){ getpid() }, 1, &pids, &n), 0);
	assert_true(contains(pids, n, child) && contains(pids, n, grandchild));
	assert_false(contains(pids, n, getpid()) || contains(pids, n, getppid()));
	free(pids);
	assert_int_equal(proc_descendants_read((pid_t[]){ child, getpid() }, 2, &pids, &n), 0);
	assert_true(contains(pids, n, grandchild));
	assert_false(contains(pids, n, child) || contains(pids, n, getpid()));
	free(pids);
	assert_int_equal(proc_ids_read(getpid(), &ppid, &uid, &gid, &start), 0);
	assert_int_equal(ppid, getppid());
	assert_int_equal(uid, getuid());
	assert_int_equal(gid, getgid());
	assert_int_equal(proc_ids_read(child, &ppid, &uid, &gid, &child_start), 0);
	assert_int_equal(ppid, getpid());
	assert_true(start && child_start >= start);
	assert_int_equal(proc_ids_read(grandchild, &ppid, &uid, &gid, &start), 0);
	assert_int_equal(ppid, child);

	assert_true(proc_alive(child) && proc_alive(grandchild));
	assert_int_equal(proc_start_ticks(child), child_start);
	assert_false(proc_ended(child, 0) || proc_ended(child, child_start));
	assert_true(proc_ended(child, child_start + 1));        /* its pid was reused */
	close(to_end);
	siginfo_t info;
	waitid(P_PID, child, &info, WEXITED | WNOWAIT);
	assert_false(proc_alive(child));        /* a zombie */
	assert_true(proc_ended(child, 0) && proc_ended(child, child_start));
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	assert_false(proc_alive(child));
	assert_int_equal(proc_ids_read(child, &ppid, &uid, &gid, &start), -ESRCH);
	assert_int_equal(proc_descendants_read(&child, 1, &pids, &n), 0);
	assert_int_equal(n, 0);
	free(pids);
}

static __attribute__((noreturn)) void be_chain(int depth, int up, int end)
{
	pid_t self = getpid(), child = depth > 1 ? fork() : 0;
	char byte;

	if (depth > 1 && !child)
		be_chain(depth - 1, up, end);
	if (write(up, &self, sizeof(self)) != sizeof(self))
		_exit(1);
	_exit(read(end, &byte, 1) || (child && waitpid(child, NULL, 0) != child));
}

/* Each process is read once, however deep its family is, and however many of them are asked for. */
static void test_each_process_once(void **state)
{
	enum { DEPTH = 40 };
	pid_t chain[DEPTH], child, *pids;
	int up[2], end[2];
	size_t n;

	(void)state;
	assert_true(!pipe(up) && !pipe(end));
	child = fork();
	if (!child) {
		close(end[1]);
		be_chain(DEPTH, up[1], end[0]);
	}
	for (int i = 0; i < DEPTH; i++)
		assert_int_equal(read(up[0], &chain[i], sizeof(chain[i])), sizeof(chain[i]));
	for (int nancestors = 1; nancestors <= DEPTH; nancestors += DEPTH - 1) {
		memset(stat_opened, 0, sizeof(stat_opened));
		assert_int_equal(proc_descendants_read(nancestors == 1 ? &child : chain, nancestors, &pids, &n), 0);
		free(pids);
		assert_int_equal(n, nancestors == 1 ? DEPTH - 1 : 0);
		for (size_t pid = 0; pid < sizeof(stat_opened); pid++)
			assert_true(stat_opened[pid] <= 1);
		for (int i = 0; i < DEPTH; i++)
			assert_int_equal(stat_opened[chain[i]], 1);
	}
	close(end[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(up[0]), close(up[1]), close(end[0]);
}

static void *wait_for_byte(void *fd)
{
	char byte;

	_exit(read(*(int *)fd, &byte, 1) != 0);
}

/* A process whose leader has ended is shown as a zombie, but its other threads may do I/O for long. */
static void test_leader_ended(void **state)
{
	int end[2], status, rounds = 0;
	char *text = NULL;
	pthread_t thread;
	size_t len;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(end), 0);
	child = fork();
	if (!child) {
		close(end[1]);
		pthread_create(&thread, NULL, wait_for_byte, &end[0]);
		pthread_exit(NULL);
	}
	close(end[0]);
	do {
		free(text);
		usleep(10000);
		assert_int_equal(proc_text_read(child, "stat", &text, &len), 0);
	} while (!strstr(text, ") Z ") && ++rounds < 1000);
	assert_non_null(strstr(text, ") Z "));
	free(text);
	assert_true(proc_alive(child));
	assert_false(proc_ended(child, proc_start_ticks(child)));
	close(end[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(proc_ended(child, 0));
}

/* ---- descriptors ---- */

static const struct proc_fd *fd_with(const struct proc_fds *fds, int number)
{
	for (size_t i = 0; i < fds->n; i++)
		if (fds->v[i].fd == number)
			return &fds->v[i];
	return NULL;
}

static void test_fds(void **state)
{
	char path[] = "/tmp/ioprobe-procfs-XXXXXX";
	int fd = mkostemp(path, O_APPEND | O_CLOEXEC), ends[2];
	const struct proc_fd *found;
	struct proc_fds fds;
	struct stat st;

	(void)state;
	assert_int_equal(write(fd, "12345", 5) | pipe(ends), 5);
	fstat(fd, &st);
	assert_int_equal(proc_fds_read(getpid(), &fds), 0);
	found = fd_with(&fds, fd);
	assert_non_null(found);
	assert_string_equal(found->target, path);
	assert_int_equal(found->pos, 5);
	assert_int_equal(found->ino, st.st_ino);
	assert_int_equal(found->dev, st.st_dev);
	assert_int_equal(found->mode, st.st_mode);
	assert_int_equal(found->flags & (O_ACCMODE | O_APPEND | O_CLOEXEC), O_RDWR | O_APPEND | O_CLOEXEC);
	assert_true(found->mnt_id);
	found = fd_with(&fds, ends[0]);
	assert_non_null(found);
	assert_int_equal(strncmp(found->target, "pipe:[", 6), 0);
	assert_true(S_ISFIFO(found->mode));
	proc_fds_free(&fds);
	close(fd);
	close(ends[0]);
	close(ends[1]);
	unlink(path);
	assert_int_equal(proc_fds_read(NOBODY, &fds), -ESRCH);
}

/* ---- texts ---- */

static void test_texts(void **state)
{
	char buf[4096], small[4], *text;
	size_t len;

	(void)state;
	assert_int_equal(proc_text_read(getpid(), "comm", &text, &len), 0);
	assert_int_equal(len, strlen(text));
	assert_int_equal(text[len - 1], '\n');
	free(text);
	assert_int_equal(proc_text_read(getpid(), "maps", &text, &len), 0);      /* longer than a page */
	assert_non_null(strstr(text, "[stack]"));
	free(text);
	assert_int_equal(proc_text_read(NOBODY, "comm", &text, &len), -ESRCH);
	assert_int_equal(proc_link_read(getpid(), "exe", buf, sizeof(buf)), 0);
	assert_int_equal(access(buf, X_OK), 0);
	assert_int_equal(proc_link_read(getpid(), "exe", small, sizeof(small)), -ENAMETOOLONG);
	assert_int_equal(proc_link_read(NOBODY, "exe", buf, sizeof(buf)), -ESRCH);
}

static void test_env(void **state)
{
	static const char env[] = "A=1\0AB=2\0EMPTY=\0=x\0NOVALUE\0LAST=z";

	(void)state;
	assert_string_equal(proc_env_get(env, sizeof(env), "A"), "1");
	assert_string_equal(proc_env_get(env, sizeof(env), "AB"), "2");
	assert_string_equal(proc_env_get(env, sizeof(env), "EMPTY"), "");
	assert_string_equal(proc_env_get(env, sizeof(env), "LAST"), "z");
	assert_null(proc_env_get(env, sizeof(env), "B"));
	assert_null(proc_env_get(env, sizeof(env), "NOVALUE"));
	assert_null(proc_env_get(env, 0, "A"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modules), cmocka_unit_test(test_modules_text),
		cmocka_unit_test(test_modules_update), cmocka_unit_test(test_odd_paths),
		cmocka_unit_test(test_replaced_file),
		cmocka_unit_test(test_threads), cmocka_unit_test(test_family),
		cmocka_unit_test(test_each_process_once), cmocka_unit_test(test_leader_ended),
		cmocka_unit_test(test_fds), cmocka_unit_test(test_texts), cmocka_unit_test(test_env),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
