"""Values that users enter for cells, checked by the column's type.

Staged edits store classes by name, and tags as lists of names. Class numbers would change their
meaning if another writer added classes, and new classes do not have numbers yet. Classes without
names are stored as numbers. When edits are shown (`as_read`) or written, the values are converted
to the form that their column uses.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, NotFoundError, SchemaError
from deeplake_lite.htypes import ClassLabel, Sequence, Text
from deeplake_lite.htypes.scalar import is_time
from deeplake_lite.widget.images.classes import is_tags

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

type Cell = Any
"""A cell in an edit: a plain value, the name of a class, a list of tags, or None for null."""

type Tag = str | int
"""A tag in an edit: a string, the name of a class, or the number of a class without a name."""

TAGS: Final = Sequence(Text(), default=[])
"""Type of the column that is added when the first tag is set."""

NEW: Final = "c00000000"
"""Id that stands for the column of the first tag until that column is added."""

MAX_VALUE_CHARACTERS = 100_000
"""Maximum length of a string that can be edited in the page, in characters."""

EXACT: Final = 2**53
"""JavaScript, whose numbers are floats, can represent all integers up to this one."""


def to_cell(f: Field, value: object) -> Cell:
    """Check a value from the page, and convert it to the cell that an edit stores.

    The cell is a value as it will be read from the column after a commit, with classes by name.

    Raises
    ------
    InvalidValueError
        When the column rejects the value.
    SchemaError
        When the column cannot be edited on the page.

    Examples
    --------
    >>> from deeplake_lite.schema import Schema
    >>> label = Schema.build({"label": ClassLabel(["ant", "bee"])})["label"]
    >>> to_cell(label, 1), to_cell(label, " cat ")
    ('bee', 'cat')
    """
    htype = f.htype
    if not htype.browser.editable:
        raise SchemaError(
            f"Column {f.name!r} is {htype}, which cannot be edited in the page. Change it in "
            "Python with ds.update(rows, {…})."
        )
    try:
        if htype.scalar is not None and isinstance(value, str):
            value = _parse(htype.scalar, value.strip())
        cell = _with_names(htype, value)
        wider = with_classes(htype, new_classes(htype, [cell]))
        wider.encode([cell])
    except InvalidValueError as error:
        raise InvalidValueError(error.args[0], column=f.name) from None
    return to_cells(wider, as_read(wider, [cell]))[0]


def tag_of(f: Field, value: object, *, exists: bool = False) -> Tag:
    """Convert a tag from the page to a tag in an edit. Raises InvalidValueError for a bad tag.

    Parameters
    ----------
    f : Field
        The column of tags.
    value : object
        The tag.
    exists : bool
        Whether some rows already have the tag. Surrounding spaces are only removed from new tags.

    >>> from deeplake_lite.schema import Schema
    >>> tag_of(Schema.build({"tags": TAGS})["tags"], " blurry ")
    'blurry'
    >>> tag_of(Schema.build({"tags": ClassLabel(multiple=True)})["tags"], "3")
    3
    """
    if not is_tags(f.htype):
        raise SchemaError(
            "Tags need a column with several strings or classes per row, but column "
            f"{f.name!r} is {f.htype}. Choose another column."
        )
    if isinstance(value, str) and f.htype.labels is None and not exists:
        value = value.strip()
        if not value:
            raise InvalidValueError("a tag must not be empty. Type its name.", column=f.name)
    [cell] = to_cell(f, [value])
    tag: Tag = cell
    return tag


def with_tag(value: Cell, tag: Tag) -> Cell:
    """Add a tag to the tags of a cell, unless the cell already has the tag.

    >>> with_tag(None, "blurry"), with_tag(["a"], "a")
    (['blurry'], ['a'])
    """
    tags = list(value or [])
    return tags if tag in tags else [*tags, tag]


def without_tag(value: Cell, tag: Tag) -> Cell:
    """Remove a tag from the tags of a cell.

    >>> without_tag(["a", "b"], "a"), without_tag(None, "a")
    (['b'], None)
    """
    return value if value is None else [t for t in value if t != tag]


# ---- classes


def new_classes(htype: Htype, cells: Iterable[Cell]) -> tuple[str, ...]:
    """Return the names in the given cells that are not classes yet, in the order of the cells.

    >>> new_classes(ClassLabel(["ant"]), ["bee", "ant", "cat", "bee"])
    ('bee', 'cat')
    """
    classes = htype.labels
    if classes is None or not classes.names:
        return ()
    known = set(classes.names)
    return tuple(dict.fromkeys(n for c in cells for n in _names_in(c) if n not in known))


def check_known(f: Field, value: Cell) -> None:
    """Raise InvalidValueError, with the nearest names, if a class does not exist.

    >>> from deeplake_lite.schema import Schema
    >>> label = Schema.build({"label": ClassLabel(["seven", "ten"])})["label"]
    >>> check_known(label, "sevn")
    Traceback (most recent call last):
    deeplake_lite.errors.InvalidValueError: column 'label': There is no class 'sevn'. Did you mean \
