"""Labels that are declared in the header of a CVAT file."""

from __future__ import annotations

import colorsys
from typing import TYPE_CHECKING, Any

import xxhash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def labels(meta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the labels that a header declares for its task, project or job, as a list of dicts.

    >>> labels({"task": {"labels": {"label": {"name": "cat"}}}})
    [{'name': 'cat'}]
    """
    for part in meta.values():
        section = part.get("labels") if isinstance(part, dict) else None
        if isinstance(section, dict):
            items = section.get("label", [])
            items = items if isinstance(items, list) else [items]
            return [label for label in items if isinstance(label, dict) and _name(label)]
    return []


def _name(label: Mapping[str, Any]) -> str:
    name = label.get("name")
    return name if isinstance(name, str) else ""


def classes(meta: Mapping[str, Any]) -> list[str]:
    """Return the names of the labels that describe objects."""
    return [_name(x) for x in labels(meta) if not x.get("parent") and x.get("type") != "tag"]


def tags(meta: Mapping[str, Any]) -> list[str]:
    """Return the names of the labels that describe whole images."""
    return [_name(x) for x in labels(meta) if not x.get("parent") and x.get("type") == "tag"]


def skeletons(meta: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return a dict that maps the label of each skeleton to the names of its points."""
    result: dict[str, list[str]] = {}
    for label in labels(meta):
        if label.get("type") == "skeleton":
            result.setdefault(_name(label), [])
        elif label.get("parent"):
            result.setdefault(str(label["parent"]), []).append(_name(label))
    return result


def only_skeleton(meta: Mapping[str, Any]) -> list[str]:
    """Return the names of the keypoints if all keypoints belong to skeletons with the same names.

    Return an empty list otherwise, and if the names are only numbers.
    """
    roots = [x for x in labels(meta) if not x.get("parent")]
    if any(x.get("type", "any") in ("any", "points") for x in roots):
        return []
    kinds = [*skeletons(meta).values()]
    is_one = bool(kinds) and all(kind == kinds[0] for kind in kinds)
    return [] if not is_one or kinds[0] == _numbered(len(kinds[0])) else kinds[0]


def _numbered(count: int) -> list[str]:
    return [str(n + 1) for n in range(count)]


def declare_labels(
    meta: Mapping[str, Any], names: Sequence[str], images: Sequence[str], points: Sequence[str]
) -> dict[str, Any]:
    """Return a header that declares a label for each class, and keeps the labels of `meta`.

    Parameters
    ----------
    meta : mapping
        Header of the file that the rows were imported from. Empty if there was none.
    names, images : sequence of str
        Classes of objects, and classes of whole images.
    points : sequence of str
        Names of the objects' keypoints; empty if they have no names.
    """
    existing = labels(meta)
    declared = {_name(label) for label in existing if not label.get("parent")}
    new: list[dict[str, Any]] = []
    for name in names:
        if name in declared:
            continue
        kind = "skeleton" if points else "any"
        new.append({"name": name, "color": colour(name), "type": kind, "attributes": ""})
        new += [{"name": point, "color": colour(point), "type": "points", "attributes": "",
                 "parent": name} for point in points]  # fmt: skip
    new += [{"name": name, "color": colour(name), "type": "tag", "attributes": ""}
            for name in images if name not in declared and name not in names]  # fmt: skip
    if not new and existing:
        return dict(meta)
    for key, part in meta.items():
        if isinstance(part, dict) and isinstance(part.get("labels"), dict):
            return {**meta, key: {**part, "labels": {"label": [*existing, *new]}}}
    return {**meta, "task": {"labels": {"label": new} if new else ""}}


def colour(name: str) -> str:
    """Return a bright colour, as ``#rrggbb``, which is always the same for the same name.

    >>> colour("cat") == colour("cat"), len(colour("dog"))
    (True, 7)
    """
    hue = xxhash.xxh32_intdigest(name.encode(errors="surrogatepass")) / 2**32
    return "#" + "".join(f"{round(255 * v):02x}" for v in colorsys.hsv_to_rgb(hue, 0.7, 0.9))
