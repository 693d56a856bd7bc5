"""The implementation of `View.evaluate`: choose the kind of evaluation, and check the options."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.export.annotations.columns import is_boxes, is_keypoints
from deeplake_lite.errors import OptionError, SchemaError
from deeplake_lite.evaluate.average_precision import AREAS
from deeplake_lite.evaluate.classes import Classes
from deeplake_lite.evaluate.classification import evaluate_classes, is_label, is_scores
from deeplake_lite.evaluate.columns import class_names, is_class_mask, is_objects, object_columns
from deeplake_lite.evaluate.detection import Rules, evaluate_objects
from deeplake_lite.evaluate.evaluation import Evaluation
from deeplake_lite.evaluate.findings import KINDS
from deeplake_lite.evaluate.objects import ImageSizes, ObjectReader
from deeplake_lite.evaluate.overlaps import COCO_SIGMAS
from deeplake_lite.evaluate.segmentation import evaluate_masks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.dataset.view import View
    from deeplake_lite.evaluate.findings import Findings, Kind
    from deeplake_lite.schema import Field

_OBJECTS = ("labels", "scores", "truth_labels", "crowd", "areas", "iou", "score")

DEFAULTS: dict[str, Any] = {"iou": 0.5, "score": 0.5, "bins": 15, "ignore": 255}
"""Default values of options. Options that are not listed have the default None."""

UNSET: Any = ...
"""Placeholder for an option that was not passed, if None is one of its valid values."""


def evaluate(
    view: View, predictions: str, truth: str, kind: Kind | None = None, **options: Any
) -> Evaluation:
    """Compare predictions with the truth. See `View.evaluate`."""
    view = view.pin()
    pred_field = view.field(checks.text("predictions", predictions))
    true_field = view.field(checks.text("truth", truth))
    if pred_field == true_field:
        raise OptionError(
            f"Predictions and truth must be two different columns, but both are {truth!r}. Pass "
            "another column for one of them."
        )
    chosen_kind = (
        _find_kind(pred_field, true_field) if kind is None else checks.choice("kind", kind, KINDS)
    )
    given = {k: v for k, v in options.items() if v is not None and v is not UNSET}
    if options.get("ignore", UNSET) is None:
        given["ignore"] = None
    findings, used = _EVALUATE[chosen_kind](view, pred_field, true_field, given)
    return Evaluation.of(view, chosen_kind, pred_field.name, true_field.name, used, findings)


def _find_kind(pred_field: Field, true_field: Field) -> Kind:
    """Return the kind of evaluation that fits the types of two columns. Raises SchemaError."""
    if is_boxes(pred_field) and is_boxes(true_field):
        return "detection"
    if is_keypoints(pred_field) and is_keypoints(true_field):
        return "keypoints"
    if (is_class_mask(pred_field) and is_class_mask(true_field)) or (
        is_objects(pred_field) and is_objects(true_field)
    ):
        return "segmentation"
    if (is_label(pred_field) or is_scores(pred_field)) and is_label(true_field):
        return "classification"
    raise SchemaError(
        "Predictions and truth must both be boxes, keypoints, masks or outlines of objects, or "
        f"classes, but {pred_field.name!r} is {pred_field.htype} and {true_field.name!r} is "
        f"{true_field.htype}. Choose other columns."
    )


def _check_options(kind: str, given: dict[str, Any], known: Sequence[str]) -> None:
    """Raise OptionError for an option of another kind of evaluation."""
    if unknown := next((name for name in given if name not in known), None):
        raise OptionError(
            f"An evaluation of this kind ({kind}) has no option {unknown!r}. Its options are "
            f"{', '.join(known)}. Leave out {unknown}=."
        )


def _check_number(name: str, value: object, least: float, *, most: float = math.inf) -> float:
    """Return an option as a float. Raises OptionError if it is no number or out of bounds."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if not is_number or isinstance(value, bool) or not least <= float(value) <= most:  # type: ignore[arg-type]
        bounds = ""
        if least > -math.inf:
            bounds = (
                f" from {least:g} to {most:g}" if most < math.inf else f" of at least {least:g}"
            )
        raise OptionError(f"{name} must be a number{bounds}, but it is {brief(value, 80)}.")
    return float(value)  # type: ignore[arg-type]


def _check_names(name: str, value: Any) -> list[str]:
    values = list(checks.names(name, value))
    if not all(isinstance(v, str) for v in values):
        raise OptionError(f"{name} must be a list of strings, but it is {brief(value, 80)}.")
    return [str(v) for v in values]


