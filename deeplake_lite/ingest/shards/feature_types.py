"""Inferring types of columns from the features of the first records."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from deeplake_lite import codecs
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import Array, Bytes, Htype, Image, Scalar, Sequence, Text
from deeplake_lite.ingest.shards.feature_columns import PlainColumn

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

LONGEST_NAME = 250
"""Maximum length of a column's name in characters."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass
class _Values:
    """Statistics of the values that a feature has in the first records."""

    count: int = 0
    """Number of records that have the feature."""

    kinds: set[str] = field(default_factory=set)
    lengths: set[int] = field(default_factory=set)
    """Numbers of values per record. At most two different numbers are kept, because two already
    show that the numbers vary."""

    items: int = 0
    """Number of byte strings in all records."""

    images: int = 0
    texts: int = 0

    def add(self, feature: Any) -> None:
        """Add the values that one record has for the feature."""
        kind = feature.WhichOneof("kind")
        if kind is None:
            return
        values = getattr(feature, kind).value
        self.count += 1
        self.kinds.add(kind)
        if len(self.lengths) < 2:
            self.lengths.add(len(values))
        if kind == "bytes_list":
            self.items += len(values)
            self.texts += sum(map(is_text, values))
            self.images += sum(map(is_image, values))

    @property
    def htype(self) -> Htype | None:
        """Type of the column for the values, or None if no record has values."""
        if not self.kinds:
            return None
        if "bytes_list" in self.kinds:
            item = _bytes_type(self.items, self.images, self.texts)
            return item if self.lengths == {1} else Sequence(item)
        dtype = "int64" if self.kinds == {"int64_list"} else "float32"
        if len(self.kinds) > 1:
            dtype = "float64"  # represents integers up to 2**53, and float32, exactly
        if self.lengths == {1}:
            return Scalar(dtype)
        size = next(iter(self.lengths)) if len(self.lengths) == 1 else None
        return Array(dtype, (size or None,))


def inferred_columns(messages: Iterable[Any]) -> dict[str, PlainColumn]:
    """Return a dict from names to columns for the features that occur in messages.

    A feature list becomes a sequence. A column is nullable if any message has no value for the
    feature. Columns are named after features, as far as a feature's name is valid for a column; see
    `column_name`.
    """
    plain, lists, items = dict[str, _Values](), dict[str, int](), dict[str, _Values]()
    count = 0
    for message in messages:
        count += 1
        for name, feature in message.features.feature.items():
            plain.setdefault(name, _Values()).add(feature)
        for name, feature_list in message.feature_lists.feature_list.items():
            lists[name] = lists.get(name, 0) + 1
            values = items.setdefault(name, _Values())
            for feature in feature_list.feature:
                values.add(feature)
    groups = {group for name in {*plain, *lists} for group in _groups(name)}
    columns = dict[str, PlainColumn]()
    for feature in sorted(plain):
        if (htype := plain[feature].htype) is not None:
            name, nullable = column_name(feature, {*columns, *groups}), plain[feature].count < count
            htype = replace(htype, nullable=nullable)
            columns[name] = PlainColumn(name, htype, feature, is_inferred=True)
    for feature in sorted(lists):
        item, name = items[feature].htype, column_name(feature, {*columns, *groups})
        htype = Sequence(item if item is not None else Bytes(), nullable=lists[feature] < count)
        columns[name] = PlainColumn(name, htype, feature, in_lists=True, is_inferred=True)
    return columns


def column_name(feature: str, taken: Container[str]) -> str:
    r"""Return a valid name for the column of a feature, which is not among the names in `taken`.

    >>> column_name("image/encoded", []), column_name("/a//b\n", []), column_name("a", ["a"])
    ('image/encoded', 'a/b_', 'a_')
    """
    text = _CONTROL.sub("_", feature)
    parts = [f"{part}_" if part in (".", "..") else part for part in text.split("/") if part]
    name = "/".join(parts)[:LONGEST_NAME].rstrip("/") or "feature"
    if name.startswith("__"):  # reserved for the lake
        name = name.lstrip("_") or "feature"
    while name in taken:
        name += "_"
    return name


def _groups(name: str) -> list[str]:
    """Return the names of the groups that contain a column whose name has slashes.

    >>> _groups("a/b/c")
    ['a', 'a/b']
    """
    parts = [part for part in name.split("/") if part]
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def bytes_type(values: Iterable[bytes]) -> Htype:
    r"""Return the type for byte strings: `Image` for image files, `Text` for text, or `Bytes`.

    >>> bytes_type([b"a", b"b"]), bytes_type([b"\xff"]), bytes_type([])
    (Text(), Bytes(), Bytes())
    """
    given = list(values)
    return _bytes_type(len(given), sum(map(is_image, given)), sum(map(is_text, given)))


def _bytes_type(count: int, images: int, texts: int) -> Htype:
    if count == 0:
        return Bytes()
    return Image("auto") if images == count else Text() if texts == count else Bytes()


def is_image(data: bytes) -> bool:
    r"""Return whether bytes begin like an image file.

    >>> is_image(b"\x89PNG\r\n\x1a\n"), is_image(b"BMW")
    (True, False)
    """
    try:
        codecs.sniff(data)
    except InvalidValueError:
        return False
    return not is_text(data)  # text may begin with "BM", as BMP files do


def is_text(data: bytes) -> bool:
    r"""Return whether bytes are UTF-8 without control characters other than white space.

    >>> is_text("é\n".encode()), is_text(b"a\0b"), is_text(b"\xff")
    (True, False, False)
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return text.isprintable() or not any(c < " " and c not in "\t\n\r\f\v" for c in text)
