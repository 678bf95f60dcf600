/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * in_flight cancel|throw|return DIR: a thread reads lines by fgets, from a pipe or from a stream of its own (throw: the stream's
 * callback throws at the line "x"). Writes its process id to DIR/ready; after DIR/line it gets one line, and DIR/blocked shows
 * that it waits in its second call. After DIR/go the thread is cancelled, gets the line "x", or gets a line and ends. Exit status
 * 43 if its clean-up ran as it should.
 */
#include <atomic>
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

static int ends[2];
static std::atomic<int> lines, cleaned, caught;

struct Witness {
	~Witness() { cleaned++; }
};

static void wait_for(const std::string &file)
{
	for (int i = 0; i < 6000 && access(file.c_str(), F_OK) != 0; i++)
		usleep(10000);
}

static ssize_t read_line(void *, char *buf, size_t len)
{
	ssize_t n = read(ends[0], buf, len);

	if (n > 0 && buf[0] == 'x')
		throw std::runtime_error("x");
	return n;
}

static FILE *open_stream(bool own)
{
	cookie_io_functions_t io = {};

	io.read = read_line;
	return own ? fopencookie(nullptr, "r", io) : fdopen(ends[0], "r");
}

/* Apart from body(), whose catch would also get the exception that a cancellation is. */
static void read_lines(FILE *stream)
{
	Witness witness;
	char line[64];

	while (fgets(line, sizeof(line), stream) && line[0] != 'x')
		lines++;
}

static void *body(void *arg)
{
	FILE *stream = open_stream(arg);

	setvbuf(stream, nullptr, _IONBF, 0);
	if (!arg) {
		read_lines(stream);
		return nullptr;
	}
	try {
		read_lines(stream);
	} catch (const std::runtime_error &) {
		caught++;
	}
	return nullptr;
}

static void touch(const std::string &file)
{
	FILE *out = fopen((file + ".new").c_str(), "w");

	if (out) {
		fprintf(out, "%d\n", getpid());
		fclose(out);
	}
	rename((file + ".new").c_str(), file.c_str());
}

static void feed(const char *text)
{
	if (write(ends[1], text, strlen(text)) != static_cast<ssize_t>(strlen(text)))
		_exit(3);
}

int main(int argc, char **argv)
{
	const std::string mode = argc == 3 ? argv[1] : "", dir = argc == 3 ? argv[2] : "";
	const bool throws = mode == "throw", cancels = mode == "cancel";
	void *result = nullptr;
	pthread_t thread;

	if (mode.empty() || pipe(ends) != 0 || pthread_create(&thread, nullptr, body, throws ? &ends : nullptr) != 0)
		return 3;
	touch(dir + "/ready");
	wait_for(dir + "/line");
	feed("a\n");
	while (!lines)
		usleep(1000);
	usleep(100000); /* until it blocks again */
	touch(dir + "/blocked");
	wait_for(dir + "/go");
	if (cancels)
		pthread_cancel(thread);
	else
		feed("x\n");
	if (pthread_join(thread, &result) != 0)
		return 3;
	usleep(50000);
	touch(dir + "/done");
	wait_for(dir + "/end");
	return cleaned == 1 && caught == throws && (result == PTHREAD_CANCELED) == cancels ? 43 : 1;
}
