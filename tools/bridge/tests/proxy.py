# SPDX-License-Identifier: GPL-2.0
"""A proxy between a bridge and a server that loses a message, or cuts the bridge off."""

import contextlib
import re
import socket
import threading

from servers import connect


class Proxy:
    """
    Lose the message with the number @lost of all that consumers have sent. With @before, call it
    instead, and then forward the message.
    """

    def __init__(self, port, lost=0, before=None):
        self.port, self.lost, self.before, self.seen = port, lost, before, 0
        self.silent = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"nats://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = connect(self.port)
            threading.Thread(target=self.forward, args=(client, server), daemon=True).start()
            threading.Thread(target=self.filter, args=(server, client), daemon=True).start()

    def forward(self, source, target):
        with contextlib.suppress(OSError), source, target:
            while data := source.recv(65536):
                if not self.silent.is_set():
                    target.sendall(data)

    def filter(self, server, client):
        """Forward the lines of the protocol; a line of a message has its size at the end."""
        with contextlib.suppress(OSError), server, client, server.makefile("rb") as lines:
            for line in lines:
                message = re.match(rb"H?MSG .* (\d+)\r\n", line)
                if message:
                    line += lines.read(int(message[1]) + 2)
                if message and b" $JS.ACK." in line:
                    self.seen += 1
                    if self.seen == self.lost:
                        if not self.before:
                            continue
                        self.before()
                if not self.silent.is_set():
                    client.sendall(line)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