def _objects(
    view: View, pred_field: Field, true_field: Field, given: dict[str, Any], *, points: bool = False
) -> tuple[Findings, dict[str, Any]]:
    """Evaluate boxes, keypoints, outlines or masks of objects."""
    kind = (
        "keypoints" if points else "detection" if is_boxes(pred_field) else "instance segmentation"
    )
    _check_options(kind, given, [*_OBJECTS, *(["sigmas"] if points else [])])
    named = {name: checks.optional_text(name, given.get(name)) for name in _OBJECTS[:5]}
    pred_columns, true_columns = object_columns(view, pred_field.name, true_field.name, **named)
    item_types = [
        None if f is None else f.htype.item for f in (true_columns.labels, pred_columns.labels)
    ]
    classes = Classes(class_names([true_columns.labels, pred_columns.labels]))
    if pred_columns.labels is None:
        classes.number("object")
    _check_same_names(item_types, (true_columns.labels, pred_columns.labels))
    sizes = ImageSizes(view)
    predicted, true = (ObjectReader(view, c, classes, sizes) for c in (pred_columns, true_columns))
    areas = tuple(AREAS) if _have_areas(view, pred_field, true_field, sizes) else ("all",)
    sigmas = _check_sigmas(given.get("sigmas", COCO_SIGMAS)) if points else None
    rules = Rules(
        (20,) if points else (1, 10, 100),
        tuple(name for name in areas if not points or name != "small"),
        _check_number("iou", given.get("iou", DEFAULTS["iou"]), 0.001, most=1.0),
        _check_number("score", given.get("score", DEFAULTS["score"]), -math.inf),
        sigmas,
    )
    findings = evaluate_objects(view, predicted, true, rules, sizes)
    used = {
        "labels": pred_columns.labels,
        "scores": pred_columns.scores,
        "truth_labels": true_columns.labels,
        "crowd": true_columns.crowd,
        "areas": true_columns.areas,
    }
    columns = {name: f.name for name, f in used.items() if f is not None}
    return findings, {**columns, "iou": rules.iou, "score": rules.score}


def _check_same_names(items: Sequence[Any], fields: Sequence[Field | None]) -> None:
    """Raise SchemaError if classes cannot be matched by name."""
    is_named = [i is not None and (i.sql == "text" or bool(i.classes.names)) for i in items]
    if fields[0] is not None and fields[1] is not None and is_named[0] != is_named[1]:
        raise SchemaError(
            f"Classes are matched by name, but only one of the columns {fields[0].name!r} and "
            f"{fields[1].name!r} has class names. Add names to the other column: "
            "ClassLabel(names)."
        )


def _have_areas(view: View, pred_field: Field, true_field: Field, sizes: ImageSizes) -> bool:
    """Return whether areas can be computed in pixels.

    Raises SchemaError if the columns have different units that cannot be converted.
    """
    units = {
        f.htype.coordinates.units
        for f in (pred_field, true_field)
        if f.htype.coordinates is not None
    }
    if "fraction" not in units or sizes.of(np.arange(len(view))) is not None:
        return True
    if len(units) > 1:
        raise SchemaError(
            f"{pred_field.name!r} and {true_field.name!r} have different units, pixels and "
            "fractions of the image, but the view has no image sizes with which to convert them. "
            "Include the column of images, or the columns 'height' and 'width', in the view."
        )
    return False


def _check_sigmas(value: Any) -> tuple[float, ...]:
    if isinstance(value, str | bytes | dict) or not np.iterable(value) or not len(list(value)):
        raise OptionError(
            f"sigmas must be a list with a positive number for each keypoint, but it is "
            f"{brief(value, 80)}. Leave out sigmas= to use the sigmas of COCO."
        )
    return tuple(_check_number("Each entry of sigmas", sigma, 1e-9) for sigma in value)


def _keypoints(
    view: View, pred_field: Field, true_field: Field, given: dict[str, Any]
) -> tuple[Findings, dict[str, Any]]:
    _check_types("keypoints", is_keypoints, "a column of keypoints", pred_field, true_field)
    return _objects(view, pred_field, true_field, given, points=True)


def _detection(
    view: View, pred_field: Field, true_field: Field, given: dict[str, Any]
) -> tuple[Findings, dict[str, Any]]:
    _check_types("detection", is_boxes, "a column of boxes", pred_field, true_field)
    return _objects(view, pred_field, true_field, given)


def _segmentation(
    view: View, pred_field: Field, true_field: Field, given: dict[str, Any]
) -> tuple[Findings, dict[str, Any]]:
    if is_objects(pred_field) and is_objects(true_field):
        return _objects(view, pred_field, true_field, given)
    needed = "masks with a class per pixel, or outlines or masks of objects in both columns"
    _check_types("segmentation", is_class_mask, needed, pred_field, true_field)
    _check_options("segmentation", given, ["ignore"])
    ignore = given.get("ignore", DEFAULTS["ignore"])
    ignore = None if ignore is None else checks.integer("ignore", ignore)
    return evaluate_masks(view, pred_field.name, true_field.name, ignore), {"ignore": ignore}


def _classification(
    view: View, pred_field: Field, true_field: Field, given: dict[str, Any]
) -> tuple[Findings, dict[str, Any]]:
    _check_options("classification", given, ["scores", "classes", "bins"])
    names = _check_names("classes", given["classes"]) if "classes" in given else None
    scores = checks.optional_text("scores", given.get("scores"))
    bins = checks.integer("bins", given.get("bins", DEFAULTS["bins"]), 1)
    if bins > 10_000:
        raise OptionError(
            f"bins must be at most 10,000, but it is {bins}. Choose a smaller number."
        )
    findings = evaluate_classes(
        view, pred_field.name, true_field.name, scores=scores, names=names, bins=bins
    )
    used = {"scores": scores, "classes": names, "bins": bins}
    return findings, {name: value for name, value in used.items() if value is not None}


def _check_types(kind: str, fits: Any, needed: str, *fields: Field) -> None:
    for f in fields:
        if not fits(f):
            raise SchemaError(
                f"kind={kind!r} needs {needed}, but column {f.name!r} is {f.htype}. Choose another "
                "column, or another kind."
            )


_EVALUATE: dict[str, Any] = {
    "detection": _detection,
    "keypoints": _keypoints,
    "segmentation": _segmentation,
    "classification": _classification,
}
