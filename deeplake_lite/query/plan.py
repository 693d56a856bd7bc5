"""The plan of a query, which is made before any data is read.

A plan consists of the source tables, the columns that NumPy computes before the SQL runs (called
precomputed columns), the SQL that DuckDB runs, the columns of the result, and the clauses that
follow LIMIT.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import Place

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray
    from sqlglot import exp

    from deeplake_lite.errors import LakeError
    from deeplake_lite.query.run.sources import Source
    from deeplake_lite.query.values import Kind, Plain, Tensor, Tree
    from deeplake_lite.schema import Field

ROW = "__row"
"""Name of a column that each source table has. It contains the positions of the rows in the
source."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """A request of the query to find the nearest vectors with an index."""

    field: Field
    """The column of vectors."""
    function: str
    """Name of the function that compares vectors, such as ``"COSINE_SIMILARITY"``."""
    vector: NDArray[Any]
    """The vector with which the column is compared, (d,)."""
    count: int
    """Number of rows that the query needs."""


@dataclass(frozen=True, eq=False)
class BestTexts:
    """The rows that a query sorts first by the BM25 score of a string column for some words."""

    field: Field
    """The column of strings."""
    words: str
    """The words to search for."""
    count: int
    """Number of rows that the query needs."""


@dataclass(frozen=True)
class First:
    """The rows that a query sorts first by a precomputed column of floats."""

    name: str
    """Name of the column."""
    descends: bool
    """Whether the rows with the largest values come first."""
    count: int
    """Number of rows that the query needs."""


@dataclass(eq=False)
class Instance:
    """One mention of a source in FROM. Each mention becomes a separate table."""

    table: str
    """Name of the table in DuckDB."""
    source: Source
    scalars: dict[str, Field] = field(default_factory=dict)
    """Maps names in the DuckDB table to the stored columns that the SQL uses."""
    precomputed: dict[str, Tree] = field(default_factory=dict)
    """Maps names in the DuckDB table to trees of columns that NumPy computes before the SQL runs,
    for the rows that pass `cheap`."""
    texts: dict[str, str] = field(default_factory=dict)
    """Maps the names of precomputed columns in the DuckDB table to their expressions, as written in
    the query."""
    is_filtered_later: bool = False
    """Whether the SQL has conditions besides `cheap` and `staged`, which depend on several rows or
    sources."""
    cheap: list[exp.Expr] = field(default_factory=list)
    """Conditions that DuckDB can check before any column is precomputed."""
    staged: list[tuple[exp.Expr, tuple[str, ...]]] = field(default_factory=list)
    """Conditions on precomputed columns, each with the names of the columns that it uses.
    Conditions that can be checked without reading values, such as those on SHAPE, come first. Apart
    from that, the conditions have the same order as in the query."""
    rows_needed: int | None = None
    """Number of rows that the query needs, or None for all rows that pass the conditions."""
    nearest: Nearest | None = None
    """The nearest vectors that the query asks for with USING INDEX, or None."""
    best: BestTexts | None = None
    """The strings that the query sorts first, or None if it does not sort by BM25_SIMILARITY."""
    first: First | None = None
    """The rows that the query sorts first, or None if it may need all rows."""


@dataclass(frozen=True, eq=False)
class Udf:
    """A tree that NumPy evaluates while the SQL runs, because DuckDB calls it as a function.

    Trees that combine the rows of a join, or the rows of a group, are computed in this way.
    """

    name: str
    tree: Tree
    keys: tuple[str, ...]
    """Keys of the tree, in the order in which the SQL passes the keys' values as arguments."""
    text: str = ""
    """The expression as written in the query."""


@dataclass(frozen=True)
class Output:
    """A column of the result: a scalar from DuckDB, an unchanged column, or a tensor."""

    name: str
    kind: Kind | None = None
    """Kind of the scalar, if DuckDB computes the column, or else None."""
    column: str | None = None
    """Name of the column of DuckDB's result that has the values or, for `plain`, the row
    positions."""
    plain: Plain | None = None
    """The column of a source that is returned unchanged. DuckDB's result has the row positions."""
    tensor: Tensor | None = None
    """The tensor that is computed on access. Its keys name columns of DuckDB's result."""
    start: int | None = None
    """Offset of the expression in the text of the query."""


@dataclass(frozen=True)
class Arrange:
    """ARRANGE BY, which puts rows with equal values next to each other."""

    columns: tuple[str, ...]
    """Columns of DuckDB's result whose values are compared."""


@dataclass(frozen=True)
class Sample:
    """SAMPLE BY, which draws rows at random, with probabilities in proportion to their weights."""

    column: str
    """Column of DuckDB's result that contains the weights."""
    replace: bool
    """Whether a row may be drawn more than once."""
    limit: int | float | None
    """Number or percentage of rows to draw, or None to draw as many rows as the input has."""
    percent: bool
    """Whether `limit` is a percentage."""
    seed: int
    start: int | None = None
    """Offset of the weight's expression in the text of the query."""


@dataclass(frozen=True)
class Expand:
    """EXPAND BY, which adds the `before` rows before each row, and the `after` rows after it."""

    table: str
    """Name of the source's table in DuckDB."""
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
    """The seed that was drawn for this run, if the query uses random numbers without a seed."""
    moment: dt.datetime | None = None
    """The current time in UTC, if the query uses it."""
    traces: tuple[tuple[int, exp.Expr], ...] = ()
    """Pairs of an offset in the text of the query and the SQL of the expression that is written
    there. Inner expressions come before the expressions that contain them."""
    relations: Mapping[str, exp.Query] = field(default_factory=dict)
    """Maps the names of results in DuckDB to the subqueries that run before the SQL and return
    them."""
    ungrouped: tuple[int, ...] = ()
    """Offsets of columns that a grouped query neither groups nor aggregates."""
    starts: Mapping[str, int] = field(default_factory=dict)
    """Maps the text of each tensor expression to its offset in the query."""
    order: tuple[str, ...] = ()
    """Names of the columns of row positions by which DuckDB's result is sorted."""

    def trees(self) -> Iterator[Tree]:
        """Yield all trees that NumPy computes, whether before, during or after the SQL."""
        for instance in self.instances:
            yield from instance.precomputed.values()
        yield from (udf.tree for udf in self.udfs)
        yield from (output.tensor.tree for output in self.outputs if output.tensor is not None)

    def locate_output(self, error: LakeError, output: Output) -> None:
        """Make an error point to the expression of an output, unless it already has a position."""
        if error.place is None and output.start is not None:
            error.place = Place.at(self.text, output.start)

    def locate(self, error: LakeError, text: str = "") -> None:
        """Make an error point to the longest tensor expression that its message contains.

        If the message contains none, the error points to the expression `text`. If the error
        already has a position, the position is not changed.
        """
        if error.place is None and error.args:
            message = str(error.args[0])
            quoted = max((t for t in self.starts if t in message), key=len, default=text)
            if quoted in self.starts:
                error.place = Place.at(self.text, self.starts[quoted])
