// SPDX-License-Identifier: GPL-2.0
/*
 * The configuration file, and the connection to its servers. See twheel-bridge(1).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "bridge.h"

#define BLANKS		" \t\r\n"
#define PING_INTERVAL	2000	/* ms */

/* Copies a subject; %H is the name of the host up to its first dot. */
static bool add_subject(const char *text)
{
	char *name = bridge.subjects[bridge.nr_subjects].name;
	const char *mark = strstr(text, "%H") ?: text + strlen(text);
	struct utsname host;

	if (bridge.nr_subjects == MAX_SUBJECTS || strpbrk(text, "*>\"\\") || uname(&host))
		return false;
	host.nodename[*mark ? strcspn(host.nodename, ".") : 0] = '\0';
	if (snprintf(name, NAME_SIZE, "%.*s%s%s", (int)(mark - text), text, host.nodename,
		     *mark ? mark + 2 : "") >= NAME_SIZE)
		return false;
	for (int i = 0; i < bridge.nr_subjects; i++)
		if (!strcmp(bridge.subjects[i].name, name))
			return false;
	bridge.nr_subjects++;
	return true;
}

/* Return: whether the line of the configuration is valid. */
static bool take_line(const char *word, const char *value)
{
	const struct {
		const char *word, **value;
	} texts[] = {
		{ "tls-ca", &bridge.ca }, { "tls-certificate", &bridge.certificate },
		{ "tls-key", &bridge.key }, { "credentials", &bridge.credentials },
		{ "user", &bridge.user }, { "password", &bridge.password },
		{ "stream", &bridge.stream }, { "metrics", &bridge.metrics },
	};

	if (!strcmp(word, "subject"))
		return add_subject(value);
	if (!strcmp(word, "max-age"))
		return parse_time(value, &bridge.max_age);
	if (!strcmp(word, "duplicates"))
		return parse_time(value, &bridge.duplicates);
	if (!strcmp(word, "replicas"))
		return parse_count(value, 5, &bridge.replicas);
	if (!strcmp(word, "server") && bridge.nr_servers < MAX_SERVERS)
		return (bridge.servers[bridge.nr_servers++] = strdup(value));
	if (!strcmp(word, "stream") && (strpbrk(value, ".*>\"\\") || strlen(value) >= NAME_SIZE))
		return false;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!strcmp(word, texts[i].word) && !*texts[i].value)
			return (*texts[i].value = strdup(value));
	return false;
}

void read_config(const char *path)
{
	char *line = NULL, *word, *value;
	FILE *file = fopen(path, "re");
	unsigned int nr = 0;
	size_t size = 0;

	if (!file)
		err(USAGE, "%s", path);
	while (getline(&line, &size, file) >= 0) {
		nr++;
		word = strtok(line, BLANKS);
		if (!word || *word == '#')
			continue;
		value = strtok(NULL, BLANKS);
		if (!value || strtok(NULL, BLANKS) || !take_line(word, value))
			errx(USAGE, "%s:%u: wrong line: '%s'", path, nr, word);
	}
	fclose(file);
	free(line);
	if (!bridge.nr_servers || !bridge.stream)
		errx(USAGE, "%s: no line 'server' or no line 'stream'", path);
}

/* A publication without permission gets no answer. Return: the error of its connection, or NULL. */
const char *violation(void)
{
	const char *text;
	natsStatus status = natsConnection_GetLastError(bridge.connection, &text);

	return status == NATS_NOT_PERMITTED ? text : NULL;
}

const char *why(natsStatus status)
{
	const char *detail = status == NATS_TIMEOUT ? violation() : NULL;

	detail = detail ?: nats_GetLastError(NULL);
	return detail && *detail ? detail : natsStatus_GetText(status);
}

static void connected(natsConnection *connection, void *closure)
{
	(void)connection;
	(void)closure;
	bridge.connects++;
}

/*
 * Connects; without @wait, in the background if no server can be reached. The library verifies
 * that the certificate of a server has the name in its line.
 */
void connect_bridge(bool wait)
{
	natsOptions *options;
	natsStatus status = natsOptions_Create(&options);

	status = status ?: natsOptions_SetServers(options, bridge.servers, bridge.nr_servers);
	status = status ?: natsOptions_SetMaxReconnect(options, -1);
	status = status ?: natsOptions_SetPingInterval(options, PING_INTERVAL);
	status = status ?: natsOptions_SetIgnoreDiscoveredServers(options, true);
	status = status ?: natsOptions_SetReconnectedCB(options, connected, NULL);
	status = status ?: natsOptions_SetRetryOnFailedConnect(options, !wait, connected, NULL);
	status = status ?: natsOptions_SetUserInfo(options, bridge.user, bridge.password);
	if (bridge.credentials)
		status = status ?: natsOptions_SetUserCredentialsFromFiles(options,
								bridge.credentials, NULL);
	if (bridge.ca || bridge.certificate || bridge.key) {
		status = status ?: natsOptions_SetSecure(options, true);
		status = status ?: natsOptions_LoadCATrustedCertificates(options, bridge.ca);
	}
	if (bridge.certificate || bridge.key)
		status = status ?: natsOptions_LoadCertificatesChain(options, bridge.certificate,
								     bridge.key);
	status = status ?: natsConnection_Connect(&bridge.connection, options);
	if (!status || status == NATS_NOT_YET_CONNECTED)
		status = natsConnection_JetStream(&bridge.js, bridge.connection, NULL);
	if (status)
		errx(FAILED, "cannot connect: %s", why(status));
	natsOptions_Destroy(options);
}
