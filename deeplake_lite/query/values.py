"""The values of lowered expressions: scalars, tensors and constants.

Lowering an expression means translating its syntax tree into one of these values:

- A scalar (`Sql`) is an SQL expression that DuckDB computes.
- A tensor (`Tensor`) is a `Tree` of operations that NumPy computes. Each leaf of a tree that needs
  input has a key, and the environment `env` of the tensor maps each key to the SQL expression for
  this input: a row position in a source, or a scalar.
- A `Constant` is the same for every row.

Values are immutable.
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
    """The kind of a scalar: its general type, and all details that the binder knows."""

    name: KindName = "any"
    """The general type, or "any" if it is not known."""
    real: bool = False
    """Whether the value may be NaN, which is sorted last, and for which comparisons are false."""
    names: tuple[str, ...] = ()
    """For a class label, the names of the classes."""
    htype: Htype | None = None
    """For an unchanged value of a column, the type of the column. For a computed value, a type that
    DuckDB lacks, such as float16, or None."""
    item: Kind | None = None
    """For a list, the kind of the items, or None if it is not known."""
    parts: tuple[tuple[str, Kind], ...] = ()
    """For a struct or a map, the names of the values with their kinds. A name that is not known is
    empty."""
    key: Kind | None = None
    """For a map, the kind of the keys."""
    dtype: str = ""
    """For a computed number, its dtype, which is int128 for sums of integers, or empty if it is not
    known. For a time of day, which has no NumPy dtype, "clock"."""
    hashed: str = field(default="", compare=False)
    """For the hash of a tensor, the type whose stored bytes are hashed, or "values" if the hash
    depends only on the values."""

    @property
    def column_dtype(self) -> str:
        """Dtype of the column from which a number, boolean or time is read, or empty."""
        return "" if self.htype is None else self.htype.scalar or ""

    @property
    def number_dtype(self) -> str:
        """Dtype of a number, or empty if it is unknown. Computed real numbers are float64."""
        if self.name != "number":
            return ""
        return self.column_dtype or self.dtype or ("float64" if self.real else "")

    @property
    def time_dtype(self) -> str:
        """Dtype of a time that is unchanged from a column. Empty for other values."""
        return self.column_dtype if self.name == "time" else ""

    @property
    def is_clock(self) -> bool:
        """Whether the value is known to be a time of day."""
        return self.name == "time" and self.dtype == "clock"

    @property
    def holds_json(self) -> bool:
        """Whether a list or a struct contains JSON."""
        inner = [part for _, part in self.parts] + ([] if self.item is None else [self.item])
        return any(kind.name == "json" or kind.holds_json for kind in inner)

    @property
    def as_list(self) -> Kind:
        """Kind of a list of values of this kind."""
        return Kind("list", names=self.names, htype=self.htype, item=self)

    @property
    def item_kind(self) -> Kind:
        """Kind of an item in a list of this kind."""
        if self.names:
            return Kind("class", names=self.names)
        return ANY if self.item is None else self.item.computed

    @property
    def computed(self) -> Kind:
        """Kind of values computed from values of this kind.

        Such values no longer have the type of the column. As an exception, timestamps in
        nanoseconds keep their unit.
        """
        dtype = self.column_dtype
        if dtype == "datetime64[ns]":
            return self
        return replace(
            self, htype=None, dtype=dtype if dtype and self.name == "number" else self.dtype
        )

    def combine(self, other: Kind) -> Kind:
        """Return the kind of a column that contains values of this kind and of another kind.

        The result has the properties that the two kinds share. If values of one kind may be NaN,
        values of the column may be NaN, too. As in DuckDB, booleans mixed with numbers become
        numbers, and timestamps get the finer unit.
        """
        if other.name == "any" and not other.parts:
            return self
        if self.name == "any" and not self.parts:
            return other
        items = [kind.item for kind in (self, other) if kind.item is not None]
        same_names = {name for name, _ in self.parts} == {name for name, _ in other.parts}
        theirs = dict(other.parts)
        pairs = (
            [(name, part, theirs[name]) for name, part in self.parts]
            if same_names and "" not in theirs
            else [(a, p, q) for (a, p), (_, q) in zip(self.parts, other.parts, strict=False)]
        )
        return replace(
            self,
            name="number" if {self.name, other.name} == {"bool", "number"} else self.name,
            real=self.real or other.real,
            htype=self.htype if str(self.htype) == str(other.htype) else _common_htype(self, other),
            dtype=self.dtype if self.dtype == other.dtype else "",
            item=reduce(Kind.combine, items) if items else None,
            parts=tuple((name, part.combine(its)) for name, part, its in pairs),
            key=self.key.combine(other.key) if self.key and other.key else None,
        )


def _common_htype(*kinds: Kind) -> Htype | None:
    """Return float16 if all kinds are float16, and the finest of several timestamp types.

    Returns None for other kinds, and if the type of a timestamp is unknown.
    """
    if all(kind.column_dtype == "float16" for kind in kinds):
        return Scalar("float16")
    if any(kind.name != "time" for kind in kinds):
        return None
    dtypes = [kind.time_dtype for kind in kinds]
    if "datetime64[ns]" in dtypes:  # the finest unit, so no other unit matters
        return Scalar("datetime64[ns]")
    if not all(dtype.startswith("datetime64") for dtype in dtypes):
        return None
    return Scalar(str(np.promote_types(*dtypes)))


ANY = Kind()
NUMBER, REAL, BOOL = Kind("number"), Kind("number", real=True), Kind("bool")
TEXT, JSON, TIME, LIST = Kind("text"), Kind("json"), Kind("time"), Kind("list")
BYTES = Kind("bytes")

HALF = Kind("number", real=True, htype=Scalar("float16"))
"""Kind of float16 values. DuckDB has no such type, and computes with 32-bit floats instead."""

NANOSECONDS = Kind("time", htype=Scalar("datetime64[ns]"))
"""Kind of timestamps in nanoseconds."""

CLOCK = Kind("time", dtype="clock")
"""Kind of times of day."""

TENSOR = Kind("tensor")
"""Kind of a column of digests that stands for a column of tensors in the SQL."""


# ---- trees


@dataclass(frozen=True)
class Cell:
    """A leaf: the value of a column in one row of a source."""

    key: str
    """Key of the row position in the environment."""
    source: Source
    field: Field
    type: Type


@dataclass(frozen=True)
class Meta:
    """A leaf: a property of a value or of a row that is known without reading the value."""

    key: str
    """Key of the row position in the environment."""
    source: Source
    field: Field | None
    """The column of the value, or None for a property of the row."""
    what: str
    """The property: ``"shape"``, ``"axis:0"``, ``"ndim"``, ``"size"``, ``"nbytes"``, ``"hash"``,
    ``"hash:present"`` (null where the cell is null), ``"present"``;
    for a string ``"bm25:words"``; for the row ``"row_id"``, ``"random:seed"``."""
    type: Type


@dataclass(frozen=True)
class Given:
    """A leaf: a scalar, or a list of numbers, that DuckDB computes."""

    key: str
    """Key of the scalar in the environment."""
    type: Type


def _read_only(value: object) -> object:
    """Return a read-only view of an array. Other values are returned unchanged."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


