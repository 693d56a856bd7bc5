"""Planning a job: checking its options, and choosing its version, rows and columns."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import numpy as np
import xxhash

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.handle import Handle
from deeplake_lite.dataset.read.virtual import VirtualTable
from deeplake_lite.dataset.saved.pickles import Address
from deeplake_lite.dataset.versions.changes import difference
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import (
    InvalidValueError,
    JobError,
    OptionError,
    ReadOnlyError,
    SchemaError,
    VersionNotFoundError,
)
from deeplake_lite.htypes import from_config, resolve
from deeplake_lite.loader import Loader, Options
from deeplake_lite.map.functions import Identity
from deeplake_lite.map.journal import check_job_name
from deeplake_lite.map.origins import at_version, is_complete, newest_record
from deeplake_lite.map.places import Cut
from deeplake_lite.map.work import Work
from deeplake_lite.schema import Field, Schema
from deeplake_lite.storage.repo import spreading_credentials
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.map.journal import Document, Target

READ_BYTES = 16 * 2**20
"""Approximate size of the rows that a worker reads at a time, in bytes."""

type Into = Mapping[str, object] | str


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
    """Maps the names of the columns to fill to their types, or to None for existing columns."""
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
        targets = _targets(into)
        if where is not None:
            where = checks.text("where", where)
        if name is None:
            name = _default_name(function, targets)
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
        if where is not None:
            _check_condition(view, where)
        branch = view.rows.lake.branch
        if branch is None:
            raise ReadOnlyError(
                f"A job writes to a branch, but version {view.rows.lake.name!r} is read-only. Open "
                f"a branch: dl.open({view.url!r})."
            )
        return cls(
            view,
            branch,
            function,
            names,
            targets,
            where,
            checks.integer("batch", batch, 1),
            setup,
            on_error,
            checks.flag("update", update),
            check_job_name(name),
        )


def _check_condition(view: View, where: str) -> None:
    """Raise QuerySyntaxError unless `where` is one condition, without further clauses."""
    view[:0].query(f"SELECT * WHERE (\n{where}\n)")


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


def _default_name(function: object, targets: Mapping[str, object]) -> str:
    """Return a name for a job, such as ``"embed-emb"``."""
    name = Identity.of(function).name.rpartition(".")[2]
    text = "-".join([name, *map(str, targets)])
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._+-") else "-" for c in text)
    return plain.strip("-._+")[:100] or "job"


@dataclass(frozen=True)
class Plan:
    """A job whose version, rows and columns are known."""

    base: Dataset
    """The version that the job reads."""
    document: Document
    """The parameters of the job."""
    slots: NDArray[np.int64]
    """Slots of the rows in this version, ascending, (rows,) int64."""

    @classmethod
    def make(cls, request: Request, version: str) -> Plan:
        """Plan a job that reads a version of the lake.

        Raises
        ------
        JobError
            When only changed rows are wanted, but the function has changed.
        SchemaError
            When a column exists with another type.
        """
        handle = Handle(request.view.rows.lake.at(None, version), _open(request.view, version))
        base = Dataset(handle)
        targets = _fields_to_fill(base.schema, request.into)
        last = _last_record(base, targets) if request.update else None
        columns = _columns_to_read(request, base, last)
        identity = Identity.of(request.function)
        setup = None if request.setup is None else Identity.of(request.setup).digest
        document: Document = {
            "id": uuid4().hex,
            "name": request.name,
            "started": datetime.now(UTC).isoformat(),
            "branch": request.branch,
            "version": version,
            "function": {
                "name": identity.name,
                "module": identity.module,
                "digest": identity.digest,
                "packages": dict(identity.packages),
            },
            "setup": setup,
            "columns": columns,
            "into": targets,
            "where": request.where,
            "batch": request.batch,
            "on_error": request.on_error,
            "update": request.update,
            "whole": False,
            "rows": 0,
            "row_ids": "",
        }
        document["whole"] = _has_all_rows(request.view, base)
        slots = _choose_rows(request, base, document, last)
        ids = base.handle.table.ids(slots)
        document["rows"] = len(slots)
        document["row_ids"] = xxhash.xxh3_64_hexdigest(np.ascontiguousarray(ids, "<i8").tobytes())
        return cls(base, document, slots)

    def work(self, request: Request, *, spread: bool) -> Work:
        """Return the work for the workers.

        Parameters
        ----------
        request : Request
            The arguments of the call.
        spread : bool
            Whether the workers get the credentials of the store.
        """
        names = tuple(self.document["columns"])
        fields = tuple(self.base.field(name) for name in names)
        rows = View(self.base.rows.with_slots(self.slots), names, "")
        resources = Loader(rows, Options.of(batch_size=request.batch, num_workers=0)).resources
        with spreading_credentials() if spread else nullcontext():
            address = Address.of(self.base)
        per_read = int(READ_BYTES / max(1.0, resources.samples.row_bytes)) if len(rows) else 1
        size = Cut.of(len(self.slots), request.batch).size
        limits = self.base.handle.repository.limits
        return Work(
            address,
            fields,
            Schema(tuple(_field(t) for t in self.document["into"])).limited(limits),
            resources.recipe,
            request.function,
            request.setup,
            request.batch,
            request.batch * max(1, min(per_read, size) // request.batch),
            request.on_error == "skip",
            self.document["function"]["name"],
            (self.base.rows.lake, self.base.handle.table),
        )


def _open(view: View, version: str) -> Table:
    """Return the table of a version."""
    repository = view.rows.lake.repository
    return Table.open(repository, repository.reader(version))


def _field(target: Target) -> Field:
    """Return a column to fill."""
    return Field(target["name"], target["id"], from_config(target["htype"]))


def _fields_to_fill(schema: Schema, into: Mapping[str, object]) -> list[Target]:
    """Return the columns to fill. New columns without a default are nullable.

    Raises
    ------
    SchemaError
        When a column exists with another type, or a new column has no type.
    """
    targets, wider = list["Target"](), schema
    for name, spec in into.items():
        if name in schema:
            f = schema[name]
            if spec is not None and resolve(spec).bare != f.htype.bare:
                raise SchemaError(
                    f"Column {name!r} exists and is {f.htype}, but into= declares it as "
                    f"{resolve(spec)}. Pass None as its type to keep the type, or choose another "
                    "name."
                )
        elif spec is None:
            raise SchemaError(
                f"There is no column {name!r}. To add it, pass its type, such as "
                f"into={{{name!r}: dl.Embedding(512)}}."
            )
        else:
            wider = wider.add(name, spec)
            f = wider[name]
            if not f.htype.nullable and f.htype.default is None:
                f = replace(f, htype=replace(f.htype, nullable=True))
        config = f.htype.get_config()
        targets.append({"name": name, "id": f.id, "htype": config, "new": name not in schema})
    return targets


type Record = Mapping[str, Any]
"""The record of a job in the metadata of its commit."""


def _last_record(base: Dataset, targets: Sequence[Target]) -> Record | None:
    """Return the record of the last job that has filled the columns, or None if there is none.

    Raises
    ------
    JobError
        When different jobs have filled the columns.
    """
    found = [newest_record(base, target["id"]) for target in targets]
    records = [f[1] for f in found if f is not None]
    if not records:
        return None
    if len(records) < len(found) or len({record["job"] for record in records}) > 1:
        raise _cannot_update("the columns were not all filled by the same job")
    if not records[0]["whole"]:
        raise _cannot_update("that job had only the rows of a view")
    if not is_complete(base, records[0]):
        raise _cannot_update("that job has not finished")
    return records[0]


def _columns_to_read(request: Request, base: Dataset, last: Record | None) -> dict[str, str]:
    """Return a dict from the names of the columns that the function receives to their ids.

    Without columns=, an update reads those of the last job, and not the columns that it has filled.
    """
    fields: Iterable[Field] = base.schema
    if request.columns is not None:
        fields = [base.field(name) for name in request.columns]
    elif last is not None:
        fields = [f for f in fields if f.id in last["columns"].values()]
    elif not isinstance(request.view, Dataset):
        fields = [f for f in fields if f.name in request.view.columns]
    return {f.name: f.id for f in fields}


def _has_all_rows(view: View, base: Dataset) -> bool:
    """Return whether a view has all rows of the version that a job reads."""
    if isinstance(view, Dataset):
        return True
    slots = base.handle.table.find(view.row_ids)
    return len(np.unique(slots[slots >= 0])) == len(base)


def _choose_rows(
    request: Request, base: Dataset, document: Document, last: Record | None
) -> NDArray[np.int64]:
    """Return the slots of the rows of a job, in the order in which they are stored."""
    table, view = base.handle.table, cast("View", base)
    if not isinstance(request.view, Dataset):
        slots = table.find(request.view.row_ids)
        view = View(base.rows.with_slots(np.unique(slots[slots >= 0])), base.columns, "")
    if last is not None:
        slots, ids = view.rows.live(), _changed_rows(base, document, last)
        view = View(base.rows.with_slots(slots[np.isin(table.ids(slots), ids)]), base.columns, "")
    if request.where is not None:
        slots = table.find(view.query(f"SELECT * WHERE {request.where}").row_ids)
        return np.unique(slots)
    return np.sort(view.rows.live())


def _changed_rows(base: Dataset, document: Document, last: Record) -> NDArray[np.int64]:
    """Return the ids of the rows that are new or have changed since the last job.

    Raises
    ------
    JobError
        When the last job had another function or other parameters, or its version is gone.
    """
    inputs = set(document["columns"].values())
    if last["function"]["digest"] != document["function"]["digest"]:
        raise _cannot_update("the function was another one")
    if last.get("setup") != document["setup"]:
        raise _cannot_update("setup= was another function")
    if set(last["columns"].values()) != inputs:
        raise _cannot_update("columns= was different")
    if last.get("where") != document["where"]:
        raise _cannot_update("where= was different")
    try:
        before = at_version(base, last["version"])
    except VersionNotFoundError as error:
        raise _cannot_update("a vacuum has deleted the version that it has read") from error
    changes = difference(before.handle.table, base.handle.table)
    filled = {target["id"] for target in document["into"]}
    changed = [changes.cells[c] for c in inputs - filled if c in changes.cells]
    return np.unique(np.concatenate([changes.added, *changed]))


def _cannot_update(reason: str) -> JobError:
    return JobError(
        "With update=True, a job computes the rows that have changed since the last job for these "
        f"columns, but {reason}. Leave out update= to compute all rows."
    )


_COMPARED = {
    "function": "another function",
    "setup": "another setup=",
    "columns": "other columns=",
    "into": "another into=",
    "where": "another where=",
    "batch": "another batch=",
    "on_error": "another on_error=",
    "update": "another update=",
    "branch": "another branch",
    "row_ids": "other rows",
}
"""Maps the parameters that must be the same when a job is resumed to their names in messages."""


def check_same_job(name: str, began: Document, now: Document) -> None:
    """Raise JobError unless a job can be resumed with the given parameters."""

    def comparable(document: Mapping[str, Any], key: str) -> object:
        if key == "function":
            return document[key]["digest"]
        if key == "into":
            return [{k: v for k, v in t.items() if k != "id"} for t in document[key]]
        return document[key]

    for key, words in _COMPARED.items():
        if comparable(began, key) != comparable(now, key):
            raise JobError(
                f"The job {name!r} has not finished, but it began with {words}. Call map as "
                "before to resume it, pass restart=True to begin anew, or pass another name=."
            )
