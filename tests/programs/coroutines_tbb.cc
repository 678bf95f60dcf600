/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * coroutines_tbb: 8 tasks of oneTBB, each with 5 fwrites on an unbuffered cookie stream, whose callback suspends its task; another
 * thread resumes it, and the fwrite returns on any of TBB's threads. tbb_tasks (PLAIN): the same tasks with files DIR/0 to DIR/7,
 * never suspended. 40 fwrites and 40 nest_calls; exit status 46.
 */
#include "nest.h"

#include <cstdio>
#include <stdio_ext.h>
#include <string>
#include <thread>
#include <vector>

#include <tbb/parallel_for.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>

static const int TASKS = 8, WRITES = 5;

#ifndef PLAIN
static ssize_t callback(void *, const char *, size_t len)
{
	tbb::task::suspend([](tbb::task::suspend_point point) {
		std::thread([point] { tbb::task::resume(point); }).detach();
	});
	return static_cast<ssize_t>(len);
}

static FILE *open_stream(const char *, int)
{
	cookie_io_functions_t functions = { nullptr, callback, nullptr, nullptr };

	return fopencookie(nullptr, "w", functions);
}
#else
static FILE *open_stream(const char *dir, int task)
{
	return std::fopen((std::string(dir) + "/" + std::to_string(task)).c_str(), "w");
}
#endif

/* WRITES, each below a call of a probed library, which has its end on the stack where it began. */
static int run_task(const char *dir, int task)
{
	FILE *stream = open_stream(dir, task);
	int written = 0;

	if (!stream)
		return 0;
	/* the lock has an owner, which may be another thread when the task goes on */
	__fsetlocking(stream, FSETLOCKING_BYCALLER);
	setvbuf(stream, nullptr, _IONBF, 0);
	for (int i = 0; i < WRITES; i++)
		written += nest_call(
				   [](void *s) { return static_cast<int>(std::fwrite("a line\n", 7, 1, static_cast<FILE *>(s))); },
				   stream) == 1;
	std::fclose(stream);
	return written;
}

int main(int argc, char **argv)
{
	std::vector<int> written(TASKS);
	tbb::task_arena arena(4);
	int all = 0;

	if (argc != 2)
		return 2;
	arena.execute([&] {
		tbb::parallel_for(0, TASKS, [&](int task) { written[task] = run_task(argv[1], task); });
	});
	for (int n : written)
		all += n;
	std::printf("%d writes\n", all);
	return 46;
}
