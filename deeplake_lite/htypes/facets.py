"""Properties of htypes that the layers above use, apart from how cells are stored.

Each property returns plain data, so that no other layer needs to know the classes of htypes:

===============  ===================================================================
used by          properties
===============  ===================================================================
everyone         `item`, `target`, `load`, `classes`, `labels`, `scalar`, `is_array`, `is_embedding`
``dataset``      `axes`, `value_dtype`, `details`, `to_words`, `with_classes`; `is_plain` (Arrow)
``query``        `sql`, `axes`, `value_dtype`
``loader``       `pixels`, `is_image`, `is_mask`, `coordinates`
``widget``       `browser`, `pixels`, `coordinates`
versions, mixes  `continues`, `united`, `with_mode`
``ingest``       `widened`, `describes`
===============  ===================================================================

In its own file, an htype overrides the properties whose default is wrong for it.
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
"""Size of each axis of a value, with None for an axis whose size differs between rows."""

type Sql = Literal["bool", "number", "time", "class", "text", "bytes", "json"]
"""Kind of SQL value that a scalar becomes in a query. SQL has no tensors."""

type BrowserKind = Literal[
    "image", "mask", "text", "json", "embedding", "boxes", "polygons", "keypoints", "class",
    "tags", "number", "bool", "time", "bytes", "array", "sequence", "link",
]  # fmt: skip
"""How the browser draws the values of a column."""


@dataclass(frozen=True)
class Pixels:
    """Description of values that are images, or masks that belong to an image."""

    role: Literal["image", "class_mask", "object_masks"]
    """An image (h, w) or (h, w, channels); a class number per pixel (h, w); or a binary mask per
    object (n, h, w)."""

    codec: str
    """How cells are stored. This is the name of a file format, ``"auto"`` for files of any format,
    or the codec of raw pixels."""

    dtype: str | None = None
    """Dtype of the pixels; None if it differs between files."""

    mode: str | None = None
    """Mode to which images are converted when they are read; None for no conversion."""

    names: tuple[str, ...] = ()
    """Names of the classes of a mask."""

    files: bool = False
    """Whether cells are image files, whose dtypes and channels may differ."""

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
    """Description of positions in an image. They are drawn over the image and scale with it."""

    marks: Literal["boxes", "keypoints", "polygons"]
    """The shapes to draw: rectangles, points that may be connected, or outlines."""

    parts: tuple[Literal["x", "y", "visibility"], ...]
    """Meaning of each number along the last axis."""

    units: Literal["pixels", "fraction"] = "pixels"
    """Unit of the numbers: pixels, or fractions of the image's width and height."""

    format: str = ""
    """Format of boxes: ``"xyxy"``, ``"xywh"`` or ``"cxcywh"``."""

    names: tuple[str, ...] = ()
    """Names of the points."""

    connections: tuple[tuple[int, int], ...] = ()
    """Pairs of points to connect with a line."""


@dataclass(frozen=True)
class Browser:
    """How the browser shows a column."""

    kind: BrowserKind
    """How values are drawn. For ``"image"`` and a type without `pixels`, the browser shows the
    image that `Htype.preview` returns."""

    editable: bool = False
    """Whether cells can be edited in the browser, and not only in Python."""


