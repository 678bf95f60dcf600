/* Allocate the buffer at a page boundary, which also suffices for direct I/O. */
void *buffer;
if (posix_memalign(&buffer, sysconf(_SC_PAGESIZE), n * sizeof(*rows)))
	errx(1, "no memory");
free(buffer);
