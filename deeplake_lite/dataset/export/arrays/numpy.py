"""Export of a view as NumPy arrays, in memory or in an npz file."""

from __future__ import annotations

import json
import zipfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks
from deeplake_lite.dataset.export.arrays.forms import NOTE, Stored, form_of
from deeplake_lite.dataset.export.atomic_files import atomic_write
from deeplake_lite.dataset.export.portable import metadata_of, read_blocks
from deeplake_lite.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.export.arrays.forms import Form
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype

BLOCK_ROWS = 256
"""Number of rows to decode at a time."""


def write_numpy(
    view: View, path: str | Path | None, images: str, *, compress: bool
) -> Path | dict[str, NDArray[Any]]:
    """Return the arrays of a view, or write them to a file; see `View.to_numpy`."""
    compress = checks.flag("compress", compress)
    target = None if path is None else Path(checks.location("path", path)).expanduser()
    with collect_arrays(view, images, "to_numpy") as arrays:
        if target is None:
            return {stored.name: stored.array() for stored in arrays.stored()}
        method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        note = np.array(arrays.note)
        with atomic_write(target) as draft, zipfile.ZipFile(draft, "w") as archive:
            for stored in arrays.stored():
                _write(archive, stored, method)
            _write(archive, Stored(NOTE, note.dtype, (), iter([note.tobytes()])), method)
    return target


@contextmanager
def collect_arrays(view: View, images: str, method: str) -> Iterator[Arrays]:
    """Collect the arrays of a view in temporary files, which exist until the ``with`` block ends.

    Parameters
    ----------
    view : View
        The rows.
    images : {"pixels", "files"}
        Whether to decode image files.
    method : str
        Name of the export, for the progress bar.
    """
    pixels = checks.choice("images", images, ("pixels", "files")) == "pixels"
    with ExitStack() as files:
        forms = {f.name: form_of(f.name, f.htype, files, pixels=pixels) for f in view.schema}
        arrays = Arrays(view, forms)
        for block in read_blocks(view, view.schema.fields, method, BLOCK_ROWS):
            for name, form in forms.items():
                form.add(block[name])
        yield arrays


@dataclass(frozen=True)
class Arrays:
    """The arrays of a view, and a JSON text from which an importer restores the columns' types."""

    view: View
    forms: Mapping[str, Form]

    def stored(self) -> Iterator[Stored]:
        """Yield all arrays. Raises SchemaError if two have the same name."""
        owners = {NOTE: "the record of column types"}
        for f in self.view.schema:
            for stored in (*self.forms[f.name].arrays(), *_names(f.name, f.htype)):
                if stored.name in owners:
                    raise SchemaError(
                        f"Arrays must have different names, but both {owners[stored.name]} and "
                        f"column {f.name!r} need the name {stored.name!r}. Rename a column."
                    )
                owners[stored.name] = f"column {f.name!r}"
                yield stored

    @property
    def note(self) -> str:
        """The types of the columns and the metadata of the dataset, as JSON."""
        columns = {
            name: {"htype": form.exported_type.get_config(), "form": form.note()}
            for name, form in self.forms.items()
        }
        return json.dumps({"rows": len(self.view), "columns": columns, **metadata_of(self.view)})


def _names(name: str, htype: Htype) -> Iterator[Stored]:
    """Yield an array of the class names, if the column has classes with names."""
    classes = htype.classes if htype.item is None else htype.item.classes
    names = () if classes is None else tuple(classes.names)
    if names and not any(text.endswith("\0") for text in names):
        array = np.array(names)
        yield Stored(f"{name}_names", array.dtype, array.shape, iter([array.tobytes()]))


def _write(archive: zipfile.ZipFile, stored: Stored, method: int) -> None:
    """Write an array to an archive, with a fixed time, so that equal arrays give equal bytes."""
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
