"""Planning a job: choosing its version, rows and columns."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import numpy as np
import xxhash

from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.handle import Handle
from deeplake_lite.dataset.saved.pickles import Address
from deeplake_lite.dataset.versions.changes import difference
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import JobError, SchemaError, VersionNotFoundError
from deeplake_lite.htypes import from_config, resolve
from deeplake_lite.loader import Loader, Options
from deeplake_lite.map.functions import Identity
from deeplake_lite.map.origins import at_version, is_complete, newest_record
from deeplake_lite.map.places import Cut
from deeplake_lite.map.work import Opened, Work
from deeplake_lite.schema import Field, Schema
from deeplake_lite.storage.repo import public_url, spreading_credentials
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.map.journal import Document, RowsInto, Target
    from deeplake_lite.map.new_lake import NewLake
    from deeplake_lite.map.request import Request

READ_BYTES = 16 * 2**20
"""Approximate size of the rows that a worker reads at a time, in bytes."""


@dataclass(frozen=True)
class Plan:
    """A job whose version, rows and columns are known."""

    base: Dataset
    """The version that the job reads."""
    document: Document
    """The parameters of the job."""
    slots: NDArray[np.int64]
    """Slots of the rows in this version, (rows,) int64. They are ascending if the job fills
    columns; otherwise they are in the order of the view."""

    @classmethod
    def make(
        cls, request: Request, version: str, target: Dataset | None, *, replaces: bool = False
    ) -> Plan:
        """Plan a job that reads a version of the lake.

        Parameters
        ----------
        request : Request
            The arguments of the call.
        version : str
            The version to read.
        target : Dataset, optional
            The lake for new rows, or None if the job fills columns.
        replaces : bool
            Whether the rows that the lake has now are replaced.

        Raises
        ------
        JobError
            When only new and changed rows are wanted, but the function has changed.
        SchemaError
            When a column exists with another type.
        """
        handle = Handle(request.view.rows.lake.at(None, version), _open(request.view, version))
        base = Dataset(handle)
        if target is None or request.new_lake is None:
            targets = _fields_to_fill(base.schema, request.into)
        else:
            targets = _fields_of_rows(request.new_lake.with_kept(base), target.schema)
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
        if target is not None and request.new_lake is not None:
            document["rows_into"] = _describe_target(
                base, request.new_lake, target, targets, replaces=replaces
            )
        slots = _choose_rows(request, base, document, last)
        ids = base.handle.table.ids(slots)
        document["rows"] = len(slots)
        document["row_ids"] = xxhash.xxh3_64_hexdigest(np.ascontiguousarray(ids, "<i8").tobytes())
        return cls(base, document, slots)

    def work(self, request: Request, target: Dataset | None, *, spread: bool) -> Work:
        """Return the work for the workers.

        Parameters
        ----------
        request : Request
            The arguments of the call.
        target : Dataset, optional
            The lake for new rows, or None if the job fills columns.
        spread : bool
            Whether the workers get the credentials of the store.
        """
        names = tuple(self.document["columns"])
        fields = tuple(self.base.field(name) for name in names)
        rows = View(self.base.rows.with_slots(self.slots), names, "")
        resources = Loader(rows, Options.of(batch_size=request.batch, num_workers=0)).resources
        with spreading_credentials() if spread else nullcontext():
            address = Address.of(self.base)
            into = None if target is None else Address.of(target)
        per_read = int(READ_BYTES / max(1.0, resources.samples.row_bytes)) if len(rows) else 1
        size = Cut.of(len(self.slots), request.batch).size
        repository = (self.base if target is None else target).handle.repository
        kept = self.document.get("rows_into", {}).get("keep", {})
        columns = [t for t in self.document["into"] if t["name"] not in kept]
        return Work(
            address,
            fields,
            Schema(tuple(_field(t) for t in columns)).limited(repository.limits),
            resources.recipe,
            request.function,
            request.setup,
            request.batch,
            request.batch * max(1, min(per_read, size) // request.batch),
            request.on_error == "skip",
            self.document["function"]["name"],
            into,
            tuple((self.base.field(name), column) for name, column in kept.items()),
            Opened(
                self.base.rows.lake,
                self.base.handle.table,
                (self.base if target is None else target).handle.table.session,
            ),
        )


def _open(view: View, version: str) -> Table:
    """Return the table of a version."""
    repository = view.rows.lake.repository
    return Table.open(repository, repository.reader(version))


def _fields_of_rows(columns: Schema, existing: Schema) -> list[Target]:
    """Return the columns of new rows, with the ids that they have in the lake for new rows."""
    ids = {f.name: f.id for f in existing}
    return [_target(replace(f, id=ids.get(f.name, f.id)), new=False) for f in columns]


def _describe_target(
    base: Dataset, new_lake: NewLake, target: Dataset, targets: Sequence[Target], *, replaces: bool
) -> RowsInto:
    """Return the part of a job's parameters that describes the lake for new rows."""
    return {
        "base": target.version,
        "source": public_url(base.url),
        "keep": {t["name"]: t["id"] for t in targets if t["name"] in new_lake.keep},
        "replaces": replaces,
    }


