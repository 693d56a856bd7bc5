"""Columns in files written by `View.to_numpy` and `View.to_torch`, with the lake's types.

The entry `NOTE` of these files describes how the arrays in the file store each column; see
`dataset.export.arrays.forms`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deeplake_lite.dataset.export.arrays.forms import NOTE
from deeplake_lite.dataset.write.tables import Exported
from deeplake_lite.errors import InvalidValueError, LakeError
from deeplake_lite.htypes.registry import from_config
from deeplake_lite.ingest.arrays.numpy_files import RowArray, item_of
from deeplake_lite.ingest.exported_metadata import ExportedMetadata

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.ingest.arrays.numpy_files import NpzMember


def note_of(members: Mapping[str, NpzMember]) -> str | None:
    """Return the text of an npz file's entry `NOTE`, or None if there is no such entry."""
    member = members.get(NOTE)
    if member is None or member.shape != () or member.dtype.kind != "U":
        return None
    return str(item_of(member))


def exported_columns(
    members: Mapping[str, Member], title: str, text: object
) -> dict[str, ExportedColumn] | None:
    """Return the columns that the text of the entry `NOTE` describes, or None if there is no text.

    Raises
    ------
    InvalidValueError
        If the text is not valid, or the arrays differ from its description.
    """
    if not isinstance(text, str):
        return None
    try:
        note = json.loads(text)
        columns = {
            str(name): _column(
                members, str(name), c["form"], from_config(c["htype"]), int(note["rows"])
            )
            for name, c in note["columns"].items()
        }
    except InvalidValueError:
        raise
    except (LakeError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise InvalidValueError(
            f"The entry {NOTE!r} of {title!r} must describe the file's columns, but it cannot be "
            f"read: {error}. Export the file again, or remove the entry."
        ) from error
    return columns


def exported_metadata(text: object) -> ExportedMetadata:
    """Return the lake's metadata, which the text of the entry `NOTE` contains.

    >>> exported_metadata('{"rows": 1, "columns": {}, "metadata": {"licence": "CC0"}}').of_dataset
    {'licence': 'CC0'}
    """
    try:
        note = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        note = None
    return ExportedMetadata.of(note)


class Member(RowArray, Protocol):
    """An array in a file, which has a name for messages."""

    @property
    def title(self) -> str:
        """Name of the array in messages."""


@dataclass(frozen=True)
class ExportedColumn:
    """A column of a lake that was exported to a file."""

    htype: Htype
    rows: int
    stored: Stored

    def __len__(self) -> int:
        return self.rows

    @property
    def row_bytes(self) -> int:
        """Average size of a value in bytes."""
        return self.stored.bytes // max(self.rows, 1)

    def read(self, start: int, stop: int) -> Exported:
        """Return the values of the given rows, along with the type of the column."""
        return Exported(self.stored.read(start, stop), self.htype)


def _column(
    members: Mapping[str, Member], name: str, form: Any, htype: Htype, rows: int
) -> ExportedColumn:
    return ExportedColumn(htype, rows, _stored(members, name, form, rows, htype))


def _stored(members: Mapping[str, Member], name: str, form: Any, rows: int, htype: Htype) -> Stored:
    """Return the arrays that store a column or the items of its lists.

    `form` is the description of the column in the entry `NOTE`. Raises InvalidValueError if the
    arrays contradict it.
    """
    kind = form["form"]
    offsets = None if kind in ("stack", "text") else _offsets(members, f"{name}_offsets", rows)
    valid = members.get(f"{name}_valid")
    item = None
    if kind == "lists":
        assert offsets is not None
        inner = htype.layout.item  # type: ignore[union-attr]
        item = _stored(members, f"{name}_items", form["item"], int(offsets[-1]), inner)
    stored = Stored(
        kind, bool(form.get("json")), htype.value_dtype, valid, None if item else members[name],
        offsets, members.get(f"{name}_shapes") if kind == "flat" else None, item,
    )  # fmt: skip
    stored.check(rows)
    return stored


def _offsets(members: Mapping[str, Member], name: str, rows: int) -> NDArray[np.int64]:
    member = members[name]
    if member.shape != (rows + 1,) or member.dtype.kind not in "iu":
        raise InvalidValueError(
            f"{member.title} must have {rows + 1:,} offsets, but it has shape {member.shape} and "
            f"dtype {member.dtype}. Check the file."
        )
    offsets = member.read(0, rows + 1).astype(np.int64)
    if offsets[0] != 0 or (np.diff(offsets) < 0).any():
        raise InvalidValueError(
            f"The offsets in {member.title} must be sorted and begin with 0, but they are not. "
            "Check the file."
        )
    return offsets


@dataclass(frozen=True)
class Stored:
    """The arrays that store a column in a file."""

    kind: str
    """Form of the values: ``"stack"``, ``"text"``, ``"flat"``, ``"utf8"``, ``"bytes"`` or
    ``"lists"``; see `dataset.export.arrays.forms`."""

    json: bool
    """Whether strings are JSON."""

    dtype: str
    """Dtype of the numbers."""

    valid: Member | None
    values: Member | None
    offsets: NDArray[np.int64] | None
    shapes: Member | None
    item: Stored | None

    @property
    def bytes(self) -> int:
        """Size of all values in bytes."""
        if self.item is not None:
            return self.item.bytes
        assert self.values is not None
        return int(np.prod(self.values.shape, dtype=object) * self.values.dtype.itemsize)

    def check(self, rows: int) -> None:
        """Raise InvalidValueError if an array does not have the length that `rows` rows need."""
        expected = rows if self.offsets is None else int(self.offsets[-1])
        wrong = [
            member
            for member, count in ((self.values, expected), (self.valid, rows), (self.shapes, rows))
            if member is not None and member.shape[:1] != (count,)
        ]
        if wrong:
            raise InvalidValueError(
                f"The length of {wrong[0].title} must match the other arrays of its column, but "
                f"its shape is {wrong[0].shape}. Check the file."
            )

    def read(self, start: int, stop: int) -> Any:
        """Return the values of the given rows, with None for nulls."""
        try:
            values = self._values(start, stop)
            if self.json:
                values = [json.loads(v) if v else None for v in values]
        except (ValueError, RecursionError) as error:
            raise InvalidValueError(f"cannot be read: {error}. Check the file.") from error
        if self.valid is None:
            return values
        valid = self.valid.read(start, stop).astype(bool)
        return [v if ok else None for v, ok in zip(values, valid.tolist(), strict=True)]

    def _flat(self, start: int, stop: int) -> NDArray[Any]:
        """Return the numbers from `start` up to `stop`, as times if the column has times.

        PyTorch has no dtype for times, so files of PyTorch store them as integers.
        """
        assert self.values is not None
        values = self.values.read(start, stop)
        is_count = self.dtype.endswith("]") and values.dtype == np.int64
        return values.view(self.dtype) if is_count else values

    def _values(self, start: int, stop: int) -> Sequence[Any] | NDArray[Any]:
        if self.offsets is None:
            values = self._flat(start, stop)
            return values.tolist() if self.kind == "text" else values
        ends = self.offsets[start : stop + 1]
        read = self._flat if self.item is None else self.item.read
        flat = read(int(ends[0]), int(ends[-1]))
        spans = (ends - ends[0]).tolist()
        parts = [flat[a:b] for a, b in pairwise(spans)]
        match self.kind:
            case "bytes":
                return [part.tobytes() for part in parts]
            case "utf8":
                return [part.tobytes().decode("utf-8") for part in parts]
            case "lists":
                return [list(part) for part in parts]
        if self.shapes is None:
            return parts
        shapes = self.shapes.read(start, stop).tolist()
        return [_reshape(part, shape) for part, shape in zip(parts, shapes, strict=True)]


def _reshape(part: NDArray[Any], shape: Sequence[int]) -> NDArray[Any]:
    """Reshape a value to a stored shape, which is padded with -1. Nulls have no shape."""
    axes = [size for size in shape if size >= 0]
    return part.reshape(axes) if axes or part.size else part
