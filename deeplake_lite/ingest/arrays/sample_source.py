"""The source that reads datasets of other frameworks sample by sample.

A sample is a dict with a value for each column. The columns and their types are inferred from the
first samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes import ClassLabel, Htype, Image, resolve
from deeplake_lite.htypes.pillow import is_pillow
from deeplake_lite.htypes.tensors import array_of, is_tensor
from deeplake_lite.ingest.source import Block, RowNames
from deeplake_lite.ingest.tables.arrays import infer_htype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deeplake_lite.ingest.source import Skipped

SAMPLED = 256
"""Number of samples from which columns and their types are inferred."""

BLOCK_ROWS = 1_024
BLOCK_BYTES = 32 * 2**20


@dataclass(frozen=True)
class BadSample:
    """A stand-in for a sample that cannot be read, with the reason."""

    reason: str


type Sample = Mapping[str, Any] | BadSample


@dataclass(frozen=True)
class SampleSource:
    """The source for a dataset that yields samples."""

    title: str
    """Name of the source in messages."""

    read: Callable[[int], Iterator[Sample]]
    """Function that yields the samples from a given number on, always in the same order."""

    rows: int | None = None
    """Number of samples, or None if the number is unknown."""

    key: str | None = None
    """Name of the column that identifies rows, or None if there is no such column."""

    schema: Mapping[str, Any] = field(default_factory=dict)
    """Maps the names of columns to the types that the user declares."""

    known: Mapping[str, Htype] = field(default_factory=dict)
    """Maps the names of columns to the types that the dataset itself declares."""

    fingerprint: str | None = None
    """A string that changes when the files change, or None for data in memory."""

    left_out: tuple[Skipped, ...] = ()

    metadata: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def _first(self) -> list[Mapping[str, Any]]:
        """The first valid samples. Raises InvalidValueError if there are none."""
        samples = list(islice(self.read(0), SAMPLED))
        good = [sample for sample in samples if not isinstance(sample, BadSample)]
        if samples and not good:
            assert isinstance(samples[0], BadSample)
            raise InvalidValueError(f"{self.title}, row 0: {samples[0].reason}")
        if not samples and not self.known:
            raise InvalidValueError(
                f"{self.title} must have samples from which columns can be inferred, but it has "
                "none. Create the lake with its columns first: dl.create(url, schema)."
            )
        return good

    @cached_property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        names = dict.fromkeys([*(name for sample in self._first for name in sample), *self.known])
        return {name: self._htype(name) for name in names}

    def _htype(self, name: str) -> Htype:
        """Return the type that the user or the dataset declares, or that is inferred."""
        values = [sample.get(name) for sample in self._first]
        nullable = any(value is None for value in values)
        declared = resolve(self.schema[name]) if name in self.schema else None
        if declared is not None and declared != ClassLabel():
            return declared
        htype = self.known.get(name)
        if htype is None:
            try:
                htype = infer_type(values)
            except SchemaError as error:
                raise SchemaError(
                    f"Column {name!r}: {error} Declare a type: schema={{{name!r}: …}}."
                ) from error
        if declared is not None and htype.classes is None:
            htype = declared
            texts = {str(value) for value in values if value is not None}
            if all(isinstance(value, str | None) for value in values):
                htype = ClassLabel(sorted(texts))
        return replace(htype, nullable=True) if nullable else htype

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Accept all columns, because `infer_htype` rejects numbers that would be rounded."""

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the samples from number `start` on."""
        rows, size, types = list[Sample](), 0, self.columns
        for sample in self.read(start):
            try:
                size += (
                    0 if isinstance(sample, BadSample) else sum(map(sample_size, sample.values()))
                )
            except InvalidValueError as error:
                rows.append(BadSample(str(error)))
            else:
                rows.append(sample)
            if len(rows) == BLOCK_ROWS or size >= BLOCK_BYTES:
                yield self._block(rows, start, types)
                start += len(rows)
                rows, size = [], 0
        if rows:
            yield self._block(rows, start, types)

    def _block(self, rows: list[Sample], start: int, types: Mapping[str, Htype]) -> Block:
        errors = dict[int, str]()
        columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in types}
        for i, sample in enumerate(rows):
            if isinstance(sample, BadSample):
                errors[i] = sample.reason
                continue
            if unknown := sample.keys() - types.keys():
                errors[i] = (
                    f"a sample may have no items except {', '.join(map(repr, types))}, which the "
                    f"first samples have, but it also has {min(unknown)!r}."
                )
            for name in sample.keys() & types.keys():
                columns[name][i] = sample[name]
        for name, values in columns.items():
            for i in errors:
                values[i] = types[name].blank
        return Block(columns, RowNames(self.title, start, len(rows)), errors=errors)


def infer_type(values: list[Any]) -> Htype:
    """Infer the column type for values. For Pillow images, it keeps the format of their files."""
    present = [value for value in values if value is not None]
    if present and all(map(is_pillow, present)):
        return Image("auto")
    return infer_htype([_plain(value) for value in values])


def _plain(value: Any) -> Any:
    return array_of(value) if is_tensor(type(value)) else value


def sample_size(value: Any) -> int:
    """Estimate the size of a value in bytes. Raises InvalidValueError for sparse tensors."""
    if isinstance(value, str | bytes):
        return len(value)
    if is_pillow(value):
        return int(np.prod(value.size)) * 4
    check_dense(value)
    nbytes = getattr(value, "nbytes", 8)
    return int(nbytes) if isinstance(nbytes, int | np.integer) else 8


def check_dense(value: Any) -> None:
    """Raise InvalidValueError for a sparse tensor, whose dense form might have any size."""
    layout = str(getattr(value, "layout", "torch.strided"))
    if layout.startswith("torch.") and layout != "torch.strided":  # could be huge when dense
        raise InvalidValueError(
            f"Tensors must be dense, but one has the layout {layout}. Convert this tensor in the "
            "dataset: x.to_dense()."
        )


class Once:
    """An iterable that yields the items of an iterator. The first items can be read repeatedly.

    An import reads the first items once to find the columns, and again as rows.

    >>> once = Once(iter([1, 2, 3]))
    >>> next(iter(once)), list(once)
    (1, [1, 2, 3])
    """

    def __init__(self, items: Iterator[Any]) -> None:
        self._items, self._first = items, list[Any]()

    def __iter__(self) -> Iterator[Any]:
        yield from self._first
        for item in self._items:
            if len(self._first) < SAMPLED:
                self._first.append(item)
            yield item


def bad_sample(error: Exception) -> BadSample:
    """Return a `BadSample` for an error that a dataset has raised.

    >>> bad_sample(OSError("truncated"))
    BadSample(reason='it cannot be read: OSError: truncated.')
    """
    text = brief(str(error).splitlines()[0] if str(error) else "", 200).strip("'\"").rstrip(".")
    name = type(error).__name__
    return BadSample(
        f"it cannot be read: {name}: {text}." if text else f"it cannot be read: {name}."
    )


def flatten(value: Mapping[Any, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Flatten nested mappings, joining their keys with dots. Raises SchemaError for equal names.

    >>> flatten({"a": 1, "b": {"c": 2}})
    {'a': 1, 'b.c': 2}
    """
    items = dict[str, Any]()
    for name, item in value.items():
        path = f"{prefix}{name}"
        more = (
            flatten(item, f"{path}.", depth + 1)
            if isinstance(item, Mapping) and item and depth < 16
            else {path: item}
        )
        if taken := items.keys() & more.keys():
            raise SchemaError(
                "Names must be unique after joining nested names with dots, but two items are "
                f"named {min(taken)!r}. Rename one of them."
            )
        items |= more
    return items
