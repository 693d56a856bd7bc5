"""What a reader may put into a cell: checked by the column's type, classes by name.

In staged edits classes are names, and tags lists of names: names stay what they are when another
writer adds classes, and some may be new. Classes without names are numbers. A column takes its own
form when edits are shown (`shown`) or written.
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
from deeplake_lite.widget.images.classes import classes_of, is_tags

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

type Cell = Any
"""A cell as edits have it: a plain value, a class's name, a list of tags, None for null."""

type Tag = str | int
"""A tag as edits have it: a text, a class's name, or the number of a class without one."""

TAGS: Final = Sequence(Text(), default=[])
"""Type of the column that the first tag adds."""

NEW: Final = "c00000000"
"""Id of the column that the first tag adds, until it is there."""

MOST_LETTERS = 100_000
"""Of a text that is edited in the page."""

EXACT: Final = 2**53
"""Whole numbers up to here are exact in a page, which has floats alone."""


def taken(f: Field, value: Any) -> Cell:
    """Return what the page sent for a cell as edits have it: as it will be read.

    Raises
    ------
    InvalidValueError
        For a value that the column refuses.
    SchemaError
        For a column that is not edited by hand.

    Examples
    --------
    >>> from deeplake_lite.schema import Schema
    >>> label = Schema.build({"label": ClassLabel(["ant", "bee"])})["label"]
    >>> taken(label, 1), taken(label, " cat ")
    ('bee', 'cat')
    """
    htype = f.htype
    if not htype.browser.editable:
        raise SchemaError(
            f"column {f.name!r} is {htype}, which is not edited by hand. Change it in Python: "
            "ds.update(rows, {…})."
        )
    try:
        if htype.scalar is not None and isinstance(value, str):
            value = _typed(htype.scalar, value.strip())
        cell = _named(htype, value)
        new = new_classes(htype, [cell]) if htype.classes is not None else ()
        wider = with_classes(htype, new)
        wider.encode([cell])
    except InvalidValueError as error:
        raise InvalidValueError(error.args[0], column=f.name) from None
    return plain(wider, shown(wider, [cell]))[0]


def tag_of(f: Field, value: Any, *, there: bool = False) -> Tag:
    """Return a tag that the page sent as edits have it. Raises InvalidValueError.

    Parameters
    ----------
    there : bool
        Whether rows have it, as it is: spaces around it are dropped from a new one alone.

    >>> from deeplake_lite.schema import Schema
    >>> tag_of(Schema.build({"tags": TAGS})["tags"], " blurry ")
    'blurry'
    >>> tag_of(Schema.build({"tags": ClassLabel(multiple=True)})["tags"], "3")
    3
    """
    if not is_tags(f.htype):
        raise SchemaError(
            f"tags are in a column of several texts or classes, column {f.name!r} is {f.htype}."
        )
    if isinstance(value, str) and classes_of(f.htype) is None and not there:
        value = value.strip()
        if not value:
            raise InvalidValueError("a tag has letters, got none. Type one.", column=f.name)
    [tag] = taken(f, [value])
    found: Tag = tag
    return found


def with_tag(value: Cell, tag: Tag) -> Cell:
    """Return tags with one more, once.

    >>> with_tag(None, "blurry"), with_tag(["a"], "a")
    (['blurry'], ['a'])
    """
    tags = list(value or [])
    return tags if tag in tags else [*tags, tag]


def without_tag(value: Cell, tag: Tag) -> Cell:
    """Return tags without one.

    >>> without_tag(["a", "b"], "a"), without_tag(None, "a")
    (['b'], None)
    """
    return value if value is None else [t for t in value if t != tag]


# ---- classes


def new_classes(htype: Htype, cells: Iterable[Cell]) -> tuple[str, ...]:
    """Return the names in some cells that no class has yet, in their order.

    >>> new_classes(ClassLabel(["ant"]), ["bee", "ant", "cat", "bee"])
    ('bee', 'cat')
    """
    classes = classes_of(htype)
    if classes is None or not classes.names:
        return ()
    known = set(classes.names)
    return tuple(dict.fromkeys(n for c in cells for n in _names_in(c) if n not in known))


def check_known(f: Field, value: Cell) -> None:
    """Refuse a class that is not there yet, with the nearest names. Raises InvalidValueError.

    >>> from deeplake_lite.schema import Schema
    >>> label = Schema.build({"label": ClassLabel(["seven", "ten"])})["label"]
    >>> check_known(label, "sevn")
    Traceback (most recent call last):
    deeplake_lite.errors.InvalidValueError: column 'label': There is no class 'sevn'. Did you mean \
'seven'? Known: 'seven', 'ten'. Pass new_class=True to add it.
    """
    classes = classes_of(f.htype)
    for name in new_classes(f.htype, [value]):
        assert classes is not None
        said = NotFoundError.named("class", name, classes.names)
        raise InvalidValueError(f"{said} Pass new_class=True to add it.", column=f.name)


def with_classes(htype: Htype, names: tuple[str, ...]) -> Htype:
    """Return a type with more classes.

    >>> with_classes(ClassLabel(["ant"]), ("bee",))
    ClassLabel(['ant', 'bee'])
    """
    classes = htype.classes
    if classes is None or not names:
        return htype
    return htype.widened(ClassLabel(names, multiple=classes.multiple)) or htype


