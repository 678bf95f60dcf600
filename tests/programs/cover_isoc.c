/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * cover_isoc DIR EXPECTED: every function of probes/isoc.probes that the C library has, called by its very name: not what the
 * compiler or a header makes of it.
 */
#include "cover.h"

#include <dlfcn.h>
#include <wchar.h>

typedef int char_fn(FILE *);
typedef int put_fn(int, FILE *);
typedef wint_t wchar_fn(FILE *);
typedef wint_t wput_fn(wchar_t, FILE *);

static const char *const text = "0123456789\nabcdefghij\nABCDEFGHIJ\n";

static void *function(const char *name)
{
	void *f = dlsym(RTLD_DEFAULT, name);

	must(f != NULL, name);
	return f;
}
#define F(type, name) ((typeof(type) *)function(name))
#define N(array) (sizeof(array) / sizeof((array)[0]))

/* A file of n bytes of text, by system calls. */
static void make(const char *path, int copies)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	must(fd >= 0, path);
	for (int i = 0; i < copies; i++)
		must(write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	must(close(fd) == 0, path);
}

static FILE *in(void)
{
	FILE *f;

	make("in", 10);
	CALL((f = F(FILE *(const char *, const char *), "fopen")("in", "r")) != NULL, "fopen create");
	return f;
}

static FILE *out(void)
{
	FILE *f;

	CALL((f = F(FILE *(const char *, const char *), "fopen64")("out", "w+")) != NULL, "fopen64 create");
	return f;
}

static void end(FILE *f)
{
	CALL(F(int(FILE *), "fclose")(f) == 0, "fclose destroy");
}

/* The standard streams on files, below libc. */
static void standard(int fd, const char *path, int flags)
{
	int file = open(path, flags, 0644);

	must(file >= 0 && dup2(file, fd) == fd && close(file) == 0, path);
}

static void streams(void)
{
	typedef int seek_fn(FILE *, off_t, int);
	char buf[BUFSIZ], *memory = NULL;
	wchar_t *wide = NULL;
	size_t size;
	fpos_t position;
	FILE *f = out();
	int fd;

	CALL(F(int(FILE *, char *, int, size_t), "setvbuf")(f, buf, _IOFBF, sizeof(buf)) == 0, "setvbuf");
	CALL((F(void(FILE *, char *), "setbuf")(f, buf), true), "setbuf");
	CALL((F(void(FILE *, char *, size_t), "setbuffer")(f, buf, sizeof(buf)), true), "setbuffer");
	CALL((F(void(FILE *), "setlinebuf")(f), true), "setlinebuf");
	CALL(F(size_t(const void *, size_t, size_t, FILE *), "fwrite")(text, 3, 10, f) == 10, "fwrite write:30/30");
	CALL(F(int(FILE *), "fflush")(f) == 0, "fflush flush");
	CALL(F(int(FILE *), "fflush_unlocked")(f) == 0, "fflush_unlocked flush");
	must(fgetpos(f, &position) == 0, "fgetpos");
	CALL(F(seek_fn, "fseek")(f, 10, SEEK_SET) == 0, "fseek seek:10");
	CALL(F(seek_fn, "fseeko")(f, 5, SEEK_CUR) == 0, "fseeko seek:15");
	CALL(F(seek_fn, "fseeko64")(f, -5, SEEK_END) == 0, "fseeko64 seek:25");
	CALL(F(seek_fn, "fseek")(f, -5, SEEK_SET) == -1 && errno == EINVAL, "fseek !22");
	CALL((F(void(FILE *), "rewind")(f), true), "rewind seek:0");
	CALL(F(int(FILE *, const fpos_t *), "fsetpos")(f, &position) == 0, "fsetpos seek:30");
	CALL(F(int(FILE *, const fpos_t *), "fsetpos64")(f, &position) == 0, "fsetpos64 seek:30");
	CALL((f = F(FILE *(const char *, const char *, FILE *), "freopen")("in", "r", f)) != NULL, "freopen destroy create");
	CALL((f = F(FILE *(const char *, const char *, FILE *), "freopen64")("out", "r+", f)) != NULL, "freopen64 destroy create");
	end(f);
	fd = open("in", O_RDONLY);
	CALL((f = F(FILE *(int, const char *), "fdopen")(fd, "r")) != NULL, "fdopen create");
	end(f);
	CALL((f = F(FILE *(void), "tmpfile")()) != NULL, "tmpfile create");
	end(f);
	CALL((f = F(FILE *(void), "tmpfile64")()) != NULL, "tmpfile64 create");
	end(f);
	CALL((f = F(FILE *(const char *, const char *), "popen")("exit 3", "r")) != NULL, "popen create");
	CALL(WEXITSTATUS(F(int(FILE *), "pclose")(f)) == 3, "pclose destroy");
	CALL((f = F(FILE *(void *, size_t, const char *), "fmemopen")(buf, sizeof(buf), "w")) != NULL, "fmemopen create");
	end(f);
	CALL((f = F(FILE *(char **, size_t *), "open_memstream")(&memory, &size)) != NULL, "open_memstream create");
	end(f);
	CALL((f = F(FILE *(wchar_t **, size_t *), "open_wmemstream")(&wide, &size)) != NULL, "open_wmemstream create");
	end(f);
	free(memory);
	free(wide);
	CALL((f = F(FILE * (void *, const char *, cookie_io_functions_t), "fopencookie")(NULL, "w",
											 (cookie_io_functions_t){ 0 })) != NULL,
	     "fopencookie create");
	end(f);
	make("gone", 0);
	CALL(F(int(const char *), "remove")("gone") == 0, "remove delete");
	CALL(F(int(const char *), "remove")("gone") == -1 && errno == ENOENT, "remove !2");
	CALL(F(FILE *(const char *, const char *), "fopen")("no/such", "r") == NULL && errno == ENOENT, "fopen !2");
	CALL(F(FILE *(const char *, const char *), "fopen64")("no/such", "w") == NULL && errno == ENOENT, "fopen64 !2");
}