@dataclass(frozen=True)
class Literal_:
    """A leaf: a constant, which is a number, a string or an array.

    Arrays are read-only, because all rows share them. Code that modifies such an array must copy
    it.
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
        is_array = isinstance(self.value, np.ndarray)  # the repr of a long array omits items
        return (self.type, self.value.tobytes()) if is_array else (self.type, repr(self.value))


@dataclass(frozen=True)
class Call:
    """A call to a function with other trees as arguments."""

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
        """The hash, cached because it depends on the hashes of all trees below this tree."""
        return hash((self.name, self.args, self.options))


@dataclass(frozen=True)
class Index:
    """A tree that is indexed as in NumPy. Indices and the ends of slices may be trees, too."""

    base: Tree
    items: tuple[Any, ...]
    """For each item, a `Tree` for integers or a mask, ``(start, stop, step)`` for a slice (each a
    `Tree` or None), Ellipsis, or None for a new axis."""
    type: Type
    text: str = field(default="", compare=False)
    """The expression, as written in the query, for messages."""


@dataclass(frozen=True)
class Grouped:
    """A leaf: the list, or an aggregate, of the values that a tree has in the rows of a group."""

    key: str
    """Key of a list of structs, one struct per row of the group. The fields of the structs are the
    keys of `inner`."""
    inner: Tree
    aggregate: str
    """The function that combines the values: ``"LIST"``, ``"SUM"``, ``"MEAN"``, …"""
    type: Type


@dataclass(frozen=True)
class Choice:
    """One of several trees, chosen row by row, as in a UNION of tensors."""

    key: str
    """Key of a number, which is the position in `options` of the tree that a row uses."""
    options: tuple[Tree, ...]
    type: Type


type Tree = Cell | Meta | Given | Literal_ | Call | Index | Grouped | Choice


def children(tree: Tree) -> Iterator[Tree]:
    """Yield the direct children of a tree.

    `Grouped` and `Choice` have none, because their inner trees have their own environments.
    """
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
    """Return the number of levels of a tree. A tree that consists of a leaf has one level."""
    deepest, waiting = 0, [(tree, 1)]
    while waiting:
        part, level = waiting.pop()
        deepest = max(deepest, level)
        below = part.options if isinstance(part, Choice) else children(part)
        waiting += [(inner, level + 1) for inner in below]
    return deepest


def leaves(tree: Tree) -> Iterator[Tree]:
    """Yield the leaves of a tree."""
    below = list(children(tree))
    if not below:
        yield tree
    for part in below:
        yield from leaves(part)


def calls_users(tree: Tree) -> bool:
    """Return whether a tree calls a function that the user has registered."""
    is_user_call = isinstance(tree, Call) and tree.bound.lists
    below = tree.options if isinstance(tree, Choice) else children(tree)
    return is_user_call or any(map(calls_users, below))


def rename_keys(tree: Tree, name: Callable[[str], str]) -> Tree:
    """Return a copy of the tree in which each key is replaced with ``name(key)``."""
    match tree:
        case Cell(key=key) | Meta(key=key) | Given(key=key) | Grouped(key=key):
            return replace(tree, key=name(key))
        case Choice(key, options):
            renamed = tuple(rename_keys(o, name) for o in options)
            return replace(tree, key=name(key), options=renamed)
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


def _rename_item(item: Any, name: Callable[[str], str]) -> object:
    if item is Ellipsis or item is None:
        return item
    if isinstance(item, tuple):
        return tuple(None if part is None else rename_keys(part, name) for part in item)
    return rename_keys(item, name)


# ---- values


@dataclass(frozen=True)
class Plain:
    """A column of a source that a query returns unchanged, and that is read on access."""

    source: Source
    field: Field
    row: exp.Expr
    """SQL of the row position in the source, which is null where an outer join finds no row."""
    of_several: bool = False
    """Whether the row stands for several rows with equal values, as after DISTINCT."""


@dataclass(frozen=True)
class Sql:
    """A scalar that DuckDB computes."""

    node: exp.Expr
    kind: Kind = ANY
    plain: Plain | None = None
    """The column, if the scalar is an unchanged column of a source."""


@dataclass(frozen=True)
class Tensor:
    """A tensor, or a scalar that NumPy computes."""

    tree: Tree
    env: Mapping[str, exp.Expr]
    """Maps each key of the tree to SQL: int64 row positions for the keys of `Cell`, and scalars for
    the keys of `Given`."""
    text: str
    """The expression, as written in the query, for messages."""
    plain: Plain | None = None
    """The column, if the tensor is an unchanged column of a source."""

    @property
    def type(self) -> Type:
        """Type of the value of one row."""
        return self.tree.type

    @property
    def is_scalar(self) -> bool:
        """Whether the value of one row has no axes."""
        return self.type.ndim == 0


@dataclass(frozen=True)
class Constant:
    """A value that is the same for every row: a literal in the query, or a parameter."""

    value: Any
    sql: exp.Expr | Callable[[], exp.Expr]
    """The value as SQL, or a function that returns this SQL. A function is used for arrays, because
    their SQL is a long list, which few queries need."""
    number: Decimal | None = None
    """The exact number, if `value` may be rounded, or else None."""
    items: tuple[Constant, ...] = ()
    """For a list, its items."""
    is_json: bool = False
    """Whether this is a list of JSON values."""
    literal: str = ""
    """For a number written with a decimal point or an exponent, the text without the sign."""

    @cached_property
    def node(self) -> exp.Expr:
        """The value as SQL, in which an array is a list."""
        return self.sql() if callable(self.sql) else self.sql


type Value = Sql | Tensor | Constant
