"""The part of the browser that writes filters and sort orders into the query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.brief import alternatives, brief
from deeplake_lite.errors import LakeError
from deeplake_lite.widget import fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.widget.browser_state import BrowserState
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request


ANSWER = "answer"
"""Name of the source for the result of a query that cannot be a subquery."""


class Filtering:
    """The part of the browser that changes the query for filters and sort orders."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The methods that answer requests, by the type of the request."""
        return {"filter": self.filter, "sort": self.sort}

    def filter(self, request: Request, pack: Pack) -> Mapping[str, object]:  # noqa: ARG002
        """Change a facet's filter in the query, and show the rows that match."""
        from deeplake_lite.widget.filters.choices import KINDS, filter_query

        op: Any = fields.text(request, "op", "set")
        name = fields.text(request, "kind")
        kind = next((known for known in KINDS if known == name), None)
        if kind is None:
            raise LakeError(
                f"The kind of a filter must be {alternatives(KINDS)}, but it is {brief(name, 40)}. "
                "Reload the page."
            )
        shown = self._filterable()
        text = filter_query(
            shown.text,
            fields.text(request, "expression"),
            kind,
            op,
            fields.items(request, "values", []),
            columns=shown.base.columns,
            as_rows=shown.has_ids,
        )
        return self._host.ask(text)

    def sort(self, request: Request, pack: Pack) -> Mapping[str, object]:  # noqa: ARG002
        """Change the sort order of the query, and show its result."""
        from deeplake_lite.widget.filters.choices import sort_query

        expression = fields.text_or_none(request, "expression")
        descending = bool(request.get("descending"))
        text = self._filterable().text
        return self._host.ask(sort_query(text, expression, descending=descending))

    def _filterable(self) -> BrowserState:
        """Return the browser's state with a query to which filters and sort orders can be added.

        Queries that sample, expand or arrange rows cannot become subqueries. Such a query might
        also return other rows when it runs again, but filters must apply to the shown rows.
        Therefore, the result of such a query becomes the source `ANSWER` of a new query.
        """
        from deeplake_lite.widget.filters.querytext import is_source

        shown = self._host.shown
        if shown.text and not is_source(shown.text):
            self._host.show(shown.view, ANSWER)
        return self._host.shown