static void blocks(void)
{
	typedef size_t read_fn(void *, size_t, size_t, FILE *);
	typedef size_t checked_fn(void *, size_t, size_t, size_t, FILE *);
	FILE *f = in(), *g = out(), *full;
	char buf[100];

	CALL(F(read_fn, "fread")(buf, 5, 4, f) == 4, "fread read:20/20");
	CALL(F(read_fn, "fread_unlocked")(buf, 1, 7, f) == 7, "fread_unlocked read:7/7");
	CALL(F(checked_fn, "__fread_chk")(buf, sizeof(buf), 2, 8, f) == 8, "__fread_chk read:16/16");
	CALL(F(checked_fn, "__fread_unlocked_chk")(buf, sizeof(buf), 2, 9, f) == 9, "__fread_unlocked_chk read:18/18");
	CALL(F(read_fn, "fread")(buf, 1, 0, f) == 0, "fread read:0/0");
	CALL(F(int(FILE *, long, int), "fseek")(f, -10, SEEK_END) == 0, "fseek seek:320");
	CALL(F(read_fn, "fread")(buf, 1, 50, f) == 10 && feof(f), "fread read:50/10");
	CALL(F(read_fn, "fread")(buf, 1, 50, f) == 0, "fread read:50/0");
	CALL(F(read_fn, "fwrite_unlocked")((void *)text, 1, 11, g) == 11, "fwrite_unlocked write:11/11");
	end(f);
	end(g);
	CALL((f = F(FILE *(const char *, const char *), "fopen")("out", "w")) != NULL, "fopen create");
	CALL(F(read_fn, "fread")(buf, 1, 5, f) == 0 && ferror(f), "fread read:5/0");
	end(f);
	CALL((full = F(FILE *(const char *, const char *), "fopen")("/dev/full", "w")) != NULL, "fopen create");
	CALL((F(void(FILE *, char *), "setbuf")(full, NULL), true), "setbuf");
	CALL(F(read_fn, "fwrite")((void *)text, 1, 11, full) == 0 && errno == ENOSPC, "fwrite !28 write:11/?");
	CALL(F(put_fn, "fputc")('x', full) == EOF && errno == ENOSPC, "fputc !28 write:1/?");
	CALL(F(int(const char *, FILE *), "fputs")("x", full) == EOF && errno == ENOSPC, "fputs !28 write:?/?");
	CALL(F(int(FILE *, const char *, ...), "fprintf")(full, "x") == -1 && errno == ENOSPC, "fprintf !28 write:?/?");
	end(full);
	CALL((full = F(FILE *(const char *, const char *), "fopen")("/dev/full", "w")) != NULL, "fopen create");
	CALL(F(put_fn, "fputc")('x', full) == 'x', "fputc write:1/1");
	CALL(F(int(FILE *), "fflush")(full) == EOF && errno == ENOSPC, "fflush !28 flush");
	end(full);
	CALL((full = F(FILE *(const char *, const char *), "fopen")("/dev/full", "w")) != NULL, "fopen create");
	CALL(F(put_fn, "fputc")('x', full) == 'x', "fputc write:1/1");
	CALL(F(int(FILE *), "fclose")(full) == EOF && errno == ENOSPC, "fclose !28");
}