'seven'? Known: 'seven', 'ten'. Pass new_class=True to add it.
    """
    classes = f.htype.labels
    for name in new_classes(f.htype, [value]):
        assert classes is not None
        error = NotFoundError.named("class", name, classes.names)
        raise InvalidValueError(f"{error} Pass new_class=True to add it.", column=f.name)


def with_classes(htype: Htype, names: tuple[str, ...]) -> Htype:
    """Return a type with added classes, or the same type if it does not have named classes.

    >>> with_classes(ClassLabel(["ant"]), ("bee",))
    ClassLabel(['ant', 'bee'])
    """
    return htype.with_classes(names) or htype


def to_cells(htype: Htype, values: Iterable[object]) -> list[Cell]:
    """Convert values that were read from a column to the cells that edits store.

    >>> to_cells(ClassLabel(["ant", "bee"]), np.array([1, 0]))
    ['bee', 'ant']
    >>> to_cells(Sequence(ClassLabel()), [[np.int32(1), np.int32(3)]])
    [[1, 3]]
    """
    classes = htype.labels
    if classes is None:
        return [None if v is None or v is np.ma.masked else v for v in values]
    if classes.names:
        return [_convert_unless_null(classes.to_names, v) for v in values]
    return [_convert_unless_null(_numbers, v) for v in values]


def to_page(htype: Htype, value: Any) -> object:
    """Convert a value to JSON for an input on the page.

    Return None if the page cannot edit the value.

    Classes become numbers. Numbers that JavaScript would change become strings: large integers, -0,
    infinite numbers and NaN. Floats have the fewest digits that identify them in their dtype.

    >>> from deeplake_lite.htypes import Boxes, Scalar
    >>> to_page(ClassLabel(["ant"]), np.int32(0)), to_page(Text(), "a")
    (0, 'a')
    >>> to_page(Boxes(), np.zeros((0, 4)))
    >>> to_page(Scalar("int64"), np.int64(2**53)), to_page(Scalar("int64"), np.int64(2**53 + 1))
    (9007199254740992, '9007199254740993')
    >>> to_page(Scalar("float32"), np.float32(0.1)), to_page(Scalar("float64"), np.float64(-0.0))
    (0.1, '-0.0')
    """
    if isinstance(value, str):
        return None if is_long(value) else value
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    if isinstance(value, np.floating):
        value = float(str(value))  # shortest digits that identify the number in its dtype
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and (not math.isfinite(value) or str(value) == "-0.0"):
        return str(value)
    if isinstance(value, int) and abs(value) > EXACT:
        return str(value)
    if is_tags(htype) and value is not None:
        return [to_page(Text(), item) for item in value]
    if htype.sql == "json":
        return value
    return value if isinstance(value, bool | int | float) else None


def is_long(value: object) -> bool:
    """Return whether a value is a string that is too long for an input on the page."""
    return isinstance(value, str) and len(value) > MAX_VALUE_CHARACTERS


def check_compatible(f: Field, source: Field) -> None:
    """Raise SchemaError if values of `source` would change their meaning in the column `f`."""
    is_same_format = f.htype.coordinates == source.htype.coordinates
    if not source.htype.browser.editable or not is_same_format:
        raise SchemaError(
            f"Column {f.name!r} is {f.htype}, which does not accept the values of column "
            f"{source.name!r}, which is {source.htype}. Set the values in Python with "
            "ds.update(rows, {…})."
        )


def key_of(value: Cell) -> object:
    """Return a hashable key for a cell. Only equal cells have the same key.

    >>> key_of(["a"]) == key_of(["a"]), key_of(1) == key_of("1"), key_of(True) == key_of(1)
    (True, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    return type(value), repr(value)


def as_read(htype: Htype, cells: Iterable[Cell]) -> list[Any]:
    """Convert the cells of edits to the values that will be read from the column after a commit.

    >>> as_read(ClassLabel(["ant", "bee"]), ["bee", None])
    [np.int32(1), None]
    """
    nullable = replace(htype, nullable=True)
    return nullable.decode_cells(nullable.encode(list(cells)))


def _with_names(htype: Htype, value: object) -> Cell:
    """Replace class numbers with names, and return other values unchanged."""
    classes = htype.labels
    if value is None or classes is None:
        return value
    if isinstance(value, list | tuple):
        return [_name(classes, part) for part in value] if is_tags(htype) else value
    return _name(classes, value)


def _name(classes: ClassLabel, value: object) -> object:
    """Return the name of a class, given its number, its name, or the name of a new class.

    Classes without names are numbers, even if they were typed as strings.
    """
    if not classes.names:
        return _class_number(value)
    if isinstance(value, str):
        name = value if value in classes.names else value.strip()
        if not name:
            raise InvalidValueError("the name of a class must not be empty. Type a name.")
        return name
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    if not 0 <= value < len(classes.names):
        raise InvalidValueError(
            f"a class number must be 0 to {len(classes.names) - 1}, but it is {value}. To add a "
            "class, type its name."
        )
    return classes.names[value]


def _class_number(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return _whole(value)
    except ValueError:
        raise InvalidValueError(
            "the classes of this column have no names, so a class must be a whole number, but it "
            f"is {brief(value)}. Type its number."
        ) from None


def _names_in(cell: Cell) -> Iterator[str]:
    for part in cell if isinstance(cell, list | tuple) else [cell]:
        if isinstance(part, str):
            yield part


def _convert_unless_null(read: Any, value: object) -> object:
    return None if value is None or value is np.ma.masked else read(value)


def _numbers(value: object) -> object:
    return np.asarray(value).tolist()


def _parse(dtype: str, text: str) -> object:
    """Parse the text of an input. Times stay text, because time columns parse them.

    >>> _parse("int64", "9007199254740993"), _parse("bool", "True"), _parse("timedelta64[s]", "5 s")
    (9007199254740993, True, '5 s')
    """
    if is_time(dtype):
        return text
    try:
        match np.dtype(dtype).kind:
            case "b":
                return {"true": True, "false": False}[text.lower()]
            case "f":
                return _real(text)
            case _:
                return _whole(text)
    except (ValueError, KeyError):
        kind = "true or false" if dtype == "bool" else f"a number that {dtype} can represent"
        raise InvalidValueError(
            f"the value must be {dtype}, but it is {brief(text)}. Type {kind}."
        ) from None


def _whole(text: str) -> int:
    """Parse an integer, which may be written like 1e3. Raises ValueError for other text."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if not number.is_integer() or abs(number) >= EXACT:
            raise
        return int(number)


def _real(text: str) -> float:
    """Parse a float. Raises ValueError for other text, and for numbers that are too large."""
    number = float(text)
    if math.isinf(number) and "inf" not in text.lower():
        raise ValueError(text)
    return number
