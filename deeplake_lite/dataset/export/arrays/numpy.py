"""Export of a view as NumPy arrays, in memory or in an npz file."""

from __future__ import annotations

import json
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks
from deeplake_lite.dataset.export.arrays.forms import NOTE, Stored, form_of
from deeplake_lite.dataset.export.atomic_files import atomic_write
from deeplake_lite.dataset.export.portable import read_blocks
from deeplake_lite.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.dataset.export.arrays.forms import Form
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype

BLOCK_ROWS = 256
"""Rows whose images are decoded at a time."""


def write_numpy(
    view: View, path: str | Path | None, images: str, *, compress: bool
) -> Path | dict[str, NDArray[Any]]:
    """Return the arrays of a view, or write them; see `View.to_numpy`."""
    checks.choice("images", images, ("pixels", "files"))
    pixels, compress = images == "pixels", checks.flag("compress", compress)
    target = None if path is None else Path(checks.location("path", path)).expanduser()
    with ExitStack() as files:
        forms = {f.name: form_of(f.name, f.htype, files, pixels=pixels) for f in view.schema}
        for block in read_blocks(view, view.schema.fields, "to_numpy", BLOCK_ROWS):
            for name, form in forms.items():
                form.add(block[name])
        if target is None:
            return {stored.name: stored.array() for stored in _arrays(view, forms)}
        method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        with atomic_write(target) as draft, zipfile.ZipFile(draft, "w") as archive:
            for stored in _arrays(view, forms):
                _write(archive, stored, method)
            _write(archive, _note(view, forms), method)
    return target


def _arrays(view: View, forms: dict[str, Form]) -> Iterator[Stored]:
    """Yield all arrays. Raises SchemaError if two have the same name."""
    owners = {NOTE: "the types of the columns"}
    for f in view.schema:
        for stored in (*forms[f.name].arrays(), *_names(f.name, f.htype)):
            if stored.name in owners:
                raise SchemaError(
                    f"Arrays must have different names, but both {owners[stored.name]} and column "
                    f"{f.name!r} need the name {stored.name!r}. Rename a column."
                )
            owners[stored.name] = f"column {f.name!r}"
            yield stored


def _names(name: str, htype: Htype) -> Iterator[Stored]:
    """Yield the array of the names of classes, if the values are classes."""
    classes = htype.classes if htype.item is None else htype.item.classes
    names = () if classes is None else tuple(classes.names)
    if names and not any(text.endswith("\0") for text in names):
        array = np.array(names)
        yield Stored(f"{name}_names", array.dtype, array.shape, iter([array.tobytes()]))


def _note(view: View, forms: dict[str, Form]) -> Stored:
    """Return the array that records the types of the columns."""
    columns = {
        name: {"htype": form.kept_type.get_config(), "form": form.note()}
        for name, form in forms.items()
    }
    text = np.array(json.dumps({"rows": len(view), "columns": columns}))
    return Stored(NOTE, text.dtype, (), iter([text.tobytes()]))


def _write(archive: zipfile.ZipFile, stored: Stored, method: int) -> None:
    """Write an array as a member, with a fixed time, so that the same rows give the same bytes."""
    info = zipfile.ZipInfo(f"{stored.name}.npy", (1980, 1, 1, 0, 0, 0))
    info.compress_type = method
    header = {
        "descr": np.lib.format.dtype_to_descr(stored.dtype),
        "fortran_order": False,
        "shape": stored.shape,
    }
    with archive.open(info, "w", force_zip64=True) as member:
        np.lib.format.write_array_header_1_0(member, header)
        for piece in stored.pieces:
            member.write(piece)
