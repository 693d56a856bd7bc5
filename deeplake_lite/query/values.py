"""What an expression of a query is once its names are resolved: a scalar, a tensor or a constant.

A scalar is an expression that DuckDB computes. A tensor is a `Tree` that NumPy computes, with the
SQL expressions that say, per row of the query, what its leaves read: a row of a source, or a
scalar. Both are values: lowering makes new ones, nobody changes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite.htypes import Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from decimal import Decimal

    from sqlglot import exp

    from deeplake_lite.htypes import Htype
    from deeplake_lite.query.functions.base import Bound, Type
    from deeplake_lite.query.run.sources import Source
    from deeplake_lite.schema import Field

type KindName = Literal[
    "number", "bool", "text", "bytes", "class", "json", "time", "list", "tensor", "any"
]


@dataclass(frozen=True)
class Kind:
    """What is known of a scalar."""

    name: KindName = "any"
    """What DuckDB computes with."""
    real: bool = False
    """Whether it may be NaN, which sorts last and compares as false."""
    names: tuple[str, ...] = ()
    """Names of classes."""
    htype: Htype | None = None
    """Type of the column that it comes from unchanged."""
    item: Kind | None = None
    """Of a list: the kind of its items, where that is known."""
    parts: tuple[tuple[str, Kind], ...] = ()
    """Of a struct or a map: the kinds of its values, by their names where those are known."""
    key: Kind | None = None
    """Of a map: the kind of its keys."""
    dtype: str = ""
    """Of a computed number, where it is known; int128 for sums of integers."""

    @property
    def column_dtype(self) -> str:
        """Dtype of the column of numbers, truth values or times that it comes from; else empty."""
        return "" if self.htype is None else self.htype.scalar or ""

    @property
    def number_dtype(self) -> str:
        """Dtype of a number, as far as it is known: of computed ones, whether it is real."""
        if self.name != "number":
            return ""
        return self.column_dtype or self.dtype or ("float64" if self.real else "")

    @property
    def time_dtype(self) -> str:
        """Dtype of a column's time; empty for computed ones, and for other values."""
        return self.column_dtype if self.name == "time" else ""

    @property
    def holds_json(self) -> bool:
        """Whether there is JSON within: among the items of a list, or the values of a struct."""
        inner = [part for _, part in self.parts] + ([] if self.item is None else [self.item])
        return any(kind.name == "json" or kind.holds_json for kind in inner)

    @property
    def listed(self) -> Kind:
        """Kind of a list of such values."""
        return Kind("list", names=self.names, htype=self.htype, item=self)

    @property
    def of_item(self) -> Kind:
        """Kind of an item of such a list."""
        if self.names:
            return Kind("class", names=self.names)
        return ANY if self.item is None else self.item.computed

    @property
    def computed(self) -> Kind:
        """Kind of such values that are no column's any more; moments keep their nanoseconds."""
        dtype = self.column_dtype
        if dtype == "datetime64[ns]":
            return self
        return replace(
            self, htype=None, dtype=dtype if dtype and self.name == "number" else self.dtype
        )

    def beside(self, other: Kind) -> Kind:
        """Return the kind of a column in which some rows are of this kind and others of another.

        It keeps what both have in common. If either may be NaN, so may the column. As in DuckDB,
        truth values beside numbers are numbers, and moments have the finest unit of both.
        """
        if other.name == "any" and not other.parts:
            return self
        if self.name == "any" and not self.parts:
            return other
        items = [kind.item for kind in (self, other) if kind.item is not None]
        named = {name for name, _ in self.parts} == {name for name, _ in other.parts}
        theirs = dict(other.parts)
        pairs = (
            [(name, part, theirs[name]) for name, part in self.parts]
            if named and "" not in theirs
            else [(a, p, q) for (a, p), (_, q) in zip(self.parts, other.parts, strict=False)]
        )
        return replace(
            self,
            name="number" if {self.name, other.name} == {"bool", "number"} else self.name,
            real=self.real or other.real,
            htype=self.htype if str(self.htype) == str(other.htype) else _finest(self, other),
            dtype=self.dtype if self.dtype == other.dtype else "",
            item=reduce(Kind.beside, items) if items else None,
            parts=tuple((name, part.beside(its)) for name, part, its in pairs),
            key=self.key.beside(other.key) if self.key and other.key else None,
        )


