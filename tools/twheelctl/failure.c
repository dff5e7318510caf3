// SPDX-License-Identifier: GPL-2.0
/*
 * Error messages about the device, with advice.
 */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "twheelctl.h"

#define NODE_PATH_SIZE	(sizeof(TWHEEL_DEVICE) + TWHEEL_NAME_SIZE)

/* Pseudo-command for failures to open a node. */
#define OPEN	"open"

/*
 * The errors of each command, with the exit status: strerror() describes them in terms of
 * files. The first match is used; a cause has the same status for each command.
 */
static const struct cause {
	const char *command;	/* NULL for any */
	int error;
	enum outcome outcome;
	const char *text;
	const char *advice;	/* printed on a line of its own, or NULL */
} causes[] = {
	{
		"create", EEXIST, OUTCOME_FAILED, "a purgatory of that name exists",
		"See 'twheelctl list'.",
	},
	{
		"create", EPERM, OUTCOME_DEVICE, "permission denied",
		"Only root (CAP_CHOWN) may give it to another user, or to a group that the caller is not a member of.",
	},
	{
		"create", EINVAL, OUTCOME_USAGE,
		"a limit is too large, or the user namespace does not map the owner or the group",
		"The module's parameters limit --max-pending (max_shared_pending) and --max-file-pending (max_pending); /proc/self/uid_map and gid_map show the mapped users and groups.",
	},
	{
		"create", ENOSPC, OUTCOME_FAILED, "there are too many purgatories",
		"The module's parameter max_purgatories limits their number; 'twheelctl remove' removes one.",
	},
	{
		"create", EDQUOT, OUTCOME_FAILED, "the user has too many purgatories or open files",
		"The module's parameters user_max_purgatories and user_max_files limit them.",
	},
	{
		"remove", EBUSY, OUTCOME_FAILED, "the purgatory is in use",
		"It is open, or detached operations are pending or unread: --force removes it anyway.",
	},
	{
		"remove", EPERM, OUTCOME_DEVICE, "permission denied",
		"Only its creator and root (CAP_SYS_ADMIN) may remove it.",
	},
	{
		"add", EINVAL, OUTCOME_USAGE, "the device does not accept it",
		"A quorum must be between 1 and the number of keys, and no key can be given twice.",
	},
	{
		"add", ENOSPC, OUTCOME_FAILED,
		"a limit on pending operations or on their watches is reached",
		"See --max-pending, --max-file-pending and --max-watches of 'twheelctl create', and the module's parameter max_pending for one open file.",
	},
	{
		"add", ENOBUFS, OUTCOME_FAILED, "too many events are unread",
		"Pending operations and unread events together may be twice the limit on pending ones. 'twheelctl watch' reads the events of detached operations.",
	},
	{
		"add", EDQUOT, OUTCOME_FAILED, "the user has too many operations",
		"The module's parameter user_max_ops limits the pending and unread operations of a user.",
	},
	{
		"rearm", EOPNOTSUPP, OUTCOME_FAILED,
		"the operation is periodic, or has its deadline in a cell",
		"Cancel it and add another; only its program moves a deadline in a cell.",
	},
	{
		"complete", EAGAIN, OUTCOME_FAILED, "the cell of the operation is idle",
		"'twheelctl cancel' ends it.",
	},
	{
		"rearm", EINVAL, OUTCOME_FAILED,
		"the deadline of the operation is of the other kind",
		"On the realtime clock, a date replaces a date, and --in an interval. Or cancel it and add another.",
	},
	{
		OPEN, EPERM, OUTCOME_DEVICE,
		"the device cgroup of the service or container denies access",
		"DeviceAllow= of a unit grants it, or --device of a container.",
	},
	{
		NULL, EDQUOT, OUTCOME_FAILED, "the user has too many open files",
		"The module's parameter user_max_files limits them.",
	},
	{ NULL, ESHUTDOWN, OUTCOME_FAILED, REMOVED_TEXT, NULL },
	{ NULL, ENOENT, OUTCOME_FAILED, "the operation has ended, or never existed", NULL },
	{
		NULL, ENOTTY, OUTCOME_DEVICE, "the loaded module does not support this call",
		"It is older than twheelctl.",
	},
	{
		NULL, EBADF, OUTCOME_DEVICE, "permission denied",
		"This requires write access to the node.",
	},
	{ }
};