static void characters(void)
{
	static const char *const gets[] = { "fgetc", "getc", "_IO_getc", "fgetc_unlocked", "getc_unlocked" };
	static const char *const puts[] = { "fputc", "putc", "_IO_putc", "fputc_unlocked", "putc_unlocked" };
	FILE *f = in(), *g = out();

	for (size_t i = 0; i < N(gets); i++)
		CALL(F(char_fn, gets[i])(f) == '0' + (int)i, "%s read:1/1", gets[i]);
	for (size_t i = 0; i < N(puts); i++)
		CALL(F(put_fn, puts[i])('x', g) == 'x', "%s write:1/1", puts[i]);
	CALL(F(put_fn, "ungetc")('x', f) == 'x', "ungetc");
	CALL(F(int(void), "getchar")() == '0', "getchar read:1/1");
	CALL(F(int(void), "getchar_unlocked")() == '1', "getchar_unlocked read:1/1");
	CALL(F(int(int), "putchar")('x') == 'x', "putchar write:1/1");
	CALL(F(int(int), "putchar_unlocked")('x') == 'x', "putchar_unlocked write:1/1");
	CALL((F(char_fn, "getw")(f), true), "getw read:?/4");
	CALL(F(put_fn, "putw")(0x61616161, g) == 0, "putw write:?/4");
	CALL(F(int(FILE *, long, int), "fseek")(f, 0, SEEK_END) == 0, "fseek seek:330");
	CALL(F(char_fn, "fgetc")(f) == EOF && feof(f), "fgetc read:1/0");
	end(f);
	end(g);
}

static void lines(void)
{
	static const char *const gets[] = { "fgets", "fgets_unlocked" }, *const checked[] = { "__fgets_chk",
											      "__fgets_unlocked_chk" };
	FILE *f = in(), *g = out();
	char buf[100], *line = NULL;
	size_t size = 0;

	for (size_t i = 0; i < N(gets); i++)
		CALL(F(char *(char *, int, FILE *), gets[i])(buf, 100, f) && strlen(buf) == 11, "%s read:?/11", gets[i]);
	for (size_t i = 0; i < N(checked); i++)
		CALL(F(char *(char *, size_t, int, FILE *), checked[i])(buf, 100, 100, f) && strlen(buf) == 11, "%s read:?/11",
		     checked[i]);
	CALL(F(char *(char *), "gets")(buf) && strlen(buf) == 8, "gets read:?/9");
	CALL(F(char *(char *, size_t), "__gets_chk")(buf, 100) && strlen(buf) == 10, "__gets_chk read:?/11");
	CALL(F(ssize_t(char **, size_t *, FILE *), "getline")(&line, &size, f) == 11, "getline read:?/11");
	CALL(F(ssize_t(char **, size_t *, int, FILE *), "getdelim")(&line, &size, 'D', f) == 4, "getdelim read:?/4");
	CALL(F(ssize_t(char **, size_t *, int, FILE *), "__getdelim")(&line, &size, 'E', f) == 1, "__getdelim read:?/1");
	CALL(F(int(FILE *, long, int), "fseek")(f, 0, SEEK_END) == 0, "fseek seek:330");
	CALL(F(char *(char *, int, FILE *), "fgets")(buf, 100, f) == NULL && feof(f), "fgets read:?/0");
	CALL(F(int(const char *, FILE *), "fputs")("hello", g) >= 0, "fputs write:?/5");
	CALL(F(int(const char *, FILE *), "fputs_unlocked")("hello", g) >= 0, "fputs_unlocked write:?/5");
	CALL(F(int(const char *), "puts")("hello") >= 0, "puts write:?/6");
	free(line);
	end(f);
	end(g);
}

