#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
A payment gateway, see the page "A complete service".

    gateway.py serve        the gateway, which clients connect to
    gateway.py work         a worker, which handles the ends of sessions; there may be several
    gateway.py bank NAME    receives the answers of a bank, which it also plays

STATE_DIRECTORY is the folder of the database and of the sockets. A client sends lines to "socket":

    open                         begin a session; the answer is its number
    pay SESSION ORDER AMOUNT     pay an order; the answer is paid, declined or expired. A client
                                 that has lost its connection sends the line again.
"""

import asyncio
import contextlib
import os
import pathlib
import socket
import sqlite3
import sys
import time
from typing import Any

import twheel

FOLDER = pathlib.Path(os.environ.get("STATE_DIRECTORY", "."))
PURGATORY = "payments"
BANKS = ("a", "b", "c")
NEEDED = 2
ANSWER_TIMEOUT = float(os.environ.get("ANSWER_TIMEOUT", 10))
IDLE_TIMEOUT = float(os.environ.get("IDLE_TIMEOUT", 1800))

TABLES = """
CREATE TABLE IF NOT EXISTS session (id INTEGER PRIMARY KEY, op TEXT, ended INTEGER);
CREATE TABLE IF NOT EXISTS payment
    (id INTEGER PRIMARY KEY, name TEXT UNIQUE, amount INTEGER, deadline INTEGER, state TEXT);
CREATE TABLE IF NOT EXISTS answer
    (payment INTEGER, bank TEXT, approves INTEGER, PRIMARY KEY (payment, bank));
"""


class Database:
    """Each call is a transaction. A real service has a thread for them, or another database."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(FOLDER / "db", timeout=60, isolation_level=None)
        self._connection.executescript(TABLES)

    def rows(self, statement: str, *values: object) -> list[Any]:
        return self._connection.execute(statement, values).fetchall()

    def insert(self, statement: str, *values: object) -> int:
        """Return the number of the new row, 0 if there is none."""
        cursor = self._connection.execute(statement, values)
        return cursor.lastrowid or 0 if cursor.rowcount else 0


def key(payment: int, bank: str) -> str:
    return f"{payment}/{bank}"


class Gateway:
    """
    A payment is an operation of the open file, which systemd keeps while the service restarts. A
    session is a detached operation. The cookie is the number of the row in the database.
    """

    def __init__(self, purgatory: twheel.Purgatory) -> None:
        self.db = Database()
        self.decided: dict[int, asyncio.Event] = {}
        # Gets the events of payments that an earlier process has begun, too.
        self.reader = twheel.AsyncPurgatory(purgatory, on_event=self.ended)
        self.purgatory = self.reader.purgatory

    def recover(self) -> None:
        """
        Add the operations that the database has and the purgatory has not: their events were lost
        with an earlier gateway, or they themselves with the machine. If an event is on its way, the
        operation ends twice, and the second end changes nothing.
        """
        pending = self.purgatory.list(others=True)
        payments = {op.cookie for op in pending if not op.detached}
        sessions = {op.cookie: op.id for op in pending if op.detached}
        open_payments = "FROM payment WHERE state IS NULL"
        for payment, deadline in self.db.rows(f"SELECT id, deadline {open_payments}"):
            if payment not in payments:
                self.watch(payment, deadline)
        # The banks may not have been asked, and an answer after the deadline is too late.
        open_payments += " AND deadline > ?"
        for row in self.db.rows(f"SELECT id, amount {open_payments}", time.time_ns()):
            self.ask(*row)
        for (session,) in self.db.rows("SELECT id FROM session WHERE ended IS NULL"):
            # After an update of the module, an operation has another id.
            self.set_operation(session, sessions.get(session) or self.begin(session))

    # Sessions

    def begin(self, session: int) -> int:
        return self.purgatory.add(timeout=IDLE_TIMEOUT, detached=True, cookie=session)

    def set_operation(self, session: int, op: int) -> None:
        self.db.rows("UPDATE session SET op = ? WHERE id = ?", str(op), session)

    def open_session(self) -> int:
        session = self.db.insert("INSERT INTO session DEFAULT VALUES")
        try:
            self.set_operation(session, self.begin(session))
        except OSError:  # see pay()
            self.db.rows("DELETE FROM session WHERE id = ?", session)
            raise
        return session

    def is_alive(self, session: int) -> bool:
        """A heartbeat. If it is too late, the event has gone to a worker."""
        found = self.db.rows("SELECT op FROM session WHERE id = ? AND ended IS NULL", session)
        return bool(found) and self.purgatory.rearm(int(found[0][0]), IDLE_TIMEOUT)

    # Payments

    def answers(self, payment: int) -> dict[str, int]:
        return dict(self.db.rows("SELECT bank, approves FROM answer WHERE payment = ?", payment))

    def watch(self, payment: int, deadline: int) -> None:
        """
        Wait for the missing answers. A signal that comes before the add is lost, but not the
        answer, which was stored before: the second look finds it.
        """
        while len(answers := self.answers(payment)) < NEEDED:
            op = self.purgatory.add(
                [key(payment, bank) for bank in BANKS if bank not in answers],
                quorum=NEEDED - len(answers),
                deadline=deadline,
                clock=twheel.Clock.REALTIME,
                cookie=payment,
            )
            if self.answers(payment) == answers or not self.purgatory.cancel(op):
                return
        self.decide(payment)

    def ask(self, payment: int, amount: int) -> None:
        """After a restart a bank may be asked twice. It knows the payment by its number."""
        for bank in BANKS:
            if bank not in self.answers(payment):
                send(bank, payment, amount)

    def ended(self, event: twheel.Event) -> None:
        if event.reason != twheel.Reason.CANCELLED:
            self.decide(event.cookie)

    def decide(self, payment: int) -> None:
        """The first decision counts."""
        answers = self.answers(payment)
        state = "declined" if len(answers) >= NEEDED else "expired"
        if sum(answers.values()) >= NEEDED:
            state = "paid"
        self.db.rows("UPDATE payment SET state = ? WHERE id = ? AND state IS NULL", state, payment)
        if decided := self.decided.pop(payment, None):
            decided.set()

    async def pay(self, name: str, amount: int) -> str:
        """A name that is known already belongs to a client that has not got its answer."""
        deadline = time.time_ns() + int(ANSWER_TIMEOUT * 1e9)
        payment = self.db.insert(
            "INSERT OR IGNORE INTO payment (name, amount, deadline) VALUES (?, ?, ?)",
            name, amount, deadline,
        )
        if payment:
            try:
                self.watch(payment, deadline)
            except OSError:
                # Such as a full purgatory: nothing would decide. The client sends the line again.
                self.db.rows("DELETE FROM payment WHERE id = ?", payment)
                raise
            self.ask(payment, amount)
        while True:
            ((payment, state),) = self.db.rows("SELECT id, state FROM payment WHERE name = ?", name)
            if state:
                return str(state)
            await self.decided.setdefault(payment, asyncio.Event()).wait()

    # Clients

    async def client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError), contextlib.closing(writer):
            async for line in reader:
                writer.write(f"{await self.answer(line.decode().split())}\n".encode())
                await writer.drain()

    async def answer(self, words: list[str]) -> str:
        match words:
            case ["open"]:
                return str(self.open_session())
            case ["pay", session, name, amount] if session.isdecimal() and amount.isdecimal():
                alive = self.is_alive(int(session))
                return await self.pay(name, int(amount)) if alive else "the session has ended"
        return "not a command"


