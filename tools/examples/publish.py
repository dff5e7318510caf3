# SPDX-License-Identifier: GPL-2.0
"""
Publish a signal by the text protocol of NATS, with the standard library only:

    publish.py HOST PORT SUBJECT ID SIGNAL

The signal has a message id. Without an acknowledgement of the stream, it is published again under
the same id, so that the stream stores it once.
"""

import json
import secrets
import socket
import sys
from typing import Any


def publish(server: socket.socket, subject: str, message_id: str, signal: str) -> Any:
    """Publish once. Return the acknowledgement of the stream."""
    lines = server.makefile("rb")
    inbox = f"_INBOX.{secrets.token_hex(11)}"
    header = f"NATS/1.0\r\nNats-Msg-Id: {message_id}\r\n\r\n"
    server.sendall(b'CONNECT {"verbose": false, "headers": true, "no_responders": true}\r\n'
                   + f"SUB {inbox} 1\r\n"
                     f"HPUB {subject} {inbox} {len(header)} {len(header) + len(signal)}\r\n"
                     f"{header}{signal}\r\n".encode())
    for line in lines:
        words = line.split()
        if words[0] == b"PING":
            server.sendall(b"PONG\r\n")
        elif words[0] == b"-ERR":
            raise OSError(line.decode())
        elif words[0] in (b"MSG", b"HMSG"):
            # A message with a header is an error: no stream has the subject.
            text = lines.read(int(words[-1]) + 2)
            answer = json.loads(text) if words[0] == b"MSG" else {"error": text.decode()}
            if "error" in answer:
                raise OSError(answer["error"])
            return answer
    raise ConnectionError("the server has closed the connection")


def main(host: str, port: str, subject: str, message_id: str, signal: str) -> None:
    for attempt in range(10):
        try:
            with socket.create_connection((host, int(port)), timeout=5) as server:
                answer = publish(server, subject, message_id, signal)
        except (ConnectionError, TimeoutError):
            if attempt == 9:
                raise
        else:
            print("stored before" if answer.get("duplicate") else "stored")
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
