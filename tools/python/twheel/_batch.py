# SPDX-License-Identifier: LGPL-2.1-or-later
"""
Batches: many calls in one system call.

The commands and the results are packed bytes in the layout of <linux/twheel.h>: a call of the
library for each command and each result would take longer than the calls that a batch saves.
"""

import asyncio
import ctypes
import errno
import functools
import operator
import os
import struct
import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

from . import _lib
from ._key import KeyLike, WatchLike, pair_of, s32, spec_of, specs, u64
from ._lib import check, lib
from ._purgatory import (
    Event,
    Purgatory,
    Rearm,
    add_args,
    describe,
    interval,
    parameters_of,
    rearm_fields,
    signal_args,
)


def packer(nr: int, args: str) -> Callable[..., bytes]:
    """Return the function that packs a struct twheel_command: an ioctl number, and its structure."""
    layout = struct.Struct("=I4x" + args)
    return functools.partial(layout.pack, 3 << 30 | (layout.size - 8) << 16 | 0xF7 << 8 | nr)


# An add without keys, with keys, and with all fields. The others: struct twheel_cancel_args and so on.
ADDS = [packer(1, f"{size}s") for size in (32, 56, 96)]
CANCEL = packer(2, "Q8x")
COMPLETE = packer(3, "QQi4x")
REARM = packer(4, "QQQI4x")
WATCH = packer(5, "QQII8x")
UNWATCH = packer(6, "QQQ8x")
SIGNAL = packer(7, "48s")
CANCEL_KEY = packer(8, "QQ8x")

# struct twheel_result: the value, the error and a reserved field.
RESULT = struct.Struct("=Qi4x")

# Those of ADDS with keys, split at the fields that two adds of a program differ in: deadline, cookie, id
# and keys.
SPLIT = [struct.Struct(f"=16s4Q{size}s") for size in (16, 56)]


def add_command(args: bytes) -> bytes:
    used = len(args.rstrip(b"\0"))
    return ADDS[(used > 32) + (used > 56)](args)


class Result(NamedTuple):
    """
    The result of one command: 0 or a negative error number, and a value: the id of an add,
    the count of a signal or a cancel_key, 1 if a rearm moved the deadline.
    """

    error: int
    value: int


