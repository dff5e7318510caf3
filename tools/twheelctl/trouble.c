// SPDX-License-Identifier: GPL-2.0
/*
 * What twheelctl says and does when the device or memory is not to be had.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <twheel.h>

#include "names.h"
#include "trouble.h"

/* What to do about an error of a command; the first line that fits is told. */
static const struct advice {
	const char *command;	/* NULL for any */
	int error;
	enum outcome outcome;
	const char *text;
} advices[] = {
	{
		"create", EEXIST, OUTCOME_FAILED,
		"There is one of that name: see 'twheelctl list'.",
	},
	{
		"create", EPERM, OUTCOME_DEVICE,
		"To give it another owner than oneself, or a group that one is not in, takes root (CAP_CHOWN).",
	},
	{
		"create", EINVAL, OUTCOME_DEVICE,
		"More may not be pending in it than the module's parameter max_shared_pending says.",
	},
	{
		"create", ENOSPC, OUTCOME_DEVICE,
		"There are as many as the module's parameter max_purgatories says; 'twheelctl remove' ends one.",
	},
	{
		"remove", EBUSY, OUTCOME_FAILED,
		"It is open, or detached operations are pending or unread: --force ends it even so.",
	},
	{
		"remove", EPERM, OUTCOME_DEVICE,
		"Who created it may remove it, and root (CAP_SYS_ADMIN).",
	},
	{
		"add", EINVAL, OUTCOME_DEVICE,
		"The device takes no such operation: a quorum is 1 to the number of different keys.",
	},
	{
		"add", ENOSPC, OUTCOME_DEVICE,
		"As many are pending as may be, or their watches are: see --max-pending and --max-watches of 'twheelctl create', and the module's parameter max_pending for one open file.",
	},
	{
		"add", EAGAIN, OUTCOME_DEVICE,
		"Too many have ended and their events are not read, twice max_pending: 'twheelctl watch' reads those of detached operations.",
	},
	{
		"add", EDQUOT, OUTCOME_DEVICE,
		"This user has as many as the module's parameter user_max_ops says, pending or unread.",
	},
	{
		"rearm", EOPNOTSUPP, OUTCOME_FAILED,
		"A periodic operation has no other deadline: cancel it and add another.",
	},
	{
		NULL, ENOENT, OUTCOME_FAILED,
		"There is no such operation, or it has ended and its event has been read.",
	},
	{
		NULL, EALREADY, OUTCOME_FAILED,
		"It has ended; its event waits to be read.",
	},
	{
		NULL, ESHUTDOWN, OUTCOME_DEVICE,
		"The purgatory has been removed.",
	},
	{
		NULL, ENOTTY, OUTCOME_DEVICE,
		"The module that is loaded is older than twheelctl, and has no such call.",
	},
	{
		NULL, EBADF, OUTCOME_DEVICE,
		"That takes the right to write to its node.",
	},
	{ }
};

enum outcome device_trouble(const char *what)
{
	fprintf(stderr, "twheelctl: %s: %s\n", what, strerror(errno));
	return OUTCOME_DEVICE;
}

enum outcome refused(const struct command_line *line, const char *what)
{
	const char *command = strcmp(line->command, "heartbeat") ? line->command : "rearm";
	int error = errno;

	fprintf(stderr, "twheelctl: %s: %s\n", what, strerror(error));
	for (const struct advice *advice = advices; advice->text; advice++) {
		if (advice->error != error ||
		    (advice->command && strcmp(advice->command, command)))
			continue;
		fprintf(stderr, "%s\n", advice->text);
		return advice->outcome;
	}
	return OUTCOME_DEVICE;
}

static void advise_loading(void)
{
	fputs("The module is not loaded: modprobe twheel, or insmod twheel.ko\n", stderr);
}

