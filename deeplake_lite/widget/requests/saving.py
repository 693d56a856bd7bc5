"""The part of the browser that saves views under names, and shows saved views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite.dataset.saved.named_views import SavedViews
from deeplake_lite.errors import NotFoundError
from deeplake_lite.query.parse.names import literal
from deeplake_lite.widget import fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request


class Saving:
    """The part of the browser that saves, lists and shows views."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The methods that answer requests, by the type of the request."""
        return {"save_view": self.save_view, "views": self.views, "show_view": self.show_view}

    def save_view(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        """Save the shown view under a name."""
        name = fields.text(request, "name").strip()
        self._host.shown.view.save(name, overwrite=bool(request.get("overwrite")))
        return {"name": name}

    def views(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        """Return the saved views."""
        saved = SavedViews(self._host.shown.base.rows.lake)
        infos = [saved.info(name) for name in saved]
        return {"views": [{"name": i.name, "rows": i.rows, "query": i.origin} for i in infos]}

    def show_view(self, request: Request, pack: Pack) -> Mapping[str, object]:  # noqa: ARG002
        """Show the rows of a saved view with a query, to which the user can add filters."""
        name, saved = fields.text(request, "name"), SavedViews(self._host.shown.base.rows.lake)
        if name not in saved:
            raise NotFoundError.named("saved view", name, saved)
        return self._host.ask(f"SELECT * FROM {literal(name)}")
