"""Finding the image of a Label Studio task, and the annotation to ingest."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from deeplake_lite.dataset.export.annotations import labelstudio_regions as regions
from deeplake_lite.dataset.export.annotations import labelstudio_values as values
from deeplake_lite.ingest.folders.layout import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_OF_TASKS = frozenset({
    "id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "image",
})  # fmt: skip
"""Keys of a task in the format JSON-MIN that are not results. Except for ``image``, these keys are
not part of the task's data either."""


def image_key(data: Mapping[str, Any]) -> str:
    """Return the key of a task's data whose value is the URL of the image.

    Raises ValueError if no key is suitable.
    """
    if isinstance(data.get("image"), str):
        return "image"
    keys = [key for key, value in data.items() if isinstance(value, str) and _is_image(value)]
    if len(keys) != 1:
        raise ValueError(
            "the data of a task must have the key 'image', or exactly one other key whose value is "
            "the URL of an image file, but it has "
            f"{', '.join(repr(key[:40]) for key in keys) or 'no such key'}"
        )
    return keys[0]


def _is_image(url: str) -> bool:
    return PurePosixPath(path_of(url)).suffix.lower() in SUFFIXES


def path_of(url: str) -> str:
    """Return the path of the image in a URL, without the prefixes that Label Studio adds.

    >>> path_of("/data/local-files/?d=cats/a%20b.jpg"), path_of("/data/upload/3/0a1b2c3d-a.jpg")
    ('cats/a b.jpg', 'upload/3/0a1b2c3d-a.jpg')
    >>> path_of("s3://bucket/cats/a.jpg"), path_of("cats/a.jpg")
    ('bucket/cats/a.jpg', 'cats/a.jpg')
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.path.rstrip("/").endswith("local-files") and "d" in (query := parse_qs(parts.query)):
        return query["d"][0].replace("\\", "/").lstrip("/")
    if not parts.scheme or len(parts.scheme) == 1:  # a path, perhaps on Windows
        path = url.replace("\\", "/").split("?")[0] if url.startswith("/data/") else url
        return unquote(path).replace("\\", "/").lstrip("/").removeprefix("data/")
    host = "" if parts.scheme in ("http", "https", "file") else parts.netloc
    return f"{host}{unquote(parts.path)}".lstrip("/")


def names_of(path: str) -> Iterator[str]:
    """Yield the names that an image may have in a folder of images, from longest to shortest.

    >>> list(names_of("upload/3/0a1b2c3d-a.jpg"))
    ['upload/3/0a1b2c3d-a.jpg', '3/0a1b2c3d-a.jpg', '0a1b2c3d-a.jpg', 'a.jpg']
    """
    parts = PurePosixPath(path).parts
    for at in range(min(len(parts), 16)):
        yield "/".join(parts[at:])
    last = parts[-1] if parts else ""
    head, dash, rest = last.partition("-")
    if dash and rest and len(head) == 8 and all(c in "0123456789abcdef" for c in head):
        yield rest  # Label Studio puts eight digits before the names of uploaded files


def expand_task(task: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a task in the format JSON-MIN to the format JSON. Raises ValueError if it is invalid.

    A task that is already in the format JSON is returned unchanged.
    """
    if "data" in task:
        return dict(task)
    result_keys = [
        key for key, value in task.items() if key not in _OF_TASKS and isinstance(value, list)
    ]
    results = [_region_of(key, value) if isinstance(value, dict) else {}
               for key in result_keys for value in task[key]]  # fmt: skip
    if not all(results):
        raise ValueError(
            "a task must have the key 'data' or, in JSON-MIN, a key such as 'rectanglelabels' in "
            "each result, but a result has no such key or several; export the project as JSON "
            "instead"
        )
    data = {
        k: v
        for k, v in task.items()
        if k not in result_keys and (k == "image" or k not in _OF_TASKS)
    }
    annotation = {"id": task.get("annotation_id"), "completed_by": task.get("annotator"),
                  "created_at": task.get("created_at"), "lead_time": task.get("lead_time"),
                  "result": results}  # fmt: skip
    return {"id": task.get("id"), "data": data, "annotations": [annotation]}


def _region_of(from_name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a value in the format JSON-MIN to a result, or to {} if its type is unclear.

    The type of the result is the key that holds the labels, such as "rectanglelabels".
    """
    kinds = [key for key in value if key in {f"{shape}labels" for shape in regions.SHAPES}]
    if len(kinds) != 1:
        return {}
    head = {k: value[k] for k in ("original_width", "original_height", "image_rotation")
            if k in value}  # fmt: skip
    shape_value = {k: v for k, v in value.items() if k not in head}
    return {
        "from_name": from_name,
        "to_name": "image",
        "type": kinds[0],
        **head,
        "value": shape_value,
    }


# ---- annotations


def annotations_of(task: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the task's list under `key`, "annotations" or "predictions".

    Raises ValueError if it is not a list.
    """
    annotations = task.get(key) or []
    if not isinstance(annotations, list) or not all(
        isinstance(annotation, dict) for annotation in annotations
    ):
        raise ValueError(
            f"the {key} of a task must be a list of objects, but they are {annotations!r:.40}"
        )
    return annotations


def choose_annotation(annotations: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the index of the annotation to ingest, or None if there is none.

    The ground truth is chosen or, if there is none, the annotation that was changed last. Cancelled
    annotations are ignored.

    >>> choose_annotation([{"updated_at": "2026-01-02"}, {"updated_at": "2026-01-01"}])
    0
    >>> choose_annotation([{"was_cancelled": True}]) is None
    True
    """
    valid = [i for i, annotation in enumerate(annotations) if not annotation.get("was_cancelled")]
    truths = [i for i in valid if annotations[i].get("ground_truth")]
    dates = {i: str(annotations[i].get("updated_at") or annotations[i].get("created_at") or "")
             for i in truths or valid}  # fmt: skip
    return max(dates, key=lambda i: (dates[i], i), default=None)


def sort_results(
    results: Sequence[Any],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return three lists: regions, results about the whole image, and other results.

    If a result has no shape, but the id of a region, it becomes part of the region. Raises
    ValueError unless `results` is a list of dicts.
    """
    if not all(isinstance(result, dict) for result in results):
        raise ValueError(f"results must be a list of objects, but they are {[*results]!r:.40}")
    regions_by_id: dict[Any, dict[str, Any]] = {}
    shapes: list[dict[str, Any]] = []
    for result in results:
        if regions.shape_of(result) is not None:
            region = regions.flatten(result)
            shapes.append(region)
            if isinstance(region.get("id"), str):
                regions_by_id.setdefault(region["id"], region)
    whole: list[dict[str, Any]] = []
    rest: list[dict[str, Any]] = []
    for result in results:
        if regions.shape_of(result) is not None:
            continue
        number = result.get("id")
        described = regions_by_id.get(number) if isinstance(number, str) else None
        if described is None:
            (whole if result.get("type") in values.KINDS else rest).append(result)
        elif result.get("type") == "labels" and regions.LABELS not in described:
            described[regions.LABELS] = result
        else:
            described.setdefault("with", []).append(result)
    return shapes, whole, rest
