/* Full buffering of a log; fflush where a reader or a crash matters. */
setvbuf(file, NULL, _IOFBF, 64 << 10);
fprintf(file, "step %d\n", 1);
