"""What FROM names: the view that is asked, views by name, lakes by URL; each as it is now.

A view has its name from `sources`, or it is saved under it with the lake that is asked. A lake that
is named by its URL is read as carefully as the view that is asked, or else the first of `sources`.
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
    """Opens what FROM names, once each, and keeps what it has opened.

    Parameters
    ----------
    view : View, optional
        What is asked where FROM is left out.
    given : mapping
        Views by name.
    opened : mapping
        What was opened when the query was asked before, by name and VERSION.
    """

    def __init__(
        self,
        view: View | None = None,
        given: Mapping[str, View] | None = None,
        opened: Mapping[tuple[str, str | None], View] | None = None,
    ) -> None:
        self.default = None if view is None else Source(view.pin(), "dataset")
        self._given = checks.mapping("sources", given)
        for name, source in self._given.items():
            if not hasattr(source, "pin"):
                raise OptionError(
                    f"sources are views by name, got {brief(name)}: {brief(source, 80)}. Open a "
                    "lake: sources={'name': dl.open(url)}."
                )
        self._opened = {key: Source(v, key[0]) for key, v in (opened or {}).items()}

    def __call__(self, name: str, version: str | None) -> Source:
        """Return a source. Raises QueryError when the name is none of a lake."""
        key = (name, version)
        if key in self._opened:
            return self._opened[key]
        asked = self.default if name in SELF and name not in self._given else None
        if asked is not None and version is None:
            return asked
        known = self._given.get(name) if asked is None else asked.view
        if version is None:
            view = self._named(name) if known is None else known
        elif known is None:
            view = self._open(name, version)
        else:
            view = open_for(known.rows.lake, known.url, version)
        self._opened[key] = Source(view.pin(), name)
        return self._opened[key]

    def _open(self, url: str, version: str | None = None) -> View:
        """Return the lake at a URL, all its rows."""
        asked = (
            next(iter(self._given.values()), None) if self.default is None else self.default.view
        )
        if asked is None:
            return open_lake(url, version=version)
        return open_for(asked.rows.lake, url, version)

    def _named(self, name: str) -> View:
        """Return the lake at a URL, or a saved view. Raises QueryError."""
        try:
            return self._open(name)
        except LakeNotFoundError as error:
            saved = self._saved()
            if name in saved:
                return saved[name]
            raise QueryError(
                f"FROM takes the URL of a lake, a saved view of the one that is asked, or a name "
                f"given in sources={{…}}, got {name!r}: {error}"
            ) from error

    def _saved(self) -> Mapping[str, View]:
        """Return the views that are saved with the lake that is asked; none where it reads none."""
        asked = None if self.default is None else self.default.view
        return SavedViews(asked.rows.lake) if asked is not None and asked.version else {}

    @property
    def opened(self) -> dict[tuple[str, str | None], View]:
        """What was opened, beside the view that was asked."""
        return {key: source.view for key, source in self._opened.items()}
