# SPDX-License-Identifier: LGPL-2.1-or-later
"""Keys, and keys with the number of signals that satisfy them."""

import ctypes
import errno
import os
import struct
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, TypeAlias, Union

from . import _lib
from ._lib import lib

U64_MAX = 2**64 - 1

# struct twheel_watch_spec: the key, need and bit. It is filled faster than a ctypes.Structure.
SPEC = struct.Struct("=QQI4x")
NUMBER = struct.Struct("=8xQI4x")
TEXT = struct.Struct("=16sI4x")
NEED = struct.Struct("=I4x")
ONE = NEED.pack(1)


def u64(value: int, name: str) -> int:
    """ctypes would reduce a larger number to 64 bits."""
    if not 0 <= value <= U64_MAX:
        raise OverflowError(f"{name} must be between 0 and 2**64 - 1, not {value}")
    return value


def u32(value: int, name: str) -> int:
    if not 0 <= value < 2**32:
        raise OverflowError(f"{name} must be between 0 and 2**32 - 1, not {value}")
    return value


def s32(value: int) -> int:
    if not -(2**31) <= value < 2**31:
        raise OverflowError(f"an error number must have 32 bits, not {value}")
    return value


def text_of(text: str) -> bytes:
    """A C function would ignore the part after a NUL."""
    if "\0" in text:
        raise ValueError(f"embedded null character: {text!r}")
    return text.encode()


@dataclass(frozen=True, init=False, order=True)
class Key:
    """
    A key of 128 bits.

    An int is the key of a number, a str a text of 1 to 16 bytes in UTF-8, and a uuid.UUID the
    key of its 16 bytes. Keys of different numbers, texts and UUIDs differ. Key.hash() takes a
    text or bytes of any length, Key.parse() the input of a user, like twheelctl.
    """

    high: int
    low: int

    def __init__(self, value: "KeyLike") -> None:
        self._set(*pair_of(value))

    @classmethod
    def hash(cls, data: str | bytes) -> "Key":
        """The first 16 bytes of the SHA-256 of a text in UTF-8, or of bytes, of any length."""
        raw = data.encode() if isinstance(data, str) else bytes(data)
        return cls.from_raw(lib.twheel_key_hash(raw, len(raw)))

    @classmethod
    def parse(cls, text: str) -> "Key":
        """
        The key of "text:TEXT", "num:NUMBER", "uuid:UUID" or "hash:TEXT", or one of the first three
        without prefix.
        """
        raw = _lib.twheel_key()
        given = text_of(text)
        if lib.twheel_key_parse(given, ctypes.byref(raw)) < 0:
            fail_key(ctypes.get_errno(), text, given)
        return cls.from_raw(raw)

    @classmethod
    def from_raw(cls, raw: _lib.twheel_key) -> "Key":
        key = cls(0)
        key._set(raw.v[0], raw.v[1])
        return key

    def raw(self) -> _lib.twheel_key:
        return _lib.twheel_key((ctypes.c_uint64 * 2)(self.high, self.low))

    def __str__(self) -> str:
        text = ctypes.create_string_buffer(_lib.KEY_FORMAT_SIZE)
        lib.twheel_key_format(self.raw(), text)
        return text.value.decode()

    def __repr__(self) -> str:
        return f"Key.parse({str(self)!r})"

    def _set(self, high: int, low: int) -> None:
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "low", low)


class Watch(NamedTuple):
    """
    A key, and the number of signals that satisfy it. Purgatory.info() sets bit: the number of the
    key's bit in Event.satisfied.
    """

    key: "KeyLike"
    need: int = 1
    bit: int | None = None


KeyLike: TypeAlias = Union[Key, int, str, uuid.UUID]
WatchLike: TypeAlias = Union[KeyLike, Watch]


def fail_key(error: int, text: str, given: bytes) -> NoReturn:
    hint = ", Key.hash() takes more than 16" if error == errno.ENAMETOOLONG else ""
    raise OSError(error, f"{os.strerror(error)}: key {text!r}, {len(given)} bytes{hint}")


def spec_of(key: WatchLike) -> bytes:
    """
    A struct twheel_watch_spec with the key of twheel_key_number(), _text() or _uuid(). A call of the
    library would take longer than the rest of an add.
    """
    if isinstance(key, str):
        raw = key.encode()
        if not raw or len(raw) > 16 or 0 in raw:
            text_of(key)
            fail_key(errno.ENAMETOOLONG if raw else errno.EINVAL, key, raw)
        return TEXT.pack(raw, 1)
    if isinstance(key, int):
        return NUMBER.pack(key if 0 <= key <= U64_MAX else u64(key, "a key"), 1)
    if isinstance(key, Key):
        return SPEC.pack(key.high, key.low, 1)
    if isinstance(key, Watch):
        return spec_of(key.key)[:16] + NEED.pack(u32(key.need, "need"))
    if isinstance(key, uuid.UUID):
        return key.bytes + ONE
    raise TypeError(f"not a key: {key!r}")


def pair_of(key: KeyLike) -> tuple[int, int]:
    """The numbers of a struct twheel_key."""
    if isinstance(key, Watch):
        raise TypeError(f"not a key: {key!r}")
    high, low, _ = SPEC.unpack(spec_of(key))
    return high, low


def specs(keys: Iterable[WatchLike]) -> Any:
    """An array of struct twheel_watch_spec."""
    packed = b"".join(map(spec_of, tuple_of_keys(keys)))
    return (_lib.twheel_watch_spec * (len(packed) // SPEC.size)).from_buffer_copy(packed)


def tuple_of_keys(keys: Iterable[WatchLike]) -> tuple[WatchLike, ...]:
    if isinstance(keys, (str, Key)):
        raise TypeError("an iterable of keys is needed, not a key")
    return tuple(keys)
