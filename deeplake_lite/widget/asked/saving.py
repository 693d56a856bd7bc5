"""Views with names: what is shown can be kept, and shown again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.saved.named_views import SavedViews
from deeplake_lite.errors import NotFoundError
from deeplake_lite.query.parse.names import literal
from deeplake_lite.widget import fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request


class Saving:
    """The saved views of the lake."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What it answers, by type of message."""
        return {"save_view": self.save_view, "views": self.views, "show_view": self.show_view}

    def save_view(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        """Keep what is shown under a name."""
        name = fields.text(request, "name").strip()
        self._host.shown.view.save(name, overwrite=bool(request.get("overwrite")))
        return {"name": name}

    def views(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        """Return what is kept."""
        saved = SavedViews(self._host.shown.base.rows.lake)
        infos = [saved.info(name) for name in saved]
        return {"views": [{"name": i.name, "rows": i.rows, "query": i.origin} for i in infos]}

    def show_view(self, request: Request, pack: Pack) -> Mapping[str, Any]:  # noqa: ARG002
        """Show what is kept under a name: as a source of the query, to filter further."""
        name, saved = fields.text(request, "name"), SavedViews(self._host.shown.base.rows.lake)
        if name not in saved:
            raise NotFoundError.named("saved view", name, saved)
        return self._host.ask(f"SELECT * FROM {literal(name)}")