typedef int printf_fn(const char *, ...);
typedef int fprintf_fn(FILE *, const char *, ...);
typedef int printf_chk_fn(int, const char *, ...);
typedef int fprintf_chk_fn(FILE *, int, const char *, ...);
typedef int vprintf_fn(const char *, va_list);
typedef int vfprintf_fn(FILE *, const char *, va_list);
typedef int vprintf_chk_fn(int, const char *, va_list);
typedef int vfprintf_chk_fn(FILE *, int, const char *, va_list);

/* The v… variants get their arguments through here. */
static void formatted_va(FILE *f, FILE *g, ...)
{
	static const char *const fin[] = { "vfscanf", "__isoc99_vfscanf" }, *const in[] = { "vscanf", "__isoc99_vscanf" };
	va_list ap, again;

	va_start(ap, g);
	for (size_t i = 0; i < N(fin); i++) {
		va_copy(again, ap);
		CALL(F(vfprintf_fn, fin[i])(f, "%d", again) == 1, "%s read:?/%zu", fin[i], i + 1);   /* "1", " 2" */
		va_end(again);
	}
	for (size_t i = 0; i < N(in); i++) {
		va_copy(again, ap);
		CALL(F(vprintf_fn, in[i])("%1d", again) == 1, "%s read:?/1", in[i]);
		va_end(again);
	}
	CALL(F(vfprintf_fn, "vfprintf")(g, "hello", ap) == 5, "vfprintf write:?/5");
	CALL(F(vfprintf_chk_fn, "__vfprintf_chk")(g, 1, "hello", ap) == 5, "__vfprintf_chk write:?/5");
	CALL(F(vprintf_fn, "vprintf")("hello", ap) == 5, "vprintf write:?/5");
	CALL(F(vprintf_chk_fn, "__vprintf_chk")(1, "hello", ap) == 5, "__vprintf_chk write:?/5");
	va_end(ap);
}

/* These the C library has since 2.38. The last argument points to a number, for the v… variants. */
static void formatted_23(FILE *f, ...)
{
	va_list ap, again;
	int n;

	if (!dlsym(RTLD_DEFAULT, "__isoc23_fscanf"))
		return;
	va_start(ap, f);
	va_copy(again, ap);
	CALL(F(fprintf_fn, "__isoc23_fscanf")(f, "%1d", &n) == 1 && n == 0, "__isoc23_fscanf read:?/1");
	CALL(F(vfprintf_fn, "__isoc23_vfscanf")(f, "%1d", again) == 1, "__isoc23_vfscanf read:?/1");
	CALL(F(printf_fn, "__isoc23_scanf")("%1d", &n) == 1, "__isoc23_scanf read:?/1");
	CALL(F(vprintf_fn, "__isoc23_vscanf")("%1d", ap) == 1, "__isoc23_vscanf read:?/1");
	va_end(again);
	va_end(ap);
}

