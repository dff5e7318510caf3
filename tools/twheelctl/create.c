// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl create and remove: named purgatories.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "twheelctl.h"

static const char create_help[] =
"usage: twheelctl create NAME [OPTION]...\n"
"\n"
"Creates a named purgatory, shared by all open files of /dev/twheel-NAME.\n"
"\n"
"  --mode MODE           permissions of its node, in octal, up to 0666 (0600, or\n"
"                        0660 with --group)\n"
"  --owner USER          owner of its node, by name or number (the caller)\n"
"  --group GROUP         group of its node, by name or number (the caller's)\n"
"  --max-pending N       limit on pending operations\n"
"  --max-file-pending N  limit on pending operations of one open file\n"
"  --max-watches N       limit on the watches of its operations\n"
"  --max-queue N         limit on the operations in a queue of detached ones, with those\n"
"                        whose event is unread\n"
"  --json                print JSON\n"
"\n"
"With a limit of 0, the default, only the module parameters apply.\n"
"\n"
"Exits with 1 if a purgatory of that name exists.\n";

static const char remove_help[] =
"usage: twheelctl remove NAME [--force]\n"
"\n"
"Removes a named purgatory.\n"
"\n"
"  --force   remove it even if it is in use, and cancel its pending operations\n"
"  --json    print JSON\n"
"\n"
"Exits with 1 if the purgatory is in use or does not exist.\n";

/* Three octal digits, with or without a leading zero */
static bool take_mode(const char *text, void *to)
{
	struct number *mode = to;
	size_t len = strlen(text);

	if (len < 3 || len > 4 || text[strspn(text, "01234567")])
		return false;
	mode->given = true;
	mode->value = strtoul(text, NULL, 8);
	return !(mode->value & ~0666ULL);
}

static bool take_user(const char *text, void *to)
{
	const struct passwd *user = getpwnam(text);
	struct number *uid = to;

	if (!user)
		return take_number32(text, to) && uid->value != TWHEEL_CALLER;
	uid->given = true;
	uid->value = user->pw_uid;
	return true;
}

static bool take_group(const char *text, void *to)
{
	const struct group *group = getgrnam(text);
	struct number *gid = to;

	if (!group)
		return take_number32(text, to) && gid->value != TWHEEL_CALLER;
	gid->given = true;
	gid->value = group->gr_gid;
	return true;
}

/* The name is the argument, or given by -p. */
static bool take_name(struct command_line *line)
{
	if (line->nr && !take_purgatory(line, line->args[0]))
		return false;
	if (!line->purgatory)
		line->outcome = wrong_usage(line, "no purgatory given");
	return line->purgatory;
}

enum outcome create_purgatory(struct command_line *line, struct twheel_create_args *args,
			      bool may_exist)
{
	int fd = twheel_create_with(args);

	if (fd < 0)
		return may_exist && errno == EEXIST ? OUTCOME_OK : control_refused(line);
	close(fd);
	show_change(line, json_pack("{s:s, s:s, s:I, s:I}", "type", "created",
				    "name", args->name, "major", (json_int_t)args->major,
				    "minor", (json_int_t)args->minor),
		    "created %s-%s", TWHEEL_DEVICE, args->name);
	return OUTCOME_OK;
}

bool take_create(struct command_line *line, const char *help, struct twheel_create_args *args)
{
	struct number uid = { .value = TWHEEL_CALLER }, gid = { .value = TWHEEL_CALLER };
	struct number mode = { }, pending = { }, file_pending = { }, watches = { }, queue = { };
	const struct option_spec specs[] = {
		{ "mode", take_mode, &mode, "permissions in octal, up to 0666" },
		{ "owner", take_user, &uid, "a user" },
		{ "group", take_group, &gid, "a group" },
		{ "max-pending", take_number32, &pending, NUMBER32_EXPECTED },
		{ "max-file-pending", take_number32, &file_pending, NUMBER32_EXPECTED },
		{ "max-watches", take_number32, &watches, NUMBER32_EXPECTED },
		{ "max-queue", take_number32, &queue, NUMBER32_EXPECTED },
		{ }
	};

	if (!take_arguments(line, help, specs, 0, 1) || !take_name(line))
		return false;
	*args = (struct twheel_create_args){
		.mode = mode.given ? mode.value : gid.given ? 0660 : 0600,
		.uid = uid.value,
		.gid = gid.value,
		.max_pending = pending.value,
		.max_file_pending = file_pending.value,
		.max_watches = watches.value,
		.max_queue = queue.value,
	};
	memcpy(args->name, line->purgatory, strlen(line->purgatory));
	return true;
}

enum outcome create_command(struct command_line *line)
{
	struct twheel_create_args args;

	if (!take_create(line, create_help, &args))
		return line->outcome;
	return create_purgatory(line, &args, false);
}

enum outcome remove_command(struct command_line *line)
{
	bool force = false;
	const struct option_spec specs[] = {
		{ "force", NULL, &force, NULL },
		{ }
	};
	unsigned int cancelled;
	json_t *object;

	if (!take_arguments(line, remove_help, specs, 0, 1) || !take_name(line))
		return line->outcome;
	if (twheel_remove(line->purgatory, force ? TWHEEL_REMOVE_FORCE : 0, &cancelled))
		return control_refused(line);
	object = json_pack("{s:s, s:s, s:I}", "type", "removed", "name", line->purgatory,
			   "cancelled", (json_int_t)cancelled);
	if (cancelled)
		show_change(line, object, "removed %s-%s, cancelled %u operation%s", TWHEEL_DEVICE,
			    line->purgatory, cancelled, cancelled == 1 ? "" : "s");
	else
		show_change(line, object, "removed %s-%s", TWHEEL_DEVICE, line->purgatory);
	return OUTCOME_OK;
}
