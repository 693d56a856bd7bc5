"""What asks a view questions: in SQL, and about how it came about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from deeplake_lite.dataset import lazy_calls

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deeplake_lite.dataset.view import View


class Asks:
    """The methods of a view that run queries, or rank its rows."""

    def query(
        self,
        text: str,
        params: Sequence[Any] | Mapping[str, Any] = (),
        *,
        sources: Mapping[str, View] | None = None,
    ) -> View:
        """Answer a question in the tensor query language with another view.

        Parameters
        ----------
        text : str
            A SELECT. Without FROM, and by the names ``dataset`` and ``ds``, it asks this view;
            FROM also takes the URLs of lakes.
        params : sequence or mapping
            Values of ``?`` in order, or of ``$name``: numbers, texts, dates, arrays.
        sources : mapping, optional
            Other views by the names that FROM has for them.

        Returns
        -------
        View
            Rows of this view, or new rows where the query makes some. Columns and tensors are read
            when they are looked at.

        Raises
        ------
        QuerySyntaxError
            With the line and a caret.
        QueryTypeError
            For values of the wrong kind or shape.
        ColumnNotFoundError, NotFoundError
            For a column or a function that there is not, with the nearest names.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://query-doc", {"x": "int32", "v": dl.Embedding(2)})
        >>> ds.append({"x": [1, 2, 3], "v": [[1, 0], [0, 1], [3, 4]]})
        >>> ds.query("SELECT x WHERE L2_NORM(v) > ? OR x = 1", [2])["x"][:]
        array([1, 3], dtype=int32)
        >>> ds.query("SELECT x % 2 AS odd, MEAN(v) AS v GROUP BY odd ORDER BY odd")["v"][:]
        array([[0., 1.],
               [2., 2.]], dtype=float32)
        """
        return lazy_calls.query(cast("View", self), text, params, sources)

    async def query_async(
        self,
        text: str,
        params: Sequence[Any] | Mapping[str, Any] = (),
        *,
        sources: Mapping[str, View] | None = None,
    ) -> View:
        """Answer as `query` does, in a thread; a task that is cancelled ends the query.

        Examples
        --------
        >>> import asyncio
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://query-async-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2, 3]})
        >>> asyncio.run(ds.query_async("SELECT x WHERE x > 1"))["x"][:]
        array([2, 3], dtype=int32)
        """
        return await lazy_calls.query_async(cast("View", self), text, params, sources)

    def suspects(
        self,
        label: str,
        by: Literal["embedding", "scores"] = "embedding",
        *,
        column: str | None = None,
        neighbours: int = 10,
    ) -> View:
        """Rank the rows by how likely their label is wrong, the most suspicious first.

        Parameters
        ----------
        label : str
            Column of one label per row: classes, texts or numbers.
        by : {"embedding", "scores"}
            What contradicts a label: the labels of the nearest vectors, by cosine, or what a model
            that did not see the row gives each class.
        column : str, optional
            Column of the vectors, or of the probabilities, one per class. Left out: the one called
            as `by` is, or the only one of its kind.
        neighbours : int
            Vectors that have a say about a label.

        Returns
        -------
        View
            The rows that have a label and a vector, with two columns more: ``suspicion``, 0 to 1,
            and ``suggested``, the label that speaks most for itself; it is the row's own where
            nothing speaks against that.

        Raises
        ------
        ColumnNotFoundError
            For a column that the view does not have.
        SchemaError
            For columns of other types, or when several may be meant.
        InvalidValueError
            For scores that are no probabilities.

        Notes
        -----
        Neighbours are exact up to 16,384 rows; beyond, each row is compared with the 1,024 of the
        nearest clusters. By scores it is confident learning: Northcutt, Jiang, Chuang (JAIR 2021),
        https://arxiv.org/abs/1911.00068; by neighbours see Bahri, Jiang, Gupta (ICML 2020),
        https://arxiv.org/abs/2004.12289.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> schema = {"label": dl.ClassLabel(["x", "y"]), "embedding": dl.Embedding(2)}
        >>> ds = dl.create("memory://suspects-doc", schema)
        >>> vectors = [[9, 1], [9, 2], [9, 3], [9, 0], [1, 9], [2, 9], [3, 9], [0, 9]]
        >>> ds.append({"label": ["x", "x", "x", "y", "y", "y", "y", "y"], "embedding": vectors})
        >>> found = ds.suspects("label", neighbours=3)
        >>> found[0]["label"], found[0]["suggested"], found[0]["suspicion"]
        (np.int32(1), np.int32(0), np.float32(1.0))
        >>> len(found.query("SELECT * WHERE suggested != label"))
        1
        """
        return lazy_calls.suspects(cast("View", self), label, by, column, neighbours)

    def explain(self) -> str:
        """Return how the view came about: the plan of its query, with rows and times.

        The time of a step is its own; that of the result is the sum of all steps.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://explain-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2, 3]})
        >>> print(ds.query("SELECT x WHERE x > 1").explain())
        result [3 -> 2 rows, ... ms in total]
        ├─ read on access      x
        └─ sql  SELECT t1.row AS c0 FROM t1 WHERE (t1.x > 1) [... ms]
           ├─ t1 = dataset, 3 rows: x [3 -> 3 rows, 12 B read, ... ms]
        """
        return lazy_calls.explain(cast("View", self))