def _finest(*kinds: Kind) -> Htype | None:
    """Return the type of moments of two types; None for anything else, or if it is not known."""
    if any(kind.name != "time" for kind in kinds):
        return None
    dtypes = [kind.time_dtype for kind in kinds]
    if "datetime64[ns]" in dtypes:  # whatever the unit of the others, which may be computed
        return Scalar("datetime64[ns]")
    if not all(dtype.startswith("datetime64") for dtype in dtypes):
        return None
    return Scalar(str(np.promote_types(*dtypes)))


ANY = Kind()
NUMBER, REAL, BOOL = Kind("number"), Kind("number", real=True), Kind("bool")
TEXT, JSON, TIME, LIST = Kind("text"), Kind("json"), Kind("time"), Kind("list")
BYTES = Kind("bytes")

NANOSECONDS = Kind("time", htype=Scalar("datetime64[ns]"))
"""Of moments in nanoseconds."""

TENSOR = Kind("tensor")
"""Of a tensor's digest, where a query has it for a column."""


# ---- trees


@dataclass(frozen=True)
class Cell:
    """A column's value at a row of a source."""

    key: str
    source: Source
    field: Field
    type: Type


@dataclass(frozen=True)
class Meta:
    """What is known of a column's value, or of its row, without reading it."""

    key: str
    source: Source
    field: Field | None
    what: str
    """``"shape"``, ``"axis:0"``, ``"ndim"``, ``"size"``, ``"nbytes"``, ``"hash"``,
    ``"hash:present"`` (null where the cell is null), ``"present"``;
    of a text ``"bm25:words"``; of the row ``"row_id"``, ``"random:seed"``."""
    type: Type


@dataclass(frozen=True)
class Given:
    """A scalar, or a list of numbers, that DuckDB computes."""

    key: str
    type: Type


def _read_only(value: Any) -> Any:
    """Return an array of the same memory that cannot be written to; anything else as it is."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


@dataclass(frozen=True)
class Literal_:
    """A constant: a number, a text, an array.

    An array is read-only, so that every row that it stands in gets a copy of its own.
    """

    value: Any
    type: Type

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _read_only(self.value))

    def __hash__(self) -> int:
        return hash(self._content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal_) and self._content == other._content

    @property
    def _content(self) -> object:
        array = isinstance(self.value, np.ndarray)  # of which repr leaves out the middle
        return (self.type, self.value.tobytes()) if array else (self.type, repr(self.value))


@dataclass(frozen=True)
class Call:
    """A function of other trees."""

    name: str
    bound: Bound = field(compare=False)
    args: tuple[Tree, ...]
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def type(self) -> Type:
        """Type of the result."""
        return self.bound.type

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Kept, as looking up each tree of a long chain would hash all below it every time."""
        return hash((self.name, self.args, self.options))


@dataclass(frozen=True)
class Index:
    """NumPy's indexing: integers, slices, ``...``; ends may be trees."""

    base: Tree
    items: tuple[Any, ...]
    """`Tree` for integers or a mask, ``(start, stop, step)`` of `Tree` or None for a slice,
    Ellipsis, None for a new axis."""
    type: Type
    text: str = field(default="", compare=False)
    """As the query has it, for messages."""


@dataclass(frozen=True)
class Grouped:
    """Values of a tree over the rows of a group: all of them, or one elementwise aggregate."""

    key: str
    """Of a list of structs: the inner tree's keys."""
    inner: Tree
    aggregate: str
    """``"LIST"``, ``"SUM"``, ``"MEAN"``, …"""
    type: Type


@dataclass(frozen=True)
class Choice:
    """A tree of several, by row: UNION of tensors."""

    key: str
    """Of the number of the tree that counts."""
    options: tuple[Tree, ...]
    type: Type