static enum outcome report(const char *command, const char *message, int error)
{
	const struct cause *cause = causes;

	while (cause->text && (cause->error != error ||
			       (cause->command && strcmp(cause->command, command))))
		cause++;
	if (!cause->text) {
		fprintf(stderr, "twheelctl: %s: %s\n", message, strerror(error));
		return OUTCOME_DEVICE;
	}
	fprintf(stderr, "twheelctl: %s: %s\n", message, cause->text);
	if (cause->advice)
		fprintf(stderr, "%s\n", cause->advice);
	return cause->outcome;
}

enum outcome refused(const struct command_line *line, const char *message)
{
	bool alias = !strcmp(line->command, "heartbeat");

	return report(alias ? "rearm" : line->command, message, errno);
}

enum outcome no_purgatory(const char *purgatory)
{
	struct named *list;
	size_t nr = read_named(PURGATORY_CLASS, &list);

	fprintf(stderr, "twheelctl: there is no purgatory '%s'", purgatory);
	for (size_t i = 0; i < nr; i++)
		fprintf(stderr, "%s%s", i ? ", " : "; existing purgatories: ", list[i].state.name);
	if (!nr)
		fprintf(stderr, "; 'twheelctl create %s' creates it", purgatory);
	fputs("\n", stderr);
	free(list);
	return OUTCOME_FAILED;
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
static enum outcome node_failure(const char *path, const char *purgatory)
{
	enum outcome outcome;
	int error = errno;

	if (error == ENOENT || error == ENXIO || error == ENODEV) {
		if (purgatory && !access(TWHEEL_DEVICE, F_OK))
			return no_purgatory(purgatory);
		fprintf(stderr, "twheelctl: %s: %s\n", path, access("/sys/module/twheel", F_OK) ?
			"the module is not loaded: modprobe twheel, or insmod twheel.ko" :
			"the module is loaded, but the node is hidden from this process, or of an earlier purgatory: see the settings of its service or container, and restart the service or create the container anew");
		return OUTCOME_DEVICE;
	}
	outcome = report(OPEN, path, error);
	if (error == EACCES)
		advise_group(path);
	return outcome;
}

bool device_present(void)
{
	if (!access(TWHEEL_DEVICE, F_OK))
		return true;
	node_failure(TWHEEL_DEVICE, NULL);
	return false;
}

enum outcome control_refused(const struct command_line *line)
{
	switch (errno) {
	case ENOENT:
		if (!access(TWHEEL_CONTROL, F_OK))
			return no_purgatory(line->purgatory);
		break;
	case ENXIO:
	case ENODEV:
	case EACCES:
		break;
	default:
		return refused(line, line->purgatory);
	}
	return node_failure(TWHEEL_CONTROL, NULL);
}

/* @purgatory: name, or NULL for /dev/twheel */
static void node_path(char path[NODE_PATH_SIZE], const char *purgatory)
{
	snprintf(path, NODE_PATH_SIZE, "%s%s%s", TWHEEL_DEVICE, purgatory ? "-" : "",
		 purgatory ? purgatory : "");
}

int open_node(const char *purgatory, int mode)
{
	char path[NODE_PATH_SIZE];

	node_path(path, purgatory);
	return open(path, mode | O_NONBLOCK | O_CLOEXEC);
}

int open_purgatory(struct command_line *line, int mode)
{
	int fd = open_node(line->purgatory, mode);
	char path[NODE_PATH_SIZE];

	if (fd < 0) {
		node_path(path, line->purgatory);
		line->outcome = node_failure(path, line->purgatory);
	}
	return fd;
}

int open_named(struct command_line *line, int mode)
{
	if (line->purgatory)
		return open_purgatory(line, mode);
	fprintf(stderr,
		"twheelctl %s: no purgatory given: use -p NAME, or set TWHEEL_PURGATORY in the environment; 'twheelctl list' lists the purgatories.\n",
		line->command);
	line->outcome = OUTCOME_USAGE;
	return -1;
}