def _target(f: Field, *, new: bool) -> Target:
    """Return the description of a column to fill."""
    return {"name": f.name, "id": f.id, "htype": f.htype.get_config(), "new": new}


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
        targets.append(_target(f, new=name not in schema))
    return targets


type Record = Mapping[str, Any]
"""The record of a job in the metadata of its commit."""


def _last_record(base: Dataset, targets: Sequence[Target]) -> Record | None:
    """Return the record of the last job that filled the columns, or None if there is none.

    Raises
    ------
    JobError
        When different jobs filled the columns.
    """
    found = [newest_record(base, target["id"]) for target in targets]
    records = [f[1] for f in found if f is not None and "source" not in f[1]]
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

    Without columns=, an update reads the columns that the last job read, except those that it
    filled.
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
    """Return the slots of the rows of a job.

    If the job fills columns, the slots are ascending and distinct. Otherwise, they are in the order
    of the view.
    """
    table, view = base.handle.table, cast("View", base)
    tidy = np.unique if request.new_lake is None else np.asarray
    if not isinstance(request.view, Dataset):
        slots = table.find(request.view.row_ids)
        view = View(base.rows.with_slots(tidy(slots[slots >= 0])), base.columns, "")
    if last is not None:
        slots, ids = view.rows.live(), _changed_rows(base, document, last)
        view = View(base.rows.with_slots(slots[np.isin(table.ids(slots), ids)]), base.columns, "")
    if request.where is not None:
        slots = table.find(view.query(f"SELECT * WHERE {request.where}").row_ids)
        return tidy(slots)
    return tidy(view.rows.live())


def _changed_rows(base: Dataset, document: Document, last: Record) -> NDArray[np.int64]:
    """Return the ids of the rows that are new or have changed since the last job.

    Raises
    ------
    JobError
        When the last job had another function or other parameters, or the version that it read is
        gone.
    """
    inputs = set(document["columns"].values())
    if last["function"]["digest"] != document["function"]["digest"]:
        raise _cannot_update("that job used another function")
    if last.get("setup") != document["setup"]:
        raise _cannot_update("setup= was another function")
    if set(last["columns"].values()) != inputs:
        raise _cannot_update("columns= was different")
    if last.get("where") != document["where"]:
        raise _cannot_update("where= was different")
    try:
        before = at_version(base, last["version"])
    except VersionNotFoundError as error:
        raise _cannot_update("a vacuum has deleted the version that it read") from error
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
    "keep": "another keep=",
    "into": "another into= or schema=",
    "where": "another where=",
    "batch": "another batch=",
    "on_error": "another on_error=",
    "update": "another update=",
    "branch": "another branch",
    "row_ids": "other rows",
}
"""The parameters that must be the same when a job is resumed, with their names in messages."""


def check_same_job(name: str, began: Document, now: Document) -> None:
    """Raise JobError unless a job can be resumed with the given parameters."""

    def comparable(document: Mapping[str, Any], key: str) -> object:
        if key == "function":
            return document[key]["digest"]
        if key == "keep":
            return sorted(document.get("rows_into", {}).get("keep", ()))
        if key == "into":
            return [{k: v for k, v in t.items() if k != "id"} for t in document[key]]
        return document[key]

    for key, words in _COMPARED.items():
        if comparable(began, key) != comparable(now, key):
            raise JobError(
                f"The job {name!r} has not finished, but it began with {words}. Call map as "
                "before to resume it, pass restart=True to start over, or pass another name=."
            )
