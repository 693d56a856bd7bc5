"""Reading the files whose paths are values of a source.

A dataset from someone else may contain any path, such as ``/etc/passwd`` or a URL in the local
network. So files are only read if they are in the folder of the dataset, unless the source allows
all local files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.write.tables import Exported
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import files
from deeplake_lite.ingest.relative_paths import is_inside
from deeplake_lite.ingest.source import BadValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.htypes import Htype
    from deeplake_lite.ingest.source import Block
    from deeplake_lite.schema import Field

type AllowedPaths = Literal["inside", "local"]
"""Which files a column may name: ``"inside"`` for files in the folder of the source, or ``"local"``
for all files on this machine."""


def with_named_files(block: Block, fields: Sequence[Field]) -> Block:
    """Return a block whose errors include all rows with paths that are not allowed.

    In columns of bytes, paths are replaced with the content of the files. Columns of images read
    their files later, when they are encoded.
    """
    columns, errors = dict(block.columns), dict(block.errors)
    for f in fields:
        if f.name not in block.allowed_paths:
            continue
        column = _Column(f, block.base, block.allowed_paths[f.name])
        values = columns[f.name]
        if isinstance(values, Exported):
            rows, bad = column.check(values.values, values.of)
            columns[f.name] = replace(values, values=rows)
        else:
            columns[f.name], bad = column.check(values, f.htype)
        for row, reason in bad.items():
            errors.setdefault(row, reason)
    return replace(block, columns=columns, errors=errors)


class _Column:
    """A column that may contain paths of files."""

    def __init__(self, f: Field, base: str | None, allowed_paths: AllowedPaths) -> None:
        self._field, self._base, self._allowed_paths = f, base, allowed_paths

    def check(self, values: Any, of: Htype) -> tuple[Any, dict[int, BadValue]]:
        """Return the values, and a dict from the positions of bad rows to the reasons.

        If the values are bytes, paths are replaced with the content of the files.
        """
        takes_files = self._field.htype.takes_files or of.takes_files
        if not (takes_files or _is_of_bytes(of)) or _has_no_names(values):
            return values, {}
        rows, bad = list(values), dict[int, BadValue]()
        for row, value in enumerate(rows):
            if isinstance(value, bytes):
                continue
            try:
                if takes_files:
                    self._check(value)
                else:
                    rows[row] = self._content(value)
            except InvalidValueError as error:
                bad[row] = BadValue(self._field.name, error.args[0])
                rows[row] = of.blank
        return (rows if bad or not takes_files else values), bad

    def _check(self, value: Any) -> None:
        """Check the paths in a value. Raises InvalidValueError if one is not allowed."""
        if isinstance(value, str | os.PathLike):
            self._check_path(os.fspath(value))
        elif files.is_file_struct(value):
            if value["bytes"] is None:
                self._check_path(value["path"])
        elif isinstance(value, list | tuple) or (
            isinstance(value, np.ndarray) and value.dtype.kind in "OUST" and value.ndim
        ):
            for item in value:
                self._check(item)

    def _content(self, value: Any) -> Any:
        """Replace the files in a value with their content.

        Raises InvalidValueError if a path is not allowed.
        """
        if files.is_file_struct(value):
            if value["bytes"] is not None:
                return value["bytes"]
            self._check_path(value["path"])
            return files.read(files.rebase_paths(value["path"], self._base or ""))
        return [self._content(item) for item in value] if isinstance(value, list) else value

    def _check_path(self, path: Any) -> None:
        """Raise InvalidValueError if the file at a path may not be read."""
        text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        if self._allowed_paths == "local":
            if files.scheme_of(text):
                raise InvalidValueError(
                    f"the path of a file must be local, but it is {brief(text, 120)}. Download the "
                    "file, and pass its bytes or its local path."
                )
        elif text and (self._base is None or files.scheme_of(text) or not is_inside(text)):
            raise InvalidValueError(
                "the path of a file must be relative and must not lead out of the dataset's "
                f"folder, but it is {brief(text, 120)}. Store the bytes of the file in the "
                "dataset, or move the file into the folder. If the column contains strings and "
                f"you trust these paths, declare its type: schema={{{self._field.name!r}: …}}."
            )


def _is_of_bytes(htype: Htype) -> bool:
    """Return whether values are bytes or lists of bytes."""
    return htype.sql == "bytes" or (htype.item is not None and _is_of_bytes(htype.item))


def _has_no_names(values: Any) -> bool:
    """Return whether values cannot contain the path of a file, because they are numbers."""
    if isinstance(values, np.ndarray):
        return values.dtype.kind not in "OUST"
    return not isinstance(values, Iterable)
