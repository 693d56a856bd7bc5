"""Converting the tracks of "CVAT for video 1.1" to pictures, one per frame."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.export.annotations import cvat_shapes
from deeplake_lite.dataset.export.annotations.objects import Picture, check_masks, number_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from xml.etree.ElementTree import Element

    from deeplake_lite.ingest.annotations.cvat import CvatReader

MAX_FRAME = 10_000_000
"""Highest frame number that is allowed."""

_FRAME = re.compile(r"(\d+)(?=\.[^.]*$)")

_MOVING = (*cvat_shapes.CORNERS, *cvat_shapes.CUBOID, "cx", "cy", "rx", "ry", "rotation")
"""Attributes of shapes that are interpolated between keyframes."""

_OF_TRACKS = ("frame", "outside", "keyframe")


@dataclass
class Tracks:
    """The shapes of all tracks, grouped by frame number."""

    reader: CvatReader
    frames: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, track: Element) -> None:
        """Add the shapes of a track to the frames in which they are visible.

        Raises ValueError if a shape is invalid.
        """
        number = track.get("id", "")
        common = {"label": track.get("label"), "track": number, "source": track.get("source")}
        common = {key: value for key, value in common.items() if value is not None}
        shapes = [{**common, **shape_of(child)} for child in track]
        shapes.sort(key=_frame)
        for shape, following in zip(shapes, [*shapes[1:], None], strict=True):
            if shape.get("outside") == "1":
                continue
            first = _frame(shape)
            last = first if following is None else max(first, _frame(following) - 1)
            for frame in range(first, last + 1):
                moved = shape if frame == first else interpolate(shape, following or shape, frame)
                self.frames.setdefault(frame, []).append(moved)

    def pictures(self) -> Iterator[Picture]:
        """Yield a picture for each frame, ordered by frame number."""
        if not self.frames:
            return
        files = self._files()
        for frame in sorted({*self.frames, *files}):
            name = files.get(frame, f"frame_{frame:06d}.png")
            try:
                yield self._picture(frame, name)
            except ValueError as error:
                yield Picture(name, error=f"frame {frame}: {error}.")

    def _files(self) -> dict[int, str]:
        """Return a dict from frame numbers to the names of the frames' image files."""
        if self.reader.images is None:
            return {}
        names = [(match, name) for name in self.reader.images.image_names()
                 if (match := _FRAME.search(name))]  # fmt: skip
        return {int(match[1]): name for match, name in names if len(match[1]) < 10}

    def _picture(self, frame: int, name: str) -> Picture:
        """Return the picture of a frame. Raises ValueError if a shape is invalid."""
        images = self.reader.images
        size = self._size
        objects = []
        for shape in self.frames.get(frame, ()):
            attributes = {k: v for k, v in shape.items() if k not in (*_OF_TRACKS, "track")}
            parsed = self.reader.object_of(attributes, size)
            objects.append(replace(parsed, rest={**parsed.rest, "track": shape["track"]}))
        check_masks(objects)
        return Picture(
            name,
            objects,
            image=None if images is None else images.find([name]),
            width=size[0],
            height=size[1],
            rest={"id": frame},
        )

    @property
    def _size(self) -> tuple[int | None, int | None]:
        """Width and height of the video in pixels, or None for both if they are unknown."""
        for part in self.reader.meta.values():
            size = part.get("original_size") if isinstance(part, dict) else None
            if isinstance(size, dict):
                texts = [str(size.get(key, "")).strip() for key in ("width", "height")]
                if all(t.isascii() and t.isdigit() and 0 < len(t) < 10 for t in texts):
                    return int(texts[0]), int(texts[1])
        return None, None


def shape_of(element: Element) -> dict[str, Any]:
    """Convert the XML element of a shape to a dict.

    >>> from deeplake_lite.ingest.annotations.xml_tree import parse
    >>> shape_of(parse(b'<box label="a"><attribute name="b">c</attribute></box>'))
    {'label': 'a', 'attribute': [{'name': 'b', 'text': 'c'}], 'shape': 'box'}
    """
    result: dict[str, Any] = dict(element.attrib)
    attributes = [
        {"name": a.get("name", ""), "text": a.text or ""}
        for a in element.iter("attribute")
        if a in element
    ]
    if attributes:
        result["attribute"] = attributes
    if element.tag == "skeleton":
        points = [shape_of(child) for child in element if child.tag == "points"]
        result["skeleton"] = [{k: v for k, v in p.items() if k != "shape"} for p in points]
    return {**result, "shape": element.tag}


def _frame(shape: Mapping[str, Any]) -> int:
    """Return the frame number of a shape. Raises ValueError if it is invalid."""
    text = str(shape.get("frame", ""))
    if not (text.isascii() and text.isdigit() and len(text) < 10) or int(text) > MAX_FRAME:
        raise ValueError(
            f"the frame number of a shape must be an integer from 0 to {MAX_FRAME:,}, but it is "
            f"{text[:40]!r}"
        )
    return int(text)


def interpolate(first: Mapping[str, Any], last: Mapping[str, Any], frame: int) -> dict[str, Any]:
    """Return a track's shape in a frame between two keyframes, by linear interpolation.

    Parameters
    ----------
    first, last : mapping
        The shapes in the keyframes before and after the frame. If `last` has ``outside="1"``, which
        means that the object has left the image, `first` is returned unchanged.
    frame : int
        Number of the frame.

    Raises
    ------
    ValueError
        If the shapes cannot be interpolated, such as polygons with different numbers of points.
    """
    if last.get("outside") == "1":
        return dict(first)
    span = _frame(last) - _frame(first)
    share = (frame - _frame(first)) / span
    result = dict(first)
    for key in _MOVING:
        if key in first and key in last:
            a, b = number_of(first[key]), number_of(last[key])
            result[key] = repr(round(a + (b - a) * share, 6))
    if "points" in first and first["points"] != last.get("points"):
        start, end = _points(first), _points(last)
        if start.shape != end.shape:
            raise ValueError(
                f"frame {frame} must be interpolated between two keyframes, which is not possible "
                f"because their shapes have {len(start)} and {len(end)} points; export every "
                "frame as a keyframe"
            )
        moved = (start + (end - start) * share).round(6).tolist()
        result["points"] = ";".join(f"{x},{y}" for x, y in moved)
    if "skeleton" in first:
        last_children = {str(child.get("label")): child for child in last.get("skeleton", ())}
        result["skeleton"] = [
            interpolate({**c, "frame": first["frame"]},
                    {**last_children.get(str(c.get("label")), c), "frame": last["frame"]}, frame)
            for c in first["skeleton"]
        ]  # fmt: skip
    if "rle" in first and (first["rle"], first.get("left")) != (last.get("rle"), last.get("left")):
        raise ValueError(
            f"frame {frame} must have its own mask, because masks cannot be interpolated between "
            "keyframes; export every frame as a keyframe"
        )
    return result


def _points(shape: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    pairs = [pair.split(",") for pair in str(shape.get("points", "")).split(";")]
    if any(len(pair) != 2 for pair in pairs):
        text = str(shape.get("points", ""))
        raise ValueError(f"points must be pairs such as '1,2;3,4', but they are {text[:40]!r}")
    return np.array([[number_of(x) for x in pair] for pair in pairs], np.float64)
