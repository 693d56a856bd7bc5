"""Rules that find the column with the classes of marks, and the column with the tags of rows.

Marks are the boxes, polygons and keypoints that are drawn over an image. A column with the classes
of marks and a column of tags both contain a list of classes for each row, so their types do not
distinguish them. The lengths of the lists do not distinguish them either, because a row with two
boxes may well have two tags.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field, Schema

KEY = "classes"
"""Metadata key with which a column of marks names the column with the classes of the marks."""

BOXES = "boxes"
"""Name of the column of boxes to which classes belong if there are several columns of boxes."""

TAGS = "tags"
"""Name of a column of tags. Such a column has classes of marks only if the marks' metadata names
it."""


def class_column(schema: Schema, f: Field) -> Field | None:
    """Return the column with the classes of some marks, or None if this is uncertain.

    The metadata of the marks may name the column: ``ds["boxes"].metadata["classes"] = "labels"``.
    Otherwise, it is the only column of the same group that has several classes per row and is named
    after the marks: ``outlines_classes`` after ``outlines``, ``pred_labels`` after ``pred_boxes``.
    If exactly one column with several classes per row is not named after any marks, it belongs to
    the boxes, provided it is clear which boxes. It belongs to polygons or keypoints only if they
    are the only marks.

    Examples
    --------
    >>> from deeplake_lite.htypes import ClassLabel
    >>> from deeplake_lite.schema import Schema
    >>> several = ClassLabel(["a"], multiple=True)
    >>> fields = {"boxes": "boxes", "outlines": "polygons", "labels": several}
    >>> schema = Schema.build(fields)
    >>> class_column(schema, schema["boxes"]).name, class_column(schema, schema["outlines"])
    ('labels', None)
    >>> schema = Schema.build({**fields, "outlines_classes": several})
    >>> class_column(schema, schema["outlines"]).name
    'outlines_classes'
    """
    if isinstance(name := f.metadata.get(KEY), str):
        return schema[name] if name in schema and _is_multi_label(schema[name].htype) else None
    group = [g for g in schema if _group(g) == _group(f)]
    several = [g for g in group if _is_multi_label(g.htype) and _leaf(g) != TAGS]
    matches = [g for g in several if _is_named_after(g, f)]
    if matches:
        return matches[0] if len(matches) == 1 else None
    # No column is named after these marks. Their classes may be in a column that does not belong to
    # other marks.
    marks = [g for g in group if is_marks(g.htype) and KEY not in g.metadata]
    named = {g.name for g in several for m in marks if _is_named_after(g, m)}
    named |= {str(g.metadata[KEY]) for g in schema if KEY in g.metadata}
    unassigned = [g for g in several if g.name not in named]
    unlabelled = [m for m in marks if not any(_is_named_after(g, m) for g in several)]
    boxes = [m for m in unlabelled if is_boxes(m.htype)]
    likely = [m for m in boxes if _leaf(m) == BOXES] or boxes or unlabelled
    return unassigned[0] if len(unassigned) == 1 and likely == [f] else None


def pairs_of(schema: Schema) -> Iterator[tuple[Field, Field]]:
    """Yield pairs of columns: the marks, and the classes of these marks.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> from deeplake_lite.schema import Schema
    >>> schema = Schema.build({"boxes": "boxes", "labels": ClassLabel(["a"], multiple=True)})
    >>> [(marks.name, classes.name) for marks, classes in pairs_of(schema)]
    [('boxes', 'labels')]
    """
    for f in schema:
        classes = class_column(schema, f) if is_marks(f.htype) else None
        if classes is not None:
            yield f, classes


def tag_column(schema: Schema) -> Field | None:
    """Return the column with the tags of rows, or None if this is uncertain.

    Examples
    --------
    >>> from deeplake_lite.htypes import ClassLabel
    >>> from deeplake_lite.schema import Schema
    >>> several = ClassLabel(["a"], multiple=True)
    >>> tag_column(Schema.build({"boxes": "boxes", "labels": several, "seen": several}))
    >>> tag_column(Schema.build({"boxes": "boxes", "labels": several, "tags": several})).name
    'tags'
    """
    marks = [f for f in schema if is_marks(f.htype)]
    classes = [class_column(schema, f) for f in marks]
    of_marks = {f.name for f in classes if f is not None}
    candidates = [f for f in schema if is_tags(f.htype) and f.name not in of_marks]
    named = [f for f in candidates if _leaf(f) == TAGS]
    if None in classes:  # one of the candidates may contain the classes of these marks
        candidates = [f for f in candidates if not _is_multi_label(f.htype)]
    return next(iter([*named, *candidates]), None)


def is_marks(htype: Htype) -> bool:
    """Return whether values are marks on an image, each of which may have a class."""
    return htype.coordinates is not None


def is_boxes(htype: Htype) -> bool:
    """Return whether values are boxes, which users can draw and move on the page."""
    return htype.coordinates is not None and htype.coordinates.marks == "boxes"


def is_tags(htype: Htype) -> bool:
    """Return whether a column holds tags: any number of strings or classes per row.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> is_tags(ClassLabel(["a"], multiple=True)), is_tags(ClassLabel(["a"]))
    (True, False)
    """
    return htype.browser.kind == "tags"


def _is_multi_label(htype: Htype) -> bool:
    """Return whether a row may have any number of classes."""
    return htype.item is not None and htype.item.sql == "class"


def _is_named_after(f: Field, marks: Field) -> bool:
    stem = _leaf(marks).rpartition("_")[0]
    return _leaf(f).startswith(_leaf(marks)) or bool(stem and _leaf(f).rpartition("_")[0] == stem)


def _group(f: Field) -> str:
    return f.name.rpartition("/")[0]


def _leaf(f: Field) -> str:
    return f.name.rpartition("/")[2]
