"""What FROM names: the view that is asked, views by name, lakes by URL; each as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite.dataset.view import View
from deeplake_lite.errors import LakeNotFoundError, QueryError
from deeplake_lite.query.bind import SELF
from deeplake_lite.query.sources import Source

if TYPE_CHECKING:
    from collections.abc import Mapping


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
        self.default = None if view is None else Source(as_it_is(view), "dataset")
        self._given = given or {}
        self._opened = {key: Source(v, key[0]) for key, v in (opened or {}).items()}

    def __call__(self, name: str, version: str | None) -> Source:
        """Return a source. Raises QueryError when the name is none of a lake."""
        key = (name, version)
        if key not in self._opened:
            if version is None and name not in self._given and self._is_default(name):
                assert self.default is not None
                return self.default
            view = self._at(name, version) if version is not None else self._now(name)
            self._opened[key] = Source(as_it_is(view), name)
        return self._opened[key]

    @property
    def opened(self) -> dict[tuple[str, str | None], View]:
        """What was opened, beside the view that was asked."""
        return {key: source.view for key, source in self._opened.items()}

    def _is_default(self, name: str) -> bool:
        return self.default is not None and name in SELF

    def _at(self, name: str, version: str) -> View:
        """Return another version of a lake, all its rows."""
        from deeplake_lite.dataset.opening import open as open_lake

        if name in self._given:
            known = self._given[name]
        elif self._is_default(name):
            assert self.default is not None
            known = self.default.view
        else:
            return open_lake(name, version=version)
        return open_lake(known.url, version=version, allow=known._lake.allow)

    def _now(self, name: str) -> View:
        from deeplake_lite.dataset.opening import open as open_lake

        if name in self._given:
            return self._given[name]
        try:
            return open_lake(name)
        except LakeNotFoundError as error:
            raise QueryError(
                f"FROM takes the URL of a lake, or a name given in sources={{…}}, got {name!r}: "
                f"{error}"
            ) from error


def as_it_is(view: View) -> View:
    """Return a view that stays when the dataset, if it is one, moves on."""
    return View(view._lake, *view._located(), view.columns, view.origin)
