// SPDX-License-Identifier: GPL-2.0
/*
 * A packet to UDP port 7777 completes the operation that waits for its request: its first 8 bytes
 * are the number of the request, the next 8 bytes the value for the operation, both big-endian.
 * A packet that nobody waits for is dropped here.
 */
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>

#include "handle.bpf.h"

#define PORT	7777

struct packet {
	struct ethhdr	eth;
	struct iphdr	ip;
	struct udphdr	udp;
	__be64		request;
	__be64		value;
} __attribute__((packed));

SEC("xdp")
int udp_response(struct xdp_md *ctx)
{
	const struct packet *packet = (void *)(long)ctx->data;
	struct twheel_key key = {};

	if ((void *)(packet + 1) > (void *)(long)ctx->data_end ||
	    packet->eth.h_proto != bpf_htons(ETH_P_IP) || packet->ip.ihl != 5 ||
	    packet->ip.protocol != IPPROTO_UDP || packet->udp.dest != bpf_htons(PORT))
		return XDP_PASS;
	key.v[1] = bpf_be64_to_cpu(packet->request);
	if (twheel_bpf_watched(handle, &key) == 0)
		return XDP_DROP;
	/* A full queue: the service gets the packet and may signal the key itself. */
	if (twheel_bpf_signal(handle, &key, 0, bpf_be64_to_cpu(packet->value)))
		return XDP_PASS;
	return XDP_DROP;
}
