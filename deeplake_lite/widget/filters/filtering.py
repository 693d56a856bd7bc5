"""Choices of facets and orders, written into the query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import LakeError
from deeplake_lite.widget import fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request
    from deeplake_lite.widget.shown import Shown


ANSWER = "answer"
"""Name that queries have for the rows of one that can be no source of another."""


class Filtering:
    """What the page changes of the query, but for its text."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What it answers, by type of message."""
        return {"filter": self.filter, "sort": self.sort}

    def filter(self, request: Request, pack: Pack) -> Mapping[str, Any]:  # noqa: ARG002
        """Show the rows of another choice of a facet."""
        from deeplake_lite.widget.filters.choices import KINDS, filtered

        kind: Any = fields.text(request, "kind")
        op: Any = fields.text(request, "op", "set")
        if kind not in KINDS:
            raise LakeError(f"A facet is one of {', '.join(KINDS)}, got {kind!r:.40}.")
        shown = self._filterable()
        text = filtered(
            shown.text,
            fields.text(request, "expression"),
            kind,
            op,
            fields.items(request, "values", []),
            columns=shown.base.columns,
            as_rows=shown.has_ids,
        )
        return self._host.ask(text)

    def sort(self, request: Request, pack: Pack) -> Mapping[str, Any]:  # noqa: ARG002
        """Show the rows in another order."""
        from deeplake_lite.widget.filters.choices import sorted_by

        expression = fields.text_or_none(request, "expression")
        descending = bool(request.get("descending"))
        text = self._filterable().text
        return self._host.ask(sorted_by(text, expression, descending=descending))

    def _filterable(self) -> Shown:
        """Return what is shown; rows that were sampled, expanded or arranged are given a name.

        A filter is of the rows that are there: their query would draw others.
        """
        from deeplake_lite.widget.filters.querytext import is_source

        shown = self._host.shown
        if shown.text and not is_source(shown.text):
            self._host.show(shown.view, ANSWER)
        return self._host.shown