static void formatted(void)
{
	FILE *f = in(), *g = out();
	int n;

	CALL(F(fprintf_fn, "fprintf")(g, "hello %d", 7) == 7, "fprintf write:?/7");
	CALL(F(fprintf_chk_fn, "__fprintf_chk")(g, 1, "hello %d", 7) == 7, "__fprintf_chk write:?/7");
	CALL(F(printf_fn, "printf")("hello %d", 7) == 7, "printf write:?/7");
	CALL(F(printf_chk_fn, "__printf_chk")(1, "hello %d", 7) == 7, "__printf_chk write:?/7");
	CALL(F(fprintf_fn, "fscanf")(f, "%1d", &n) == 1 && n == 0, "fscanf read:?/1");
	CALL(F(fprintf_fn, "__isoc99_fscanf")(f, "%1d", &n) == 1 && n == 1, "__isoc99_fscanf read:?/1");
	CALL(F(printf_fn, "scanf")("%*s %1d", &n) == 1 && n == 0, "scanf read:?/12");
	CALL(F(printf_fn, "__isoc99_scanf")("%1d", &n) == 1 && n == 1, "__isoc99_scanf read:?/1");
	CALL((f = F(FILE *(const char *, const char *, FILE *), "freopen")("digits", "w+", f)) != NULL, "freopen destroy create");
	CALL(F(int(const char *, FILE *), "fputs")("1 2 3\n", f) >= 0, "fputs write:?/6");
	CALL((F(void(FILE *), "rewind")(f), true), "rewind seek:0");
	formatted_va(f, g, &n);
	end(f);
	end(g);
	f = in();
	formatted_23(f, &n);
	end(f);
}

typedef int vwprintf_fn(const wchar_t *, va_list);
typedef int vfwprintf_fn(FILE *, const wchar_t *, va_list);

static void wide_va(FILE *f, FILE *g, ...)
{
	static const char *const fin[] = { "vfwscanf", "__isoc99_vfwscanf" }, *const in[] = { "vwscanf", "__isoc99_vwscanf" };
	va_list ap, again;

	va_start(ap, g);
	for (size_t i = 0; i < N(fin); i++) {
		va_copy(again, ap);
		CALL(F(vfwprintf_fn, fin[i])(f, L"%1d", again) == 1, "%s read:?/1", fin[i]);
		va_end(again);
	}
	for (size_t i = 0; i < N(in); i++) {
		va_copy(again, ap);
		CALL(F(vwprintf_fn, in[i])(L"%1d", again) == 1, "%s read:?/1", in[i]);
		va_end(again);
	}
	CALL(F(vfwprintf_fn, "vfwprintf")(g, L"hello", ap) == 5, "vfwprintf write:?/5");
	CALL(F(int(FILE *, int, const wchar_t *, va_list), "__vfwprintf_chk")(g, 1, L"hello", ap) == 5,
	     "__vfwprintf_chk write:?/5");
	CALL(F(vwprintf_fn, "vwprintf")(L"hello", ap) == 5, "vwprintf write:?/5");
	CALL(F(int(int, const wchar_t *, va_list), "__vwprintf_chk")(1, L"hello", ap) == 5, "__vwprintf_chk write:?/5");
	va_end(ap);
}

typedef int wprintf_fn(const wchar_t *, ...);
typedef int fwprintf_fn(FILE *, const wchar_t *, ...);

static void wide_23(FILE *f, ...)
{
	va_list ap, again;
	int n;

	if (!dlsym(RTLD_DEFAULT, "__isoc23_fwscanf"))
		return;
	va_start(ap, f);
	va_copy(again, ap);
	CALL(F(fwprintf_fn, "__isoc23_fwscanf")(f, L"%1d", &n) == 1 && n == 0, "__isoc23_fwscanf read:?/1");
	CALL(F(vfwprintf_fn, "__isoc23_vfwscanf")(f, L"%1d", again) == 1, "__isoc23_vfwscanf read:?/1");
	CALL(F(wprintf_fn, "__isoc23_wscanf")(L"%1d", &n) == 1, "__isoc23_wscanf read:?/1");
	CALL(F(vwprintf_fn, "__isoc23_vwscanf")(L"%1d", ap) == 1, "__isoc23_vwscanf read:?/1");
	va_end(again);
	va_end(ap);
}

