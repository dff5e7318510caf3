# SPDX-License-Identifier: GPL-2.0
"""
Publish a signal by the text protocol of NATS, with the standard library only:

    publish.py FILE SUBJECT ID SIGNAL

The file is a configuration of twheel-bridge, which has the servers, the authority and the user. The
signal has a message id. Without an acknowledgement of the stream, it is published again under the
same id, so that the stream stores it once.
"""

import json
import pathlib
import secrets
import socket
import ssl
import sys
import time
import urllib.parse
from typing import Any, BinaryIO


def read_config(path: str) -> dict[str, list[str]]:
    """Return the values of each word."""
    config: dict[str, list[str]] = {}
    for line in pathlib.Path(path).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            word, value = line.split()
            config.setdefault(word, []).append(value)
    return config


def connect(config: dict[str, list[str]], attempt: int) -> socket.socket:
    """Connect to one server after the other. TLS starts after the line INFO."""
    url = urllib.parse.urlsplit(config["server"][attempt % len(config["server"])])
    server = socket.create_connection((url.hostname, url.port or 4222), timeout=10)
    server.makefile("rb").readline()
    if "tls-ca" not in config:
        return server
    context = ssl.create_default_context(cafile=config["tls-ca"][0])
    return context.wrap_socket(server, server_hostname=url.hostname)


def answer(server: socket.socket, lines: BinaryIO) -> list[bytes]:
    """Return the words of the line that answers a request."""
    for line in lines:
        words = line.split()
        if words[0] == b"PING":
            server.sendall(b"PONG\r\n")
        elif words[0] == b"-ERR":
            raise RuntimeError(line.decode())
        elif words[0] in (b"PONG", b"MSG", b"HMSG"):
            return words
    raise ConnectionError("the server has closed the connection")


def publish(server: socket.socket, config: dict[str, list[str]], subject: str, message_id: str,
            signal: str) -> Any:
    """Publish once. Return the acknowledgement of the stream."""
    lines = server.makefile("rb")
    login: dict[str, Any] = {"verbose": False, "headers": True, "no_responders": True}
    if "user" in config:
        login |= {"user": config["user"][0], "pass": config["password"][0]}
    server.sendall(f"CONNECT {json.dumps(login)}\r\nPING\r\n".encode())
    # The server 2.9 maps no subject that arrives in one segment with the CONNECT.
    answer(server, lines)
    inbox = f"_INBOX.{secrets.token_hex(11)}"
    header = f"NATS/1.0\r\nNats-Msg-Id: {message_id}\r\n\r\n"
    server.sendall(f"SUB {inbox} 1\r\n"
                   f"HPUB {subject} {inbox} {len(header)} {len(header) + len(signal)}\r\n"
                   f"{header}{signal}\r\n".encode())
    words = answer(server, lines)
    # A message with a header is an error: the stream has no leader yet, or there is none.
    text = lines.read(int(words[-1]) + 2)
    if words[0] != b"MSG":
        raise ConnectionError(text.decode())
    stored = json.loads(text)
    if "error" in stored:
        raise RuntimeError(stored["error"])
    return stored


def main(path: str, subject: str, message_id: str, signal: str) -> None:
    config = read_config(path)
    for attempt in range(10):
        try:
            with connect(config, attempt) as server:
                stored = publish(server, config, subject, message_id, signal)
        except OSError:  # not a refusal
            if attempt == 9:
                raise
            time.sleep(1)
        else:
            print("stored before" if stored.get("duplicate") else "stored")
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