class Batch:
    """
    Calls of a purgatory that submit() executes in order.

        with twheel.Batch(purgatory) as batch:
            for key in keys:
                batch.add([key], timeout=5)
            ids = [result.value for result in batch.submit()]

    The methods have the parameters of the purgatory's. A full batch is submitted when a
    command is added to it. With stop, the commands after a failed one are not executed, up to
    the next submit(), and have the error -ECANCELED.

    A batch belongs to the thread that made it: its results are in the order of its commands.
    """

    def __init__(self, purgatory: Purgatory, size: int = 128, *, stop: bool = False) -> None:
        if not 0 < size <= _lib.MAX_BATCH:
            raise ValueError(f"size must be between 1 and {_lib.MAX_BATCH}, not {size}")
        self._purgatory = purgatory
        self._size = size
        self._flags = _lib.BATCH_STOP if stop else 0
        self._stopped = False
        self._closed = False
        self._thread = threading.current_thread().name
        self._owner = threading.get_ident()
        self._commands: list[bytes] = []
        self._keys: list[Any] = []  # the arrays to which the commands refer
        self._results: list[Result] = []
        self._buffer = ctypes.create_string_buffer(size * RESULT.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Refuse further calls. Commands that have not been submitted are not executed."""
        self._closed = True

    def submit(self) -> list[Result]:
        """
        Execute the commands. Return the results of all commands since the last submit() that
        succeeded. After OSError, the commands that were not executed are still in the batch.
        """
        self._check()
        self._flush()
        self._stopped = False
        results, self._results = self._results, []
        return results

    @parameters_of(Purgatory.add)
    def add(self, *keys: Any, **options: Any) -> None:
        args, array = add_args(self, *keys, **options)
        self._put(add_command(args))
        self._keys.append(array)

    def cancel(self, id: int) -> None:
        self._put(CANCEL(u64(id, "id")))

    def complete(self, id: int, value: int = 0) -> None:
        self._put(COMPLETE(u64(id, "id"), u64(value, "value"), 0))

    def complete_error(self, id: int, error: int) -> None:
        self._put(COMPLETE(u64(id, "id"), 0, s32(error)))

    @parameters_of(Purgatory.rearm)
    def rearm(self, id: int, *timeout: Any, **options: Any) -> None:
        self.rearm_many([id], *timeout, **options)

    def rearm_many(
        self,
        ids: Iterable[int],
        timeout: float | None = None,
        *,
        deadline: int | None = None,
        slack: float = 0,
        mode: Rearm = Rearm.ALWAYS,
    ) -> None:
        """A rearm() of each operation, with the same deadline. Each has a result."""
        fields = rearm_fields(timeout, deadline, slack, mode)
        self._put(*[REARM(u64(id, "id"), *fields) for id in ids])

    def watch(self, id: int, keys: Iterable[WatchLike]) -> None:
        array = specs(keys)
        size = ctypes.sizeof(_lib.twheel_watch_spec)
        self._put(WATCH(u64(id, "id"), ctypes.addressof(array), len(array), size))
        self._keys.append(array)

    def unwatch(self, id: int, key: KeyLike) -> None:
        self._put(UNWATCH(*pair_of(key), u64(id, "id")))

    def signal(self, key: KeyLike, value: int = 0, *, amount: int = 1, limit: int = 0) -> None:
        self._put(SIGNAL(signal_args(key, value, amount, limit)))

    def cancel_key(self, key: KeyLike) -> None:
        self._put(CANCEL_KEY(*pair_of(key)))

    def _check(self) -> None:
        """Raise an error if the batch cannot be used."""
        if threading.get_ident() != self._owner:
            raise RuntimeError(
                f"the batch belongs to thread {self._thread}, "
                f"not to thread {threading.current_thread().name}"
            )
        if self._closed:
            raise ValueError("the batch is closed")
        if self._purgatory._fd < 0:
            raise ValueError(f"the purgatory of the batch is closed: {self._purgatory}")

    def _put(self, *commands: bytes) -> None:
        self._check()
        for command in commands:
            if len(self._commands) == self._size:
                self._flush()
            self._commands.append(command)

    def _flush(self) -> None:
        fd = self._purgatory.fileno()
        while self._commands and not self._stopped:
            commands, nr = b"".join(self._commands), len(self._commands)
            size = len(commands)
            done = lib.twheel_execute(fd, commands, size, self._buffer, nr, self._flags)
            check(done, self._purgatory)
            del self._commands[:done]
            packed = self._buffer.raw[: done * RESULT.size]
            results = [Result(error, value) for value, error in RESULT.iter_unpack(packed)]
            self._results += results
            self._stopped = bool(self._flags) and any(result.error for result in results)
        self._results += [Result(-errno.ECANCELED, 0)] * len(self._commands)
        self._commands.clear()
        self._keys.clear()


@functools.lru_cache(maxsize=64)
def template(
    nr_keys: int, has_timeout: bool = True, **options: Any
) -> tuple[Callable[..., bytes], bytes, int, bytes]:
    """
    The function that packs the command of an add, the command before the deadline, a deadline that
    is absolute or never, and the command after the address of the keys. Most adds of a program have the
    same options.
    """
    if others := options.keys() & {"period", "runs", "detached", "queue", "fixed_delay"}:
        raise TypeError(f"an awaited operation has no {', '.join(others)}")
    # The address of these keys is replaced.
    args, _ = add_args(None, range(nr_keys), timeout=0 if has_timeout else None, **options)
    long = any(args[56:])
    split = SPLIT[long]
    head, expiry, *_, tail = split.unpack(ADDS[1 + long](args))
    return split.pack, head, expiry, tail


class Wait:
    """An operation that an event loop waits for: its keys, and the future of its event."""

    __slots__ = ("keys", "future", "id", "command", "specs")

    keys: tuple[WatchLike, ...]
    future: asyncio.Future[Event]
    id: int
    # Until it is added. The specs are those of the keys, and the command has their address.
    command: bytes
    specs: bytes


# Where CPython has the content of a bytes object, which does not move. ctypes takes longer to tell it.
CONTENT = bytes.__basicsize__ - 1


class Adds:
    """Adds that one call executes. A handler of a signal may take them while another one is put."""

    MAX = 256  # of a system call

    def __init__(self) -> None:
        self.adds: list[Wait] = []
        self._results = ctypes.create_string_buffer(self.MAX * RESULT.size)

    def put(
        self,
        wait: Wait,
        keys: tuple[WatchLike, ...],
        timeout: float | None,
        cookie: int,
        options: dict[str, Any],
    ) -> None:
        nr = len(keys)
        specs = spec_of(keys[0]) if nr == 1 else b"".join([spec_of(key) for key in keys])
        address = id(specs) + CONTENT if nr else 0
        expiry: Any
        if timeout is None:
            pack, head, expiry, tail = template(nr, False, **options)
        else:
            pack, head, _, tail = template(nr, **options) if options else template(nr)
            expiry = timeout * 10**9
            if type(expiry) is not int or expiry >> 63:
                expiry = interval(timeout)
        try:
            command = pack(head, expiry, cookie, 0, address, tail)
        except struct.error:
            cookie = u64(operator.index(cookie), "cookie")
            command = pack(head, expiry, cookie, 0, address, tail)
        wait.keys, wait.command, wait.specs = keys, command, specs
        self.adds.append(wait)

    def take(self) -> list[Wait]:
        """Return the waits, which will not be added."""
        adds, self.adds = self.adds, []
        return adds

    def drop(self, wait: Wait) -> None:
        self.adds = [add for add in self.adds if add is not wait]

    def execute(self, fd: int) -> Iterable[tuple[Wait, tuple[Any, ...]]]:
        """Execute the adds. Return them with the id, or else a negative error number, of each."""
        adds, self.adds = self.adds, []
        results: list[tuple[Any, ...]] = []
        while len(results) < len(adds):
            part = adds[len(results) : len(results) + self.MAX]
            packed = b"".join([add.command for add in part])
            done = lib.twheel_execute(fd, packed, len(packed), self._results, len(part), 0)
            results += RESULT.iter_unpack(self._results.raw[: max(done, 0) * RESULT.size])
            if done < 0:
                results += [(0, -ctypes.get_errno())] * (len(adds) - len(results))
        return zip(adds, results)


def add_error(error: int, command: bytes) -> OSError:
    args = command[8:].ljust(ctypes.sizeof(_lib.twheel_add_args), b"\0")
    return OSError(-error, f"{os.strerror(-error)}: {describe(args)}")
