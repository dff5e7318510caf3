// SPDX-License-Identifier: GPL-2.0
/*
 * Error messages about the device, with advice. See failure.h.
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
#include "failure.h"

#define NODE_PATH_SIZE	(sizeof(TWHEEL_DEVICE) + TWHEEL_NAME_SIZE)

/* Advice for an error of a command; the first match is printed. */
static const struct advice {
	const char *command;	/* NULL for any */
	int error;
	enum outcome outcome;
	const char *text;
} advices[] = {
	{
		"create", EEXIST, OUTCOME_FAILED,
		"A purgatory of that name exists: see 'twheelctl list'.",
	},
	{
		"create", EPERM, OUTCOME_DEVICE,
		"Only root (CAP_CHOWN) may give it to another user, or to a group that the caller is not a member of.",
	},
	{
		"create", EINVAL, OUTCOME_DEVICE,
		"The module's parameters limit --max-pending (max_shared_pending) and --max-file-pending (max_pending).",
	},
	{
		"create", ENOSPC, OUTCOME_DEVICE,
		"The module's parameter max_purgatories limits the number of purgatories; 'twheelctl remove' removes one.",
	},
	{
		"create", EDQUOT, OUTCOME_DEVICE,
		"The module limits the purgatories of a user (user_max_purgatories) and the open files (user_max_files).",
	},
	{
		"remove", EBUSY, OUTCOME_FAILED,
		"It is open, or detached operations are pending or unread: --force removes it anyway.",
	},
	{
		"remove", EPERM, OUTCOME_DEVICE,
		"Only its creator and root (CAP_SYS_ADMIN) may remove it.",
	},
	{
		"add", EINVAL, OUTCOME_DEVICE,
		"The device rejected the operation: a quorum must be between 1 and the number of distinct keys.",
	},
	{
		"add", ENOSPC, OUTCOME_DEVICE,
		"A limit on pending operations or on their watches is reached: see --max-pending, --max-file-pending and --max-watches of 'twheelctl create', and the module's parameter max_pending for one open file.",
	},
	{
		"add", ENOBUFS, OUTCOME_DEVICE,
		"Too many events are unread: pending operations and unread events together may be twice the limit on pending ones. 'twheelctl watch' reads the events of detached operations.",
	},
	{
		"add", EDQUOT, OUTCOME_DEVICE,
		"The module's parameter user_max_ops limits the pending and unread operations of a user.",
	},
	{
		"watch", EDQUOT, OUTCOME_DEVICE,
		"The module's parameter user_max_files limits the open files of a user.",
	},
	{
		"watch", ENODEV, OUTCOME_DEVICE,
		"The purgatory has been removed.",
	},
	{
		"rearm", EOPNOTSUPP, OUTCOME_FAILED,
		"The deadline of a periodic operation cannot be moved: cancel it and add another.",
	},
	{
		NULL, ENOENT, OUTCOME_FAILED,
		"There is no such operation, or it has ended and its event has been read.",
	},
	{
		NULL, EALREADY, OUTCOME_FAILED,
		"It has ended; its event has not been read.",
	},
	{
		NULL, ESHUTDOWN, OUTCOME_DEVICE,
		"The purgatory has been removed.",
	},
	{
		NULL, ENOTTY, OUTCOME_DEVICE,
		"The loaded module does not support this call: it is older than twheelctl.",
	},
	{
		NULL, EBADF, OUTCOME_DEVICE,
		"This requires write access to the node.",
	},
	{ }
};

enum outcome refused(const struct command_line *line, const char *message)
{
	const char *command = strcmp(line->command, "heartbeat") ? line->command : "rearm";
	int error = errno;

	fprintf(stderr, "twheelctl: %s: %s\n", message, strerror(error));
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

/* The named purgatory does not exist: print the existing ones. */
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
		fprintf(stderr, "%s%s", i ? ", " : "; existing purgatories: ", list[i].name);
	if (!nr)
		fprintf(stderr, "; 'twheelctl create %s' creates it", purgatory);
	fputs(".\n", stderr);
	free(list);
}

/* Suggests joining the group of a node if its mode grants access to the group. */
static void advise_group(const char *path)
{
	const struct group *group;
	struct stat node;

	if (stat(path, &node))
		return;
	group = getgrgid(node.st_gid);
	if (!node.st_gid || !(node.st_mode & 0060))
		fprintf(stderr, "Its mode grants this access only to %s.\n",
			node.st_uid ? "its owner" : "root");
	else if (group)
		fprintf(stderr,
			"Its mode grants access to the group %s: 'usermod -aG %s USER' adds USER, from the next login on.\n",
			group->gr_name, group->gr_name);
	else
		fprintf(stderr, "Its mode grants access to the group with the number %u.\n",
			node.st_gid);
}

/* @purgatory: NULL for /dev/twheel and /dev/twheel-control */
static void open_failure(const char *path, const char *purgatory)
{
	int error = errno;

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
		fputs("The module's parameter user_max_files limits the open files of a user.\n",
		      stderr);
		break;
	}
}

bool device_present(void)
{
	if (!access(TWHEEL_DEVICE, F_OK))
		return true;
	open_failure(TWHEEL_DEVICE, NULL);
	return false;
}

enum outcome control_refused(const struct command_line *line)
{
	switch (errno) {
	case ENOENT:
		if (access(TWHEEL_CONTROL, F_OK))
			break;
		advise_names(line->purgatory);
		return OUTCOME_FAILED;
	case ENXIO:
	case ENODEV:
	case EACCES:
		break;
	default:
		return refused(line, line->purgatory);
	}
	open_failure(TWHEEL_CONTROL, NULL);
	return OUTCOME_DEVICE;
}

/* @purgatory: name, or NULL for /dev/twheel */
static void node_path(char path[NODE_PATH_SIZE], const char *purgatory)
{
	snprintf(path, NODE_PATH_SIZE, "%s%s%s", TWHEEL_DEVICE, purgatory ? "-" : "",
		 purgatory ? purgatory : "");
}

static int opened(struct command_line *line, int fd)
{
	char path[NODE_PATH_SIZE];

	if (fd < 0) {
		node_path(path, line->purgatory);
		open_failure(path, line->purgatory);
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

static int open_read_only(const char *purgatory)
{
	char path[NODE_PATH_SIZE];

	node_path(path, purgatory);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

int open_named(struct command_line *line, enum open_mode mode)
{
	if (!line->purgatory) {
		fprintf(stderr,
			"twheelctl %s: no purgatory given: use -p NAME, or set TWHEEL_PURGATORY in the environment; 'twheelctl list' lists the purgatories.\n",
			line->command);
		line->outcome = OUTCOME_USAGE;
		return -1;
	}
	if (mode == OPEN_READ_WRITE)
		return open_purgatory(line);
	return opened(line, open_read_only(line->purgatory));
}
