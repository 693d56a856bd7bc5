"""Protocols for the parts of the browser, and for their host.

A part is an object that handles one kind of request from the page. Its host is the browser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.view import View
    from deeplake_lite.widget.browser_state import BrowserState
    from deeplake_lite.widget.images.cell import Cell
    from deeplake_lite.widget.images.thumbnails import Thumbnails
    from deeplake_lite.widget.messages import Pack

type Request = Mapping[str, object]
"""A message from the page."""

type Handler = Callable[[Request, Pack], Mapping[str, object]]
"""A function that returns the fields of the reply to a request, and puts bytes into the pack."""

type Addition = Callable[[list[Cell], NDArray[np.int64]], None]
"""A function that adds information to grid cells, given the cells and their positions."""


class Host(Protocol):
    """The browser as its parts see it."""

    @property
    def shown(self) -> BrowserState:
        """The state that the page shows. The browser replaces the state, so read it only once."""
        ...

    @property
    def thumbnails(self) -> Thumbnails:
        """The thumbnails, with their caches."""
        ...

    @property
    def about(self) -> dict[str, object]:
        """The description of the lake and the shown columns."""
        ...

    @property
    def settings(self) -> dict[str, object]:
        """The user's settings, such as ``size`` and ``picture``."""
        ...

    selected: NDArray[np.int64]
    """Positions of the selected rows, (n,) int64, ascending."""

    additions: list[Addition]
    """Functions with which parts add information to grid cells, such as staged edits."""

    staged: object
    """The staged edits that the page lists."""

    staged_count: int
    """Number of staged edits."""

    staged_rows: int
    """Number of rows with staged edits."""

    drafts: object
    """Uncommitted edits from other browsers of the lake, which the page offers to restore."""

    def part[T](self, kind: type[T]) -> T:
        """Return the part of the browser that is of the given class."""
        ...

    def ask(self, text: str) -> Mapping[str, object]:
        """Show the result of a query, and return the reply: ``rows``, ``ms``, ``query``."""
        ...

    def show(self, view: View, name: str) -> Mapping[str, object]:
        """Show the rows of a view with a query that reads the view as the source ``name``."""
        ...

    def browse(self, view: View) -> None:
        """Browse another view, such as another version."""
        ...

    def refresh(self) -> None:
        """Show the dataset as it is now. The query runs again, and rows stay selected."""
        ...

    def renew(self, ds: Dataset) -> None:
        """Show the current version of a dataset, after a commit."""
        ...

    def notify(self, message: Mapping[str, object]) -> None:
        """Send a message to the page that is not a reply."""
        ...


class Part(Protocol):
    """A part of the browser, which handles one kind of request."""

    def __init__(self, host: Host) -> None: ...

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The methods that answer requests, by the type of the request."""
        ...
