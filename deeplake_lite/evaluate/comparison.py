"""Comparison of two evaluations, row by row: `compare` and `Comparison`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from deeplake_lite.errors import OptionError
from deeplake_lite.evaluate import page
from deeplake_lite.evaluate.evaluation import Evaluation

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View


def compare(a: Evaluation, b: Evaluation) -> Comparison:
    """Compare two evaluations of the same lake row by row.

    The evaluations may be of two columns of predictions, two versions or two branches. Rows are
    matched by row id.

    Parameters
    ----------
    a, b : Evaluation
        The earlier and the later evaluation, from `View.evaluate` or `Dataset.evaluations`.

    Returns
    -------
    Comparison
        The metrics of both evaluations, overall and for each class, and the rows that improved or
        got worse.

    Raises
    ------
    OptionError
        When the evaluations are of different kinds or lakes, or have no rows in common.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://compare-doc", {"label": "text", "old": "text", "new": "text"})
    >>> ds.append({"label": ["cat", "dog"], "old": ["cat", "cat"], "new": ["cat", "dog"]})
    >>> difference = dl.compare(ds.evaluate("old", "label"), ds.evaluate("new", "label"))
    >>> difference.summary.loc["accuracy"].tolist()
    [0.5, 1.0, 0.5]
    >>> difference.improved["label"][:]
    ['dog']
    """
    for name, value in (("a", a), ("b", b)):
        if not isinstance(value, Evaluation):
            raise OptionError(
                f"{name} must be an evaluation, but it is of type {type(value).__name__}. Pass the "
                "result of ds.evaluate(…), or a saved evaluation: ds.evaluations()['…']."
            )
    quality = [e.findings.quality for e in (a, b)]
    if a.kind != b.kind or quality[0] != quality[1]:
        raise OptionError(
            f"To be compared, two evaluations must be of the same kind, but they are "
            f"{a.kind!r}, measured by {quality[0]}, and {b.kind!r}, measured by {quality[1]}. "
            "Compare evaluations of similar columns."
        )
    urls = [e.url for e in (a, b)]
    if urls[0] != urls[1]:
        raise OptionError(
            f"Rows are matched by row id, so both evaluations must be of the same lake, but they "
            f"are of {urls[0]} and {urls[1]}. Write all predictions to the same lake."
        )
    return Comparison(a, b)


class Comparison:
    """The differences between two evaluations, as returned by `compare`.

    Rows are compared by F1 for objects, by correctness for classes, and by mean IoU for masks.
    """

    def __init__(self, a: Evaluation, b: Evaluation) -> None:
        self.a, self.b = a, b
        ids, self._first, self._second = np.intersect1d(a.row_ids, b.row_ids, return_indices=True)
        if not len(ids) and (len(a.row_ids) or len(b.row_ids)):
            raise OptionError(
                "To be compared, two evaluations must have rows in common, but these have none. "
                "Evaluate the same rows."
            )
        self._ids = ids
        name = a.findings.quality
        self._before = np.asarray(a.findings.rows[name], np.float64)[self._first]
        self._after = np.asarray(b.findings.rows[name], np.float64)[self._second]

    @property
    def summary(self) -> pd.DataFrame:
        """The metrics for all rows, in the columns ``a``, ``b`` and ``change``."""
        before, after = self.a.summary, self.b.summary
        names = [name for name in before if name in after]
        return _table([(n, before[n], after[n]) for n in names], "metric")

    @property
    def classes(self) -> pd.DataFrame:
        """The AP, F1 or IoU of each class, in the columns ``a``, ``b`` and ``change``."""
        name = self.a.findings.main
        parts = [
            dict(zip(e.class_names, e.findings.by_class[name].tolist(), strict=True))
            for e in (self.a, self.b)
        ]
        nan = float("nan")
        names = list(dict.fromkeys([*parts[0], *parts[1]]))
        return _table([(n, parts[0].get(n, nan), parts[1].get(n, nan)) for n in names], "class")

    @property
    def rows(self) -> pd.DataFrame:
        """The F1, correctness or mean IoU of each row, in the columns ``a``, ``b`` and ``change``.

        The index contains the row ids.
        """
        import pandas as pd

        columns = {"a": self._before, "b": self._after, "change": self._change}
        return pd.DataFrame(columns, index=pd.Index(self._ids.copy(), name="row_id"))

    @property
    def improved(self) -> View:
        """The rows that are better in `b` than in `a`, most improved first, as a view of `b`."""
        return self._where(self._change > 0, -self._change)

    @property
    def worse(self) -> View:
        """The rows that are worse in `b` than in `a`, largest changes first, as a view of `b`."""
        return self._where(self._change < 0, self._change)

    @property
    def _change(self) -> NDArray[np.float64]:
        return self._after - self._before

    def _where(self, chosen: NDArray[np.bool_], order: NDArray[np.float64]) -> View:
        positions = np.flatnonzero(chosen)
        positions = positions[np.argsort(order[positions], kind="stable")]
        return self.b.view[self._second[positions]]

    def __reduce__(self) -> NoReturn:
        """Raise OptionError, because a comparison cannot be pickled or copied."""
        raise OptionError(
            "A comparison cannot be pickled or copied, because it reads the lake in this process. "
            "Pickle its `summary`, `classes` or `rows`."
        )

    def __repr__(self) -> str:
        return page.text(self._page())

    def _repr_html_(self) -> str:
        return page.html(self._page())

    def _page(self) -> page.Page:
        better, worse = int((self._change > 0).sum()), int((self._change < 0).sum())
        about = (
            f"{len(self._ids):,} rows in both", f"{better:,} improved", f"{worse:,} worse",
            *(f"{n:,} only in {w}" for w, n in self._count_unmatched().items() if n),
        )  # fmt: skip
        titles = [e.name or e.predictions for e in (self.a, self.b)]
        if titles[0] == titles[1]:
            titles = [f"{t} @ {e.version}" for t, e in zip(titles, (self.a, self.b), strict=True)]
        head = ("a", "b", "change")
        classes = self.classes.sort_values("change", kind="stable", na_position="last")
        by_class = _rows(classes)
        extremes = _extremes(by_class)
        is_partial = len(extremes) < len(by_class)
        remark = f"the largest changes among {len(by_class):,} classes" if is_partial else ""
        return page.Page(
            f"comparison of {self.a.kind}",
            f"a = {titles[0]}, b = {titles[1]}",
            about,
            page.Table(("metric", *head), _rows(self.summary)),
            page.Table(("class", *head), extremes, remark),
            page.Table((), ()),
            notes=self._notes(),
        )

    def _count_unmatched(self) -> dict[str, int]:
        both = len(self._ids)
        return {
            "a": len(np.unique(self.a.row_ids)) - both,
            "b": len(np.unique(self.b.row_ids)) - both,
        }

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if any(self._count_unmatched().values()):
            notes.append(
                "The metrics of a and b are computed from different rows. Evaluate the same rows "
                "to compare them."
            )
        if (differing := _differing(self.a.options, self.b.options)) is not None:
            notes.append(f"The evaluations have different options: {differing}.")
        return tuple(notes)


def _differing(a: dict[str, Any], b: dict[str, Any]) -> str | None:
    """Describe the differing options that affect metrics, or return None if no option differs."""
    keys = [k for k in ("iou", "score", "bins", "ignore") if a.get(k) != b.get(k)]
    return ", ".join(f"{k} {a.get(k)} and {b.get(k)}" for k in keys) or None


def _table(lines: list[tuple[str, float, float]], name: str) -> pd.DataFrame:
    import pandas as pd

    index = pd.Index([line[0] for line in lines], name=name, dtype=object)
    a, b = (np.array([line[k] for line in lines], np.float64) for k in (1, 2))
    return pd.DataFrame({"a": a, "b": b, "change": b - a}, index=index)


def _rows(table: pd.DataFrame) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (str(name), page.number(a), page.number(b), _signed(change))
        for name, a, b, change in zip(
            table.index, table["a"], table["b"], table["change"], strict=True
        )
    )


def _signed(change: float) -> str:
    if np.isnan(change):
        return "–"
    return f"{change:+.3f}" if round(change, 3) else "0.000"


def _extremes(rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """Return the first and the last `MAX_CLASSES` / 2 rows, or all rows if there are no more."""
    half = page.MAX_CLASSES // 2
    return rows if len(rows) <= 2 * half else (*rows[:half], *rows[-half:])