class Facets(ABC):
    """The properties with their defaults, which are right for plain numbers."""

    # ---- structure

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """How cells are stored."""

    @property
    def item(self) -> Htype | None:
        """Type of the items if a value is a list of values, else None."""
        return None

    @property
    def target(self) -> Htype | None:
        """Type of the linked file if a value is a link, else None."""
        return None

    # ---- meaning

    @property
    def classes(self) -> ClassLabel | None:
        """The classes if values are class numbers, else None."""
        return None

    @property
    def scalar(self) -> str | None:
        """Dtype if a value is a single number, boolean or time, else None."""
        return None

    @property
    def is_array(self) -> bool:
        """Whether a value is an array of plain numbers without further meaning."""
        return False

    @property
    def is_embedding(self) -> bool:
        """Whether a value is a vector whose distance to other vectors measures similarity."""
        return False

    @property
    def pixels(self) -> Pixels | None:
        """Description of images and masks; None for other values."""
        return None

    @property
    def is_image(self) -> bool:
        """Whether values are images."""
        return self.pixels is not None and self.pixels.is_image

    @property
    def is_mask(self) -> bool:
        """Whether values are masks."""
        return self.pixels is not None and self.pixels.is_mask

    @property
    def coordinates(self) -> Coordinates | None:
        """Description of positions in an image; None for other values."""
        return None

    # ---- description

    @property
    def axes(self) -> Axes | None:
        """Size of each axis, with None for an axis of varying size.

        The result is None, rather than a tuple, if the number of axes varies.
        """
        layout = self.layout
        if isinstance(layout, Dense):
            return layout.shape
        if isinstance(layout, Nested):
            return (None, *(layout.item.axes or ()))
        return (None,) * layout.ndim

    @property
    def value_dtype(self) -> str:
        """Dtype of the numbers in a value.

        An empty string if values contain no numbers, or if the dtype differs between files.
        """
        layout = self.layout
        if isinstance(layout, Nested):
            return layout.item.value_dtype
        if layout.dtype in ("utf8", "json", "bytes"):
            return ""
        return str(getattr(self, "dtype", layout.dtype))

    def details(self) -> Iterator[str]:
        """Yield short strings that describe the type, such as its codec, classes or format."""
        yield from ()

    def to_words(self, value: Any) -> str | None:
        """Return a text that no other value has, or None for values that are shown as images.

        Parameters
        ----------
        value : object
            One decoded value, never None.
        """
        return in_words(value)

    def load(self, value: Any, allow: tuple[str, ...]) -> Any:  # noqa: ARG002 (links use it)
        """Return the content of the linked file if the value is a link, else the value itself.

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
        """Whether a ragged cell is stored as the raw bytes of its array, in C order."""
        return False

    @property
    def sql(self) -> Sql | None:
        """Kind of SQL value that the values become in queries, or None for tensors."""
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

    def with_mode(self, mode: str | None) -> Self | None:  # noqa: ARG002 (images use it)
        """Return the type with another colour mode, or None if values are not images."""
        return None

    @property
    def is_per_object(self) -> bool:
        """Whether a value is a list with one item for each object in the row, such as its box.

        In all such columns, the items at the same position belong to the same object.
        """
        if self.pixels is not None:
            return self.pixels.role == "object_masks"
        if self.classes is not None:  # several classes that describe the whole row
            return False
        if self.coordinates is not None or self.item is not None:
            return True
        axes = self.axes
        return axes is not None and axes[:1] == (None,)

    @property
    def labels(self) -> ClassLabel | None:
        """The classes of the values, or of the items of lists; None if there are no classes."""
        if self.classes is not None or self.item is None:
            return self.classes
        return self.item.labels

    def with_classes(self, names: Iterable[str]) -> Htype | None:  # noqa: ARG002 (see `labels`)
        """Return the type with added classes, or None if values do not belong to named classes."""
        return None

    # ---- two types

    def continues(self, other: Htype) -> bool:
        """Return whether cells stored as `other` mean the same when they are read as this type."""
        return self == other

    def united(self, other: Htype) -> Htype | None:
        """Return a type that can store the values of both types, or None if their meanings differ.

        Neither type is nullable or has a default here, because the caller handles these properties.
        """
        return other if self == other else None

    def widened(self, coming: Htype) -> Htype | None:  # noqa: ARG002 (few types can be widened)
        """Extend this type so that it also accepts values of another type.

        Parameters
        ----------
        coming : Htype
            Type of the new values.

        Returns
        -------
        Htype or None
            The extended type, with this type's nullability and default; None if no change is needed
            or possible.
        """
        return None

    def describes(self, other: Htype) -> bool:
        """Return whether `other` has the same value for every option that is set in this type.

        Options that are not set in this type may have any value in `other`. Neither type is
        nullable or has a default here, because the caller handles these properties.
        """
        return self == other
