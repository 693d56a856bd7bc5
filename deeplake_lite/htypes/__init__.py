"""The element types: what a column means, how its values are checked, encoded and shown.

A new type is one file in this folder and one line here.
"""

from deeplake_lite.htypes.array import Array
from deeplake_lite.htypes.base import Dense, Htype, Layout, Nested, Picture, Ragged
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
from deeplake_lite.htypes.registry import from_config, register, resolve
from deeplake_lite.htypes.roots import resolve_link
from deeplake_lite.htypes.scalar import Scalar
from deeplake_lite.htypes.sequence import Sequence
from deeplake_lite.htypes.show import class_colour
from deeplake_lite.htypes.text import Text

__all__ = [
    "Array",
    "Boxes",
    "Bytes",
    "ClassLabel",
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
    "Polygons",
    "Ragged",
    "Scalar",
    "Sequence",
    "Text",
    "class_colour",
    "convert_boxes",
    "from_config",
    "register",
    "resolve",
    "resolve_link",
]

register(Scalar)
register(Array)
register(Image)
register(Mask)
register(Boxes)
register(ClassLabel)
register(Text)
register(Json)
register(Bytes)
register(Embedding)
register(Keypoints)
register(Polygons)
register(Sequence)
register(Link)
