"""Conversion of COCO annotations to cells, and back.

Columns hold numbers in the types that training needs, such as float32. Exports rebuild annotations
from these cells. If a rebuilt value differs from the value in the file, as for a box with nine
digits or a run-length encoding, the import also stores the file's value, called the *original*,
which is exported as long as its cell is unchanged.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

COLUMNS = {
    "id": "annotation_ids",
    "category_id": "labels",
    "bbox": "boxes",
    "segmentation": "segmentation",
    "area": "areas",
    "iscrowd": "crowd",
    "keypoints": "keypoints",
    "caption": "captions",
}
"""Maps each key of an annotation to the column that holds its values."""

SEGMENTS = "segments_info"
"""Key of an image's segments in a panoptic file. Each segment becomes an annotation."""

LEAST = 6
"""Minimum number of coordinates of an outline."""

DIGESTS = "digests"
"""Key in cells of the column ``coco`` for the digests of an image's shapes and areas, by which an
export detects edits."""

COUNT = "count"
"""Key in cells of the column ``coco`` for the number of annotations in the file. It is only there
if originals belong to annotations by position rather than by id."""

NO_ID = -1
"""Cell for an annotation whose id is not an integer."""

_DECIMALS = 9


def shortest(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Convert each float32 number to the float64 number with the fewest decimals that rounds to it.

    >>> shortest(np.float32([473.07, 12, 1 / 3])).tolist()
    [473.07, 12.0, 0.33333334]
    """
    result = values.astype(np.float64)
    remaining = np.arange(values.size)
    wide, narrow, out = result.ravel().copy(), values.ravel(), result.ravel()
    with np.errstate(all="ignore"):  # huge numbers have no decimals
        for decimals in range(_DECIMALS):
            rounded = np.round(wide[remaining], decimals)
            fits = rounded.astype(np.float32) == narrow[remaining]
            out[remaining[fits]] = rounded[fits]
            remaining = remaining[~fits]
            if not remaining.size:
                break
    return out.reshape(values.shape)


def exact(values: NDArray[Any]) -> NDArray[np.float64]:
    """Convert numbers of any dtype to float64. float32 numbers get as few decimals as possible."""
    return shortest(values) if values.dtype == np.float32 else values.astype(np.float64)


def is_number(value: object) -> bool:
    """Return whether a JSON value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def numbers(value: object) -> NDArray[np.float64]:
    """Convert a list of JSON numbers to an array. Raises ValueError for anything else."""
    array = np.array(value) if isinstance(value, list) else None
    if array is None or array.ndim != 1 or array.dtype.kind not in "iuf":
        raise ValueError("must be a list of numbers")
    return array.astype(np.float64)


# ---- from values of a file to cells


def box(value: object) -> NDArray[np.float32]:
    """Parse a ``bbox``: x, y, width, height. Raises ValueError if it is invalid."""
    array = numbers(value)
    if array.size != 4:
        raise ValueError("must be four numbers")
    return array.astype(np.float32)


def outlines(value: object) -> list[NDArray[np.float32]]:
    """Parse a ``segmentation`` into outlines, (k, 2) float32 each.

    A run-length encoding has no outlines. Outlines with fewer than three corners are left out.
    Raises ValueError if the segmentation is invalid.
    """
    if not isinstance(value, list):
        return []
    parts = [numbers(part) for part in value]
    valid = [part for part in parts if part.size >= LEAST and part.size % 2 == 0]
    return [part.astype(np.float32).reshape(-1, 2) for part in valid]


def class_number(value: object, classes: Mapping[Any, int]) -> int:
    """Return the class number of a ``category_id``. Raises ValueError if there is no such class."""
    if not isinstance(value, int | str) or value not in classes:
        raise ValueError("must be the id of a category")
    return classes[value]


def caption(value: object) -> str:
    """Parse a ``caption``. Raises ValueError if it is not a string."""
    match value:
        case str():
            return value
    raise ValueError("must be a string")


def own_id(value: object) -> int:
    """Return an ``id`` if it is a 64-bit integer, or else `NO_ID`."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**63:
        return NO_ID
    return value


def area(value: object) -> float:
    """Parse an ``area``, which becomes NaN if it is not a number."""
    return float(value) if is_number(value) else np.nan  # type: ignore[arg-type]


def crowd(value: object) -> bool:
    """Parse an ``iscrowd``: return whether it is a number other than 0."""
    return bool(value) and is_number(value)


def points(value: object) -> NDArray[np.float32]:
    """Parse ``keypoints`` into an array (k, 3) of x, y and visibility.

    Raises ValueError if they are invalid.
    """
    array = numbers(value)
    if array.size % 3:
        raise ValueError("must be triples of x, y and visibility")
    return array.astype(np.float32).reshape(-1, 3)


CELL: Mapping[str, Callable[[object], Any]] = {
    "id": own_id,
    "bbox": box,
    "segmentation": outlines,
    "area": area,
    "iscrowd": crowd,
    "keypoints": points,
}
"""Maps each key of an annotation to the function that converts its values to cells."""


def same_cell(key: str, a: object, b: object) -> bool:
    """Return whether two values of a key convert to the same cell.

    >>> same_cell("bbox", [0.1, 0, 1, 1], [0.10000000149, 0, 1, 1])
    True
    """
    if key == "id" and isinstance(b, str):  # image ids are all strings if one of them is
        return str(a) == b
    try:
        first, second = CELL[key](a), CELL[key](b)
    except ValueError:
        return False
    if key == "keypoints":  # cells are padded with zeros to the largest category
        size = max(len(first), len(second))
        first, second = (np.pad(cell, ((0, size - len(cell)), (0, 0))) for cell in (first, second))
    if isinstance(first, list):
        return len(first) == len(second) and all(map(np.array_equal, first, second))
    return bool(np.array_equal(first, second, equal_nan=True))


def digest(arrays: Iterable[Any]) -> str:
    """Return a digest of numbers, rounded to float32. Edits are detected by comparing digests.

    >>> digest([[1, 2], [3]]) == digest([np.float32([1, 2]), [3.0]])
    True
    """
    return xxhash.xxh3_64_hexdigest(b"".join(np.asarray(a, np.float32).tobytes() for a in arrays))


def digests(
    boxes: Iterable[Any] | None, segmentation: Iterable[Sequence[Any]] | None, areas: Sequence[Any]
) -> list[str]:
    """Return the digest of an image's boxes and outlines, and the digest of its areas."""
    outlines = chain.from_iterable(segmentation or ())
    return [digest(chain(boxes if boxes is not None else (), outlines)), digest([areas])]


# ---- from cells to annotations


def rebuild(
    values: Mapping[str, Sequence[Any]], counts: Sequence[int], names: Sequence[object]
) -> list[list[dict[str, Any]]]:
    """Rebuild the annotations of images from cells.

    Parameters
    ----------
    values : mapping
        Maps each annotation key to one cell per image. The cells of ``"bbox"`` are boxes, (n, 4).
    counts : sequence of int
        Number of annotations per image.
    names : sequence
        Category id of each class, by class number.

    Examples
    --------
    >>> boxes = np.float32([[0.1, 0, 5, 5]])
    >>> rebuild({"bbox": [boxes], "category_id": [[1]]}, [1], [10, 90])
    [[{'bbox': [0.1, 0.0, 5.0, 5.0], 'category_id': 90}]]
    """
    columns = {key: _column(key, cells, names) for key, cells in values.items()}
    if "keypoints" in columns:
        columns["num_keypoints"] = [sum(v > 0 for v in p[2::3]) for p in columns["keypoints"]]
    flat = [dict(zip(columns, items, strict=True)) for items in zip(*columns.values(), strict=True)]
    ends = np.cumsum(counts).tolist()
    return [flat[end - count : end] for end, count in zip(ends, counts, strict=True)]


def _column(key: str, cells: Sequence[Any], names: Sequence[object]) -> list[Any]:
    """Return a flat list of the values that a key has in all annotations of several images."""
    flat = [*chain.from_iterable(cells)]
    match key:
        case "bbox":
            boxes = [np.asarray(cell).reshape(-1, 4) for cell in cells]
            return exact(np.concatenate(boxes)).tolist() if boxes else []
        case "segmentation":
            parts = iter(_lists([part.ravel() for parts in flat for part in parts]))
            return [[next(parts) for _ in outline] for outline in flat]
        case "keypoints":
            return [[*map(_whole, row)] for row in _lists([p.ravel() for p in flat])]
        case "category_id":
            return [names[int(number)] for number in flat]
        case "iscrowd":
            return [int(value) for value in flat]
        case "area":
            return [_whole(float(value)) for value in flat]
        case "id":
            return [int(value) for value in flat]
    return flat


def _whole(value: float) -> float:
    """Convert a whole number to int, since COCO files write whole numbers without a point."""
    return int(value) if value == value // 1 and abs(value) < 2**53 else value


def _lists(arrays: Sequence[NDArray[Any]]) -> list[list[float]]:
    """Convert 1-D arrays to lists of numbers."""
    if not arrays:
        return []
    joined = np.concatenate(arrays)
    values = exact(joined).tolist()
    ends = np.cumsum([len(array) for array in arrays]).tolist()
    return [values[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def image_of(
    own_id: int | str, file_name: str, width: int | None, height: int | None
) -> dict[str, Any]:
    """Rebuild an image entry from its cells."""
    image = {"id": own_id, "file_name": file_name, "width": width, "height": height}
    return {key: value for key, value in image.items() if value is not None}


MISSING = ""
"""Key in the originals for a list of the keys that an export rebuilds, but that the file lacks."""


def original_keys(ids: Sequence[int]) -> list[str]:
    """Return the key under which each annotation's originals are stored.

    The key is the annotation's id if no other annotation has this id, and else its position.

    >>> original_keys([7, -1, 9, 9])
    ['7', '#1', '#2', '#3']
    """
    counts = Counter(ids)
    return [
        str(annotation_id) if annotation_id != NO_ID and counts[annotation_id] == 1 else f"#{n}"
        for n, annotation_id in enumerate(ids)
    ]


def originals_of(original: Mapping[str, Any], rebuilt: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of an image or annotation that cannot be rebuilt from its cells.

    >>> originals_of({"bbox": [0, 0, 5, 5], "score": 1}, {"bbox": [0.0, 0, 5, 5], "area": 25.0})
    {'score': 1, '': ['area']}
    """
    originals = {k: v for k, v in original.items() if k not in rebuilt or rebuilt[k] != v}
    missing = sorted(rebuilt.keys() - original.keys())
    return {**originals, MISSING: missing} if missing else originals


def restore(rebuilt: Mapping[str, Any], originals: Mapping[str, Any]) -> dict[str, Any]:
    """Return an image or annotation in which unchanged cells have the values of the original file.

    >>> restore({"bbox": [0.1, 0.0, 5.0, 5.0]}, {"bbox": [0.100000001, 0, 5, 5], "score": 1})
    {'bbox': [0.100000001, 0, 5, 5], 'score': 1}
    """
    unchanged = {k: v for k, v in originals.items() if _is_unchanged(k, v, rebuilt)}
    missing = unchanged.pop(MISSING, ())
    return {k: v for k, v in {**rebuilt, **unchanged}.items() if k not in missing}


def _is_unchanged(key: str, original: object, rebuilt: Mapping[str, Any]) -> bool:
    return key not in rebuilt or key not in CELL or same_cell(key, original, rebuilt[key])


def area_within(outline: Any) -> float:
    """Return the area of an outline (k, 2), by the shoelace formula.

    >>> area_within([[0, 0], [4, 0], [4, 2], [0, 2]])
    8.0
    """
    x, y = np.asarray(outline, np.float64).T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def correct_area(annotation: dict[str, Any]) -> None:
    """Recompute the area of an annotation if it does not match the outlines or the box.

    The areas in COCO files are counts of pixels, so they may differ slightly from the areas of
    outlines and still match.

    >>> annotation = {"bbox": [0, 0, 8, 4], "area": 20}
    >>> correct_area(annotation)
    >>> annotation["area"]
    32.0
    """
    outlines = annotation.get("segmentation") or []
    if not isinstance(outlines, list):  # run-length encoding
        return
    if outlines:
        area = sum(area_within(np.reshape(part, (-1, 2))) for part in outlines)
        tolerance = 0.02 * area + 1
    elif "bbox" in annotation:
        area = float(annotation["bbox"][2] * annotation["bbox"][3])
        tolerance = 1e-4 * area + 0.01
    else:
        return
    if not abs(annotation.get("area", area) - area) <= tolerance:
        annotation["area"] = area


def class_names(categories: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the name of each category, with the id appended to repeated names.

    >>> class_names([{"id": 1, "name": "bat"}, {"id": 2, "name": "bat"}])
    ['bat', 'bat (2)']
    """
    names = list[str]()
    for category in categories:
        name = str(category.get("name", category["id"]))
        names.append(f"{name} ({category['id']})" if name in names else name)
    return names
