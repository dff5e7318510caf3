#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Make an authority, and a certificate of each host that it has signed.

set -e

openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=NATS" -keyout ca-key.pem -out ca.pem
for host in web1 web2 web3; do
	openssl req -newkey rsa:2048 -nodes -subj "/CN=$host.example.org" \
		-addext "subjectAltName=DNS:$host.example.org" -keyout $host-key.pem -out $host.csr
	openssl x509 -req -in $host.csr -copy_extensions copy -CA ca.pem -CAkey ca-key.pem \
		-CAcreateserial -days 3650 -out $host.pem
done
