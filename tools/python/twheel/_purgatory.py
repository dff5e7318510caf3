# SPDX-License-Identifier: LGPL-2.1-or-later
"""Purgatories and event queues: a method for each call of the device."""

import builtins
import copy
import ctypes
import enum
import errno
import inspect
import math
import os
import struct
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, NoReturn, ParamSpec, Self, TypeVar

from . import _lib
from ._key import SPEC, Key, KeyLike, Watch, WatchLike, pair_of, s32, specs, text_of, u32, u64
from ._lib import check, lib

if TYPE_CHECKING:
    from ._cells import Cells

LIST_CHUNK = 256

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=tuple[Any, ...])


def parameters_of(
    other: Callable[Concatenate[Any, P], Any]
) -> Callable[[Callable[..., R]], Callable[Concatenate[Any, P], R]]:
    """Declare that a method has the parameters of another one, and passes them on."""

    def declare(method: Callable[..., R]) -> Callable[Concatenate[Any, P], R]:
        result = inspect.signature(method).return_annotation
        signature = inspect.signature(other).replace(return_annotation=result)
        setattr(method, "__signature__", signature)
        return method

    return declare


class Number(enum.IntEnum):
    """Numbers of the interface. A module that is newer than this package may have further ones."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_, member._value_ = f"UNKNOWN_{value}", value
        return member


class Reason(Number):
    """How an operation ended."""

    COMPLETED = 1
    EXPIRED = 2
    CANCELLED = 3


class Condition(Number):
    """When signals complete an operation."""

    NONE = 0
    ANY = 1
    ALL = 2
    QUORUM = 3
    SUM = 4


class Clock(Number):
    """Clock of a deadline."""

    REALTIME = 0
    MONOTONIC = 1
    BOOTTIME = 7


class Right(enum.IntFlag):
    """Right of a restricted file."""

    ADD = 1 << 0
    ADD_DETACHED = 1 << 1
    WATCH = 1 << 2
    SIGNAL = 1 << 3
    END = 1 << 4
    REARM = 1 << 5
    DRAIN = 1 << 6
    LIST = 1 << 7
    QUERY = 1 << 8


class Rearm(enum.IntEnum):
    """Condition for changing a deadline."""

    ALWAYS = 0
    IF_EARLIER = 2
    IF_LATER = 4


class Event(NamedTuple):
    """
    The end of an operation or, with more set, of one of its periods. Times are in ns of its clock.

    satisfied has a bit for each satisfied key: bit 0 is the first key of the add, and so on, see
    Watch.bit. missing is the number of keys, or the amount, by which the condition was missed. keys
    are those of the add if the operation was added by an AsyncPurgatory, which keeps them; None
    for other operations. again is set if the event was delivered before, and not confirmed. cell is
    the last word of the cell of the operation, if it has one, see Cells.
    """

    id: int
    cookie: int
    value: int
    clock: Clock
    deadline: int | None
    time: int
    reason: Reason
    more: bool
    error: int
    expirations: int
    satisfied: int = 0
    missing: int = 0
    again: bool = False
    cell: int = 0
    keys: tuple[WatchLike, ...] | None = None

    def satisfied_keys(self, keys: Iterable[WatchLike] | None = None) -> list[KeyLike]:
        """
        The keys that were satisfied at the end. The parameter has the keys of the add, in the same
        order, or those of info(); it may be left out if the event has them.
        """
        return self._keys_of(keys, True)

    def unsatisfied_keys(self, keys: Iterable[WatchLike] | None = None) -> list[KeyLike]:
        """The keys that were not satisfied at the end, see satisfied_keys()."""
        return self._keys_of(keys, False)

    def _keys_of(self, keys: Iterable[WatchLike] | None, satisfied: bool) -> list[KeyLike]:
        keys = self.keys if keys is None else keys
        if keys is None:
            raise ValueError(f"the keys of operation {self.id} are unknown: give those of its add")
        if self.more:  # a period has no bits
            return []
        watches = (key if isinstance(key, Watch) else Watch(key) for key in keys)
        return [
            watch.key
            for number, watch in enumerate(watches)
            if bool(self.satisfied >> (number if watch.bit is None else watch.bit) & 1) == satisfied
        ]


class Pending(NamedTuple):
    """
    A pending operation. Times are in ns; a listing has up to three of the keys. If its deadline is in a
    cell, this is its number, and while it is idle, there is none.
    """

    id: int
    cookie: int
    deadline: int | None
    remaining: int | None
    missing: int
    period: int
    runs: int
    condition: Condition
    clock: Clock
    own: bool
    detached: bool
    cell: int | None
    idle: bool
    queue: int
    nr_keys: int
    keys: tuple[Watch, ...]


class State(NamedTuple):
    """Limits and counts of a purgatory, see TWHEEL_IOC_QUERY."""

    name: str
    max_pending: int
    max_file_pending: int
    max_queue: int
    max_keys: int
    rights: int
    features: int
    files: int
    own: int
    unread: int
    detached: int
    detached_unread: int
    oldest_unread_ns: int
    unconfirmed: int
    oldest_unconfirmed_ns: int
    pending: int
    keys: int
    watches: int
    added: int
    completed: int
    expired: int
    cancelled: int
    rejected: int
    rejected_enospc: int
    rejected_enobufs: int
    rejected_edquot: int
    tick_ns: int
    wakeups: int


class QueueState(NamedTuple):
    """Counts of a queue of detached events, see TWHEEL_IOC_QUEUE."""

    queue: int
    ops: int
    pending: int
    unread: int
    unconfirmed: int
    oldest_unread_ns: int
    oldest_unconfirmed_ns: int


# The input fields of struct twheel_add_args and twheel_signal_args, with the size of the structure,
# and the fields of an event. They are packed faster than a ctypes.Structure is filled.
ADD = struct.Struct("=2I2Q8xQ4I4QI4x")
SIGNAL = struct.Struct("=QQQQI12x")
EVENT = struct.Struct("=5Q2IiI4Q40x")

CLOCKS = {int(clock): clock for clock in Clock}
REASONS = {int(reason): reason for reason in Reason}


def interval(seconds: float | None) -> int:
    """Rounded up to ns, so that no operation expires early. None and inf are never."""
    if seconds is None:
        return _lib.NEVER
    ns = seconds * 10**9
    if 0 <= ns < 2**63:
        return ns if type(ns) is int else math.ceil(ns)
    if math.isnan(ns):
        raise ValueError("a time is not a number")
    return 0 if ns < 0 else _lib.NEVER


def time_or_none(time: int) -> int | None:
    return None if time == _lib.NEVER else time


def add_args(
    self: Any,
    keys: Iterable[WatchLike] = (),
    *,
    timeout: float | None = None,
    deadline: int | None = None,
    clock: Clock = Clock.MONOTONIC,
    condition: Condition | None = None,
    quorum: int | None = None,
    threshold: int | None = None,
    slack: float = 0,
    period: float = 0,
    runs: int = 0,
    cookie: int = 0,
    detached: bool = False,
    queue: int = 0,
    cancel_on_set: bool = False,
    fixed_delay: bool = False,
) -> tuple[bytes, Any]:
    """
    The struct twheel_add_args of a method with these parameters, and the array of keys to which it
    refers.
    """
    array = specs(keys)
    flags = (_lib.ADD_DETACHED if detached else 0) | (_lib.ADD_FIXED_DELAY if fixed_delay else 0)
    if deadline is None:
        expiry = interval(timeout)
    elif timeout is None:
        expiry = deadline
        flags |= _lib.ADD_ABSTIME
    else:
        raise TypeError("timeout and deadline exclude each other")
    if quorum is not None and threshold is not None:
        raise TypeError("quorum and threshold exclude each other")
    if condition is None:
        condition = Condition.ANY if len(array) else Condition.NONE
        condition = Condition.QUORUM if quorum is not None else condition
        condition = Condition.SUM if threshold is not None else condition
    if cancel_on_set:
        flags |= _lib.ADD_CANCEL_ON_SET | (_lib.ADD_ABSTIME if timeout is None else 0)
    where = (ctypes.addressof(array), len(array), SPEC.size) if len(array) else (0, 0, 0)
    try:
        args = ADD.pack(
            flags, clock, expiry, cookie, *where, condition, quorum or 0, threshold or 0,
            interval(slack) if slack else 0,  # inf is TWHEEL_SLACK_COARSE
            interval(period), u64(runs, "runs"), u32(queue, "queue"),
        )
    except struct.error:
        u64(expiry, "deadline")
        u64(cookie, "cookie")
        u32(quorum or 0, "quorum")
        u64(threshold or 0, "threshold")
        raise
    return args, array


def rearm_fields(
    timeout: float | None, deadline: int | None, slack: float, mode: Rearm
) -> tuple[int, int, int]:
    """The fields of struct twheel_rearm_args after the id."""
    if timeout is not None and deadline is not None:
        raise TypeError("timeout and deadline exclude each other")
    return (
        interval(timeout) if deadline is None else u64(deadline, "deadline"),
        interval(slack),  # inf is TWHEEL_SLACK_COARSE
        mode | (_lib.REARM_ABSTIME if deadline is not None else 0),
    )


def signal_args(key: KeyLike, value: int, amount: int, limit: int) -> bytes:
    """A struct twheel_signal_args."""
    return SIGNAL.pack(
        *pair_of(key), u64(amount, "amount"), u64(value, "value"), u32(limit, "limit")
    )


def node_of(name: str) -> str:
    return f"{_lib.DEVICE}-{name}"


def fail_control(name: str) -> NoReturn:
    """A creation or a removal has failed, or the control node cannot be opened."""
    _lib.fail(node=_lib.CONTROL if ctypes.get_errno() == errno.EACCES else node_of(name))


def describe(packed: bytes) -> str:
    """The operation of an add that has failed."""
    args = _lib.twheel_add_args.from_buffer_copy(packed)
    condition = next((c.name for c in Condition if c == args.condition), args.condition)
    fields = ("nr_keys", "quorum", "threshold", "slack", "period", "runs", "clock", "flags")
    given = [f"{field} {getattr(args, field)}" for field in fields if getattr(args, field)]
    return ", ".join([f"operation with condition {condition}", *given])


def was_pending(status: int, id: int) -> bool:
    """Return False if the operation of the call had ended before."""
    if status < 0 and ctypes.get_errno() != errno.ENOENT:
        _lib.fail("operation", id)
    return status >= 0


def tuple_of(kind: type[T], raw: ctypes.Structure, **converted: object) -> T:
    """Return a named tuple of the fields of a structure with the same names, or converted ones."""
    values = [converted[n] if n in converted else getattr(raw, n) for n in kind.__annotations__]
    return tuple.__new__(kind, values)


def events_of(packed: bytes) -> list[Event]:
    """The events of packed struct twheel_event."""
    return [
        Event(
            id,
            cookie,
            value,
            CLOCKS.get(clock) or Clock(clock),
            None if deadline == _lib.NEVER else deadline,
            time,
            REASONS.get(reason) or Reason(reason),
            bool(flags & _lib.EVENT_MORE),
            error,
            expirations,
            satisfied,
            missing,
            bool(flags & _lib.EVENT_AGAIN),
            cell,
        )
        for id, cookie, value, deadline, time, reason, flags, error, clock, expirations, satisfied,
        missing, cell in EVENT.iter_unpack(packed)
    ]


def pending_of(raw: _lib.twheel_pending, keys: Iterable[Watch]) -> Pending:
    return tuple_of(
        Pending,
        raw,
        deadline=time_or_none(raw.deadline),
        remaining=time_or_none(raw.remaining),
        condition=Condition(raw.condition),
        clock=Clock(raw.clock),
        own=bool(raw.flags & _lib.PENDING_OWN),
        detached=bool(raw.flags & _lib.PENDING_DETACHED),
        cell=raw.cell if raw.flags & _lib.PENDING_CELL else None,
        idle=bool(raw.flags & _lib.PENDING_IDLE),
        keys=tuple(keys),
    )


# The open cells. A child of fork() has no mapping of them: an access would kill it.
open_cells: "weakref.WeakSet[Cells]" = weakref.WeakSet()


def close_cells_of_child() -> None:
    for cells in open_cells:
        cells.close()


os.register_at_fork(after_in_child=close_cells_of_child)


class EventQueue:
    """
    The owner of a descriptor that delivers events: a purgatory, or the queue of the detached
    events of a named purgatory, which Purgatory.events() opens.
    """

    _fd = -1
    _node = ""
    _confirms = False
    # Ends the reader in an event loop, which must not keep the number of a closed descriptor.
    _reader: weakref.WeakMethod[Callable[[], None]] | None = None

    def __init__(self, fd: int, node: str = "", confirms: bool = False) -> None:
        self._fd = fd
        self._node = node
        self._confirms = confirms

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self._fd >= 0:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self)
            self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._node} fd={self._fd}>".replace("  ", " ")

    @property
    def closed(self) -> bool:
        return self._fd < 0

    def fileno(self) -> int:
        """The descriptor, for select and event loops; -1 after close()."""
        return self._fd

    def close(self) -> None:
        """Close the descriptor. It may be called again."""
        fd = self.detach()
        if fd >= 0:
            os.close(fd)

    def detach(self) -> int:
        """Return the descriptor, which the caller has to close."""
        self._end_reader()
        fd, self._fd = self._fd, -1
        return fd

    def _begin_reader(self, end: Callable[[], None]) -> None:
        """An object reads the queue in an event loop. Its method end() is called when it must stop."""
        self._end_reader()
        self._reader = weakref.WeakMethod(end)

    def _end_reader(self) -> None:
        end = self._reader and self._reader()
        self._reader = None
        if end:
            end()

    def _take_over(self) -> Self:
        """Detach the descriptor, and return a new owner of it."""
        fd = self.detach()
        if fd < 0:
            raise OSError(errno.EBADF, f"{os.strerror(errno.EBADF)}: {self} has no descriptor")
        owner = copy.copy(self)
        owner._fd = fd
        return owner

    def read(self, max_events: int = 64) -> list[Event]:
        """
        Wait for an event, and return it and the events queued behind it, up to max_events. The
        list is empty after the last event, as after drain(). Raises BlockingIOError if no event
        is queued on a non-blocking descriptor.
        """
        if max_events < 1:
            raise ValueError("max_events must be at least 1")
        try:
            return events_of(os.read(self._fd, max_events * EVENT.size))
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}: {self}") from None

    def confirm(self, event: Event) -> None:
        """Confirm an event of the latest read(), of a queue that was opened with confirm."""
        check(lib.twheel_confirm(self._fd, u64(event.id, "id")), self, "and operation", event.id)


class Purgatory(EventQueue):
    """
    An open purgatory: a private one or, with a name, a named one.

        nonblock    read() does not wait for an event
        write_only  the permission to write the node of a named purgatory is enough. Calls that
                    describe, list, count or read raise OSError with EBADF, and so do adds of
                    operations that are not detached

    Times are in seconds from now, or in ns of the clock for the parameter deadline.
    """

    _cells: "Cells | None" = None

    def __init__(
        self, name: str | None = None, *, nonblock: bool = False, write_only: bool = False
    ) -> None:
        flags = (os.O_NONBLOCK if nonblock else 0) | (os.O_WRONLY if write_only else 0)
        if name is None:
            node, fd = _lib.DEVICE, lib.twheel_open(flags)
        else:
            node, fd = node_of(name), lib.twheel_open_named(text_of(name), flags)
        if fd < 0:
            _lib.fail(node=node)
        super().__init__(fd, node)

    @classmethod
    def from_fd(cls, fd: int) -> Self:
        """Take over the descriptor fd, for example one from a descriptor store."""
        purgatory = cls.__new__(cls)
        EventQueue.__init__(purgatory, fd)
        return purgatory

    @classmethod
    def create(
        cls,
        name: str,
        mode: int = 0o600,
        *,
        uid: int | None = None,
        gid: int | None = None,
        max_pending: int = 0,
        max_file_pending: int = 0,
        max_watches: int = 0,
        max_queue: int = 0,
    ) -> Self:
        """
        Create and open a named purgatory, which lasts until it is removed.

            name              name of its node /dev/twheel-NAME, of up to 31 bytes
            mode              permissions of the node, at most 0o666
            uid, gid          owner and group of the node; by default those of the process
            max_pending       limit on its pending operations; 0 for the module parameter
                              max_shared_pending
            max_file_pending  limit on the pending operations that were added through one open
                              file; 0 for the module parameter max_pending
            max_watches       limit on the keys that its operations watch; 0 for no limit
            max_queue         limit on the operations in a queue of detached ones, pending or with
                              an unread event; 0 for twice max_pending
        """
        raw = text_of(name)
        if not 0 < len(raw) < _lib.NAME_SIZE:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), node_of(name))
        args = _lib.twheel_create_args(
            name=raw,
            mode=u32(mode, "mode"),
            uid=_lib.CALLER if uid is None else u32(uid, "uid"),
            gid=_lib.CALLER if gid is None else u32(gid, "gid"),
            max_pending=u32(max_pending, "max_pending"),
            max_file_pending=u32(max_file_pending, "max_file_pending"),
            max_watches=u32(max_watches, "max_watches"),
            max_queue=u32(max_queue, "max_queue"),
        )
        fd = lib.twheel_create_with(ctypes.byref(args))
        if fd < 0:
            fail_control(name)
        purgatory = cls.from_fd(fd)
        purgatory._node = node_of(name)
        return purgatory

    @staticmethod
    def remove(name: str, *, force: bool = False) -> int:
        """
        Remove the purgatory of this name. Return the number of cancelled operations. Without
        force, raises OSError with EBUSY if it is open or has detached operations or unread events.
        """
        cancelled = ctypes.c_uint()
        flags = _lib.REMOVE_FORCE if force else 0
        if lib.twheel_remove(text_of(name), flags, ctypes.byref(cancelled)) < 0:
            fail_control(name)
        return cancelled.value

    def events(
        self, queue: int = 0, *, nonblock: bool = False, confirm: bool = False
    ) -> EventQueue:
        """
        Open a queue of detached events of a named purgatory. With nonblock, its read() does not
        wait for an event. With confirm, the events of a read() are delivered again, with Event.again
        set, unless the next read() or a confirm() follows before the queue is closed or the process
        dies. Only one thread may use such a queue.
        """
        flags = (os.O_NONBLOCK if nonblock else 0) | (_lib.EVENTS_CONFIRM if confirm else 0)
        fd = lib.twheel_events(self._fd, u32(queue, "queue"), flags)
        return EventQueue(check(fd, self), self._node, confirm)

    def restrict(self, rights: Right = Right(0)) -> None:
        """
        Confine the open file to its own operations and to these rights, for ever. It can still
        read its events.
        """
        check(lib.twheel_restrict(self._fd, rights), self)

    def query(self) -> State:
        """Return limits and counts."""
        args = _lib.twheel_query_args()
        check(lib.twheel_query(self._fd, ctypes.byref(args)), self)
        return tuple_of(State, args, name=args.name.decode())

    def queues(self) -> list[QueueState]:
        """Return the counts of each queue of detached events, in the order of their numbers."""
        args = _lib.twheel_queue_args()
        found = []
        while lib.twheel_queue(self._fd, ctypes.byref(args)) == 0:
            found.append(tuple_of(QueueState, args))
            args.queue += 1
        if ctypes.get_errno() != errno.ENOENT:
            check(-1, self)
        return found

    def detach(self) -> int:
        """Return the descriptor, which the caller has to close. Its cells are closed."""
        if self._cells is not None:
            self._cells.close()
        return super().detach()

    def cells(self, number: int) -> "Cells":
        """
        Allocate and map a number of cells, once, for timeouts and heartbeats that need no system
        call. They are closed with the purgatory, and in the child of a fork(). Raises OSError with
        EOPNOTSUPP on a machine without cells, and ImportError if the package was built without its
        extension.
        """
        from . import Cells

        if self._cells is not None:
            raise ValueError(f"{self} has cells already")
        self._cells = Cells(self._fd, u32(number, "number"))
        open_cells.add(self._cells)
        return self._cells

    @parameters_of(add_args)
    def add(self, *keys: Any, **options: Any) -> int:
        """
        Add an operation and return its id.

        With keys it completes on a signal of any of them; with a quorum, when that many are
        satisfied; with a threshold, when the signalled amounts reach it; otherwise according
        to the condition. It expires after the timeout, or at the deadline on the clock.

            keys           keys to watch, up to 64; a Watch has the number of signals that it needs
            timeout        seconds until it expires; by default it does not
            deadline       instead of a timeout, time on the clock in ns
            clock          clock of the timeout or the deadline
            condition      Condition.ALL, or the condition that the other parameters imply
            quorum         number of keys that must be satisfied
            threshold      sum of the amounts of signals that must be reached
            slack          seconds by which it may expire late, to save work; math.inf for an
                           eighth of the time to the deadline
            period         seconds after which the event is repeated, from the timeout or the
                           deadline on, until the operation ends
            runs           number of periods after which it expires; 0 for no limit
            cookie         number to be returned in its events
            detached       it outlives the open file, and events() has its events; in a named
                           purgatory only
            queue          queue of its events, if it is detached
            cancel_on_set  setting the clock, which is Clock.REALTIME, cancels it; no timeout
            fixed_delay    a period starts when the event of the previous one is queued or, if it
                           is not read within the period, when it is read; by default at the
                           previous deadline
        """
        packed, array = add_args(self, *keys, **options)
        args = _lib.twheel_add_args.from_buffer_copy(packed)
        if lib.twheel_add(self._fd, ctypes.byref(args)) < 0:
            _lib.fail(describe(packed))
        del array  # alive during the call
        return int(args.id)

    def cancel(self, id: int) -> bool:
        """Return True if this call ended the operation, False if it had ended before."""
        return was_pending(lib.twheel_cancel(self._fd, u64(id, "id")), id)

    def complete(self, id: int, value: int = 0) -> bool:
        """
        Complete an operation regardless of its condition, with the value in its event. Return as
        cancel().
        """
        status = lib.twheel_complete(self._fd, u64(id, "id"), u64(value, "value"))
        return was_pending(status, id)

    def complete_error(self, id: int, error: int) -> bool:
        """Complete an operation with a negative error number. Return as cancel()."""
        return was_pending(lib.twheel_complete_error(self._fd, u64(id, "id"), s32(error)), id)

    def complete_all(self, value: int = 0, error: int = 0, *, others: bool = False) -> int:
        """
        Complete the operations of this file or, with others, of all. Return their number. Their
        events have the value, or the negative error number error.
        """
        completed = ctypes.c_uint()
        flags = _lib.COMPLETE_OTHERS if others else 0
        check(
            lib.twheel_complete_all(
                self._fd, u64(value, "value"), s32(error), flags, ctypes.byref(completed)
            ),
            self,
        )
        return completed.value

    def rearm(
        self,
        id: int,
        timeout: float | None = None,
        *,
        deadline: int | None = None,
        slack: float = 0,
        mode: Rearm = Rearm.ALWAYS,
    ) -> bool:
        """
        Move the deadline of an operation. Return False if it had ended before, or if the mode
        prevented the move.

            timeout   seconds until the new deadline; by default it has none
            deadline  instead of a timeout, time on the clock of the operation in ns
            slack     as for add()
            mode      Rearm.IF_EARLIER and Rearm.IF_LATER only move the deadline in one direction
        """
        fields = rearm_fields(timeout, deadline, slack, mode)
        args = _lib.twheel_rearm_args(u64(id, "id"), *fields)
        status = lib.twheel_rearm_with(self._fd, ctypes.byref(args))
        return was_pending(status, id) and status > 0

    def watch(self, id: int, keys: Iterable[WatchLike]) -> None:
        """Watch more keys, with the same condition."""
        array = specs(keys)
        status = lib.twheel_watch(self._fd, u64(id, "id"), array, len(array))
        check(status, "operation", id, "with", len(array), "more keys")

    def unwatch(self, id: int, key: KeyLike) -> None:
        """Stop watching a key."""
        status = lib.twheel_unwatch(self._fd, u64(id, "id"), Key(key).raw())
        check(status, "operation", id, "and key", key)

    def signal(self, key: KeyLike, value: int = 0, *, amount: int = 1, limit: int = 0) -> int:
        """
        Signal a key. Return the number of operations that the signal completed.

            value   number to be returned in the events of these operations
            amount  amount to be added to the sums of operations with a threshold
            limit   maximum number of operations to complete; 0 for no limit
        """
        packed = signal_args(key, value, amount, limit)
        args = _lib.twheel_signal_args.from_buffer_copy(packed)
        check(lib.twheel_signal_with(self._fd, ctypes.byref(args)), "key", key)
        return int(args.completed)

    def cancel_key(self, key: KeyLike) -> int:
        """Cancel the operations that watch a key. Return their number."""
        cancelled = ctypes.c_uint()
        status = lib.twheel_cancel_key(self._fd, Key(key).raw(), ctypes.byref(cancelled))
        check(status, "key", key)
        return cancelled.value

    def drain(self) -> int:
        """Refuse further adds and cancel the operations of this file. Return their number."""
        cancelled = ctypes.c_uint()
        check(lib.twheel_drain(self._fd, ctypes.byref(cancelled)), self)
        return cancelled.value

    def info(self, id: int) -> Pending:
        """Describe a pending operation, with the signals that each key still needs."""
        raw = _lib.twheel_pending()
        keys = (_lib.twheel_watch_spec * _lib.MAX_KEYS)()
        status = lib.twheel_info(self._fd, u64(id, "id"), ctypes.byref(raw), keys, len(keys))
        check(status, "operation", id)
        specs = keys[: raw.nr_keys]
        return pending_of(raw, (Watch(Key.from_raw(s.key), s.need, s.bit) for s in specs))

    def list(self, *, others: bool = False) -> "builtins.list[Pending]":
        """List the pending operations of this file or, with others, of all files."""
        entries = (_lib.twheel_pending * LIST_CHUNK)()
        flags = _lib.LIST_OTHERS if others else 0
        cursor = ctypes.c_uint64(0)
        pending = []
        while cursor.value != _lib.LIST_END:
            nr = lib.twheel_list(self._fd, flags, ctypes.byref(cursor), entries, LIST_CHUNK)
            check(nr, self)
            for raw in entries[:nr]:
                keys = [Watch(Key.from_raw(key)) for key in raw.keys[: raw.nr_keys]]
                pending.append(pending_of(raw, keys))
        return pending
