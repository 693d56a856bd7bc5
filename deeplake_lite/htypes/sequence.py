"""The type of sequences, such as the frames of a clip or the captions of an image."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast, override

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.base import Check, Htype, Picture, to_code
from deeplake_lite.htypes.facets import Browser
from deeplake_lite.htypes.layouts import Nested
from deeplake_lite.htypes.nesting import nest
from deeplake_lite.htypes.registry import resolve
from deeplake_lite.htypes.words import item_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deeplake_lite.htypes.cells import NestedCells, Values


@dataclass(frozen=True, repr=False, eq=False)
class Sequence(Htype):
    """Any number of items of one type per row.

    Parameters
    ----------
    of : Htype | str | type
        Type of the items, in any form that `resolve` accepts.

    Examples
    --------
    >>> Sequence("int32")
    Sequence(Scalar('int32'))
    >>> Sequence("int32").encode([[1, 2], [], [3]]).counts.tolist()
    [2, 0, 1]
    """

    of: Any = field(metadata={"htype": True})
    """Type of the items, an Htype."""

    name: ClassVar[str] = "sequence"

    @override
    def __post_init__(self) -> None:
        self._set(of=resolve(self.of))
        super().__post_init__()

    @property
    @override
    def layout(self) -> Nested:
        return Nested(self.of)

    @property
    @override
    def takes_files(self) -> bool:
        return bool(self.of.takes_files)

    @override
    def hands_files_to(self, other: Htype) -> bool:
        return isinstance(other, Sequence) and bool(self.of.hands_files_to(other.of))

    @property
    @override
    def item(self) -> Htype | None:
        """Type of the items."""
        return cast("Htype", self.of)

    @property
    @override
    def browser(self) -> Browser:
        kind = self.of.browser.kind
        return Browser("tags", editable=True) if kind in ("class", "text") else Browser("sequence")

    @override
    def details(self) -> Iterator[str]:
        yield from self.of.details()

    @override
    def to_words(self, value: Values) -> str | None:
        if self.of.pixels is not None:
            return None
        return ", ".join(item_in_words(self.of, item) for item in value)

    @override
    def values_from(self, of: Htype, values: Values) -> Values:
        if of.item is None:
            return super().values_from(of, values)
        return _itemwise(partial(self.of.values_from, of.item), values)

    @override
    def named(self, values: Values) -> Values:
        return _itemwise(self.of.named, values)

    @override
    def continues(self, other: Htype) -> bool:
        if not isinstance(other, Sequence) or self.of.nullable != other.of.nullable:
            return False
        return bool(self.of.bare.continues(other.of.bare))

    @override
    def widened(self, coming: Htype) -> Sequence | None:
        wider = self.of.widened(coming.of) if isinstance(coming, Sequence) else None
        return None if wider is None else replace(self, of=wider)

    @override
    def with_classes(self, names: Iterable[str]) -> Sequence | None:
        wider = self.of.with_classes(names)
        return None if wider is None else replace(self, of=wider)

    @override
    def describes(self, other: Htype) -> bool:
        return isinstance(other, Sequence) and bool(self.of.bare.describes(other.of.bare))

    @property
    @override
    def blank(self) -> list[object]:
        return []

    @override
    def _encode(self, values: Values, check: Check) -> NestedCells:
        return nest(values, self.of, check, without_nulls=self._without_nulls)

    def _without_nulls(self) -> str:
        """Return the sentence of an error message that tells users how to fix null items."""
        return (
            f"Declare nullable items, {to_code(replace(self.of, nullable=True))}. If the column "
            "already exists, this requires a new column: ds.add_column(…)."
        )

    @override
    def decode(self, data: Values, shape: tuple[int, ...]) -> list[object]:
        return list(data)

    @override
    def computed(self) -> Htype:
        return replace(self, of=self.of.computed(), nullable=True, default=None)

    @override
    def preview(self, value: Values) -> Picture | str:
        if not len(value) or value[0] is None:
            return f"{len(value)} items"
        first = self.of.preview(value[0])
        if isinstance(first, Picture):
            return first
        count = f"{len(value)} item{'' if len(value) == 1 else 's'}"
        return f"{count}: {first}{', …' if len(value) > 1 else ''}"


def _itemwise(convert: Callable[[Values], Values], rows: Values) -> list[object]:
    """Convert the items of all rows in one call. Errors name the row and the item."""
    lists = [[] if row is None else list(row) for row in rows]
    try:
        items = iter(convert([item for items in lists for item in items]))
    except InvalidValueError as error:
        if error.row is None:
            raise
        row, index = _locate(lists, error.row)
        raise type(error)(f"item {index}: {error.args[0]}", row=row) from error
    return [
        None if row is None else [next(items) for _ in originals]
        for row, originals in zip(rows, lists, strict=True)
    ]


def _locate(lists: list[list[object]], item: int) -> tuple[int, int]:
    """Return the row of an item of the concatenated lists, and the item's index in this row.

    >>> _locate([["a"], [], ["b", "c"]], 2)
    (2, 1)
    """
    for row, items in enumerate(lists):
        if item < len(items):
            return row, item
        item -= len(items)
    raise IndexError(item)
