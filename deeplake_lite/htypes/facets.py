"""Properties of a type that the layers above need, other than the storage of its cells.

Each of them is plain data, so that no layer depends on the class of a type:

===============  ===================================================================
asked by         questions
===============  ===================================================================
everyone         `item`, `target`, `load`, `classes`, `labels`, `scalar`, `is_array`, `is_embedding`
``dataset``      `axes`, `value_dtype`, `details`, `to_words`, `with_classes`; `is_plain` (Arrow)
``query``        `sql`, `axes`, `value_dtype`
``loader``       `pixels`, `is_image`, `is_mask`, `coordinates`
``widget``       `browser`, `pixels`, `coordinates`
versions, mixes  `continues`, `united`, `with_mode`
``ingest``       `widened`, `describes`
===============  ===================================================================

A type overrides, in its own file, the properties whose default is wrong for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from deeplake_lite.htypes.layouts import Dense, Nested
from deeplake_lite.htypes.words import in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.class_label import ClassLabel
    from deeplake_lite.htypes.layouts import Layout

type Axes = tuple[int | None, ...]
"""Size of each axis of a value, None where rows differ."""

type Sql = Literal["bool", "number", "time", "class", "text", "bytes", "json"]
"""How SQL sees a column of scalars; it has no tensors."""

type BrowserKind = Literal[
    "image", "mask", "text", "json", "embedding", "boxes", "polygons", "keypoints", "class",
    "tags", "number", "bool", "time", "bytes", "array", "sequence", "link",
]  # fmt: skip
"""How the browser draws the values of a column."""


@dataclass(frozen=True)
class Pixels:
    """Values are images, or masks that belong to an image."""

    role: Literal["image", "class_mask", "object_masks"]
    """An image (h, w) or (h, w, channels); a class number per pixel (h, w); or a binary mask per
    object (n, h, w)."""

    codec: str
    """How cells are stored: the name of a file format, ``"auto"`` for any of them, or the codec of
    bare pixels."""

    dtype: str | None = None
    """Dtype of the pixels; None if each file has its own."""

    mode: str | None = None
    """Mode that images are converted to when they are read."""

    names: tuple[str, ...] = ()
    """Names of the classes of a mask."""

    files: bool = False
    """Whether cells are image files, each of which has its own dtype and channels."""

    @property
    def is_image(self) -> bool:
        """Whether values are images, rather than masks."""
        return self.role == "image"

    @property
    def is_mask(self) -> bool:
        """Whether values are masks."""
        return self.role != "image"


@dataclass(frozen=True)
class Coordinates:
    """Values are positions in an image, drawn over it; they move when the image is resized."""

    marks: Literal["boxes", "keypoints", "polygons"]
    """Shape of the marks: rectangles, points that may be connected, or outlines."""

    parts: tuple[Literal["x", "y", "visibility"], ...]
    """Meaning of each number of the last axis."""

    units: Literal["pixels", "fraction"] = "pixels"
    """Unit of the numbers: pixels, or fractions of the image's width and height."""

    format: str = ""
    """Format of boxes: ``"xyxy"``, ``"xywh"`` or ``"cxcywh"``."""

    names: tuple[str, ...] = ()
    """Names of the points."""

    connections: tuple[tuple[int, int], ...] = ()
    """Pairs of points that a drawing connects."""


@dataclass(frozen=True)
class Browser:
    """How the browser shows a column."""

    kind: BrowserKind
    """How its values are drawn; an ``"image"`` without `pixels` is what `Htype.preview` returns."""

    editable: bool = False
    """Whether a cell can be edited there, rather than in Python only."""


