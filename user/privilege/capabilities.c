/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Uses raw system calls, which change the calling thread only and are safe after a fork. tests/e2e/privilege.sh records with the
 * required capabilities alone.
 */
#include "privilege/capabilities.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

const struct capability_use capability_uses[] = {
	{ CAP_BPF, "CAP_BPF", true, "load BPF programs" },
	{ CAP_PERFMON, "CAP_PERFMON", true, "attach them to system calls and library functions" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", false,
	  "record processes of other users, and programs with more rights than their user" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN", false,
	  "probe libraries that were deleted or replaced, or are in a container (CAP_CHECKPOINT_RESTORE does, too)" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", false, "read the libraries and the /proc files of other users' processes" },
	{ CAP_SYS_NICE, "CAP_SYS_NICE", false, "answer a starting program at once on a busy node" },
};
const size_t ncapability_uses = sizeof(capability_uses) / sizeof(capability_uses[0]);

int capabilities_get(struct __user_cap_data_struct *caps)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, caps) ? -errno : 0;
}

int capabilities_set(const struct __user_cap_data_struct *caps)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &header, caps) ? -errno : 0;
}

bool capability_has(int number)
{
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	return !capabilities_get(caps) && caps[CAP_TO_INDEX(number)].effective & CAP_TO_MASK(number);
}

bool capability_missing(char *names, size_t len)
{
	size_t used = 0;

	names[0] = 0;
	for (size_t i = 0; i < ncapability_uses; i++)
		if (capability_uses[i].required && !capability_has(capability_uses[i].number) && used < len)
			used += snprintf(names + used, len - used, "%s%s", used ? ", " : "", capability_uses[i].name);
	return used;
}

int capabilities_drop_file_overrides(void)
{
	static const int overrides[] = { CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_FSETID,
					 CAP_LINUX_IMMUTABLE, CAP_MKNOD, CAP_MAC_OVERRIDE };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	int err = capabilities_get(caps);

	if (err)
		return err;
	for (size_t i = 0; i < sizeof(overrides) / sizeof(overrides[0]); i++)
		caps[CAP_TO_INDEX(overrides[i])].effective &= ~CAP_TO_MASK(overrides[i]);
	return capabilities_set(caps);
}

int capabilities_drop_all(void)
{
	static const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);        /* fails on kernels without ambient capabilities */
	return capabilities_set(none);
}
