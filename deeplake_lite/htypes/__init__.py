"""Column types. Each type checks, encodes, decodes and previews the values of a column.

To add a type, add a file to this folder, and one line each here and in `registry`. The module of a
type is imported on first use, so a process that opens a lake imports only the types in the schema.

>>> from deeplake_lite import htypes
>>> htypes.Boxes
<class 'deeplake_lite.htypes.boxes.Boxes'>
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deeplake_lite.htypes.base import Htype, Picture
from deeplake_lite.htypes.facets import Browser, Coordinates, Pixels
from deeplake_lite.htypes.layouts import Dense, Layout, Nested, Ragged
from deeplake_lite.htypes.registry import CLASSES, from_config, resolve
from deeplake_lite.htypes.scalar import Scalar

if TYPE_CHECKING:
    from deeplake_lite.htypes.array import Array
    from deeplake_lite.htypes.boxes import Boxes, convert_boxes
    from deeplake_lite.htypes.bytes import Bytes
    from deeplake_lite.htypes.class_label import ClassLabel
    from deeplake_lite.htypes.embedding import Embedding
    from deeplake_lite.htypes.image import Image
    from deeplake_lite.htypes.json import Json
    from deeplake_lite.htypes.keypoints import Keypoints
    from deeplake_lite.htypes.link import Link
    from deeplake_lite.htypes.mask import Mask
    from deeplake_lite.htypes.polygons import Polygons
    from deeplake_lite.htypes.roots import resolve_link
    from deeplake_lite.htypes.sequence import Sequence
    from deeplake_lite.htypes.show import class_colour
    from deeplake_lite.htypes.text import Text

_MODULES = {cls: module for module, cls in CLASSES.items()} | {
    "class_colour": "show",
    "convert_boxes": "boxes",
    "resolve_link": "roots",
}
"""Maps each public name to the module that defines the name, which is imported on first use."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


__all__ = [
    "Array",
    "Boxes",
    "Browser",
    "Bytes",
    "ClassLabel",
    "Coordinates",
    "Dense",
    "Embedding",
    "Htype",
    "Image",
    "Json",
    "Keypoints",
    "Layout",
    "Link",
    "Mask",
    "Nested",
    "Picture",
    "Pixels",
    "Polygons",
    "Ragged",
    "Scalar",
    "Sequence",
    "Text",
    "class_colour",
    "convert_boxes",
    "from_config",
    "resolve",
    "resolve_link",
]
