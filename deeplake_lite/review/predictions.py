"""A model's answers beside the truth: which columns go together, and queries that compare them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deeplake_lite.errors import SchemaError
from deeplake_lite.query.parse.names import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.facets import Coordinates
    from deeplake_lite.schema import Field

_MARK = re.compile(r"pred(icted|ictions?|s)?|model|inferred|scores", re.IGNORECASE)


def pairs(view: View) -> Iterator[tuple[str, str]]:
    """Yield (truth, prediction): columns that compare, one of which is named as a model's.

    >>> import deeplake_lite as dl
    >>> schema = {"label": "text", "pred_label": "text", "boxes": dl.Boxes(), "note": "text"}
    >>> list(pairs(dl.create("memory://pairs-doc", schema)))
    [('label', 'pred_label')]
    """
    fields = view.schema.fields
    for prediction in fields:
        if _MARK.search(prediction.name):
            truths = [f for f in fields if not _MARK.search(f.name) and _measure(f, prediction)]
            rest = _MARK.sub("", prediction.name).strip("_-. /")
            named = [f for f in truths if f.name.strip("_-. /") == rest]
            for truth in named or (truths if len(truths) == 1 else []):
                yield truth.name, prediction.name


def agreement(view: View, truth: str, prediction: str) -> str:
    """Return what a query calls the agreement of two columns: a condition, or a number 0 to 1.

    Raises
    ------
    SchemaError
        For columns that do not compare.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://agreement-doc", {"boxes": dl.Boxes(), "found": dl.Boxes()})
    >>> agreement(ds, "boxes", "found")
    'IOU(boxes, found)'
    """
    a, b = view.field(truth), view.field(prediction)
    found = _measure(a, b)
    if found is None:
        raise SchemaError(
            "a prediction is compared with a truth of its kind: classes, numbers, text, boxes, "
            f"masks, or scores with classes; {truth!r} is {a.htype}, {prediction!r} is {b.htype}."
        )
    return found


def compared(
    view: View,
    truth: str,
    prediction: str,
    *,
    agree: bool = False,
    threshold: float = 0.5,
) -> str:
    """Return the query for the rows in which two columns agree, or do not.

    Parameters
    ----------
    view : View
    truth, prediction : str
        Columns of classes, numbers or texts, of boxes, or of masks; the prediction may be one
        score per class.
    agree : bool
        Whether rows that agree are wanted.
    threshold : float
        Intersection over union, or share of equal pixels, from which on boxes and masks agree.

    Returns
    -------
    str
        A SELECT; boxes and masks come in the order of their agreement, the worst first.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> schema = {"label": dl.ClassLabel(["a", "b"]), "pred": dl.ClassLabel(["a", "b"])}
    >>> ds = dl.create("memory://compared-doc", schema)
    >>> ds.append({"label": ["a", "b"], "pred": ["a", "a"]})
    >>> compared(ds, "label", "pred")
    'SELECT * WHERE NOT label = pred'
    >>> len(ds.query(compared(ds, "label", "pred")))
    1
    """
    measure = agreement(view, truth, prediction)
    if not _is_share(view.field(truth)):
        return f"SELECT * WHERE {'' if agree else 'NOT '}{measure}"
    return f"SELECT * WHERE {measure} {'>=' if agree else '<'} {threshold:g} ORDER BY {measure}"


def _is_share(f: Field) -> bool:
    return _boxes(f.htype) is not None or f.htype.is_mask


def _measure(truth: Field, prediction: Field) -> str | None:
    """Return the agreement of two columns, None where they do not compare."""
    a, b = quoted(truth.name), quoted(prediction.name)
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
    """Return what is known of boxes; None for another type."""
    places = htype.coordinates
    return places if places is not None and places.marks == "boxes" else None


def _are_scores(htype: Htype) -> bool:
    """Tell whether values are numbers without a meaning of their own, as many in each row."""
    axes = htype.axes
    return htype.is_array and axes is not None and len(axes) == 1 and axes[0] is not None
