/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes from a virtual method of a template and through std::function: 4 times 50 and 70.
 */
#include <fcntl.h>
#include <functional>
#include <unistd.h>

struct Writer {
	virtual ~Writer() {}
	virtual void write(int n) = 0;
};

template <class T> struct PlotFile : Writer {
	int fd;
	T last;
	explicit PlotFile(int descriptor) : fd(descriptor), last(0) {}
	void write(int n) override
	{
		last = n;
		if (::write(fd, &last, sizeof(last)) < 0)       /* @write */
			_exit(3);
	}
};

__attribute__((noinline)) void dump(Writer &writer, int n)
{
	for (int i = 0; i < n; i++)
		writer.write(i);                                /* @dump */
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	PlotFile<double> plot(argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1);

	std::function<void(int)> later = [&](int n) {
		dump(plot, n);                                  /* @lambda */
		__asm__ volatile("");
	};
	for (int i = 0; i < 4; i++) {
		usleep(150000);         /* in which the recorder learns where the code is */
		dump(plot, 50);                                 /* @first */
		later(70);                                      /* @second */
	}
	usleep(150000);
	return 0;
}
