"""The lake that a job creates for the rows that its function returns."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deeplake_lite import checks
from deeplake_lite.dataset.opening import open as open_lake
from deeplake_lite.dataset.versions.history import history
from deeplake_lite.errors import (
    ConflictError,
    ExistsError,
    FormatError,
    JobError,
    LakeNotFoundError,
    OptionError,
    SchemaError,
)
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.map.record import find_record
from deeplake_lite.schema import Schema
from deeplake_lite.storage.repo import creating, find_unfinished, local_folder, overlap
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.view import View

PAUSES = (0.2, 0.8, 2.0, None)
"""Seconds to wait after each attempt to create a lake on an object store that another process may
be creating, too. None ends the attempts."""


@dataclass(frozen=True)
class NewLake:
    """The description of a lake for the rows that a function returns."""

    url: str
    """URL or folder."""
    schema: Schema
    """The columns that the function returns."""
    keep: tuple[str, ...]
    """Columns of the input whose cells are copied to each row."""
    options: Mapping[str, object] = field(repr=False)
    """Storage options of the object store."""

    @classmethod
    def check(cls, url: object, schema: Any, keep: object, storage_options: object) -> NewLake:
        """Check the arguments `rows_into`, `schema`, `keep` and `storage_options` of `map`.

        Raises
        ------
        OptionError
            When an argument is missing or invalid.
        SchemaError
            When the schema is not valid.
        """
        location = checks.location("rows_into", url)
        if schema is None:
            raise OptionError(
                "rows_into= needs schema=, the columns of the new lake, as for dl.create. Pass "
                "schema={'crop': dl.Image(), 'label': 'text'}."
            )
        built = schema if isinstance(schema, Schema) else Schema.build(schema)
        if not built.fields:
            raise OptionError(
                "schema must have at least one column that the function returns, but it is empty. "
                "Pass schema={'crop': dl.Image()}."
            )
        names = () if keep is None else checks.names("keep", keep)
        options = checks.mapping("storage_options", storage_options)
        if taken := [name for name in names if name in built]:
            raise OptionError(
                f"keep= copies columns of the input, but schema= has the column {taken[0]!r}, too. "
                "Leave it out of one of the two, or choose another name in schema=."
            )
        if len(set(names)) < len(names):
            raise OptionError("keep must name each column once, but a name is repeated.")
        return cls(location, built, tuple(names), options)

    def with_kept(self, view: View) -> Schema:
        """Return all columns of the new lake. Raises ColumnNotFoundError for unknown columns."""
        schema = self.schema
        for name in self.keep:
            f = view.field(name)
            schema = schema.add(name, f.htype, f.metadata)
        return schema

    def open(self, view: View) -> Dataset:
        """Open the lake, or create it if there is none.

        Raises
        ------
        OptionError
            When the lake is the lake of the view, is in its folder, or contains it.
        ExistsError
            When there is something else at the URL.
        ConflictError
            When other processes keep creating and deleting the lake.
        """
        if overlap(self.url, view.url):
            raise OptionError(
                "rows_into must be outside the lake that the job reads, but "
                f"{self.url!r} is the lake {view.url!r} itself, is in its folder, or contains it. "
                "Choose another folder or URL."
            )
        schema, limits = self.with_kept(view), view.rows.lake.repository.limits
        for pause in PAUSES:
            try:
                return open_lake(self.url, limits=limits, storage_options=self.options)
            except LakeNotFoundError:
                pass
            except FormatError:
                if find_unfinished(self.url, self.options) is None:  # or has just been finished
                    return open_lake(self.url, limits=limits, storage_options=self.options)
            try:
                with creating(self.url, self.options, unfinished=True) as repository:
                    Table.create(repository, schema, {})
            except (ExistsError, ConflictError):
                # Another process may have created the same lake. On an object store, it writes
                # several objects, and there is no lake before the last one.
                if pause is None:
                    raise
                if local_folder(self.url) is None:
                    time.sleep(pause)
        return open_lake(self.url, limits=limits, storage_options=self.options)

    def check_new(self, ds: Dataset, view: View, name: str, *, restart: bool) -> bool:
        """Check that a job may begin to write to the lake. Return whether it replaces rows.

        Parameters
        ----------
        ds : Dataset
            The opened lake.
        view : View
            The input of the job.
        name : str
            Name of the job.
        restart : bool
            Whether to replace the rows of an earlier job of this name.

        Raises
        ------
        SchemaError
            When the lake has other columns.
        JobError
            When an earlier job has finished.
        ExistsError
            When the lake has rows or edits that the job did not make.
        """
        expected = self.with_kept(view)
        if _types(ds.schema) != _types(expected):
            raise SchemaError(
                f"The lake {self.url!r} exists and has the columns {_describe(ds.schema)}, but "
                f"schema= and keep= describe {_describe(expected)}. Choose another place, or pass "
                "the same columns."
            )
        if not len(ds):
            return False
        records = [find_record(c) for c in history(ds.rows.lake.repository, ds.version)]
        own = [record is not None and record["name"] == name for record in records]
        if not any(own):
            raise ExistsError(
                f"rows_into= needs a new lake, but {self.url!r} has "
                f"{pluralize(len(ds), 'row')} that job {name!r} did not write. Choose another "
                "place."
            )
        if not restart:
            raise JobError(
                f"The job {name!r} has finished: the lake {self.url!r} has its "
                f"{pluralize(len(ds), 'row')}. Pass restart=True to compute and replace them, or "
                "choose another place or name=."
            )
        first = len(own) - own[::-1].index(True)
        if not all(own[:first]):  # the newest commits come first
            raise ExistsError(
                f"restart=True replaces all rows of {self.url!r}, but commits that do not belong "
                f"to job {name!r} have changed the lake, and their edits would be lost. Choose "
                "another place for the new rows."
            )
        return True


def _types(schema: Schema) -> dict[str, Mapping[str, object]]:
    return {f.name: f.htype.get_config() for f in schema}


def _describe(schema: Schema) -> str:
    return ", ".join(f"{f.name} ({f.htype})" for f in schema)