/* What is asked for is not there: which are? */
static void advise_names(const char *purgatory)
{
	struct named *list;
	size_t nr;

	if (access(TWHEEL_DEVICE, F_OK)) {
		advise_loading();
		return;
	}
	nr = read_named(PURGATORY_CLASS, &list);
	fprintf(stderr, "There is no purgatory '%s'", purgatory);
	for (size_t i = 0; i < nr; i++)
		fprintf(stderr, "%s%s", i ? ", " : "; there are: ", list[i].name);
	if (!nr)
		fprintf(stderr, ", and no other: 'twheelctl create %s' makes it", purgatory);
	fputs(".\n", stderr);
	free(list);
}

/* Who may not open a node can perhaps join its group. */
static void advise_group(const char *path)
{
	const struct group *group;
	struct stat node;

	if (stat(path, &node))
		return;
	group = getgrgid(node.st_gid);
	if (!node.st_gid || !(node.st_mode & 0060))
		fprintf(stderr, "Only %s may open it so, as long as its mode is not changed.\n",
			node.st_uid ? "its owner" : "root");
	else if (group)
		fprintf(stderr,
			"It is for the group %s: 'usermod -aG %s USER' lets USER in from the next login on.\n",
			group->gr_name, group->gr_name);
	else
		fprintf(stderr, "It is for the group of number %u.\n", node.st_gid);
}

static void open_trouble(const char *purgatory)
{
	char path[sizeof(TWHEEL_DEVICE) + TWHEEL_NAME_SIZE];
	int error = errno;

	snprintf(path, sizeof(path), "%s%s%s", TWHEEL_DEVICE, purgatory ? "-" : "",
		 purgatory ? purgatory : "");
	fprintf(stderr, "twheelctl: %s: %s\n", path, strerror(error));
	switch (error) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		if (purgatory)
			advise_names(purgatory);
		else
			advise_loading();
		break;
	case EACCES:
	case EPERM:
		advise_group(path);
		break;
	case EDQUOT:
		fputs("This user has as many open as the module's parameter user_max_files says.\n",
		      stderr);
		break;
	}
}

bool device_there(void)
{
	if (!access(TWHEEL_DEVICE, F_OK))
		return true;
	open_trouble(NULL);
	return false;
}

enum outcome control_refused(const struct command_line *line)
{
	switch (errno) {
	case ENOENT:
		if (access(TWHEEL_DEVICE, F_OK))
			break;
		advise_names(line->purgatory);
		return OUTCOME_FAILED;
	case ENXIO:
	case ENODEV:
	case EACCES:
	case EDQUOT:
		break;
	default:
		return refused(line, line->purgatory);
	}
	open_trouble(NULL);
	return OUTCOME_DEVICE;
}

static int opened(struct command_line *line, int fd)
{
	if (fd < 0) {
		open_trouble(line->purgatory);
		line->outcome = OUTCOME_DEVICE;
	}
	return fd;
}

int open_purgatory(struct command_line *line)
{
	int fd = line->purgatory ? twheel_open_named(line->purgatory, O_NONBLOCK) :
				   twheel_open(O_NONBLOCK);

	return opened(line, fd);
}

static int open_to_look(const char *purgatory)
{
	char path[sizeof(TWHEEL_DEVICE) + TWHEEL_NAME_SIZE];

	snprintf(path, sizeof(path), "%s-%s", TWHEEL_DEVICE, purgatory);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

int open_named(struct command_line *line, enum open_for what)
{
	if (!line->purgatory) {
		fprintf(stderr,
			"twheelctl %s: which purgatory? Name one with -p NAME, or with TWHEEL_PURGATORY in the environment; 'twheelctl list' has those that there are.\n",
			line->command);
		line->outcome = OUTCOME_USAGE;
		return -1;
	}
	if (what == OPEN_TO_CHANGE)
		return open_purgatory(line);
	return opened(line, open_to_look(line->purgatory));
}

void *must_realloc(void *memory, unsigned long nr, unsigned long size)
{
	memory = reallocarray(memory, nr, size);
	if (!memory && nr)
		exit(device_trouble("memory"));
	return memory;
}

char *must_strdup(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		exit(device_trouble("memory"));
	return copy;
}