class Facets(ABC):
    """The properties with their defaults, which describe numbers without further meaning."""

    # ---- structure

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """How storage keeps the cells."""

    @property
    def item(self) -> Htype | None:
        """Type of the items if a value is a list whose items are values themselves, else None."""
        return None

    @property
    def target(self) -> Htype | None:
        """Type of the file that a value is the path of; None for other values."""
        return None

    # ---- meaning

    @property
    def classes(self) -> ClassLabel | None:
        """The labels that the numbers stand for; None where numbers are not classes."""
        return None

    @property
    def scalar(self) -> str | None:
        """Dtype of a single number, boolean or time; None for values of another kind."""
        return None

    @property
    def is_array(self) -> bool:
        """Whether a value is an array of plain numbers without further meaning."""
        return False

    @property
    def is_embedding(self) -> bool:
        """Whether a value is a vector whose distance to others tells how similar rows are."""
        return False

    @property
    def pixels(self) -> Pixels | None:
        """Properties of images and masks; None for other values."""
        return None

    @property
    def is_image(self) -> bool:
        """Whether values are images, rather than masks or anything else."""
        return self.pixels is not None and self.pixels.is_image

    @property
    def is_mask(self) -> bool:
        """Whether values are masks."""
        return self.pixels is not None and self.pixels.is_mask

    @property
    def coordinates(self) -> Coordinates | None:
        """Properties of positions in an image; None for other values."""
        return None

    # ---- description

    @property
    def axes(self) -> Axes | None:
        """Shape of a value as far as the type knows it; None where the number of axes differs."""
        layout = self.layout
        if isinstance(layout, Dense):
            return layout.shape
        if isinstance(layout, Nested):
            return (None, *(layout.item.axes or ()))
        return (None,) * layout.ndim

    @property
    def value_dtype(self) -> str:
        """Dtype of the numbers of a value; empty where it has none, or files differ in it."""
        layout = self.layout
        if isinstance(layout, Nested):
            return layout.item.value_dtype
        if layout.dtype in ("utf8", "json", "bytes"):
            return ""
        return str(getattr(self, "dtype", layout.dtype))

    def details(self) -> Iterator[str]:
        """Yield short descriptions of the rest of the configuration: codec, classes, format."""
        yield from ()

    def to_words(self, value: Any) -> str | None:
        """Return text that differs from that of any other value; None if values are drawn instead.

        Parameters
        ----------
        value : object
            One decoded value, never None.
        """
        return in_words(value)

    def load(self, value: Any, allow: tuple[str, ...]) -> Any:  # noqa: ARG002 (links look at it)
        """Return the content of the file that a value links to; return other values unchanged.

        Parameters
        ----------
        value : object
            One decoded value, never None.
        allow : tuple of str
            Roots that may contain files.
        """
        return value

    # ---- conversion

    @property
    def is_plain(self) -> bool:
        """Whether the bytes of a ragged cell are the numbers of its value, in C order."""
        return False

    @property
    def sql(self) -> Sql | None:
        """How SQL sees the values; None for tensors, which NumPy evaluates."""
        return None

    @property
    def browser(self) -> Browser:
        """How the browser draws and edits the values."""
        layout = self.layout
        if not isinstance(layout, Dense) or layout.shape:
            return Browser("array")
        if self.value_dtype.endswith("]"):
            return Browser("time")
        return Browser("bool" if layout.dtype == "bool" else "number")

    def with_mode(self, mode: str | None) -> Self | None:  # noqa: ARG002 (images look at it)
        """Return the type with images converted to another mode; None where it has no mode."""
        return None

    @property
    def is_per_object(self) -> bool:
        """Whether a value has an item for each object of a row, such as its boxes.

        Items of several such columns belong together by their position.
        """
        if self.pixels is not None:
            return self.pixels.role == "object_masks"
        if self.classes is not None:  # tags
            return False
        if self.coordinates is not None or self.item is not None:
            return True
        axes = self.axes
        return axes is not None and axes[:1] == (None,)

    @property
    def labels(self) -> ClassLabel | None:
        """The classes of the values or, in lists, of their items; None if these are no classes."""
        if self.classes is not None or self.item is None:
            return self.classes
        return self.item.labels

    def with_classes(self, names: Iterable[str]) -> Htype | None:  # noqa: ARG002 (see `labels`)
        """Return the type with further classes; None if its values are not named classes."""
        return None

    # ---- two types

    def continues(self, other: Htype) -> bool:
        """Return whether cells stored as `other` mean the same when they are read as this type."""
        return self == other

    def united(self, other: Htype) -> Htype | None:
        """Return a type that can hold the values of both, or None if they mean different things.

        Neither type takes nulls or has a default: the caller decides about those.
        """
        return other if self == other else None

    def widened(self, coming: Htype) -> Htype | None:  # noqa: ARG002 (few types can be widened)
        """Return this type, extended so that it also accepts values of another type.

        Parameters
        ----------
        coming : Htype
            Type of the new values.

        Returns
        -------
        Htype or None
            The extended type, with the nullability and default of this type. None if no change is
            needed or possible.
        """
        return None

    def describes(self, other: Htype) -> bool:
        """Return whether `other` meets everything that this type specifies; it may specify more.

        The caller handles nulls and defaults, so neither type takes nulls or has a default here.
        """
        return self == other
