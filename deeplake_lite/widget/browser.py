"""The browser widget: its methods for users, its traits, and the parts that answer requests."""

from __future__ import annotations

import threading
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, override

import numpy as np
import traitlets as t

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.read.values import decode_pool
from deeplake_lite.dataset.show import title_of
from deeplake_lite.errors import InvalidValueError, LakeError, shorten_tracebacks
from deeplake_lite.widget.about import about_of, state_of
from deeplake_lite.widget.browser_state import BrowserState
from deeplake_lite.widget.display import Display
from deeplake_lite.widget.edits.editing import Editing
from deeplake_lite.widget.filters.facets import Facets
from deeplake_lite.widget.filters.filtering import Filtering
from deeplake_lite.widget.images.cells import Cells
from deeplake_lite.widget.images.kinds import image_column
from deeplake_lite.widget.images.thumbnails import Thumbnails
from deeplake_lite.widget.messages import Dispatcher, Pack
from deeplake_lite.widget.requests.querying import Querying, query_reply
from deeplake_lite.widget.requests.saving import Saving
from deeplake_lite.widget.requests.selecting import Selecting
from deeplake_lite.widget.requests.versions import Versions
from deeplake_lite.widget.review.mapping import Map
from deeplake_lite.widget.review.reviewing import Reviewing
from deeplake_lite.widget.row.detail import Detail
from deeplake_lite.widget.row.history import History
from deeplake_lite.widget.static import html as static_page
from deeplake_lite.widget.static.strip import strip
from deeplake_lite.widget.traits import Positions, QueryText, ShownView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Unpack

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.versions.merge_plan import Resolution
    from deeplake_lite.dataset.view import View
    from deeplake_lite.widget.parts import Addition, Part
    from deeplake_lite.widget.static.strip import StripOptions

PARTS: tuple[type[Part], ...] = (
    Querying,
    Filtering,
    Facets,
    Cells,
    Selecting,
    Detail,
    History,
    Versions,
    Saving,
    Editing,
    Map,
    Reviewing,
)
"""The classes of the browser's parts. Each part answers one kind of request from the page."""

GIVEN = "given"
"""Name under which queries read a view that was assigned to `Browser.view`."""

NO_VALUE: Final = object()
"""Default of arguments that cannot default to None, because None means null."""

SETTINGS: dict[str, Any] = {
    "size": 160,
    "picture": None,
    "caption": None,
    "overlays": {},
    "colour_by": None,
    "panel": "facets",
    "theme": "auto",
}
"""Initial settings. If ``caption`` is None, the page chooses the columns of the captions."""


