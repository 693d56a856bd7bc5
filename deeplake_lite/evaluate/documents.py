"""Conversion of evaluations to their stored form, which is a JSON document and arrays, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.saved.evaluations import Stored
from deeplake_lite.evaluate.findings import KINDS, Findings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_STRINGS = ("kind", "predictions", "truth", "outside", "main", "quality")
_UNITS = ("int32", "bool")


def stored_of(
    version: str, about: Mapping[str, Any], row_ids: NDArray[np.int64], findings: Findings
) -> Stored:
    """Return the stored form of an evaluation.

    Parameters
    ----------
    version : str
        Id of the version that was evaluated.
    about : mapping
        A dict with the kind, the columns and the options.
    row_ids : ndarray, (rows,) int64
        Ids of the evaluated rows.
    findings : Findings
        The metrics.
    """
    head = {
        **about, "classes": list(findings.classes), "outside": findings.outside,
        "main": findings.main, "quality": findings.quality, "units": dict(findings.units),
        "notes": list(findings.notes), "counts": dict(findings.counts),
        "summary": {k: None if np.isnan(v) else v for k, v in findings.summary.items()},
    }  # fmt: skip
    arrays = {
        "row_ids": row_ids, "confusion": findings.confusion, "class_curves": findings.class_curves,
        **{f"class/{name}": values for name, values in findings.by_class.items()},
        **{f"curve/{name}": values for name, values in findings.curves.items()},
        **{f"row/{name}": values for name, values in findings.rows.items()},
    }  # fmt: skip
    return Stored(version, head, arrays)


def findings_of(stored: Stored) -> Findings:
    """Return the metrics of a stored evaluation.

    Raises
    ------
    ValueError, TypeError, LookupError
        When the document is invalid.
    """
    head, arrays = stored.head, stored.arrays
    _check_head(head)

    def group(prefix: str) -> dict[str, NDArray[Any]]:
        return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

    findings = Findings(
        {k: float("nan") if v is None else float(v) for k, v in head["summary"].items()},
        head["counts"],
        tuple(head["classes"]),
        group("class/"),
        head["outside"],
        arrays["confusion"],
        group("curve/"),
        arrays["class_curves"],
        group("row/"),
        np.arange(len(arrays["row_ids"])),
        head["main"],
        head["quality"],
        head["units"],
        tuple(head["notes"]),
    )
    _check_shapes(findings)
    return findings


def _check_head(head: Mapping[str, Any]) -> None:
    """Validate the JSON values of a document. Raises ValueError, TypeError or LookupError."""
    for key in _STRINGS:
        _check(isinstance(head[key], str), key)
    _check(head["kind"] in KINDS, "kind")
    for key in ("classes", "notes"):
        _check(isinstance(head[key], list) and all(isinstance(s, str) for s in head[key]), key)
    _check(isinstance(head["units"], dict) and {*head["units"].values()} <= {*_UNITS}, "units")
    options = head["options"]
    _check(isinstance(options, dict), "options")
    _check(all(_is_number(options[key]) for key in ("iou", "score") if key in options
               and head["kind"] != "classification"), "options")  # fmt: skip
    counts, summary = head["counts"], head["summary"]
    _check(isinstance(counts, dict) and all(type(n) is int for n in counts.values()), "counts")
    _check("rows" in counts, "counts")
    _check(isinstance(summary, dict), "summary")
    _check(all(v is None or _is_number(v) for v in summary.values()), "summary")


def _check_shapes(findings: Findings) -> None:
    """Validate the shapes of the arrays. Raises ValueError."""
    n, rows = len(findings.classes), len(findings.positions)
    side = n + bool(findings.outside)
    _check(findings.confusion.shape == (side, side), "confusion")
    _check(all(values.shape == (n,) for values in findings.by_class.values()), "classes")
    _check(all(values.shape == (rows,) for values in findings.rows.values()), "rows")
    _check(findings.quality in findings.rows and findings.main in findings.by_class, "quality")
    lengths = {values.shape for values in findings.curves.values()}
    _check(len(lengths) < 2 and all(len(shape) == 1 for shape in lengths), "curves")
    points = next(iter(lengths), (0,))[0]
    _check(findings.class_curves.shape in ((n, points), (0, 0)), "class_curves")
    arrays = (
        findings.confusion,
        *findings.by_class.values(),
        *findings.rows.values(),
        *findings.curves.values(),
    )
    _check(all(array.dtype == np.float64 for array in arrays), "arrays")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _check(is_valid: bool, key: str) -> None:
    if not is_valid:
        raise ValueError(f"its {key!r} is not valid")
