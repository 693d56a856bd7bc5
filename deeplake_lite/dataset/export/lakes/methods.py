"""The export methods for other lakes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deeplake_lite.dataset.export import rows

if TYPE_CHECKING:
    from pathlib import Path

    from deeplake_lite.dataset.view import View


class LakeExports:
    """Methods of a view that export its rows as datasets of other lakes."""

    def to_lance(self, path: str | Path, *, rows_per_file: int = 1_048_576) -> Path:
        """Write the rows as a Lance dataset.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty.
        rows_per_file : int
            Most rows of a fragment, which is a file.

        Returns
        -------
        Path
            The folder, which ``lance.dataset`` opens.

        Raises
        ------
        MissingPackageError
            If ``pylance`` is not installed.
        ExistsError
            When the folder is not empty.
        StorageError
            When a file cannot be written. Files that were written before the error are removed.

        Notes
        -----
        The columns are those of `to_arrow`. The metadata of each field holds the configuration of
        its type, so that `from_lance` makes the same columns again. Lance gives its files random
        names.

        Examples
        --------
        >>> import tempfile
        >>> import lance
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://to-lance-doc", {"x": "int32", "v": dl.Embedding(2)})
        >>> ds.append({"x": [1, 2], "v": [[0, 1], [1, 0]]})
        >>> lance.dataset(ds.to_lance(tempfile.mkdtemp())).to_table().to_pylist()
        [{'x': 1, 'v': [0.0, 1.0]}, {'x': 2, 'v': [1.0, 0.0]}]
        """
        return rows.to_lance(cast("View", self).pin(), path, rows_per_file)
