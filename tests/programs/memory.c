/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * memory: shared memory that the kernel keeps as files of its own. A memfd "own": 1 write of 3 bytes, then 2 pages written through
 * a mapping; 3 pages of a shared anonymous mapping and 1 page of System V shared memory.
 */
#include "golden.h"

#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

enum { PAGE = 4096 };

static void touch(volatile char *memory, int pages, const char *what)
{
	must(memory != MAP_FAILED, what);
	for (int i = 0; i < pages; i++)
		memory[i * PAGE] = 1;
}

int main(void)
{
	int fd = memfd_create("own", 0), id = shmget(IPC_PRIVATE, PAGE, 0600 | IPC_CREAT);

	must(fd >= 0 && ftruncate(fd, 2 * PAGE) == 0 && write(fd, "abc", 3) == 3, "memfd");
	touch(mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), 2, "mmap");
	touch(mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 3, "anonymous mmap");
	must(id >= 0, "shmget");
	touch(shmat(id, NULL, 0), 1, "shmat");
	must(shmctl(id, IPC_RMID, NULL) == 0, "shmctl");
	return 0;
}
