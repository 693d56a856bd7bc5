"""Descriptions of the lake, its columns and the query result, which the page reads as traits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.show import title_of
from deeplake_lite.review.ranking import suggestion
from deeplake_lite.widget.images.classes import tag_column
from deeplake_lite.widget.images.kinds import about_columns, image_column
from deeplake_lite.widget.review.mapping import about_map
from deeplake_lite.widget.review.reviewing import about_review
from deeplake_lite.widget.stored import stored_field

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.widget.browser_state import BrowserState


def about_of(shown: BrowserState) -> dict[str, object]:
    """Return a description of the lake and the shown columns, as JSON."""
    tags = tag_column(shown.base.schema)
    return {
        "title": title_of(shown.base.url),
        "url": shown.base.url,
        "version": shown.base.version,
        "name": shown.name,
        "branch": shown.branch,
        "writable": shown.is_writable,
        "total": len(shown.base),
        "columns": _columns(shown.view),
        "picture": image_column(shown.view),
        "has_ids": shown.has_ids,
        "tags": tags and tags.name,
        "suggested": suggestion(shown.view),
        **about_map(shown.view),
        **about_review(shown.base),
    }


def _columns(view: View) -> list[dict[str, Any]]:
    """Return a description of each shown column, as JSON. Only stored columns can be edited."""
    columns = zip(about_columns(view), view.schema, strict=True)
    return [{**column, "stored": stored_field(view, f) is not None} for column, f in columns]


def state_of(shown: BrowserState) -> dict[str, object]:
    """Return a description of the shown query result, as JSON."""
    return {
        "generation": shown.generation,
        "rows": len(shown.view),
        "ms": shown.ms,
        "query": shown.text,
        "order": _order(shown.text),
    }


def _order(text: str) -> dict[str, object] | None:
    """Return the expression and direction by which a query sorts, or None if it does not sort."""
    if not text:
        return None
    from deeplake_lite.widget.filters.choices import order_of

    return order_of(text)
