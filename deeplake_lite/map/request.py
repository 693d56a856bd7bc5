"""The checked arguments of a call of `map`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.read.virtual import VirtualTable
from deeplake_lite.errors import InvalidValueError, OptionError, ReadOnlyError
from deeplake_lite.map.functions import Identity
from deeplake_lite.map.journal import check_job_name
from deeplake_lite.map.new_lake import NewLake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deeplake_lite.dataset.view import View


@dataclass(frozen=True)
class Request:
    """The checked arguments of a call of `map`."""

    view: View
    """The rows."""
    branch: str
    """The branch to write to."""
    function: Callable[..., object]
    """The user's function."""
    columns: tuple[str, ...] | None
    """Columns that the function receives; None for all."""
    into: dict[str, object]
    """The columns to fill: a dict from their names to their types, or to None for existing columns.
    It is empty if the function returns rows of a new lake."""
    new_lake: NewLake | None
    """The lake to which the function's rows are written, or None if it fills columns."""
    where: str | None
    batch: int
    setup: Callable[[], object] | None
    on_error: str
    update: bool
    name: str
    """Name of the job."""

    @classmethod
    def check(
        cls,
        view: View,
        function: Any,
        *,
        columns: object,
        into: object,
        rows_into: object,
        schema: Any,
        keep: object,
        storage_options: object,
        where: object,
        batch: object,
        setup: Any,
        on_error: str,
        update: object,
        name: object,
    ) -> Request:
        """Check the arguments. Raises OptionError, ReadOnlyError or UncommittedError."""
        if not callable(function):
            raise OptionError(f"function must be a function, but it is {brief(function, 80)}.")
        checks.function("setup", setup)
        checks.choice("on_error", on_error, ("raise", "skip"))
        names = None if columns is None else checks.names("columns", columns)
        if names is not None and not names:
            raise OptionError("columns must have at least one name. To pass all, leave it out.")
        _check_one_target(into, rows_into, schema=schema, keep=keep, options=storage_options)
        targets, new_lake, update = {}, None, checks.flag("update", update)
        if rows_into is None:
            targets = _targets(into)
        else:
            new_lake = NewLake.check(rows_into, schema, keep, storage_options)
            _check_not_update(update=update)
        if where is not None:
            where = checks.text("where", where)
        if name is None:
            name = _default_name(function, targets if new_lake is None else new_lake.schema.names)
        _check_rows(view)
        if where is not None:
            _check_condition(view, where)
        return cls(
            view,
            _branch_of(view) if new_lake is None else "main",
            function,
            names,
            targets,
            new_lake,
            where,
            checks.integer("batch", batch, 1),
            setup,
            on_error,
            update,
            check_job_name(name),
        )


def _check_one_target(into: object, rows_into: object, **others: object) -> None:
    """Raise OptionError unless there are columns to fill or a lake for new rows, but not both."""
    if (into is None) == (rows_into is None):
        count = "neither is" if into is None else "both are"
        raise OptionError(
            f"map needs either into= (columns to fill) or rows_into= (a new lake), but {count} "
            "given. Pass into={'emb': dl.Embedding(512)}, or rows_into='crops.lake' and "
            "schema={'crop': dl.Image()}."
        )
    names = {"schema": "schema", "keep": "keep", "options": "storage_options"}
    given = [names[option] for option, value in others.items() if value is not None]
    if rows_into is None and given:
        raise OptionError(
            f"{given[0]}= describes the lake that rows_into= creates, but rows_into= is not given. "
            f"Pass rows_into='crops.lake', or leave out {given[0]}=."
        )


def _check_not_update(*, update: bool) -> None:
    if update:
        raise OptionError(
            "update= computes cells of columns again, but rows_into= writes rows of another lake. "
            "Leave out update=, or pass restart=True to replace all rows."
        )


def _check_rows(view: View) -> None:
    """Raise an error unless a view has committed rows of a lake.

    Raises
    ------
    InvalidValueError
        When a query has computed the rows or columns.
    UncommittedError
        When the dataset has uncommitted edits.
    """
    if not view.version or not view.rows.table.has_ids:
        raise InvalidValueError(
            "A job needs rows of the lake, but each row of this query is computed from several "
            "rows, or from none. Query the rows themselves, with SELECT * WHERE …."
        )
    if isinstance(view.rows.table, VirtualTable):
        raise InvalidValueError(
            "A job reads columns of the lake, but this query computes or renames some. Select "
            "columns as they are, such as with SELECT * WHERE …, and compute in the function."
        )
    view.rows.check_committed("A job")


def _check_condition(view: View, where: str) -> None:
    """Raise QuerySyntaxError unless `where` is one condition, without further clauses."""
    view[:0].query(f"SELECT * WHERE (\n{where}\n)")


def _branch_of(view: View) -> str:
    """Return the branch of a view. Raises ReadOnlyError if the view is of a fixed version."""
    branch = view.rows.lake.branch
    if branch is None:
        raise ReadOnlyError(
            f"A job writes to a branch, but version {view.rows.lake.name!r} is read-only. Open a "
            f"branch: dl.open({view.url!r})."
        )
    return branch


def _targets(into: object) -> dict[str, object]:
    """Return a dict from the names of the columns to fill to types. Raises OptionError."""
    if isinstance(into, str):
        return {into: None}
    targets = checks.mapping("into", into)
    if not targets:
        raise OptionError(
            "into must name at least one column, such as into={'emb': dl.Embedding(512)}."
        )
    return targets


def _default_name(function: object, targets: Iterable[str]) -> str:
    """Return a name for a job, such as ``"embed-emb"``."""
    name = Identity.of(function).name.rpartition(".")[2]
    text = "-".join([name, *map(str, targets)])
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._+-") else "-" for c in text)
    return plain.strip("-._+")[:100] or "job"
