"""The public class `Evaluation`: the metrics of predictions, and the evaluated rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from deeplake_lite import checks
from deeplake_lite.dataset.saved import evaluations as saved
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import InvalidValueError, NotFoundError, OptionError, SchemaError
from deeplake_lite.evaluate import page
from deeplake_lite.evaluate.documents import findings_of, stored_of
from deeplake_lite.htypes import Scalar
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.saved.evaluations import Stored
    from deeplake_lite.evaluate.findings import Findings, Kind


class Evaluation:
    """The result of comparing predictions with the truth.

    `View.evaluate` returns an evaluation, and `Dataset.evaluations` opens saved evaluations.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> kind = dl.ClassLabel(["cat", "dog"])
    >>> ds = dl.create("memory://evaluation-doc", {"label": kind, "predicted": kind})
    >>> ds.append({"label": ["cat", "dog", "dog"], "predicted": ["cat", "dog", "cat"]})
    >>> result = ds.evaluate("predicted", "label")
    >>> round(result.summary["accuracy"], 3), len(result.worst(1))
    (0.667, 1)
    >>> result.confusion.loc["dog", "cat"]
    np.int64(1)
    """

    def __init__(
        self,
        kind: Kind,
        predictions: str,
        truth: str,
        options: Mapping[str, Any],
        findings: Findings,
        row_ids: NDArray[np.int64],
        url: str,
        version: str,
        view: View | Callable[[], View],
        name: str = "",
    ) -> None:
        self.kind = kind
        """``"detection"``, ``"classification"``, ``"segmentation"`` or ``"keypoints"``."""
        self.predictions = predictions
        """Column of the predictions."""
        self.truth = truth
        """Column of the truth."""
        self.options = dict(options)
        """The options of the evaluation, and the names of further columns that it used."""
        self.url = url
        """URL of the lake."""
        self.version = version
        """Id of the evaluated version or, if there are uncommitted edits, of their base version."""
        self.name = name
        """Name under which the evaluation is saved; empty if it is not saved."""
        self._findings, self._row_ids, self._view = findings, row_ids, view

    @classmethod
    def of(
        cls,
        view: View,
        kind: Kind,
        predictions: str,
        truth: str,
        options: Mapping[str, Any],
        findings: Findings,
    ) -> Evaluation:
        """Return the evaluation of a view. Raises SchemaError if its rows have no ids."""
        if not view.rows.table.has_ids:
            raise SchemaError(
                "Only rows of a lake can be evaluated, but the rows of this view are computed by "
                "a query. Materialize the view, or evaluate the rows before you group them."
            )
        ids = view.row_ids[findings.positions]
        return cls(kind, predictions, truth, options, findings, ids, view.url, view.version, view)

    # ---- metrics

    @property
    def summary(self) -> dict[str, float]:
        """Metrics for all rows and classes, as a dict from name to value; NaN if undefined."""
        return dict(self._findings.summary)

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of rows that were evaluated, and of rows that were left out because of a null.

        ``unlabelled`` rows have no truth, and ``unpredicted`` rows have no prediction.
        """
        return dict(self._findings.counts)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes: first the true classes, then classes that are only predicted."""
        return self._findings.classes

    @property
    def classes(self) -> pd.DataFrame:
        """Metrics for each class, as a DataFrame indexed by class name."""
        import pandas as pd

        columns = {name: values.copy() for name, values in self._findings.by_class.items()}
        return pd.DataFrame(columns, index=pd.Index(self.class_names, name="class", dtype=object))

    @property
    def confusion(self) -> pd.DataFrame:
        """The confusion matrix: a DataFrame of true classes (rows) by predicted classes (columns).

        In evaluations of objects, the last row and column are the background. The last row counts
        predictions that match no object, and the last column counts objects without a prediction.
        """
        import pandas as pd

        names = list(self.class_names)
        names += [self._findings.outside] if self._findings.outside else []
        return pd.DataFrame(
            self._findings.confusion.astype(np.int64),
            index=pd.Index(names, name="truth", dtype=object),
            columns=pd.Index(names, name="predicted", dtype=object),
        )

    def curve(self, name: str | None = None) -> pd.DataFrame:
        """Return a curve: precision by recall or, for classifications, accuracy by confidence.

        Parameters
        ----------
        name : str, optional
            Name of a class. By default, the curve is the mean over all classes. For
            classifications, there are no curves of single classes.

        Returns
        -------
        DataFrame
            The columns ``recall`` and ``precision``, for matches with at least the overlap `iou`.
            For classifications, one row per bin of scores, with the columns ``bin`` (the upper edge
            of the bin), ``confidence``, ``accuracy`` and ``rows``.

        Raises
        ------
        NotFoundError
            When the class does not exist, or has no curve.
        """
        import pandas as pd

        curves = {key: values.copy() for key, values in self._findings.curves.items()}
        if name is not None:
            names = self.class_names if len(self._findings.class_curves) else ()
            if not isinstance(name, str) or name not in names:
                raise NotFoundError.named("curve for class", name, names)
            curves["precision"] = self._findings.class_curves[names.index(name)].copy()
        return pd.DataFrame(curves)

    # ---- rows

    @property
    def rows(self) -> pd.DataFrame:
        """Metrics for each evaluated row, as a DataFrame indexed by row id.

        Evaluations of objects have the columns ``tp``, ``fp``, ``fn``, ``iou`` (mean over the true
        objects, where a missed object counts as 0) and ``f1``. Evaluations of classes have
        ``correct`` and, with scores, ``score``, ``truth_score`` and ``loss``. Evaluations of masks
        have ``accuracy`` and ``iou``.
        """
        import pandas as pd

        units = self._findings.units
        columns = {name: v.astype(units.get(name, "float64")) for name, v in self._row_values()}
        return pd.DataFrame(columns, index=pd.Index(self._row_ids.copy(), name="row_id"))

    def _row_values(self) -> list[tuple[str, NDArray[Any]]]:
        return list(self._findings.rows.items())

    @property
    def view(self) -> View:
        """The evaluated rows in the evaluated version, with all columns of the view.

        A saved evaluation opens its version, with all columns. If the version has expired, this
        raises a VersionNotFoundError, but metrics and comparisons are still available.
        """
        if not isinstance(self._view, View):
            self._view = self._view()
        return self._view[self._findings.positions]

    def worst(self, n: int = 20) -> View:
        """Return the rows with the worst predictions, worst first.

        Rows are ordered by F1 for objects, by loss for classes (wrong predictions first) and by
        mean IoU for masks.

        Parameters
        ----------
        n : int
            Maximum number of rows.

        Returns
        -------
        View
            Rows of `view`.
        """
        count = checks.integer("n", n, 0)
        return self.view[self._order()[:count]]

    def _order(self) -> NDArray[np.int64]:
        """Return the indices of the evaluated rows, the worst row first."""
        rows = self._findings.rows
        quality = np.nan_to_num(rows[self._findings.quality], nan=np.inf)
        second = np.zeros(len(quality))
        if "fp" in rows:
            second = rows["fp"] + rows["fn"]
        elif "loss" in rows or "score" in rows:
            second = np.nan_to_num(rows["loss"] if "loss" in rows else rows["score"])
        return np.lexsort((-second, quality))

    def write(self, ds: Dataset, prefix: str = "eval_") -> tuple[str, ...]:
        """Store the metrics of the rows as columns of a dataset, as uncommitted edits.

        The columns can be queried, sorted and shown in the dataset browser like all other columns.
        In rows that were not evaluated, new columns are null, and existing columns keep their
        values.

        Parameters
        ----------
        ds : Dataset
            A dataset of the same lake, on any branch.
        prefix : str
            Prefix of the column names. Existing columns are updated.

        Returns
        -------
        tuple of str
            Names of the written columns.

        Raises
        ------
        OptionError
            When `ds` is not a dataset of the same lake.
        SchemaError
            When a column with one of the names has another type.
        InvalidValueError
            When a row has been deleted from the dataset.
        ReadOnlyError
            When the dataset is read-only.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://evaluation-write-doc", {"label": "text", "guess": "text"})
        >>> ds.append({"label": ["cat", "dog"], "guess": ["cat", "cat"]})
        >>> ds.evaluate("guess", "label").write(ds)
        ('eval_correct',)
        >>> ds.query("SELECT * WHERE NOT eval_correct")["label"][:]
        ['dog']
        """
        from deeplake_lite.dataset.dataset import Dataset

        if not isinstance(ds, Dataset) or ds.url != self.url:
            raise OptionError(
                f"ds must be a dataset of the evaluated lake, {self.url}, but it is "
                f"{getattr(ds, 'url', type(ds).__name__)}. Open the lake: dl.open(…)."
            )
        prefix = checks.text("prefix", prefix)
        ids, first = np.unique(self._row_ids, return_index=True)
        missing = ids[~np.isin(ids, ds.row_ids)]
        if len(missing):
            raise InvalidValueError(
                f"The evaluated rows must exist in the dataset, but {len(missing):,} of the "
                f"{pluralize(len(ids), 'row')} {'is' if len(missing) == 1 else 'are'} missing, "
                f"such as the row with id {missing[0]}. Evaluate the rows of this branch again."
            )
        columns = {f"{prefix}{name}": self._cells(name, first) for name in self._findings.rows}
        types = {f"{prefix}{name}": self._htype(name) for name in self._findings.rows}
        with ds.handle.locked():
            ds.handle.check_writable()
            for name, htype in types.items():
                if name in ds.columns and ds.field(name).htype.bare != htype.bare:
                    raise SchemaError(
                        f"Column {name!r} must be {htype.bare} to hold the evaluation, but it is "
                        f"{ds.field(name).htype}. Pass another prefix=."
                    )
            for name, htype in types.items():
                if name not in ds.columns:
                    ds.add_column(name, htype)
            ds.update(ids=ids, data=columns)
        return tuple(columns)

    def _htype(self, name: str) -> Scalar:
        return Scalar(self._findings.units.get(name, "float32"), nullable=True)

    def _cells(self, name: str, positions: NDArray[np.int64]) -> Any:
        values = self._findings.rows[name][positions]
        null = np.isnan(values)
        cells = np.where(null, 0, values).astype(self._findings.units.get(name, "float32"))
        return np.ma.MaskedArray(cells, null)

    # ---- saving

    def save(self, name: str, *, overwrite: bool = False) -> None:
        """Save the evaluation in the lake under a name, with the id of the evaluated version.

        `Dataset.evaluations` opens saved evaluations. Saving does not create a new version of the
        data, and does not prevent the evaluated version from expiring.

        Parameters
        ----------
        name : str
            Name of the evaluation. It must not be empty, and must not contain a slash.
        overwrite : bool
            Whether to replace an existing evaluation with this name.

        Raises
        ------
        ExistsError
            When an evaluation with this name exists and `overwrite` is false.
        UncommittedError
            When the evaluated view has uncommitted edits.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://evaluation-save-doc", {"label": "text", "guess": "text"})
        >>> ds.append({"label": ["cat", "dog"], "guess": ["cat", "cat"]})
        >>> version = ds.commit("predictions")
        >>> ds.evaluate("guess", "label").save("baseline")
        >>> dl.open(ds.url).evaluations()["baseline"].summary["accuracy"]
        0.5
        """
        view = self.view
        view.rows.check_committed("A saved evaluation")
        saved.save(view.rows.lake.repository, name, self._stored(), overwrite=overwrite)
        self.name = name

    def _stored(self) -> Stored:
        about = {
            "kind": self.kind,
            "predictions": self.predictions,
            "truth": self.truth,
            "options": self.options,
        }
        return stored_of(self.version, about, self._row_ids, self._findings)

    # ---- showing

    def __reduce__(self) -> NoReturn:
        """Raise OptionError, because an evaluation cannot be pickled or copied."""
        raise OptionError(
            "An evaluation cannot be pickled or copied, because it reads the lake in this process. "
            "Save it under a name, or pickle its `summary`, `classes` or `rows`."
        )

    @property
    def findings(self) -> Findings:
        """The metrics as arrays, for code that builds on evaluations."""
        return self._findings

    @property
    def row_ids(self) -> NDArray[np.int64]:
        """Ids of the evaluated rows, (n,) int64."""
        return self._row_ids.copy()

    def __repr__(self) -> str:
        return page.text(self._page())

    def _repr_html_(self) -> str:
        return page.html(self._page())

    def _page(self) -> page.Page:
        title = f"{self.predictions} against {self.truth}"
        return page.page_of(self.kind, self.name, title, self.version, self._findings, self.options)


def restore(stored: Stored, name: str, url: str, open_view: Callable[[], View]) -> Evaluation:
    """Return a saved evaluation.

    Raises
    ------
    ValueError, TypeError, LookupError
        When the document is invalid.
    """
    head = stored.head
    return Evaluation(
        head["kind"],
        head["predictions"],
        head["truth"],
        head["options"],
        findings_of(stored),
        stored.arrays["row_ids"],
        url,
        stored.version,
        open_view,
        name,
    )
