"""The widget that shows the changed, added and removed rows of two versions side by side.

The page that draws the browser also draws this widget. For this widget, the page requests pairs of
rows: a row in the older version, and the same row in the newer version.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, override

import traitlets as t

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.show import title_of
from deeplake_lite.errors import LakeError, OptionError
from deeplake_lite.widget import fields
from deeplake_lite.widget.display import Display
from deeplake_lite.widget.images.kinds import about_columns, image_column
from deeplake_lite.widget.images.thumbnails import Thumbnails
from deeplake_lite.widget.messages import Dispatcher
from deeplake_lite.widget.pairs import SETTINGS, TABS, Pairs, ids_of, whole_view
from deeplake_lite.widget.static import html as static_page
from deeplake_lite.widget.static import pairs as static_pairs

if TYPE_CHECKING:
    from typing import Unpack

    from deeplake_lite.dataset.versions.diff import Diff
    from deeplake_lite.dataset.versions.history import Version
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Request
    from deeplake_lite.widget.row.detail import RowDetail
    from deeplake_lite.widget.static.strip import StripOptions


class Difference(Display):
    """The difference between two versions, shown in the notebook.

    Created by `browse_diff`.

    Parameters
    ----------
    diff : Diff
        The difference.
    cache_bytes : int
        Maximum memory for thumbnails, in bytes.
    """

    query = t.Unicode("").tag(sync=True)

    def __init__(self, diff: Diff, *, cache_bytes: int = Thumbnails.MEMORY) -> None:
        self.diff, self._lock, self._generation = diff, threading.RLock(), 1
        self.thumbnails = Thumbnails(
            diff.lake.repository.url, checks.integer("cache_bytes", cache_bytes, 0)
        )
        tab = next((name for name in TABS if len(ids_of(diff, name))), TABS[0])
        self._pairs = Pairs.of(diff, tab, None)
        super().__init__(
            settings={**SETTINGS, "picture": self._picture()},
            about=self._about(),
            state=self._state(),
        )
        self._dispatcher = Dispatcher(
            {
                "hello": self._hello,
                "tab": self._tab,
                "cells": self._cells,
                "detail": self._detail,
                "failed": self._failed,
            },
            lambda reply, buffers: self.send(reply, buffers),
            lambda: self._generation,
            lock=self._lock,
        )

    # ---- messages

    def _hello(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        pack.add(b"\x01\x02\x03\x04", "application/octet-stream")
        return {"probe": 4}

    def _tab(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        """Show the rows of a tab, or, with a column, only rows in which this column changed.

        `TABS` lists the tabs.
        """
        column = fields.text_or_none(request, "column")
        self._pairs = Pairs.of(self.diff, fields.text(request, "tab"), column)
        self._generation += 1
        self.state = self._state()
        return {"rows": len(self._pairs)}

    def _cells(self, request: Request, pack: Pack) -> dict[str, object]:
        """Return the contents of some rows in both versions."""
        request = {"picture": self._picture(), **request}
        return {"cells": self._pairs.cells(request, self.thumbnails, pack)}

    def _detail(self, request: Request, pack: Pack) -> RowDetail:
        """Return the content of the detail panel for a row in one of the two versions."""
        name, pairs = fields.text(request, "side", "b"), self._pairs
        if name not in pairs.sides:
            raise LakeError(
                f"This row does not exist in version {getattr(self.diff, name, name)!r}. Look at "
                "the other version."
            )
        picture = fields.text_or_none(request, "picture") or self.settings.get("picture")
        return pairs.detail(name, {**request, "picture": picture}, self.thumbnails, pack)

    # ---- export

    def to_html(
        self, path: str | Path, *, rows: int = 200, size: int = 256, large: int = 640
    ) -> Path:
        """Write the difference to an HTML file with the same front end as in the notebook.

        The page opens without a kernel and without a network.

        Parameters
        ----------
        path : str or Path
            File to write, in an existing folder.
        rows : int
            Maximum number of rows for each kind of change.
        size, large : int
            Longer side of images in the grid and in the view of a single row, in pixels.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        StorageError
            When the file cannot be written or the disk is full. An existing file is left unchanged.

        Examples
        --------
        >>> import deeplake_lite as dl, tempfile
        >>> ds = dl.create("memory://diff-to-html-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2, 3]})
        >>> version = ds.commit("three")
        >>> ds["x"][1] = 9
        >>> dl.browse_diff(ds).to_html(tempfile.mkdtemp() + "/page.html").name
        'page.html'
        """
        path, rows = checks.location("path", path), checks.integer("rows", rows, 0)
        size, large = checks.integer("size", size, 1), checks.integer("large", large, 1)
        with self._lock:
            about, state = dict(self.about), dict(self.state)
        pack, settings = static_page.OncePack(), dict(self.settings)
        content = static_pairs.content(
            self.diff, about, settings, self.thumbnails, pack, rows=rows, size=size, large=large
        )
        shown = sum(cell["tab"] == state["tab"] for cell in content["cells"])
        state |= {"generation": 1, "column": None, "rows": shown}
        content["traits"] |= {"settings": settings, "state": state}
        return static_page.write(Path(path).expanduser(), content, pack)

    # ---- traits

    def _picture(self) -> str | None:
        return image_column(whole_view(self.diff, self.diff.newer))

    def _about(self) -> dict[str, object]:
        diff, newer = self.diff, whole_view(self.diff, self.diff.newer)
        return {
            "mode": "diff",
            "title": title_of(diff.lake.repository.url),
            "url": diff.lake.repository.url,
            "version": newer.version,
            "a": diff.a,
            "b": diff.b,
            "branch": None,
            "writable": False,
            "counts": {tab: len(ids_of(diff, tab)) for tab in TABS},
            "changed_columns": {name: len(ids) for name, ids in diff.changed.items()},
            "columns": about_columns(newer),
            "picture": self._picture(),
            "total": len(newer),
            "has_ids": True,
        }

    def _state(self) -> dict[str, object]:
        pairs = self._pairs
        return {
            "generation": self._generation,
            "rows": len(pairs),
            "tab": pairs.tab,
            "column": pairs.column,
            "ms": 0.0,
            "query": "",
            "order": None,
        }

    @override
    def _strip(self, **more: Unpack[StripOptions]) -> str:
        return self.diff._repr_html_()

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(ids_of(self.diff, tab)):,} {tab}" for tab in TABS)
        return f"Difference of {self.diff.a} and {self.diff.b}: rows {counts}"


def browse_diff(
    ds: Dataset,
    a: Version | None = None,
    b: Version | None = None,
    *,
    cache_bytes: int = Thumbnails.MEMORY,
) -> Difference:
    """Show the difference from version `a` to version `b` in the notebook, side by side.

    Parameters
    ----------
    ds : Dataset
        A dataset with both versions in its lake.
    a : str, datetime, date or Commit, optional
        Branch, tag, commit id, time, or a commit from ``ds.log()``. Defaults to the current
        version.
    b : optional
        A version, given like `a`. Defaults to the dataset with its uncommitted edits.
    cache_bytes : int
        Maximum memory for thumbnails, in bytes.

    Returns
    -------
    Difference
        A widget with the changed, added and removed rows, in which changed columns are marked.

    Raises
    ------
    VersionNotFoundError
        When there is no such version.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://browse-diff-doc", {"label": "text"})
    >>> ds.append({"label": ["rose", "tulip"]})
    >>> version = ds.commit("two flowers")
    >>> ds.tag("v1")
    >>> ds["label"][1] = "lily"
    >>> version = ds.commit("fixed")
    >>> dl.browse_diff(ds, "v1", "main")
    Difference of v1 and main: rows 1 changed, 0 added, 0 removed
    """
    if not isinstance(ds, Dataset):
        raise OptionError(
            f"ds must be a Dataset, but it is {brief(ds, 80)}. Open one with dl.open(url)."
        )
    return Difference(ds.diff(a, b), cache_bytes=cache_bytes)
