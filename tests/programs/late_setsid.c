/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Preloaded into ioprobe: its hold server, which begins with setsid(2), begins half a second late, as on a loaded machine.
 */
#include <dlfcn.h>
#include <unistd.h>

pid_t setsid(void)
{
	pid_t (*next)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "setsid");

	usleep(500000);
	return next();
}
