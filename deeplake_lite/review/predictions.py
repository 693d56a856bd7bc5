"""Pairs of columns with predictions and truth, and queries that compare them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deeplake_lite.errors import SchemaError
from deeplake_lite.query.parse.names import quote_column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.facets import Coordinates
    from deeplake_lite.schema import Field

_PREDICTION_NAME = re.compile(r"pred(icted|ictions?|s)?|model|inferred|scores", re.IGNORECASE)
"""Matches the part of a column's name that says that the column has predictions."""


def pairs(view: View) -> Iterator[tuple[str, str]]:
    """Yield pairs of comparable columns, as names (truth, prediction), recognised by their names.

    >>> import deeplake_lite as dl
    >>> schema = {"label": "text", "pred_label": "text", "boxes": dl.Boxes(), "note": "text"}
    >>> list(pairs(dl.create("memory://pairs-doc", schema)))
    [('label', 'pred_label')]
    """
    fields = view.schema.fields
    for prediction in fields:
        if _PREDICTION_NAME.search(prediction.name):
            others = (f for f in fields if not _PREDICTION_NAME.search(f.name))
            truths = [f for f in others if _measure(f, prediction)]
            stem = _PREDICTION_NAME.sub("", prediction.name).strip("_-. /")
            same_name = [f for f in truths if f.name.strip("_-. /") == stem]
            for truth in same_name or (truths if len(truths) == 1 else []):
                yield truth.name, prediction.name


def agreement(view: View, truth: str, prediction: str) -> str:
    """Return the SQL expression that measures how far two columns agree in a row.

    The expression is a condition or, for boxes and masks, a number from 0 to 1.

    Raises
    ------
    SchemaError
        When the columns cannot be compared.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://agreement-doc", {"boxes": dl.Boxes(), "pred": dl.Boxes()})
    >>> agreement(ds, "boxes", "pred")
    'IOU(boxes, pred)'
    """
    a, b = view.field(truth), view.field(prediction)
    measure = _measure(a, b)
    if measure is None:
        raise SchemaError(
            "The truth and the prediction must both be classes, numbers, strings, boxes or masks, "
            f"or the prediction must be class scores, but column {truth!r} is {a.htype} and column "
            f"{prediction!r} is {b.htype}. Choose other columns."
        )
    return measure


def comparison_query(
    view: View,
    truth: str,
    prediction: str,
    *,
    agree: bool = False,
    threshold: float = 0.5,
) -> str:
    """Return a query for the rows in which two columns agree or differ.

    Parameters
    ----------
    view : View
        View to query.
    truth, prediction : str
        Names of columns of classes, numbers, strings, boxes or masks. For classes, the prediction
        may also be one score per class.
    agree : bool
        Whether to select the rows in which the columns agree, instead of those in which they
        differ.
    threshold : float
        Minimum intersection over union of boxes, or share of equal pixels of masks, to agree.

    Returns
    -------
    str
        A SELECT statement. Rows with boxes or masks are ordered by agreement, worst first.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> schema = {"label": dl.ClassLabel(["a", "b"]), "pred": dl.ClassLabel(["a", "b"])}
    >>> ds = dl.create("memory://comparison_query-doc", schema)
    >>> ds.append({"label": ["a", "b"], "pred": ["a", "a"]})
    >>> comparison_query(ds, "label", "pred")
    'SELECT * WHERE NOT label = pred'
    >>> len(ds.query(comparison_query(ds, "label", "pred")))
    1
    """
    measure = agreement(view, truth, prediction)
    if not _is_share(view.field(truth)):
        return f"SELECT * WHERE {'' if agree else 'NOT '}{measure}"
    return f"SELECT * WHERE {measure} {'>=' if agree else '<'} {threshold:g} ORDER BY {measure}"


def _is_share(f: Field) -> bool:
    """Return whether `agreement` returns a number from 0 to 1 for a column, and not a condition."""
    return _boxes(f.htype) is not None or f.htype.is_mask


def _measure(truth: Field, prediction: Field) -> str | None:
    """Return the SQL expression for the agreement of two columns, or None if there is none."""
    a, b = quote_column(truth.name), quote_column(prediction.name)
    ours, theirs = truth.htype, prediction.htype
    boxes, others = _boxes(ours), _boxes(theirs)
    if boxes is not None and others is not None and boxes.units == others.units:
        return f"IOU({a}, {b})"
    if ours.is_mask and theirs.is_mask:
        return f"MEAN({a} = {b})"
    if ours.sql == "class" and _are_scores(theirs):
        return f"{a} = ARGMAX({b})"
    is_same_kind = ours.sql == theirs.sql and ours.sql in ("class", "text")
    if is_same_kind or (ours.scalar is not None and theirs.scalar is not None):
        return f"{a} = {b}"
    return None


def _boxes(htype: Htype) -> Coordinates | None:
    """Return the coordinates of a type of boxes, or None for other types."""
    coordinates = htype.coordinates
    return coordinates if coordinates is not None and coordinates.marks == "boxes" else None


def _are_scores(htype: Htype) -> bool:
    """Return whether values are plain arrays with the same number of entries in each row."""
    axes = htype.axes
    return htype.is_array and axes is not None and len(axes) == 1 and axes[0] is not None
