# SPDX-License-Identifier: LGPL-2.1-or-later
"""Keys, and keys with the number of signals that satisfy them."""

import ctypes
import errno
import struct
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, Union

from . import _lib
from ._lib import lib

U64_MAX = 2**64 - 1

# struct twheel_watch_spec. It is filled faster than the fields of a ctypes.Structure.
SPEC = struct.Struct("=QQII")


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
        if isinstance(value, Key):
            self._set(value.high, value.low)
        elif isinstance(value, int):
            self._set(0, u64(value, "a key"))  # twheel_key_number()
        elif isinstance(value, str):
            self._convert(lib.twheel_key_text, value)
        elif isinstance(value, uuid.UUID):
            self._convert(lib.twheel_key_uuid, str(value))
        else:
            raise TypeError(f"not a key: {value!r}")

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
        key = cls(0)
        key._convert(lib.twheel_key_parse, text)
        return key

    @classmethod
    def from_raw(cls, raw: _lib.twheel_key) -> "Key":
        key = cls(0)
        key._set(raw.v[0], raw.v[1])
        return key

    def pair(self) -> tuple[int, int]:
        return self.high, self.low

    def raw(self) -> _lib.twheel_key:
        return _lib.twheel_key((ctypes.c_uint64 * 2)(self.high, self.low))

    def __str__(self) -> str:
        text = ctypes.create_string_buffer(_lib.KEY_FORMAT_SIZE)
        lib.twheel_key_format(self.raw(), text)
        return text.value.decode()

    def __repr__(self) -> str:
        return f"Key.parse({str(self)!r})"

    def _convert(self, function: Callable[..., Any], text: str) -> None:
        raw = _lib.twheel_key()
        given = text_of(text)
        if function(given, ctypes.byref(raw)) < 0:
            long = ctypes.get_errno() == errno.ENAMETOOLONG
            hint = ", Key.hash() takes more than 16" if long else ""
            _lib.fail(f"key {text!r}, {len(given)} bytes{hint}")
        self._set(raw.v[0], raw.v[1])

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


def specs(keys: Iterable[WatchLike]) -> Any:
    """An array of struct twheel_watch_spec."""
    if isinstance(keys, (str, Key)):
        raise TypeError("an iterable of keys is needed, not a key")
    watches = [key if isinstance(key, Watch) else Watch(key) for key in keys]
    array = (_lib.twheel_watch_spec * len(watches))()
    for number, watch in enumerate(watches):
        SPEC.pack_into(
            array, number * SPEC.size, *Key(watch.key).pair(), u32(watch.need, "need"), 0
        )
    return array
