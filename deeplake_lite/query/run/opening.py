"""Open the sources in FROM, which are the queried view, other views, and lakes.

A name in FROM is first looked up among the views in `sources`. Then it is opened as the URL of a
lake. Finally, it is looked up among the saved views of the queried lake. A lake is opened with the
same checks and limits as the queried view or, if there is no such view, as the first view in
`sources`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.opening import open as open_lake
from deeplake_lite.dataset.opening import open_for
from deeplake_lite.dataset.saved.named_views import SavedViews
from deeplake_lite.errors import LakeNotFoundError, OptionError, QueryError
from deeplake_lite.query.bind import SELF
from deeplake_lite.query.run.sources import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.view import View


class Sources:
    """Opens each source in FROM once, and pins it, so that later changes do not affect the query.

    Parameters
    ----------
    view : View, optional
        The queried view, which a query without FROM reads.
    views : mapping
        Maps names in FROM to the views to which the names refer.
    opened : mapping
        The sources that the query opened when it ran first, which are used again. The keys are
        pairs of a name and a VERSION, or None.
    """

    def __init__(
        self,
        view: View | None = None,
        views: Mapping[str, View] | None = None,
        opened: Mapping[tuple[str, str | None], View] | None = None,
    ) -> None:
        self.default = None if view is None else Source(view.pin(), "dataset")
        self._views = checks.mapping("sources", views)
        for name, source in self._views.items():
            if not hasattr(source, "pin"):
                raise OptionError(
                    f"sources must map names to views, but {brief(name)} is "
                    f"{brief(source, 80)}. Open a lake: sources={{'name': dl.open(url)}}."
                )
        self._opened = {key: Source(v, key[0]) for key, v in (opened or {}).items()}

    def __call__(self, name: str, version: str | None) -> Source:
        """Return the source with a name or URL, at a version or, for None, as it is now.

        Raises QueryError if there is no such source.
        """
        key = (name, version)
        if key in self._opened:
            return self._opened[key]
        default = self.default if name in SELF and name not in self._views else None
        if default is not None and version is None:
            return default
        given = self._views.get(name) if default is None else default.view
        if version is None:
            view = self._find(name) if given is None else given
        elif given is None:
            view = self._open(name, version)
        else:
            view = open_for(given.rows.lake, given.url, version)
        self._opened[key] = Source(view.pin(), name)
        return self._opened[key]

    def _open(self, url: str, version: str | None = None) -> View:
        """Open the lake at a URL, and return all rows of it."""
        model = (
            next(iter(self._views.values()), None) if self.default is None else self.default.view
        )
        if model is None:
            return open_lake(url, version=version)
        return open_for(model.rows.lake, url, version)

    def _find(self, name: str) -> View:
        """Return all rows of the lake at the URL `name`, or the saved view with this name.

        Raises QueryError if neither exists.
        """
        try:
            return self._open(name)
        except LakeNotFoundError as error:
            saved = self._saved()
            if name in saved:
                return saved[name]
            raise QueryError(
                "FROM must name the URL of a lake, a saved view of the queried lake, or a key of "
                f"sources={{…}}, but it names {name!r}: {error}"
            ) from error

    def _saved(self) -> Mapping[str, View]:
        """Return the saved views of the queried lake, or {} if there is no such lake."""
        view = None if self.default is None else self.default.view
        return SavedViews(view.rows.lake) if view is not None and view.version else {}

    @property
    def opened(self) -> dict[tuple[str, str | None], View]:
        """The sources that have been opened, as in the parameter `opened`, not the queried view."""
        return {key: source.view for key, source in self._opened.items()}
