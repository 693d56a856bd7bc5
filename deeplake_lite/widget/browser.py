"""The browser as users hold it: its traits, and the parts that answer what the page asks."""

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
from deeplake_lite.dataset.repr.show import title_of
from deeplake_lite.errors import InvalidValueError, LakeError, shown_briefly
from deeplake_lite.widget.about import about_of, state_of
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
from deeplake_lite.widget.shown import Shown
from deeplake_lite.widget.static import html as static_page
from deeplake_lite.widget.static.strip import strip
from deeplake_lite.widget.traits import Positions, QueryText, ShownView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.versions.merge_plan import Resolution
    from deeplake_lite.dataset.view import View
    from deeplake_lite.widget.parts import Addition, Part

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
"""What the browser can do: a part for each of it."""

GIVEN = "given"
"""Name that queries have for a view that was put into the browser by hand."""

NO_VALUE: Final = object()
"""Stands for a value that is not given: None is null."""

SETTINGS: dict[str, Any] = {
    "size": 160,
    "picture": None,
    "caption": None,
    "overlays": {},
    "colour_by": None,
    "panel": "facets",
    "theme": "auto",
}
"""Choices of the reader, as they are at first; no caption is chosen yet: the page does."""


class Browser(Display):
    """A grid of a view's rows in the notebook: to look, filter, select and mend.

    Made by `View.browse`.

    Parameters
    ----------
    view : View
        A dataset, or some rows of it.
    cache_bytes : int
        Memory that small pictures may take.

    Attributes
    ----------
    query : str
        What is shown; empty for all rows. Setting it asks: a mistake raises, and all stays as it
        was.
    view : View
        The rows that are shown. Setting it shows others, as the source ``given`` of the query.
    selected : ndarray, (n,) int64
        Positions in `view`, ascending; set from positions or a mask. When the query changes they
        stay with their rows, by id; rows that it hides are selected no longer.
    settings : dict
        Choices of the reader: ``size`` in pixels, ``picture``, ``caption``, ``overlays``.

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

    query = QueryText("", help="The query that is shown; empty for all rows.").tag(sync=True)
    view = ShownView(help="The rows that are shown.")
    selected = Positions(help="Positions of the selected rows in `view`, (n,) int64, ascending.")

    def __init__(self, view: View, *, cache_bytes: int = Thumbnails.MEMORY) -> None:
        self._lock, self._applying = threading.RLock(), True  # defaults are not queries
        self._shown = Shown.of(view)
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

    # ---- what is shown

    @property
    def shown(self) -> Shown:
        """What is shown now."""
        return self._shown

    @property
    def generation(self) -> int:
        """Which answer is shown: positions of another one mean other rows."""
        return self._shown.generation

    def ask(self, text: str) -> Mapping[str, Any]:
        """Show the answer of a query; return how many rows, and how long it took."""
        self.query = text
        return query_reply(self)

    def show(self, view: View, name: str) -> Mapping[str, Any]:
        """Show a view as a source of a query, which filters can go on from."""
        with self._lock:
            self._shown = self._shown.named(name, view)
            return self.ask(f"SELECT * FROM {name}")

    def browse(self, view: View) -> None:
        """Browse another view from now on; the query is asked of it, if it can be.

        Raises UncommittedError for another branch or lake while edits are staged.
        """
        with self._lock:
            self.part(Editing).check_moves(view)
            self._ask_again(lambda shown: shown.based(view))

    def _ask_again(self, moved: Callable[[Shown], Shown]) -> None:
        """Show the query of other rows; all of them, and why, where it cannot be asked of them."""
        try:
            self._now_shown(moved(self._shown))
        except LakeError as error:
            self._now_shown(moved(self._shown.unasked))
            self.complain(error)

    def refresh(self) -> None:
        """Take the dataset as it is now. Selected rows stay selected, where they are still there.

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
        """Return the selected rows, as a view: to train on, to save, to ask."""
        found: View = self.view[self.selected]
        return found

    def renew(self, ds: Dataset) -> None:
        """Show everything as it is in a dataset by now: after a commit."""
        with self._lock:
            self._ask_again(lambda shown: shown.renewed(ds))

    # ---- edits

    def commit(self, message: str = "", *, on_conflict: Resolution = "raise") -> str:
        """Write the edits that are staged in the browser as a version; nothing is selected then.

        Parameters
        ----------
        message : str
            For the log; left out, it says which columns were edited.
        on_conflict : {"raise", "ours", "theirs"}
            What becomes of cells that another writer changed since they were seen here: these edits
            count ("ours"), or what the other wrote ("theirs"). Tags of both are kept.

        Returns
        -------
        str
            The version's id; the current one when nothing is staged, which the page then says.

        Raises
        ------
        ConflictError
            When another writer changed the same cells; nothing is written, and all stays staged.
        UncommittedError
            When the dataset has edits of its own, made beside the browser.
        ReadOnlyError
            When what is browsed never moves.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://browser-commit-doc", {"x": "int32"})
        >>> w = ds.browse()
        >>> w.commit() == ds.version
        True
        """
        with self._lock, shown_briefly():
            return self.part(Editing).commit(message, on_conflict=on_conflict).version

    def edit(
        self,
        column: str,
        value: Any = NO_VALUE,
        *,
        take: str | None = None,
        new_class: bool = False,
    ) -> int:
        """Stage an edit of the selected rows, as the page does.

        Parameters
        ----------
        column : str
            What is edited.
        value : object
            The new value, a class by its name or number; None for null.
        take : str, optional
            Column shown whose values are taken over instead, such as ``"suggested"``.
        new_class : bool
            Whether a name that no class has yet is a new class, which the commit adds.

        Returns
        -------
        int
            How many rows are edited by it.

        Raises
        ------
        InvalidValueError
            When the column does not take the value, or no class has the name.
        LakeError
            When the column is not there, or nothing is selected.

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
                "An edit takes a value, got none. Pass one, None for null, or take='a column'.",
                column=column,
            )
        op = {"op": "set", "value": value} if take is None else {"op": "take", "value": take}
        wanted = {"positions": "selected", "column": str(column), "new_class": new_class, **op}
        with self._lock, shown_briefly():
            staged = self.part(Editing).stage({"edits": [wanted]}, Pack())
        self.tell({"type": "changed", "positions": staged["positions"]})
        return len(np.unique(self._shown.view.row_ids[self.selected]))

    def discard(self) -> None:
        """Forget the edits that are staged; `staged` lists them."""
        with self._lock:
            self.part(Editing).discard()

    def restore(self) -> int:
        """Stage again what browsers left that ended with edits staged; nothing is committed.

        Edits that are staged survive a restart of the kernel, a crash, and a cell that is run
        again: they are kept by lake, branch and row id, and the next browser offers them. `drafts`
        lists them. A commit tells which cells were changed meanwhile, as ever. Edits of rows that
        the branch no longer has stay in their draft, and the page says so.

        Returns
        -------
        int
            How many edits are staged then.

        Raises
        ------
        InvalidValueError
            When boxes of a draft do not fit classes that are staged here, or the other way round.

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
        with self._lock, shown_briefly():
            editing = self.part(Editing)
            try:
                for draft in reversed(editing.drafts()):
                    editing.restore(draft)
            finally:
                editing.offer()
                editing.list_staged()
        self.tell({"type": "changed"})
        return self.staged_count

    # ---- keeping

    def to_html(
        self, path: str | Path, *, rows: int = 200, size: int = 256, large: int = 640
    ) -> Path:
        """Write the rows that are shown as a page of its own, with the same front end.

        It opens from a file, without a kernel and without a network: to look, filter by classes and
        numbers, select, and see a row at large. It holds the first 200 rows unless told otherwise;
        queries need a notebook.

        Parameters
        ----------
        path : str or Path
            File to write, in a folder that is there.
        rows : int
            The first so many of those that are shown.
        size, large : int
            Longer side of pictures in the grid and of a single row, pixels.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        StorageError
            Where no file can be written, or the disk is full; a file that was there is as before.

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
        with self._lock:  # what is shown goes on being asked about while the page is made
            shown, known = self._shown, {k: self.about[k] for k in static_page.ABOUT}
            few = Browser(shown.view[:rows])
        try:
            few.settings = {**self.settings}
            few.about = {**few.about, **known}
            pack = static_page.OncePack()
            found = static_page.content(few, pack, query=shown.text, size=size, large=large)
            return static_page.write(Path(path).expanduser(), found, pack)
        finally:
            few.layout.close()
            few.close()

    # ---- parts

    def part[T](self, kind: type[T]) -> T:
        """Return one of the parts."""
        return next(part for part in self.parts if isinstance(part, kind))

    # ---- the page

    @override
    def _strip(self, **more: Any) -> str:
        picture = self.settings.get("picture")
        return strip(self._shown, self.thumbnails, picture=picture, **more)

    def _ready(self) -> None:
        if self._shown.is_gone:
            self.refresh()

    # ---- traits

    def _take_query(self, text: str) -> str:
        """Run a query that is set; called before the trait has it."""
        with self._lock, shown_briefly():  # another thread may be about to show something else
            if not self._applying:
                self._now_shown(self._shown.asked(text))
            return self._shown.text

    def _take_view(self, view: View) -> View:
        """Show a view that is set; called before the trait has it."""
        with self._lock:
            if view is not self._shown.view and not self._applying:
                self.show(view, GIVEN)
            return self._shown.view

    def _now_shown(self, shown: Shown) -> None:
        """Bring all traits to what is shown now; the page hears of them at once."""
        before, selected, self._shown = self._shown, self.selected, shown
        moved = before.handle is not shown.handle or before.branch != shown.branch
        elsewhere = (before.base.url, before.branch) != (shown.base.url, shown.branch)
        self._applying = True
        try:
            with self.hold_sync():
                self.about, self.state = about_of(shown), state_of(shown)
                self.problem = None
                self.query, self.view = shown.text, shown.view
                self.selected = shown.carried(before, selected)
        finally:
            self._applying = False
        if elsewhere:
            self.part(Editing).forget_undone()
        if moved:
            self.part(Editing).offer()
        self.part(Editing).list_staged()

    @t.default("view")
    def _first_view(self) -> View:
        return self._shown.view

    @t.default("selected")
    def _nothing(self) -> NDArray[np.int64]:
        return np.empty(0, np.int64)

    @t.observe("selected")
    def _tell_selected(self, change: Any) -> None:
        self._selected = change["new"].astype("<u4").tobytes()

    @t.observe("_selected")
    def _hear_selected(self, change: Any) -> None:
        """Take a selection of the page; one of rows that are no longer shown is taken back."""
        with self._lock:
            sent = np.frombuffer(change["new"], "<u4").astype(np.int64)
            there = sent[sent < len(self._shown.view)]
            if np.array_equal(sent, self.selected):
                return
            if self._selected_of in (0, self.generation):
                self.selected = there
            self._selected = self.selected.astype("<u4").tobytes()

    def __repr__(self) -> str:
        shown = self._shown
        asked = f", {brief(shown.text)}" if shown.text else ""
        return f"Browser of {title_of(shown.base.url)}: {len(shown.view):,} rows{asked}"


def _warm_up() -> None:
    """Load what the first pictures and the first query need, while the page is being drawn."""
    for name in ("PIL.Image", "deeplake_lite.query.api"):
        import_module(name)


def browse(view: View, *, cache_bytes: int = Thumbnails.MEMORY) -> Browser:
    """Return a browser of a view; see `View.browse`."""
    return Browser(view, cache_bytes=cache_bytes)
