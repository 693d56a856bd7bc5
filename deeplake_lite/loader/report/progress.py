"""The progress bar of an epoch."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from deeplake_lite.dataset.repr import bars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deeplake_lite.loader.order.epoch import Progress


@contextmanager
def bar(progress: Progress, total: int, *, visible: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar of the rows of an epoch that all ranks together have yielded.

    Parameters
    ----------
    progress : Progress
        Progress of the epoch, which may be resumed in the middle.
    total : int
        Number of rows that the epoch yields.
    visible : bool
        Whether to show a bar.

    Yields
    ------
    callable
        A function that updates the bar, given the number of rows that have been left out so far.
    """
    if not visible:
        yield lambda _: None
        return
    with bars.bar(f"epoch {progress.epoch}", total, done=progress.consumed) as drawn:

        def show(skipped: int) -> None:
            if skipped:
                drawn.set_postfix_str(f"{skipped:,} left out", refresh=False)
            drawn.update(progress.consumed - drawn.n)

        yield show
