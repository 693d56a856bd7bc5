"""What the browser is made of: parts that answer messages, and what each of them may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.view import View
    from deeplake_lite.widget.images.thumbnails import Thumbnails
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.shown import Shown

type Request = Mapping[str, Any]
"""A message of the page."""

type Handler = Callable[[Request, Pack], Mapping[str, Any]]
"""Answers a request with the fields of the reply; bytes go into the pack."""

type Addition = Callable[[list[dict[str, Any]], NDArray[np.int64]], None]
"""Adds to cells, given them and their positions in what is shown."""


class Host(Protocol):
    """What a part may use of the browser."""

    @property
    def shown(self) -> Shown:
        """What is shown now. It is replaced, never changed: take it once per message."""
        ...

    @property
    def thumbnails(self) -> Thumbnails:
        """Makes small pictures, and keeps them."""
        ...

    @property
    def about(self) -> dict[str, Any]:
        """What is known of the lake and of the columns shown."""
        ...

    @property
    def settings(self) -> dict[str, Any]:
        """Choices of the reader, such as ``size`` and ``picture``."""
        ...

    selected: Any
    """Positions of the selected rows, (n,) int64, ascending."""

    additions: list[Addition]
    """What parts add to the cells that the grid gets, such as marks of staged edits."""

    staged: Any
    """The edits that the page lists."""

    staged_count: int
    """How many are staged."""

    staged_rows: int
    """How many rows they change."""

    drafts: Any
    """What other browsers of the lake left staged, which this one offers to restore."""

    def part[T](self, kind: type[T]) -> T:
        """Return another part."""
        ...

    def ask(self, text: str) -> Mapping[str, Any]:
        """Show the answer of a query; return the reply: ``rows``, ``ms``, ``query``."""
        ...

    def show(self, view: View, name: str) -> Mapping[str, Any]:
        """Show a view as the source ``name`` of a query, which filters can go on from."""
        ...

    def browse(self, view: View) -> None:
        """Browse another view from now on: another version, or the same one after a commit."""
        ...

    def refresh(self) -> None:
        """Take the dataset as it is now: the query is asked again, the selection stays by row."""
        ...

    def renew(self, ds: Dataset) -> None:
        """Show everything as it is in a dataset by now: after a commit."""
        ...

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message that nobody asked for."""
        ...


class Part(Protocol):
    """One thing that the browser can do."""

    def __init__(self, host: Host) -> None: ...

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What it answers, by type of message."""
        ...
