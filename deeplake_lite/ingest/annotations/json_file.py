"""Reading of large JSON files whose list items are decoded only when they are needed.

The file is mapped into memory, and items are slices of the mapping, as in `coco.document`.
"""

from __future__ import annotations

import mmap
import re
from typing import TYPE_CHECKING, Any

import msgspec

from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from pathlib import Path

_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b')
"""Pattern of strings, and of NaN and infinity, which Python writes although they are not JSON."""

_parts = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items = msgspec.json.Decoder(list[msgspec.Raw])
_item = msgspec.json.Decoder(dict[str, Any])


def read_bytes(path: Path) -> bytes | mmap.mmap:
    """Map a file into memory. Raises InvalidValueError if the file cannot be read."""
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except (OSError, ValueError) as error:
        raise InvalidValueError(
            f"{str(path)!r} must be a JSON file, but it cannot be read: {error}. Check the file."
        ) from None


def read_list(path: Path, key: str | None = None) -> list[msgspec.Raw]:
    """Return the undecoded items of a list, which is the whole file or the value of a key.

    Raises
    ------
    InvalidValueError
        If the file is not JSON or does not contain the list.
    """
    data = read_bytes(path)
    try:
        try:
            return _list_of(data, key)
        except msgspec.DecodeError:
            cleaned = _TOKENS.sub(_without_nan, data)
            if len(cleaned) == len(data):
                raise
            return _list_of(cleaned, key)
    except (msgspec.DecodeError, RecursionError, KeyError, UnicodeDecodeError) as error:
        where = "a list of objects" if key is None else f"a list of objects under the key {key!r}"
        reason = "there is no such key" if isinstance(error, KeyError) else str(error)
        raise InvalidValueError(
            f"{path.name} must be JSON with {where}, but it cannot be read: {reason}. Check the "
            "file."
        ) from None


def _list_of(data: Any, key: str | None) -> list[msgspec.Raw]:
    if data[:3] == b"\xef\xbb\xbf":
        data = data[3:]
    return _items.decode(data if key is None else _parts.decode(data)[key])


def _without_nan(match: re.Match[bytes]) -> bytes:
    """Return the replacement for a match of `_TOKENS`: null for NaN or infinity, or the string."""
    return match[0] if match[0][:1] == b'"' else b"null"


def decode_item(raw: msgspec.Raw) -> dict[str, Any]:
    """Decode an item of a list. Raises ValueError if the item is not an object."""
    try:
        return _item.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"it must be a JSON object, but it cannot be decoded: {error}") from None
