# SPDX-License-Identifier: LGPL-2.1-or-later
"""
libtwheel through ctypes: structures, constants and functions of <twheel.h> that the package
uses, with their names in C.  ctypes releases the interpreter's lock during a call.
"""

import ctypes
import os
from ctypes import POINTER, c_char, c_char_p, c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from typing import Any, NoReturn

NAME = "libtwheel.so.1"
DEVICE = "/dev/twheel"
CONTROL = "/dev/twheel-control"

NEVER = 2**64 - 1
LIST_END = 2**64 - 1
CALLER = 2**32 - 1
MAX_KEYS = 64
MAX_BATCH = 1024
NAME_SIZE = 32
KEY_FORMAT_SIZE = 37

ADD_ABSTIME = 1 << 0
ADD_DETACHED = 1 << 1
ADD_CANCEL_ON_SET = 1 << 2
ADD_FIXED_DELAY = 1 << 3
REARM_ABSTIME = 1 << 0
COMPLETE_OTHERS = 1 << 0
LIST_OTHERS = 1 << 0
REMOVE_FORCE = 1 << 0
BATCH_STOP = 1 << 0
EVENT_MORE = 1 << 0
EVENT_AGAIN = 1 << 1
EVENTS_CONFIRM = 1 << 0
PENDING_OWN = 1 << 0
PENDING_DETACHED = 1 << 1
PENDING_CELL = 1 << 4
PENDING_IDLE = 1 << 5


Fields = list[tuple[str, Any]]


def fields32(*names: str) -> Fields:
    return [(name, c_uint32) for name in names]


def fields64(*names: str) -> Fields:
    return [(name, c_uint64) for name in names]


class twheel_key(ctypes.Structure):
    _fields_ = [("v", c_uint64 * 2)]


class twheel_watch_spec(ctypes.Structure):
    _fields_ = [("key", twheel_key), ("need", c_uint32), ("bit", c_uint32)]


class twheel_add_args(ctypes.Structure):
    _fields_ = [
        *fields32("flags", "clock"),
        *fields64("deadline", "cookie", "id", "keys"),
        *fields32("nr_keys", "key_size", "condition", "quorum"),
        *fields64("threshold", "slack", "period", "runs"),
        *fields32("queue", "cell"),
    ]


class twheel_rearm_args(ctypes.Structure):
    _fields_ = [
        *fields64("id", "deadline", "slack"),
        *fields32("flags", "moved"),
    ]


class twheel_signal_args(ctypes.Structure):
    _fields_ = [
        ("key", twheel_key),
        *fields64("amount", "value"),
        *fields32("limit", "flags", "completed", "reserved"),
    ]


class twheel_pending(ctypes.Structure):
    _fields_ = [
        *fields64("id", "cookie", "deadline", "remaining", "missing", "period", "runs"),
        *fields32("condition", "clock", "nr_keys", "flags"),
        ("keys", twheel_key * 3),
        *fields32("queue", "cell"),
    ]


class twheel_query_args(ctypes.Structure):
    _fields_ = [
        *fields32(
            "flags", "max_pending", "max_file_pending", "max_watches", "max_queue", "max_keys",
            "user_max_ops", "user_max_files", "user_ops", "user_files", "files", "rights",
        ),
        *fields64(
            "features", "tick_ns", "pending", "watches", "keys", "own", "unread", "detached",
            "detached_unread", "oldest_unread_ns", "unconfirmed", "oldest_unconfirmed_ns", "added",
            "completed", "expired", "cancelled", "rejected", "rejected_enospc", "rejected_enobufs",
            "rejected_edquot", "wakeups",
        ),
        ("name", c_char * NAME_SIZE),
    ]


class twheel_queue_args(ctypes.Structure):
    _fields_ = [
        *fields32("flags", "queue", "ops", "pending", "unread", "unconfirmed"),
        *fields64("oldest_unread_ns", "oldest_unconfirmed_ns"),
    ]


class twheel_create_args(ctypes.Structure):
    _fields_ = [
        ("name", c_char * NAME_SIZE),
        *fields32(
            "flags", "mode", "uid", "gid", "max_pending", "max_file_pending", "max_watches",
            "max_queue", "major", "minor",
        ),
    ]


count_p = POINTER(c_uint)

# The parameters of each function.
PARAMETERS: dict[str, list[Any]] = {
    "twheel_open": [c_int],
    "twheel_open_named": [c_char_p, c_int],
    "twheel_create_with": [POINTER(twheel_create_args)],
    "twheel_remove": [c_char_p, c_uint, count_p],
    "twheel_restrict": [c_int, c_uint],
    "twheel_query": [c_int, POINTER(twheel_query_args)],
    "twheel_queue": [c_int, POINTER(twheel_queue_args)],
    "twheel_add": [c_int, POINTER(twheel_add_args)],
    "twheel_cancel": [c_int, c_uint64],
    "twheel_complete": [c_int, c_uint64, c_uint64],
    "twheel_complete_error": [c_int, c_uint64, c_int],
    "twheel_complete_all": [c_int, c_uint64, c_int, c_uint, count_p],
    "twheel_rearm_with": [c_int, POINTER(twheel_rearm_args)],
    "twheel_watch": [c_int, c_uint64, POINTER(twheel_watch_spec), c_uint],
    "twheel_unwatch": [c_int, c_uint64, twheel_key],
    "twheel_signal_with": [c_int, POINTER(twheel_signal_args)],
    "twheel_cancel_key": [c_int, twheel_key, count_p],
    "twheel_events": [c_int, c_uint32, c_int],
    "twheel_confirm": [c_int, c_uint64],
    "twheel_drain": [c_int, count_p],
    "twheel_info": [c_int, c_uint64, POINTER(twheel_pending), POINTER(twheel_watch_spec), c_uint],
    "twheel_list": [c_int, c_uint, POINTER(c_uint64), POINTER(twheel_pending), c_uint],
    "twheel_execute": [c_int, c_void_p, c_uint, c_void_p, c_uint, c_uint],
    "twheel_key_hash": [c_char_p, c_size_t],
    "twheel_key_parse": [c_char_p, POINTER(twheel_key)],
    "twheel_key_format": [twheel_key, c_char_p],
}

# The results that are not int.
RESULTS: dict[str, Any] = {
    "twheel_key_hash": twheel_key,
    "twheel_key_format": c_char_p,
}


def load() -> ctypes.CDLL:
    """Load the library, and declare its functions."""
    try:
        library = ctypes.CDLL(NAME, use_errno=True)
    except OSError as missing:
        raise ImportError(f"libtwheel is missing: {missing}") from missing
    for function, parameters in PARAMETERS.items():
        getattr(library, function).argtypes = parameters
        getattr(library, function).restype = RESULTS.get(function, c_int)
    return library


lib = load()


def check(status: int, *about: object) -> int:
    """Return the status of a call that does not fail with a negative one."""
    if status < 0:
        fail(*about)
    return status


def fail(*about: object, node: str | None = None) -> NoReturn:
    """Raise OSError for the errno of the last call of this thread, with the subject of the call."""
    error = ctypes.get_errno()
    text = " ".join([os.strerror(error) + ":", *map(str, about)])
    raise OSError(error, text if about else os.strerror(error), node)