type Tree = Cell | Meta | Given | Literal_ | Call | Index | Grouped | Choice


def children(tree: Tree) -> Iterator[Tree]:
    """Yield the trees directly below, those of the same keys."""
    match tree:
        case Call(args=args):
            yield from args
        case Index(base, items):
            yield base
            for item in items:
                if isinstance(item, tuple):
                    yield from (part for part in item if part is not None)
                elif item is not Ellipsis and item is not None:
                    yield item


def depth(tree: Tree) -> int:
    """Return how many trees lie within one another, from the whole down to its deepest leaf."""
    deepest, waiting = 0, [(tree, 1)]
    while waiting:
        part, level = waiting.pop()
        deepest = max(deepest, level)
        below = part.options if isinstance(part, Choice) else children(part)
        waiting += [(inner, level + 1) for inner in below]
    return deepest


def leaves(tree: Tree) -> Iterator[Tree]:
    """Yield the trees that have nothing below them."""
    below = list(children(tree))
    if not below:
        yield tree
    for part in below:
        yield from leaves(part)


def calls_users(tree: Tree) -> bool:
    """Tell whether a function of a user is called."""
    own = isinstance(tree, Call) and tree.bound.lists
    below = tree.options if isinstance(tree, Choice) else children(tree)
    return own or any(map(calls_users, below))


def rename_keys(tree: Tree, name: Callable[[str], str]) -> Tree:
    """Return the tree with other keys."""
    match tree:
        case Cell(key=key) | Meta(key=key) | Given(key=key) | Grouped(key=key):
            return replace(tree, key=name(key))
        case Choice(key, options):
            moved = tuple(rename_keys(o, name) for o in options)
            return replace(tree, key=name(key), options=moved)
        case Call(args=args):
            return replace(tree, args=tuple(rename_keys(a, name) for a in args))
        case Index(base, items):
            return replace(
                tree,
                base=rename_keys(base, name),
                items=tuple(_rename_item(item, name) for item in items),
            )
        case _:
            return tree


def _rename_item(item: Any, name: Callable[[str], str]) -> Any:
    if item is Ellipsis or item is None:
        return item
    if isinstance(item, tuple):
        return tuple(None if part is None else rename_keys(part, name) for part in item)
    return rename_keys(item, name)


# ---- values


@dataclass(frozen=True)
class Plain:
    """A column of a source that came through unchanged: it is read when it is looked at."""

    source: Source
    field: Field
    row: exp.Expr
    """SQL of the row's position in the source; null where an outer join has none."""
    of_several: bool = False
    """Whether the row stands for others with equal values, as after DISTINCT."""


@dataclass(frozen=True)
class Sql:
    """A scalar."""

    node: exp.Expr
    kind: Kind = ANY
    plain: Plain | None = None


@dataclass(frozen=True)
class Tensor:
    """A tensor, or a scalar that NumPy computes."""

    tree: Tree
    env: Mapping[str, exp.Expr]
    """SQL of each key: int64 positions for cells, scalars for what is given."""
    text: str
    """As the query has it, for messages."""
    plain: Plain | None = None

    @property
    def type(self) -> Type:
        """Type of a row's value."""
        return self.tree.type

    @property
    def is_scalar(self) -> bool:
        """Whether a row's value has no axes."""
        return self.type.ndim == 0


@dataclass(frozen=True)
class Constant:
    """The same value for every row: of the query's text, or a parameter."""

    value: Any
    sql: exp.Expr | Callable[[], exp.Expr]
    """As SQL, or what makes it: of an array it is a long list, which hardly any query asks for."""
    number: Decimal | None = None
    """The number that it says, where `value` may be rounded."""
    items: tuple[Constant, ...] = ()
    """Of a list: its parts."""

    @cached_property
    def node(self) -> exp.Expr:
        """As SQL; arrays are lists."""
        return self.sql() if callable(self.sql) else self.sql


type Value = Sql | Tensor | Constant
