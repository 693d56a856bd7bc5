"""What is to be done for a query, decided before anything is read.

A plan is data: the sources' tables, what NumPy computes beforehand, the SQL that DuckDB runs over
it all, what the result's columns are, and the clauses that follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deeplake_lite.errors import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlglot import exp

    from deeplake_lite.errors import LakeError
    from deeplake_lite.query.run.sources import Source
    from deeplake_lite.query.values import Kind, Plain, Tensor, Tree
    from deeplake_lite.schema import Field

ROW = "__row"
"""Column of every source's table: the row's position in the source."""


@dataclass(eq=False)
class Instance:
    """One mention of a source in FROM, as a table of its own."""

    table: str
    """Name that DuckDB knows it by."""
    source: Source
    scalars: dict[str, Field] = field(default_factory=dict)
    """Columns that DuckDB computes with, by the name they have in the table."""
    islands: dict[str, Tree] = field(default_factory=dict)
    """Columns that NumPy computes beforehand, of the rows that are left, by name in the table."""
    texts: dict[str, str] = field(default_factory=dict)
    """What the query calls the islands."""
    is_filtered_later: bool = False
    """Whether the query has conditions that are checked after these: of other rows, or sources."""
    cheap: list[exp.Expr] = field(default_factory=list)
    """Conditions that DuckDB can check before any island is computed."""
    staged: list[tuple[exp.Expr, tuple[str, ...]]] = field(default_factory=list)
    """Conditions that need islands, with their names: first those of islands that read nothing,
    such as SHAPE, then the others; in the order written."""
    enough: int | None = None
    """How many rows that pass every condition are enough; None for all."""


@dataclass(frozen=True, eq=False)
class Udf:
    """A tree that DuckDB calls for: of pairs of rows, of groups."""

    name: str
    tree: Tree
    keys: tuple[str, ...]
    """The tree's keys, in the order of the arguments."""
    text: str = ""
    """As the query has it."""


@dataclass(frozen=True)
class Output:
    """A column of the result."""

    name: str
    kind: Kind | None = None
    """Of a scalar that DuckDB has computed, in `column`."""
    column: str | None = None
    """Its name in DuckDB's result."""
    plain: Plain | None = None
    """A source's column, at the rows in `column`."""
    tensor: Tensor | None = None
    """What is computed when it is looked at; its keys are names in DuckDB's result."""
    start: int | None = None
    """Where its expression is in the text of the query."""


@dataclass(frozen=True)
class Arrange:
    """ARRANGE BY: rows of equal value together."""

    columns: tuple[str, ...]
    """Names in DuckDB's result of what it goes by."""


@dataclass(frozen=True)
class Sample:
    """SAMPLE BY: rows by weight."""

    column: str
    """Name in DuckDB's result of the weight."""
    replace: bool
    """Whether a row may come again."""
    limit: int | float | None
    """How many rows, or percent of them; None for as many as there are."""
    percent: bool
    seed: int
    start: int | None = None
    """Where in the text the weight is."""


@dataclass(frozen=True)
class Expand:
    """EXPAND BY: the rows around each row."""

    table: str
    """Name of the source's table."""
    column: str
    """Name in DuckDB's result of the rows' positions."""
    before: int
    after: int


type Clause = Arrange | Sample | Expand
"""What follows LIMIT."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A query, ready to run."""

    text: str
    instances: tuple[Instance, ...]
    udfs: tuple[Udf, ...]
    sql: exp.Query
    outputs: tuple[Output, ...]
    clauses: tuple[Clause, ...] = ()
    seed: int | None = None
    """Seed that was drawn because none was given."""
    traces: tuple[tuple[int, exp.Expr], ...] = ()
    """Where in the text what DuckDB computes comes from, parts before the whole."""
    relations: Mapping[str, exp.Query] = field(default_factory=dict)
    """Queries within this one, by the names under which DuckDB knows their results."""
    ungrouped: tuple[int, ...] = ()
    """Where in the text columns are that a grouped query neither groups nor aggregates."""
    starts: Mapping[str, int] = field(default_factory=dict)
    """Where in the text expressions of tensors are."""
    order: tuple[str, ...] = ()
    """Columns of positions by which DuckDB's result is sorted."""

    def trees(self) -> Iterator[Tree]:
        """Yield all that NumPy computes: before the SQL, when DuckDB calls for it, and after it."""
        for instance in self.instances:
            yield from instance.islands.values()
        yield from (udf.tree for udf in self.udfs)
        yield from (output.tensor.tree for output in self.outputs if output.tensor is not None)

    def locate_output(self, error: LakeError, output: Output) -> None:
        """Give an error of reading a column of the result the place of its expression."""
        if error.place is None and output.start is not None:
            error.place = Place.at(self.text, output.start)

    def locate(self, error: LakeError, text: str = "") -> None:
        """Give an error the place of the expression that it names, or else of `text`."""
        if error.place is None and error.args:
            message = str(error.args[0])
            named = max((t for t in self.starts if t in message), key=len, default=text)
            if named in self.starts:
                error.place = Place.at(self.text, self.starts[named])
