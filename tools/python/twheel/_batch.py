# SPDX-License-Identifier: LGPL-2.1-or-later
"""
Batches: many calls in one system call.

The commands and the results are packed bytes in the layout of <linux/twheel.h>: a call of the
library for each command and each result would take longer than the calls that a batch saves.
"""

import ctypes
import errno
import struct
import threading
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

from . import _lib
from ._key import Key, KeyLike, WatchLike, s32, specs, u64
from ._lib import check, lib
from ._purgatory import Purgatory, Rearm, add_args, parameters_of, rearm_fields, signal_args



class Command:
    """Packs a struct twheel_command: the ioctl number, and the structure of the call behind it."""

    def __init__(self, nr: int, args: str) -> None:
        self._struct = struct.Struct("=I4x" + args)
        self._cmd = 3 << 30 | (self._struct.size - 8) << 16 | 0xF7 << 8 | nr

    def pack(self, *fields: Any) -> bytes:
        return self._struct.pack(self._cmd, *fields)


# An add without keys, with keys, and with all fields. The others: struct twheel_cancel_args and so on.
ADDS = [Command(1, f"{size}s") for size in (32, 56, 96)]
CANCEL = Command(2, "Q8x")
COMPLETE = Command(3, "QQi4x")
REARM = Command(4, "QQQI4x")
WATCH = Command(5, "QQII8x")
UNWATCH = Command(6, "QQQ8x")
SIGNAL = Command(7, "48s")
CANCEL_KEY = Command(8, "QQ8x")

# struct twheel_result: the value, the error and a reserved field.
RESULT = struct.Struct("=Qi4x")


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
        args, array = add_args(*keys, **options)
        used = len(args.rstrip(b"\0"))
        self._put(ADDS[(used > 32) + (used > 56)].pack(args))
        self._keys.append(array)

    def cancel(self, id: int) -> None:
        self._put(CANCEL.pack(u64(id, "id")))

    def complete(self, id: int, value: int = 0) -> None:
        self._put(COMPLETE.pack(u64(id, "id"), u64(value, "value"), 0))

    def complete_error(self, id: int, error: int) -> None:
        self._put(COMPLETE.pack(u64(id, "id"), 0, s32(error)))

    def rearm(
        self,
        id: int,
        timeout: float | None = None,
        *,
        deadline: int | None = None,
        slack: float = 0,
        mode: Rearm = Rearm.ALWAYS,
    ) -> None:
        self._put(REARM.pack(u64(id, "id"), *rearm_fields(timeout, deadline, slack, mode)))

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
        self._put(*[REARM.pack(u64(id, "id"), *fields) for id in ids])

    def watch(self, id: int, keys: Iterable[WatchLike]) -> None:
        array = specs(keys)
        size = ctypes.sizeof(_lib.twheel_watch_spec)
        self._put(WATCH.pack(u64(id, "id"), ctypes.addressof(array), len(array), size))
        self._keys.append(array)

    def unwatch(self, id: int, key: KeyLike) -> None:
        self._put(UNWATCH.pack(*Key(key).pair(), u64(id, "id")))

    def signal(self, key: KeyLike, value: int = 0, *, amount: int = 1, limit: int = 0) -> None:
        self._put(SIGNAL.pack(signal_args(key, value, amount, limit)))

    def cancel_key(self, key: KeyLike) -> None:
        self._put(CANCEL_KEY.pack(*Key(key).pair()))

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
