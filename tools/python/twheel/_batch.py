# SPDX-License-Identifier: LGPL-2.1-or-later
"""Batches: many calls in one system call."""

import ctypes
from collections.abc import Iterable
from types import TracebackType
from typing import Any, NamedTuple, Self

from . import _lib
from ._key import Key, KeyLike, WatchLike, s32, specs, u64
from ._lib import check, lib
from ._purgatory import Purgatory, Rearm, add_args, describe, rearm_args, signal_args


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

    The methods have the parameters of the purgatory's.  A full batch is submitted when a
    command is added to it.  With stop, the commands after a failed one are not executed, up to
    the next submit(), and have the error -ECANCELED.
    """

    _raw: int | None = None

    def __init__(self, purgatory: Purgatory, size: int = 128, *, stop: bool = False) -> None:
        if not 0 < size <= _lib.MAX_BATCH:
            raise ValueError(f"size must be between 1 and {_lib.MAX_BATCH}, not {size}")
        self._purgatory = purgatory  # keeps the descriptor open
        self._results: list[Result] = []
        self._fn = _lib.batch_fn(self._on_result)
        self._raw = lib.twheel_batch_new(purgatory.fileno(), size, _lib.BATCH_STOP if stop else 0)
        if not self._raw:
            _lib.fail(purgatory)
        check(lib.twheel_batch_on_result(self._raw, self._fn, None))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Free the batch. Commands that have not been submitted are not executed."""
        raw, self._raw = self._raw, None
        if raw:
            lib.twheel_batch_free(raw)

    def submit(self) -> list[Result]:
        """
        Execute the commands.  Return the results of all commands since the last submit() that
        succeeded.  After OSError, the commands that were not executed are still in the batch.
        """
        check(lib.twheel_batch_submit(self._open()), self._purgatory)
        results, self._results = self._results, []
        return results

    def add(self, keys: Iterable[WatchLike] = (), **options: Any) -> None:
        args, array = add_args(keys, **options)
        if lib.twheel_batch_add(self._open(), ctypes.byref(args)) < 0:
            _lib.fail(describe(args))
        del array  # copied by the call

    def cancel(self, id: int) -> None:
        check(lib.twheel_batch_cancel(self._open(), u64(id, "id")))

    def complete(self, id: int, value: int = 0) -> None:
        check(lib.twheel_batch_complete(self._open(), u64(id, "id"), u64(value, "value")))

    def complete_error(self, id: int, error: int) -> None:
        check(lib.twheel_batch_complete_error(self._open(), u64(id, "id"), s32(error)))

    def rearm(
        self,
        id: int,
        timeout: float | None = None,
        *,
        deadline: int | None = None,
        slack: float = 0,
        mode: Rearm = Rearm.ALWAYS,
    ) -> None:
        args = rearm_args(id, timeout, deadline, slack, mode)
        check(lib.twheel_batch_rearm_with(self._open(), ctypes.byref(args)))

    def watch(self, id: int, keys: Iterable[WatchLike]) -> None:
        array = specs(keys)
        check(lib.twheel_batch_watch(self._open(), u64(id, "id"), array, len(array)))

    def unwatch(self, id: int, key: KeyLike) -> None:
        check(lib.twheel_batch_unwatch(self._open(), u64(id, "id"), Key(key).raw()))

    def signal(self, key: KeyLike, value: int = 0, *, amount: int = 1, limit: int = 0) -> None:
        args = signal_args(key, value, amount, limit)
        check(lib.twheel_batch_signal_with(self._open(), ctypes.byref(args)))

    def cancel_key(self, key: KeyLike) -> None:
        check(lib.twheel_batch_cancel_key(self._open(), Key(key).raw()))

    def _open(self) -> int:
        """Return the batch, or raise ValueError if it cannot be used."""
        if not self._raw:
            raise ValueError("the batch is closed")
        if self._purgatory.closed:
            raise ValueError(f"the purgatory of the batch is closed: {self._purgatory}")
        return self._raw

    def _on_result(self, context: Any, index: int, command: Any, result: Any) -> None:
        self._results.append(Result(result.contents.error, result.contents.value))
