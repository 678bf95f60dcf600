/* A larger buffer, set before the first access: fewer system calls. */
setvbuf(file, NULL, _IOFBF, 4 << 20);
