"""The facets of a column, such as its classes, tags, numbers, image sizes or string lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.query.parse.names import quote_column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.schema import Field
    from deeplake_lite.widget.filters.choices import FacetKind


@dataclass(frozen=True)
class Facet:
    """A query expression whose values are counted, and its title."""

    column: str
    """Name of the column."""
    expression: str
    """The expression as text."""
    kind: FacetKind
    label: str
    """Title for users."""
    whole: bool = False
    """Whether the numbers are integers."""
    short: str = ""
    """Dtype of 16-bit or 32-bit floats, otherwise empty. When queries compare such values with a
    fraction, they first round the fraction to this dtype."""
    reads: bool = False
    """Whether counting reads the bytes of variable-length cells, and not only their metadata."""


def facets_of(f: Field) -> Iterator[Facet]:
    """Yield the facets of a column.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> from deeplake_lite.schema import Schema
    >>> schema = Schema.build({"image": "image", "label": ClassLabel(["a"]), "my note": "text"})
    >>> [(g.expression, g.kind) for f in schema for g in facets_of(f)]
    [('SHAPE(image)[1]', 'numbers'), ('SHAPE(image)[0]', 'numbers'), ('label', 'classes'),
     ('"my note"', 'classes'), ('LEN("my note")', 'numbers')]
    """
    name, e = f.name, quote_column(f.name)
    match f.htype.browser.kind:
        case "class":
            yield Facet(name, e, "classes", name)
        case "tags":
            yield Facet(name, e, "tags", name, reads=True)
        case "bool":
            yield Facet(name, e, "booleans", name)
        case "time" if not f.htype.value_dtype.startswith("timedelta"):
            yield Facet(name, e, "times", name)
        case "number":
            dtype = f.htype.value_dtype
            kind = np.dtype(dtype).kind
            short = dtype if dtype in ("float16", "float32") else ""
            if kind != "c":  # complex numbers have no order
                yield Facet(name, e, "numbers", name, whole=kind in "iu", short=short)
        case "image" if f.htype.pixels is not None:
            yield Facet(name, f"SHAPE({e})[1]", "numbers", f"width of {name}", whole=True)
            yield Facet(name, f"SHAPE({e})[0]", "numbers", f"height of {name}", whole=True)
        case "text":
            yield Facet(name, e, "classes", name, reads=True)
            yield Facet(name, f"LEN({e})", "numbers", f"length of {name}", whole=True, reads=True)
        case "boxes" | "keypoints":
            yield Facet(name, f"SHAPE({e})[0]", "numbers", f"number of {name}", whole=True)
        case "sequence":
            yield Facet(name, f"LEN({e})", "numbers", f"length of {name}", whole=True, reads=True)