class Browser(Display):
    """A grid of a view's rows in the notebook, for viewing, filtering, selecting and editing.

    Created by `View.browse`.

    Parameters
    ----------
    view : View
        A dataset, or some rows of it.
    cache_bytes : int
        Maximum memory for thumbnails, in bytes.

    Attributes
    ----------
    query : str
        The shown query, or an empty string for all rows. Assigning a query runs the query. If the
        query fails, the error is raised and nothing changes.
    view : View
        The shown rows. Assigning a view shows its rows, which queries read as the source ``given``.
    selected : ndarray, (n,) int64
        Positions of the selected rows in `view`, ascending. Can be set to positions or a mask. When
        the query changes, the same rows stay selected, except rows that the new query hides.
    settings : dict
        The user's settings: ``size`` in pixels, ``picture``, ``caption``, ``overlays``.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://browser-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2, 3]})
    >>> w = ds.browse()
    >>> w.query = "SELECT * WHERE x > 1"
    >>> w.selected = [1]
    >>> w.selected_view()["x"][:]
    array([3], dtype=int32)
    """

    query = QueryText("", help="The shown query, or empty for all rows.").tag(sync=True)
    view = ShownView(help="The shown rows.")
    selected = Positions(help="Positions of the selected rows in `view`, (n,) int64, ascending.")

    def __init__(self, view: View, *, cache_bytes: int = Thumbnails.MEMORY) -> None:
        # While `_applying` is true, the setters of the traits run no query.
        self._lock, self._applying = threading.RLock(), True
        self._shown = BrowserState.of(view)
        self.thumbnails = Thumbnails(
            self._shown.base.url, checks.integer("cache_bytes", cache_bytes, 0)
        )
        picture = image_column(self._shown.view)
        super().__init__(
            settings={**SETTINGS, "picture": picture},
            about=about_of(self._shown),
            state=state_of(self._shown),
        )
        self._applying = bool(self.query)
        decode_pool().submit(_warm_up)
        self.additions: list[Addition] = []
        self.parts = tuple(part(self) for part in PARTS)
        handlers = {name: h for part in self.parts for name, h in part.handlers.items()}
        self._dispatcher = Dispatcher(
            {**handlers, "failed": self._failed},
            lambda reply, buffers: self.send(reply, buffers),
            lambda: self.generation,
            self._ready,
            self._lock,
        )
        self.part(Editing).offer()

    # ---- shown rows

    @property
    def shown(self) -> BrowserState:
        """The state that the page shows: the browsed view, the query and its result."""
        return self._shown

    @property
    def generation(self) -> int:
        """Number of the shown query result. Positions are only valid within one result."""
        return self._shown.generation

    def ask(self, text: str) -> Mapping[str, object]:
        """Show the result of a query, and return its number of rows and the time it took."""
        self.query = text
        return query_reply(self)

    def show(self, view: View, name: str) -> Mapping[str, Any]:
        """Show the rows of a view with a query that reads the view as the source `name`.

        The user can then add filters to this query.
        """
        with self._lock:
            self._shown = self._shown.with_source(name, view)
            return self.ask(f"SELECT * FROM {name}")

    def browse(self, view: View) -> None:
        """Browse another view, with the same query if possible.

        Raises UncommittedError if edits are staged and the view is of another branch or lake.
        """
        with self._lock:
            self.part(Editing).check_moves(view)
            self._rerun_query(lambda shown: shown.with_base(view))

    def _rerun_query(self, change: Callable[[BrowserState], BrowserState]) -> None:
        """Run the query on other rows. If it fails, show the error and all of these rows."""
        try:
            self._update(change(self._shown))
        except LakeError as error:
            self._update(change(self._shown.without_query))
            self.report_error(error)

    def refresh(self) -> None:
        """Show the dataset as it is now. Selected rows that still exist stay selected.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://refresh-doc", {"x": "int32"})
        >>> w = ds.browse()
        >>> ds.append({"x": [1, 2]})
        >>> w.refresh()
        >>> len(w.view)
        2
        """
        self.browse(self._shown.handle)

    def selected_view(self) -> View:
        """Return a view of the selected rows, for training, saving or querying."""
        rows: View = self.view[self.selected]
        return rows

    def renew(self, ds: Dataset) -> None:
        """Show the current version of a dataset, after a commit."""
        with self._lock:
            self._rerun_query(lambda shown: shown.renew(ds))

    # ---- edits

    def commit(self, message: str = "", *, on_conflict: Resolution = "raise") -> str:
        """Commit the staged edits as a version, and clear the selection.

        Parameters
        ----------
        message : str
            Message for the log. By default, it names the edited columns.
        on_conflict : {"raise", "ours", "theirs"}
            What to do about cells that another writer has changed since they were shown here:
            write these edits ("ours"), or keep the other writer's values ("theirs"). Tags from
            both writers are kept. With either choice, unlike in `Dataset.rebase`, rows and columns
            that another writer removed stay removed. Edits of these rows and columns are dropped,
            and the page lists the dropped edits.

        Returns
        -------
        str
            Id of the version. If nothing is staged, this is the current version, and the page says
            so.

        Raises
        ------
        ConflictError
            When another writer has changed the same cells. Nothing is written, and all edits stay
            staged.
        UncommittedError
            When the dataset has uncommitted edits that were made outside the dataset browser.
        ReadOnlyError
            When the browsed version is read-only.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://browser-commit-doc", {"x": "int32"})
        >>> w = ds.browse()
        >>> w.commit() == ds.version
        True
        """
        with self._lock, shorten_tracebacks():
            return self.part(Editing).commit(message, on_conflict=on_conflict).version

    def edit(
        self,
        column: str,
        value: object = NO_VALUE,
        *,
        take: str | None = None,
        new_class: bool = False,
    ) -> int:
        """Stage an edit of the selected rows, as the page does.

        Parameters
        ----------
        column : str
            The column to edit.
        value : object
            The new value. A class can be given by name or number. None means null.
        take : str, optional
            Name of a shown column from which to copy values instead, such as ``"suggested"``.
        new_class : bool
            Whether to accept an unknown name as a new class, which the commit will add.

        Returns
        -------
        int
            Number of edited rows.

        Raises
        ------
        InvalidValueError
            When the column rejects the value, or there is no class with that name.
        LakeError
            When there is no such column, or no row is selected.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://browser-edit-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2, 3]})
        >>> version = ds.commit("three")
        >>> w = ds.browse()
        >>> w.selected = [0, 2]
        >>> w.edit("x", 7)
        2
        >>> version = w.commit("sevens")
        >>> w.view["x"][:]
        array([7, 2, 7], dtype=int32)
        """
        if take is None and value is NO_VALUE:
            raise InvalidValueError(
                "An edit needs a value, but there is none. Pass a value, None for null, or "
                "take='a column' to copy the values of another column.",
                column=column,
            )
        op = {"op": "set", "value": value} if take is None else {"op": "take", "value": take}
        edit = {"positions": "selected", "column": str(column), "new_class": new_class, **op}
        with self._lock, shorten_tracebacks():
            reply = self.part(Editing).stage({"edits": [edit]}, Pack())
        self.notify({"type": "changed", "positions": reply["positions"]})
        return len(np.unique(self._shown.view.row_ids[self.selected]))

    def discard(self) -> None:
        """Discard all staged edits."""
        with self._lock:
            self.part(Editing).discard()

    def restore(self) -> int:
        """Stage the edits that earlier browsers left uncommitted. Nothing is committed.

        Staged edits survive when the kernel restarts or crashes, or the cell is run again, because
        they are recorded on disk as a draft. The next dataset browser of the same lake and branch
        offers to restore the draft; `drafts` lists all drafts. As usual, a commit reports cells
        that other writers have changed in the meantime. Edits of rows that the branch no longer has
        stay in their draft, and the page says so.

        Returns
        -------
        int
            Number of staged edits after the call.

        Raises
        ------
        InvalidValueError
            When the boxes or classes in a draft do not match those staged here.

        Examples
        --------
        >>> import deeplake_lite as dl, tempfile
        >>> ds = dl.create(tempfile.mkdtemp() + "/x.lake", {"x": "int32"})
        >>> ds.append({"x": [1, 2, 3]})
        >>> version = ds.commit("three")
        >>> w = ds.browse()
        >>> w.selected = [0]
        >>> w.edit("x", 7)
        1
        >>> w = ds.browse()  # the cell was run again, or in another kernel
        >>> w.drafts[0]["rows"], w.restore()
        (1, 1)
        >>> version = w.commit("seven")
        >>> ds["x"][:]
        array([7, 2, 3], dtype=int32)
        """
        with self._lock, shorten_tracebacks():
            editing = self.part(Editing)
            try:
                for draft in reversed(editing.drafts()):
                    editing.restore(draft)
            finally:
                editing.offer()
                editing.list_staged()
        self.notify({"type": "changed"})
        return self.staged_count

    # ---- export

    def to_html(
        self, path: str | Path, *, rows: int = 200, size: int = 256, large: int = 640
    ) -> Path:
        """Write the shown rows to an HTML file with the same front end as in the notebook.

        The page opens without a kernel and without a network. Users can view rows, filter by
        classes and numbers, select rows, and open a single row. Queries need a notebook.

        Parameters
        ----------
        path : str or Path
            File to write, in an existing folder.
        rows : int
            Maximum number of rows on the page, counted from the first shown row.
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
        >>> ds = dl.create("memory://to-html-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2, 3]})
        >>> ds.browse().to_html(tempfile.mkdtemp() + "/page.html").name
        'page.html'
        """
        path, rows = checks.location("path", path), checks.integer("rows", rows, 0)
        size, large = checks.integer("size", size, 1), checks.integer("large", large, 1)
        with self._lock:  # released before the page is written, so that the grid stays responsive
            shown, about = self._shown, {k: self.about[k] for k in static_page.ABOUT}
            browser = Browser(shown.view[:rows])
        try:
            browser.settings = {**self.settings}
            browser.about = {**browser.about, **about}
            pack = static_page.OncePack()
            content = static_page.content(browser, pack, query=shown.text, size=size, large=large)
            return static_page.write(Path(path).expanduser(), content, pack)
        finally:
            browser.layout.close()
            browser.close()

    # ---- parts

    def part[T](self, kind: type[T]) -> T:
        """Return the part of the browser that is of the given class."""
        return next(part for part in self.parts if isinstance(part, kind))

    # ---- the page

    @override
    def _strip(self, **more: Unpack[StripOptions]) -> str:
        picture = self.settings.get("picture")
        return strip(self._shown, self.thumbnails, picture=picture, **more)

    def _ready(self) -> None:
        """Show the current rows if the shown rows belong to a transaction that has ended."""
        if self._shown.is_gone:
            self.refresh()

    # ---- traits

    def take_query(self, text: str) -> str:
        """Run an assigned query before the trait changes. Return the query shown afterwards."""
        with self._lock, shorten_tracebacks():  # another thread may be about to show something else
            if not self._applying:
                self._update(self._shown.with_query(text))
            return self._shown.text

    def take_view(self, view: View) -> View:
        """Show an assigned view before the trait changes. Return the view shown afterwards."""
        with self._lock:
            if view is not self._shown.view and not self._applying:
                self.show(view, GIVEN)
            return self._shown.view

    def _update(self, shown: BrowserState) -> None:
        """Show another state by setting all traits. The page receives them in one message."""
        before, selected, self._shown = self._shown, self.selected, shown
        is_moved = before.handle is not shown.handle or before.branch != shown.branch
        is_elsewhere = (before.base.url, before.branch) != (shown.base.url, shown.branch)
        self._applying = True
        try:
            with self.hold_sync():
                self.about, self.state = about_of(shown), state_of(shown)
                self.problem = None
                self.query, self.view = shown.text, shown.view
                self.selected = shown.carry_selection(before, selected)
        finally:
            self._applying = False
        if is_elsewhere:
            self.part(Editing).forget_undone()
        if is_moved:
            self.part(Editing).offer()
        self.part(Editing).list_staged()

    @t.default("view")
    def _first_view(self) -> View:
        return self._shown.view

    @t.default("selected")
    def _no_rows(self) -> NDArray[np.int64]:
        return np.empty(0, np.int64)

    @t.observe("selected")
    def _send_selected(self, change: Any) -> None:
        self._selected = change["new"].astype("<u4").tobytes()

    @t.observe("_selected")
    def _receive_selected(self, change: Any) -> None:
        """Apply the page's selection. If it is of an earlier result, send back the current one."""
        with self._lock:
            positions = np.frombuffer(change["new"], "<u4").astype(np.int64)
            if np.array_equal(positions, self.selected):
                return
            if self._selected_of in (0, self.generation):
                self.selected = positions[positions < len(self._shown.view)]
            self._selected = self.selected.astype("<u4").tobytes()

    def __repr__(self) -> str:
        shown = self._shown
        query = f", {brief(shown.text)}" if shown.text else ""
        return f"Browser of {title_of(shown.base.url)}: {len(shown.view):,} rows{query}"


def _warm_up() -> None:
    """Import the modules for the first images and query while the page is being drawn."""
    for name in ("PIL.Image", "deeplake_lite.query.api"):
        import_module(name)


def browse(view: View, *, cache_bytes: int = Thumbnails.MEMORY) -> Browser:
    """Return a dataset browser for a view; see `View.browse`."""
    return Browser(view, cache_bytes=cache_bytes)