def stored(name: str) -> int | None:
    """A descriptor that systemd has kept for this service."""
    names = os.environ.get("LISTEN_FDNAMES", "").split(":")
    if os.environ.get("LISTEN_PID") == str(os.getpid()) and name in names:
        return 3 + names.index(name)
    return None


def notify(state: str, *fds: int) -> None:
    """sd_notify(), with descriptors to keep."""
    if path := os.environ.get("NOTIFY_SOCKET"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.connect(path.replace("@", "\0", 1) if path[0] == "@" else path)
            socket.send_fds(systemd, [state.encode()], fds)


def open_purgatory() -> twheel.Purgatory:
    fd = stored("waits")
    if fd is not None:
        return twheel.Purgatory.from_fd(fd)
    purgatory = twheel.Purgatory(PURGATORY)
    notify("FDSTORE=1\nFDNAME=waits", purgatory.fileno())
    return purgatory


def open_listener() -> socket.socket:
    """It is stored, too, so that clients can connect while the service restarts."""
    fd = stored("listener")
    if fd is not None:
        return socket.socket(fileno=fd)
    listener = bound(socket.SOCK_STREAM, "socket")
    # It hangs up until then, and systemd drops a descriptor that does.
    listener.listen()
    notify("FDSTORE=1\nFDNAME=listener", listener.fileno())
    return listener


def bound(kind: int, name: str) -> socket.socket:
    (FOLDER / name).unlink(missing_ok=True)
    result = socket.socket(socket.AF_UNIX, kind)
    result.bind(str(FOLDER / name))
    return result


async def serve() -> None:
    listener = open_listener()
    gateway = Gateway(open_purgatory())
    gateway.recover()
    async with await asyncio.start_unix_server(
        gateway.client, sock=listener, backlog=1000
    ) as server:
        notify("READY=1")
        await server.serve_forever()


def work() -> None:
    """Handle the ends of sessions. If this process dies, another one gets those in work."""
    db = Database()
    with twheel.Purgatory(PURGATORY) as purgatory, purgatory.events(confirm=True) as queue:
        notify("READY=1")
        while events := queue.read(16):  # confirms the events of the previous read
            for event in events:
                # With event.again this may have been done before, and changes nothing.
                db.rows(
                    "UPDATE session SET ended = ? WHERE id = ? AND ended IS NULL",
                    time.time_ns(), event.cookie,
                )


def send(bank: str, payment: int, amount: int) -> None:
    """Stands for a message over the network. One that is lost is an answer that does not come."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, contextlib.suppress(OSError):
        sender.setblocking(False)
        sender.sendto(f"{payment} {amount}".encode(), str(FOLDER / f"bank-{bank}"))


def receive(bank: str) -> None:
    """Store each answer of the bank, and signal then. This bank approves up to 1000."""
    db = Database()
    requests = bound(socket.SOCK_DGRAM, f"bank-{bank}")
    with twheel.Purgatory(PURGATORY, write_only=True) as purgatory:
        notify("READY=1")
        while True:
            payment, amount = map(int, requests.recv(100).split())
            db.rows("INSERT OR IGNORE INTO answer VALUES (?, ?, ?)", payment, bank, amount <= 1000)
            purgatory.signal(key(payment, bank))


def main() -> None:
    match sys.argv[1:]:
        case ["serve"]:
            asyncio.run(serve())
        case ["work"]:
            work()
        case ["bank", name] if name in BANKS:
            receive(name)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
