"""Ingesting HDF5 files."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from deeplake_lite import checks
from deeplake_lite.codecs.limits import DEFAULT_LIMITS
from deeplake_lite.ingest.arrays.array_source import ArraySource, Part
from deeplake_lite.ingest.arrays.hdf5_file import read_tree
from deeplake_lite.ingest.arrays.numpy_files import reading
from deeplake_lite.ingest.files import find_files, fingerprint
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset

SUFFIXES = (".h5", ".hdf5", ".he5", ".hdf")
"""Suffixes of files that are read in a folder, in upper or lower case."""

CHUNK_CACHE = 64 * 2**20
"""Size in bytes of HDF5's cache for decompressed chunks of a dataset. HDF5's default size is often
smaller than one chunk."""


@takes_options
def from_hdf5(
    path: str | os.PathLike[str],
    url: str,
    *,
    on: str | None = None,
    columns: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest the datasets of HDF5 files as columns. The first axis of a dataset becomes the rows.

    Parameters
    ----------
    path : str or Path
        A file, a pattern, or a folder, from which files with the suffixes ``.h5``, ``.hdf5``,
        ``.he5`` and ``.hdf`` are read. The rows of several files are concatenated.
    url : str
        URL of the lake, which is created if it does not exist.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended, unless the same files were ingested before.
    columns : sequence of str, optional
        The columns to ingest, which must have the same length. By default, all columns.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import. A dataset in a
        group becomes a column such as ``"group.x"``, and so does a field of a compound dataset.
        Enumerations become classes. Attributes and scalar datasets are stored in
        ``ds.metadata["hdf5"]``.

    Raises
    ------
    NotFoundError
        If a file or column does not exist.
    InvalidValueError
        If a file is damaged, or datasets have different lengths.
    MissingPackageError
        If h5py is not installed.

    Notes
    -----
    Datasets are read block by block. Soft and external links, datasets with data in other files,
    references and opaque data are skipped and listed in ``ingested.skipped``.

    Examples
    --------
    >>> import tempfile
    >>> import h5py
    >>> import numpy as np
    >>> import deeplake_lite as dl
    >>> path = f"{tempfile.mkdtemp()}/signals.h5"
    >>> with h5py.File(path, "w") as file:
    ...     file["train/x"] = np.zeros((2, 3), "float32")
    ...     file["train/name"] = ["a", "b"]
    >>> ds = dl.from_hdf5(path, "memory://from-hdf5")
    >>> {f.name: f.htype for f in ds.schema}
    {'train.name': Text(), 'train.x': Array('float32', (3,))}
    """
    h5py = checks.package("h5py", "hdf5", "from_hdf5")
    files = find_files(path, *SUFFIXES)
    with ExitStack() as stack:
        trees = list[Any]()
        for file in files:
            with reading(file):
                opened = stack.enter_context(h5py.File(file, "r", rdcc_nbytes=CHUNK_CACHE))
                trees.append(read_tree(h5py, opened, Path(file).name))
        parts = tuple(Part(tree.title, tree.select(columns)) for tree in trees)
        source = ArraySource(
            parts[0].title if len(parts) == 1 else f"{parts[0].title} and {len(parts) - 1} more",
            parts,
            on,
            types_of(options.get("schema")),
            fingerprint(path, files),
            tuple(skipped for tree in trees for skipped in tree.left_out),
            {"hdf5": dict(item for tree in trees for item in tree.metadata.items())},
            options.get("limits", DEFAULT_LIMITS),
        )
        return ingest(source, url, **options)
