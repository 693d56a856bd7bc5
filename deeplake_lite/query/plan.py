"""The plan of a query, which is made before any data is read.

It consists of the source tables, the columns that NumPy computes beforehand, the SQL that DuckDB
runs, the columns of the result, and the clauses that follow LIMIT.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deeplake_lite.errors import Place

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping

    from sqlglot import exp

    from deeplake_lite.errors import LakeError
    from deeplake_lite.query.run.sources import Source
    from deeplake_lite.query.values import Kind, Plain, Tensor, Tree
    from deeplake_lite.schema import Field

ROW = "__row"
"""Name of a column in every source table: the position of the row in the source."""


@dataclass(eq=False)
class Instance:
    """One mention of a source in FROM; each mention is a separate table."""

    table: str
    """Name of the table in DuckDB."""
    source: Source
    scalars: dict[str, Field] = field(default_factory=dict)
    """Stored columns that DuckDB computes with, by their names in the table."""
    precomputed: dict[str, Tree] = field(default_factory=dict)
    """Columns that NumPy computes beforehand for the remaining rows, by name in the table."""
    texts: dict[str, str] = field(default_factory=dict)
    """The expressions of the precomputed columns, as written in the query."""
    is_filtered_later: bool = False
    """Whether there are other conditions that depend on several rows or sources."""
    cheap: list[exp.Expr] = field(default_factory=list)
    """Conditions that DuckDB can check before any column is precomputed."""
    staged: list[tuple[exp.Expr, tuple[str, ...]]] = field(default_factory=list)
    """Conditions on precomputed columns, with the names of these columns, in the order written.
    Conditions on columns that need no reading of values, such as SHAPE, come first."""
    rows_needed: int | None = None
    """Number of rows that the query needs; None for all rows that pass the conditions."""


@dataclass(frozen=True, eq=False)
class Udf:
    """A tree that DuckDB evaluates through a function, such as a tree over row pairs or groups."""

    name: str
    tree: Tree
    keys: tuple[str, ...]
    """Keys of the tree, in the order of the arguments."""
    text: str = ""
    """The expression as written in the query."""


@dataclass(frozen=True)
class Output:
    """A column of the result."""

    name: str
    kind: Kind | None = None
    """Kind of a scalar that DuckDB computes in `column`."""
    column: str | None = None
    """Name of the column in DuckDB's result."""
    plain: Plain | None = None
    """An unchanged column of a source; DuckDB's result has the row positions."""
    tensor: Tensor | None = None
    """A tensor that is computed on access; its keys are columns of DuckDB's result."""
    start: int | None = None
    """Offset of the expression in the text of the query."""


@dataclass(frozen=True)
class Arrange:
    """ARRANGE BY: put rows with equal values next to each other."""

    columns: tuple[str, ...]
    """Columns of DuckDB's result whose values are compared."""


@dataclass(frozen=True)
class Sample:
    """SAMPLE BY: draw rows by weight."""

    column: str
    """Column of DuckDB's result that contains the weights."""
    replace: bool
    """Whether a row may be drawn more than once."""
    limit: int | float | None
    """Number or percentage of rows to draw; None to draw as many as there are."""
    percent: bool
    seed: int
    start: int | None = None
    """Offset of the weight in the text of the query."""


@dataclass(frozen=True)
class Expand:
    """EXPAND BY: add the rows around each row."""

    table: str
    """Name of the source's table."""
    column: str
    """Column of DuckDB's result that contains the row positions."""
    before: int
    after: int


type Clause = Arrange | Sample | Expand
"""A clause that follows LIMIT."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The plan of a query, ready to run."""

    text: str
    instances: tuple[Instance, ...]
    udfs: tuple[Udf, ...]
    sql: exp.Query
    outputs: tuple[Output, ...]
    clauses: tuple[Clause, ...] = ()
    seed: int | None = None
    """The seed that was drawn, if the query has none."""
    moment: dt.datetime | None = None
    """The current time in UTC, if the query uses it."""
    traces: tuple[tuple[int, exp.Expr], ...] = ()
    """SQL expressions with their offsets in the text of the query, inner expressions first."""
    relations: Mapping[str, exp.Query] = field(default_factory=dict)
    """Subqueries, by the names of their results in DuckDB."""
    ungrouped: tuple[int, ...] = ()
    """Offsets of columns that a grouped query neither groups nor aggregates."""
    starts: Mapping[str, int] = field(default_factory=dict)
    """Offsets of tensor expressions in the text of the query, by their text."""
    order: tuple[str, ...] = ()
    """Columns of row positions by which to sort DuckDB's result."""

    def trees(self) -> Iterator[Tree]:
        """Yield all trees that NumPy computes, before the SQL runs, while it runs or afterwards."""
        for instance in self.instances:
            yield from instance.precomputed.values()
        yield from (udf.tree for udf in self.udfs)
        yield from (output.tensor.tree for output in self.outputs if output.tensor is not None)

    def locate_output(self, error: LakeError, output: Output) -> None:
        """Make an error point to the expression of an output, unless it already has a position."""
        if error.place is None and output.start is not None:
            error.place = Place.at(self.text, output.start)

    def locate(self, error: LakeError, text: str = "") -> None:
        """Make an error point to the expression that its message quotes, or to `text`."""
        if error.place is None and error.args:
            message = str(error.args[0])
            named = max((t for t in self.starts if t in message), key=len, default=text)
            if named in self.starts:
                error.place = Place.at(self.text, self.starts[named])
