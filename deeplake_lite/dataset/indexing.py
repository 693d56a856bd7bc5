"""The methods of a dataset that create, list and drop indexes of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from deeplake_lite.dataset import lazy_calls

if TYPE_CHECKING:
    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.lazy_calls import Index


class Indexable:
    """The methods of a dataset that create, list and drop indexes of columns."""

    def create_index(
        self,
        column: str,
        kind: Literal["vector", "text"] | None = None,
        *,
        metric: Literal["cosine", "l2", "dot"] | None = None,
        recall: float | None = None,
        lists: int | None = None,
        progress: bool = True,
    ) -> Index:
        """Build an index of a column for fast searches, and store it in the lake.

        The index is built for the committed version of this dataset. Later versions use it, too.
        Rows that were changed or added since then are always compared exactly, and deleted rows are
        left out.

        Parameters
        ----------
        column : str
            Column of strings, or of vectors that all have the same length.
        kind : {"vector", "text"}, optional
            Kind of index; by default, the one that suits the column. A ``"vector"`` index finds the
            nearest vectors approximately, for queries that say ``USING INDEX``. A ``"text"`` index
            lists the words of the strings. All queries with `BM25_SIMILARITY` use it, because it
            does not change their results.
        metric : {"cosine", "l2", "dot"}, optional
            How vectors are compared: by `COSINE_SIMILARITY` (the default), `L2_DISTANCE` or `DOT`.
            A query uses the index for this function only.
        recall : float, optional
            Share of the 10 nearest vectors that a search must find; 0.98 by default. A sample of
            the vectors shows how many lists a search must read for that. The higher the recall, the
            longer a search takes.
        lists : int, optional
            Number of lists into which vectors are divided. By default, four times the square
            root of the number of vectors.
        progress : bool
            Whether to show a progress bar if the build takes longer than a second.

        Returns
        -------
        Index
            The index. For vectors, it shows the recall that was measured. An older index for the
            same column, metric and version is dropped.

        Raises
        ------
        ColumnNotFoundError
            When there is no such column.
        SchemaError
            When the column has neither strings nor vectors of one length.
        OptionError
            When an option is not valid, or belongs to another kind of index.
        UncommittedError
            When there are uncommitted edits.
        ReadOnlyError
            When the lake is on a web server.
        StorageError
            When the lake cannot be written.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> import numpy as np
        >>> ds = dl.create("memory://create-index-doc", {"v": dl.Embedding(8)})
        >>> vectors = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
        >>> ds.append({"v": vectors})
        >>> version = ds.commit("vectors")
        >>> ds.create_index("v")
        vector index on v (cosine), 500 rows, recall ..., version ...
        >>> text = "SELECT * ORDER BY COSINE_SIMILARITY(v, ?) DESC LIMIT 1 USING INDEX"
        >>> bool((ds.query(text, [vectors[3]])["v"][0] == vectors[3]).all())
        True
        """
        return lazy_calls.create_index(
            cast("Dataset", self),
            column,
            kind,
            metric=metric,
            recall=recall,
            lists=lists,
            progress=progress,
        )

    @property
    def indexes(self) -> list[Index]:
        """The indexes of all versions in the lake, the oldest first.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://indexes-doc", {"v": dl.Embedding(2)})
        >>> ds.append({"v": [[1, 0], [0, 1]]})
        >>> version = ds.commit("vectors")
        >>> index = ds.create_index("v", metric="l2")
        >>> [(i.column, i.metric, i.used) for i in ds.indexes]
        [('v', 'l2', True)]
        """
        return lazy_calls.list_indexes(cast("Dataset", self))

    def drop_index(self, index: str | Index, kind: Literal["vector", "text"] | None = None) -> int:
        """Drop one index, or all indexes of a column in all versions.

        A vacuum then deletes their files.

        Parameters
        ----------
        index : str or Index
            Name of a column, or an index from `indexes`.
        kind : {"vector", "text"}, optional
            Kind of the indexes to drop; by default, all kinds.

        Returns
        -------
        int
            Number of dropped indexes.

        Raises
        ------
        NotFoundError
            When there is no such index.
        ColumnNotFoundError
            When there is no such column.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://drop-index-doc", {"v": dl.Embedding(2)})
        >>> ds.append({"v": [[1, 0], [0, 1]]})
        >>> version = ds.commit("vectors")
        >>> index = ds.create_index("v")
        >>> ds.drop_index("v"), ds.indexes
        (1, [])
        """
        return lazy_calls.drop_index(cast("Dataset", self), index, kind)
