// SPDX-License-Identifier: GPL-2.0
/*
 * The connection to the servers.
 */
#include <stdlib.h>

#include "bridge.h"

#define RECONNECT_WAIT	200	/* ms */
#define ANSWER_WAIT	2000	/* ms */

const char *why(natsStatus status)
{
	const char *detail = nats_GetLastError(NULL);

	return detail && *detail ? detail : natsStatus_GetText(status);
}

static void must(natsStatus status, const char *action)
{
	if (status != NATS_OK)
		die(FAILED, "cannot %s: %s", action, why(status));
}

static void connected(natsConnection *connection, void *closure)
{
	struct bridge *bridge = closure;

	(void)connection;
	__atomic_add_fetch(&bridge->connects, 1, __ATOMIC_RELAXED);
}

/* The servers refuse the bridge. */
static void closed(natsConnection *connection, void *closure)
{
	const char *detail = NULL;

	(void)closure;
	natsConnection_GetLastError(connection, &detail);
	die(FAILED, "the connection is closed: %s", detail ? detail : "no reason");
}

/* The library verifies that a certificate has the name of the server in its line. */
static void use_tls(struct bridge *bridge, natsOptions *options)
{
	must(natsOptions_SetSecure(options, true), "use TLS");
	must(natsOptions_LoadCATrustedCertificates(options, bridge->ca), "read tls-ca");
	if (bridge->certificate)
		must(natsOptions_LoadCertificatesChain(options, bridge->certificate, bridge->key),
		     "read tls-certificate");
}

/* Connects; without @wait, in the background if no server can be reached. */
void connect_bridge(struct bridge *bridge, bool wait)
{
	natsOptions *options;
	natsStatus status;
	jsOptions js;

	must(natsOptions_Create(&options), "start");
	must(natsOptions_SetServers(options, bridge->servers, bridge->nr_servers),
	     "use the servers");
	natsOptions_SetName(options, "twheel-bridge");
	natsOptions_SetMaxReconnect(options, -1);
	natsOptions_SetReconnectWait(options, RECONNECT_WAIT);
	natsOptions_SetReconnectJitter(options, RECONNECT_WAIT, RECONNECT_WAIT);
	natsOptions_SetTimeout(options, ANSWER_WAIT);
	natsOptions_SetPingInterval(options, ANSWER_WAIT);
	natsOptions_SetIgnoreDiscoveredServers(options, true);
	natsOptions_SetReconnectedCB(options, connected, bridge);
	natsOptions_SetClosedCB(options, closed, bridge);
	if (!wait)
		natsOptions_SetRetryOnFailedConnect(options, true, connected, bridge);
	if (bridge->ca)
		use_tls(bridge, options);
	if (bridge->credentials)
		must(natsOptions_SetUserCredentialsFromFiles(options, bridge->credentials, NULL),
		     "use the credentials");
	if (bridge->user)
		must(natsOptions_SetUserInfo(options, bridge->user, bridge->password ?: ""),
		     "use the password");
	status = natsConnection_Connect(&bridge->connection, options);
	if (status != NATS_NOT_YET_CONNECTED)
		must(status, "connect");
	must(jsOptions_Init(&js), "start");
	js.Wait = ANSWER_WAIT;
	must(natsConnection_JetStream(&bridge->js, bridge->connection, &js), "use JetStream");
	natsOptions_Destroy(options);
}