def plain(htype: Htype, values: Iterable[Any]) -> list[Cell]:
    """Return values as they are read as edits have them.

    >>> plain(ClassLabel(["ant", "bee"]), np.array([1, 0]))
    ['bee', 'ant']
    >>> plain(Sequence(ClassLabel()), [[np.int32(1), np.int32(3)]])
    [[1, 3]]
    """
    classes = classes_of(htype)
    if classes is None:
        return [None if v is None or v is np.ma.masked else v for v in values]
    if classes.names:
        return [_none_or(classes.to_names, v) for v in values]
    return [_none_or(_numbers, v) for v in values]


def sent(htype: Htype, value: Any) -> Any:
    """Return a value as the page edits it, JSON: a class's number, a text, a number, tags, null.

    Numbers that a page would change are texts, from which they are read again: whole ones that it
    would round, -0 and what is no finite number. Others have the digits of their dtype.

    >>> from deeplake_lite.htypes import Boxes, Scalar
    >>> sent(ClassLabel(["ant"]), np.int32(0)), sent(Text(), "a"), sent(Boxes(), np.zeros((0, 4)))
    (0, 'a', None)
    >>> sent(Scalar("int64"), np.int64(2**53)), sent(Scalar("int64"), np.int64(2**53 + 1))
    (9007199254740992, '9007199254740993')
    >>> sent(Scalar("float32"), np.float32(0.1)), sent(Scalar("float64"), np.float64(-0.0))
    (0.1, '-0.0')
    """
    if isinstance(value, str):
        return None if is_long(value) else value
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    if isinstance(value, np.floating):
        value = float(str(value))  # the shortest that is read as the same number of the dtype
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and (not math.isfinite(value) or str(value) == "-0.0"):
        return str(value)
    if isinstance(value, int) and abs(value) > EXACT:
        return str(value)
    if is_tags(htype) and value is not None:
        return [sent(Text(), item) for item in value]
    if htype.sql == "json":
        return value
    return value if isinstance(value, bool | int | float) else None


def is_long(value: Any) -> bool:
    """Tell whether a value is a text that is too long for a field of the page."""
    return isinstance(value, str) and len(value) > MOST_LETTERS


def check_alike(f: Field, source: Field) -> None:
    """Refuse to take over values that would mean something else. Raises SchemaError."""
    same_places = f.htype.coordinates == source.htype.coordinates
    if not source.htype.browser.editable or not same_places:
        raise SchemaError(
            f"column {f.name!r} is {f.htype}, which does not take the values of column "
            f"{source.name!r}, {source.htype}. Change it in Python: ds.update(rows, {{…}})."
        )


def key_of(value: Cell) -> object:
    """Return what equal cells have in common.

    >>> key_of(["a"]) == key_of(["a"]), key_of(1) == key_of("1"), key_of(True) == key_of(1)
    (True, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    return type(value), repr(value)


def shown(htype: Htype, cells: Iterable[Cell]) -> list[Any]:
    """Return cells as they will be read once they are written.

    >>> shown(ClassLabel(["ant", "bee"]), ["bee", None])
    [np.int32(1), None]
    """
    nullable = replace(htype, nullable=True)
    return nullable.decode_cells(nullable.encode(list(cells)))


def _named(htype: Htype, value: Any) -> Cell:
    """Return classes by name, anything else as it is."""
    classes = classes_of(htype)
    if value is None or classes is None:
        return value
    if isinstance(value, list | tuple):
        return [_name(classes, part) for part in value] if is_tags(htype) else value
    return _name(classes, value)


def _name(classes: ClassLabel, value: Any) -> Any:
    """Return the name of a class by its number; a text is one, known or new.

    Classes without names stay numbers, also those that are typed.
    """
    if not classes.names:
        return _class_number(value)
    if isinstance(value, str):
        name = value if value in classes.names else value.strip()
        if not name:
            raise InvalidValueError("a class has a name, got an empty text. Type one.")
        return name
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    if not 0 <= value < len(classes.names):
        raise InvalidValueError(
            f"a class number must be 0 to {len(classes.names) - 1}, got {value}. Type the name of "
            "a new one."
        )
    return classes.names[value]


def _class_number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return _whole(value)
    except ValueError:
        raise InvalidValueError(
            f"the classes of this column have no names, so a class must be a whole number, but it "
            f"is {brief(value)}. Type its number."
        ) from None


def _names_in(cell: Cell) -> Iterator[str]:
    for part in cell if isinstance(cell, list | tuple) else [cell]:
        if isinstance(part, str):
            yield part


def _none_or(read: Any, value: Any) -> Any:
    return None if value is None or value is np.ma.masked else read(value)


def _numbers(value: Any) -> Any:
    return np.asarray(value).tolist()


def _typed(dtype: str, text: str) -> Any:
    """Return what a text in a field says; a time as it is, since columns read their texts.

    >>> _typed("int64", "9007199254740993"), _typed("bool", "True"), _typed("timedelta64[s]", "5 s")
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
        kind = "true or false" if dtype == "bool" else "a number that it can hold"
        raise InvalidValueError(f"takes {dtype}, got {brief(text)}. Write {kind}.") from None


def _whole(text: str) -> int:
    """Return a whole number, also one that is written like 1e3. Raises ValueError."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if not number.is_integer() or abs(number) >= EXACT:
            raise
        return int(number)


def _real(text: str) -> float:
    """Return a number; infinity only where the text says so. Raises ValueError."""
    number = float(text)
    if math.isinf(number) and "inf" not in text.lower():
        raise ValueError(text)
    return number