static void wide_formatted(void)
{
	FILE *f = in(), *g = out();
	int n;

	CALL(F(fwprintf_fn, "fwprintf")(g, L"hello %d", 7) == 7, "fwprintf write:?/7");
	CALL(F(int(FILE *, int, const wchar_t *, ...), "__fwprintf_chk")(g, 1, L"hello %d", 7) == 7, "__fwprintf_chk write:?/7");
	CALL(F(wprintf_fn, "wprintf")(L"hello %d", 7) == 7, "wprintf write:?/7");
	CALL(F(int(int, const wchar_t *, ...), "__wprintf_chk")(1, L"hello %d", 7) == 7, "__wprintf_chk write:?/7");
	CALL(F(fwprintf_fn, "fwscanf")(f, L"%1d", &n) == 1 && n == 0, "fwscanf read:?/1");
	CALL(F(fwprintf_fn, "__isoc99_fwscanf")(f, L"%1d", &n) == 1 && n == 1, "__isoc99_fwscanf read:?/1");
	CALL(F(wprintf_fn, "wscanf")(L"%1d", &n) == 1, "wscanf read:?/1");
	CALL(F(wprintf_fn, "__isoc99_wscanf")(L"%1d", &n) == 1, "__isoc99_wscanf read:?/1");
	wide_va(f, g, &n);
	end(f);
	end(g);
	f = in();
	wide_23(f, &n);
	end(f);
}

static void wide(void)
{
	static const char *const gets[] = { "fgetwc", "getwc", "fgetwc_unlocked", "getwc_unlocked" };
	static const char *const puts[] = { "fputwc", "putwc", "fputwc_unlocked", "putwc_unlocked" };
	static const char *const lines[] = { "fgetws", "fgetws_unlocked" }, *const checked[] = { "__fgetws_chk",
												 "__fgetws_unlocked_chk" };
	FILE *f = in(), *g = out();
	wchar_t buf[100];

	/* narrow so far: wide from here on */
	must(freopen("in", "r", stdin) && freopen("stdout2", "w", stdout), "freopen");
	cover_expect("freopen destroy create");
	cover_expect("freopen destroy create");
	for (size_t i = 0; i < N(gets); i++)
		CALL(F(wchar_fn, gets[i])(f) == L'0' + i, "%s read:?/1", gets[i]);
	for (size_t i = 0; i < N(puts); i++)
		CALL(F(wput_fn, puts[i])(L'x', g) == L'x', "%s write:?/1", puts[i]);
	CALL(F(wint_t(wint_t, FILE *), "ungetwc")(L'3', f) == L'3', "ungetwc");
	CALL(F(wint_t(void), "getwchar")() == L'0', "getwchar read:?/1");
	CALL(F(wint_t(void), "getwchar_unlocked")() == L'1', "getwchar_unlocked read:?/1");
	CALL(F(wint_t(wchar_t), "putwchar")(L'x') == L'x', "putwchar write:?/1");
	CALL(F(wint_t(wchar_t), "putwchar_unlocked")(L'x') == L'x', "putwchar_unlocked write:?/1");
	CALL(F(wchar_t *(wchar_t *, int, FILE *), lines[0])(buf, 100, f) && wcslen(buf) == 8, "%s read:?/8", lines[0]);
	CALL(F(wchar_t *(wchar_t *, int, FILE *), lines[1])(buf, 100, f) && wcslen(buf) == 11, "%s read:?/11", lines[1]);
	for (size_t i = 0; i < N(checked); i++)
		CALL(F(wchar_t * (wchar_t *, size_t, int, FILE *), checked[i])(buf, 100, 100, f) && wcslen(buf) == 11,
		     "%s read:?/11", checked[i]);
	CALL(F(int(const wchar_t *, FILE *), "fputws")(L"hello", g) >= 0, "fputws write:?/5");
	CALL(F(int(const wchar_t *, FILE *), "fputws_unlocked")(L"hello", g) >= 0, "fputws_unlocked write:?/5");
	end(f);
	end(g);
	wide_formatted();
}

void golden(const char *dir)
{
	must(chdir(dir) == 0, dir);
	make("in", 10);
	standard(0, "in", O_RDONLY);
	standard(1, "stdout", O_WRONLY | O_CREAT | O_TRUNC);
	streams();
	blocks();
	characters();
	lines();
	formatted();
	wide();
	CALL(F(int(void), "fcloseall")() == 0, "fcloseall");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	golden(argv[1]);
	cover_write(argv[2]);
	return 0;
}
