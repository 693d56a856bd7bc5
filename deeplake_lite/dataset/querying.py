"""The methods of a view that run queries, rank rows, evaluate predictions and explain results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from deeplake_lite.dataset import lazy_calls

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deeplake_lite.dataset.lazy_calls import Evaluation
    from deeplake_lite.dataset.view import View


class Queryable:
    """The methods of a view that run queries, rank rows, evaluate and explain results."""

    def query(
        self,
        text: str,
        params: Sequence[object] | Mapping[str, object] | None = (),
        *,
        sources: Mapping[str, View] | None = None,
        executor: Any = None,
    ) -> View:
        """Run a query in the tensor query language on this view.

        Parameters
        ----------
        text : str
            A SELECT statement. Without FROM, it reads this view, which is also available under the
            names ``dataset`` and ``ds``. FROM may also name lakes by their URLs.
        params : sequence or mapping
            Values for each ``?``, in the order of the query, or a dict from names to the values
            for ``$name``: numbers, strings, dates or arrays.
        sources : mapping, optional
            Maps names, which FROM may use, to additional views.
        executor : int or object, optional
            Computes the tensor expressions that decide which rows the result has: a number of
            processes, or an object with a method ``submit``, such as a client of Dask. By default,
            threads of this process compute them. The result is the same.

        Returns
        -------
        View
            Rows of this view, or computed rows, for example of a GROUP BY. Columns and tensors are
            read when they are accessed.

        Raises
        ------
        QuerySyntaxError
            When the query is not valid; the error shows the line with a caret.
        QueryTypeError
            When a value has the wrong type or shape.
        ColumnNotFoundError, NotFoundError
            When a column or a function does not exist; the error suggests similar names.

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
        return lazy_calls.query(cast("View", self), text, params, sources, executor)

    async def query_async(
        self,
        text: str,
        params: Sequence[object] | Mapping[str, object] | None = (),
        *,
        sources: Mapping[str, View] | None = None,
    ) -> View:
        """Run `query` in a thread. Cancelling the task stops the query.

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
        """Rank the rows by how likely their label is wrong, starting with the most suspicious.

        Parameters
        ----------
        label : str
            Column with one label per row: a class, string or number.
        by : {"embedding", "scores"}
            Evidence against a label: ``"embedding"`` compares the label with the labels of the
            nearest vectors, by cosine similarity; ``"scores"`` compares the label with the class
            probabilities of a model that was not trained on the row.
        column : str, optional
            Column of the vectors, or of the probabilities (one per class). By default, the column
            named ``embedding`` or ``scores`` (the value of `by`), or the only column of a suitable
            type.
        neighbours : int
            Number of nearest vectors to compare a label with.

        Returns
        -------
        View
            The rows that have a label and a vector, with two more columns: ``suspicion``, from 0 to
            1, and ``suggested``, the most likely label, which may be the row's own.

        Raises
        ------
        ColumnNotFoundError
            When a named column does not exist in the view.
        SchemaError
            When a column has an unsuitable type, or several columns are suitable.
        InvalidValueError
            When the scores are not probabilities.

        Notes
        -----
        Nearest neighbours are exact up to 16,384 rows. With more rows, each row is compared with
        1,024 rows from the nearest clusters. ``"scores"`` uses confident learning: Northcutt,
        Jiang, Chuang (JAIR 2021), https://arxiv.org/abs/1911.00068. For ``"embedding"``, see Bahri,
        Jiang, Gupta (ICML 2020), https://arxiv.org/abs/2004.12289.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> schema = {"label": dl.ClassLabel(["x", "y"]), "embedding": dl.Embedding(2)}
        >>> ds = dl.create("memory://suspects-doc", schema)
        >>> vectors = [[9, 1], [9, 2], [9, 3], [9, 0], [1, 9], [2, 9], [3, 9], [0, 9]]
        >>> ds.append({"label": ["x", "x", "x", "y", "y", "y", "y", "y"], "embedding": vectors})
        >>> ranked = ds.suspects("label", neighbours=3)
        >>> ranked[0]["label"], ranked[0]["suggested"], ranked[0]["suspicion"]
        (np.int32(1), np.int32(0), np.float32(1.0))
        >>> len(ranked.query("SELECT * WHERE suggested != label"))
        1
        """
        return lazy_calls.suspects(cast("View", self), label, by, column, neighbours)

    def evaluate(
        self,
        predictions: str,
        truth: str,
        kind: Literal["detection", "classification", "segmentation", "keypoints"] | None = None,
        *,
        labels: str | None = None,
        scores: str | None = None,
        truth_labels: str | None = None,
        crowd: str | None = None,
        areas: str | None = None,
        iou: float | None = None,
        score: float | None = None,
        sigmas: Sequence[float] | None = None,
        classes: Sequence[str] | None = None,
        bins: int | None = None,
        ignore: int | None = ...,  # type: ignore[assignment]
    ) -> Evaluation:
        """Compare a column of predictions with the truth.

        Classes are matched by name. Rows with a null truth or prediction are left out, and their
        number is reported; an empty list of objects is not null.

        Parameters
        ----------
        predictions, truth : str
            Columns to compare: boxes, keypoints, masks, outlines of objects (a sequence of
            polygons), or classes. Predicted classes may also be a vector with a score per class.
        kind : {"detection", "classification", "segmentation", "keypoints"}, optional
            Kind of evaluation; by default, the one that suits the types of the columns.
        labels, scores, truth_labels : str, optional
            Columns with the class and the score of each prediction, and the class of each true
            object. By default, the columns with matching names, such as ``predicted_labels`` and
            ``predicted_scores`` for ``predicted_boxes``, or else the only columns of a suitable
            type. Without labels, all objects count as one class. For predicted classes, `scores`
            is the column of the confidences, which the calibration needs.
        crowd, areas : str, optional
            Columns that flag true objects as crowds, and that hold the areas of true objects. By
            default, ``crowd`` and ``areas``, as `from_coco` names them. Without a column of areas,
            the areas are computed.
        iou : float
            Minimum overlap of a match for counts, rows, curves and the confusion matrix; 0.5 by
            default. It does not affect the average precision.
        score : float
            Minimum score of a prediction for counts, rows and the confusion matrix; 0.5 by default.
        sigmas : sequence of float, optional
            Spread of each keypoint relative to the size of the object; COCO's values by default.
        classes : sequence of str, optional
            Class of each entry in a vector of scores; by default, the classes of the truth.
        bins : int
            Number of bins of the calibration; 15 by default.
        ignore : int, optional
            Class number of ignored pixels in masks; 255 by default. With None, all pixels count.

        Returns
        -------
        Evaluation
            Metrics in ``summary``, ``classes``, ``confusion``, ``curve()`` and, for each row,
            ``rows``. ``worst()`` returns the worst rows, ``write(ds)`` stores the metrics of the
            rows as columns, and ``save(name)`` stores all metrics in the lake.

        Raises
        ------
        ColumnNotFoundError
            When a named column does not exist in the view.
        SchemaError
            When a column has an unsuitable type, or several columns are suitable.
        InvalidValueError
            When the lists of a row's objects differ in length, or its masks differ in size.
        OptionError
            When an option is not valid, or belongs to another kind of evaluation.

        Notes
        -----
        The average precision (AP) and recall (AR) of objects follow COCO, and equal the results of
        pycocotools to the last digit: objects are matched by class and row, at overlaps of 0.5 to
        0.95 and 101 recall levels, with at most 100 predictions per class and row (20 for
        keypoints). See https://cocodataset.org/#detection-eval.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> label = dl.Sequence(dl.ClassLabel(["cat", "dog"]))
        >>> schema = {"boxes": dl.Boxes(), "labels": label, "predicted_boxes": dl.Boxes(),
        ...           "predicted_labels": label, "predicted_scores": dl.Sequence("float32")}
        >>> ds = dl.create("memory://evaluate-doc", schema)
        >>> ds.append([{"boxes": [[0, 0, 9, 9]], "labels": ["cat"],
        ...             "predicted_boxes": [[0, 0, 9, 8], [20, 20, 30, 30]],
        ...             "predicted_labels": ["cat", "cat"], "predicted_scores": [0.9, 0.8]}])
        >>> result = ds.evaluate("predicted_boxes", "boxes")
        >>> round(result.summary["AP50"], 6), result.rows["fp"].tolist()
        (1.0, [1])
        """
        options = {
            "labels": labels, "scores": scores, "truth_labels": truth_labels, "crowd": crowd,
            "areas": areas, "iou": iou, "score": score, "sigmas": sigmas, "classes": classes,
            "bins": bins, "ignore": ignore,
        }  # fmt: skip
        return lazy_calls.evaluate(cast("View", self), predictions, truth, kind, options)

    def explain(self) -> str:
        """Return the plan of the query behind this view, with row counts and times.

        The time of each step excludes its inputs; the time of the result is the sum of all steps.

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
