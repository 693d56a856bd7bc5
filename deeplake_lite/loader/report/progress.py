"""How far an epoch is: a bar for those who ask for one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from deeplake_lite.dataset.repr import bars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deeplake_lite.loader.order.places import Progress


@contextmanager
def bar(progress: Progress, total: int, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """Show how many rows of an epoch have been handed out, of all ranks together.

    Parameters
    ----------
    progress : Progress
        Of the epoch; it may be under way already.
    total : int
        Rows that the epoch hands out.
    shown : bool
        Whether there is a bar.

    Yields
    ------
    callable
        Is to be called with the number of rows left out so far, whenever there is progress.
    """
    if not shown:
        yield lambda _: None
        return
    with bars.bar(f"epoch {progress.epoch}", total, done=progress.consumed) as drawn:

        def show(skipped: int) -> None:
            if skipped:
                drawn.set_postfix_str(f"{skipped:,} left out", refresh=False)
            drawn.update(progress.consumed - drawn.n)

        yield show
