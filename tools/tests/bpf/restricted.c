// SPDX-License-Identifier: GPL-2.0
/* restricted COMMAND...: run it with a restricted purgatory, which may signal, as its input. */
#include <err.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/twheel.h>

int main(int argc, char **argv)
{
	struct twheel_restrict_args args = {
		.rights = TWHEEL_RIGHT_ADD | TWHEEL_RIGHT_WATCH | TWHEEL_RIGHT_SIGNAL,
	};

	if (argc < 2 || ioctl(0, TWHEEL_IOC_RESTRICT, &args))
		err(1, "restricted");
	execvp(argv[1], argv + 1);
	err(1, "%s", argv[1]);
}
