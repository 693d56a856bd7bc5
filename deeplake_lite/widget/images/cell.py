"""A grid row as sent to the page: its image or card, captions and marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from deeplake_lite.widget.messages import Span


class Card(TypedDict):
    """The card that is shown for a row or a value without an image."""

    kind: str
    """``"null"``, ``"damaged"``, ``"table"``, or the kind of a value, such as ``"text"``."""
    text: NotRequired[str | None]
    """The value as text, or the reason why it cannot be read."""
    more: NotRequired[int]
    """Number of omitted characters or lines."""
    numbers: NotRequired[list[float | None]]
    """Heights of the bars that plot a vector."""
    rows: NotRequired[list[list[str | None]]]
    """Lines of a table: the name of a column, and its value."""


class Caption(TypedDict):
    """A short description of a value, shown below an image."""

    t: str | None
    """The value as text."""
    c: int | None
    """Number of the class, if the value is a class."""
    cs: NotRequired[list[int]]
    """Numbers of the classes, if there are several."""
    damaged: NotRequired[str]
    """The reason why the value cannot be read."""


class Marks(TypedDict, total=False):
    """The marks of one column over an image: a mask, or coordinates as fractions of the image."""

    v: Span
    """A mask as an image file, whose pixels are class numbers."""
    of: list[int]
    """Class of each pixel value, if the class numbers of the mask do not fit into 8 bits."""
    boxes: list[list[float]]
    """Corners of boxes: x1, y1, x2, y2."""
    rings: list[list[list[float]]]
    """Corners of polygons."""
    points: list[list[list[float]]]
    """Keypoints of each instance."""
    c: list[int] | None
    """Class of each mark."""
    more: int
    """Number of omitted marks."""


class Drawn(TypedDict):
    """An image, or the card shown instead of it."""

    v: Span | None
    """The image file, as a span of the reply's buffer."""
    w: NotRequired[int | None]
    """Width of the original in pixels."""
    h: NotRequired[int | None]
    """Height of the original in pixels."""
    card: NotRequired[Card | None]
    """The card, if there is no image."""


class Cell(Drawn):
    """A row in the grid."""

    p: int
    """Position of the row in the query result."""
    main: str | None
    """Name of the column that is drawn as the image or written on the card."""
    caption: dict[str, Caption]
    """Maps the names of columns to their captions."""
    marks: dict[str, Marks | None]
    """Maps the names of columns to their marks."""
    unmarked: NotRequired[dict[str, str]]
    """Maps the names of columns to the reason why their marks are not drawn."""
    id: NotRequired[str | None]
    """Id of the row."""
    staged: NotRequired[list[str]]
    """Names of the columns with staged edits."""
    facet: NotRequired[dict[str, object]]
    """Maps each facet to its value in the row; only in pages without a kernel."""
