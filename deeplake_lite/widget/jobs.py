"""The progress bar of a job in a notebook, with a button that cancels the job."""

from __future__ import annotations

import contextvars
import threading
import weakref
from typing import TYPE_CHECKING, Any, override

import anywidget
import traitlets as t

from deeplake_lite.dataset.repr.bars import DELAY
from deeplake_lite.widget import front_end

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.map import Job, Progress

INTERVAL = 0.25
"""Seconds between updates of the bar."""


class JobBar(anywidget.AnyWidget):
    """A progress bar of a running job. When the job ends, its repr takes the place of the bar.

    The page says hello when it draws the bar. Only if the kernel replies does the page show the
    button, because a kernel that is busy with the job may not be able to receive messages.
    """

    _esm = front_end.script("job")
    _css = front_end.style("job")

    name = t.Unicode().tag(sync=True)
    share = t.Float(0.0).tag(sync=True)
    text = t.Unicode().tag(sync=True)
    can_cancel = t.Bool(False).tag(sync=True)

    def __init__(self, job: Job) -> None:
        self._job, self.displays = job, list[Any]()
        progress = job.progress()
        super().__init__(name=job.name, share=_share(progress), text=describe(progress))

    def show(self) -> None:
        """Show the bar in the current cell."""
        from IPython import display

        data, metadata = self._repr_mimebundle_() or ({}, {})
        data = {**data, "text/plain": repr(self._job)}
        show: Any = display.display
        self.displays.append(show(data, metadata=metadata, raw=True, display_id=True))

    def update(self) -> None:
        """Show the current progress."""
        progress = self._job.progress()
        self.share, self.text = _share(progress), describe(progress)

    def end(self) -> None:
        """Replace the bar with the repr of the job, which stays in the notebook."""
        for display in self.displays:
            display.update({"text/plain": repr(self._job)}, raw=True)
        self.close()

    @override
    def _handle_custom_msg(self, content: object, buffers: object) -> None:
        super()._handle_custom_msg(content, buffers)
        match content:
            case {"type": "hello"}:
                self.can_cancel = True
            case {"type": "cancel"}:
                self._job.cancel()


_bars: weakref.WeakKeyDictionary[Job, weakref.ref[JobBar]] = weakref.WeakKeyDictionary()
"""The bars of running jobs. The thread that updates a bar keeps it alive."""


def show_job(job: Job) -> None:
    """Show a job in the current cell: its bar if it runs, otherwise its repr."""
    from IPython import display

    bar = None if job.done or job not in _bars else _bars[job]()
    if bar is None:
        display_any: Any = display.display
        display_any({"text/plain": repr(job)}, raw=True)
    else:
        bar.show()


def follow_job(job: Job) -> Callable[[], None]:
    """Show a bar in the current cell if a job takes longer than `DELAY`, and keep it up to date.

    Returns a function that waits until the bar shows the end of the job.
    """
    bar = JobBar(job)
    _bars[job] = weakref.ref(bar)

    def update() -> None:
        if not job.wait(DELAY) and not bar.displays:
            bar.show()
        while not job.wait(INTERVAL):
            bar.update()
        bar.end()

    # With a copy of the context, IPython shows the bar in the cell that has started the job.
    context = contextvars.copy_context()
    thread = threading.Thread(
        target=context.run, args=(update,), name=f"deeplake-lite-bar-{job.name}", daemon=True
    )
    thread.start()
    return lambda: thread.join(5)


def _share(progress: Progress) -> float:
    return progress.done / progress.rows if progress.rows else 1.0


def describe(progress: Progress) -> str:
    """Describe the progress of a job next to its bar.

    >>> from deeplake_lite.map import Progress
    >>> describe(Progress("running", 2000, 500, 1, parts=10, parts_done=2, seconds=5))
    '500 of 2,000 rows · 100 rows/s · 15 s left · 1 skipped'
    >>> describe(Progress("running", 2000, 0, 0, parts=10, parts_done=0, seconds=70))
    '0 of 2,000 rows · 1 min 10 s so far'
    >>> describe(Progress("committing", 2000, 2000, 0, parts=10, parts_done=10, seconds=70))
    '2,000 of 2,000 rows · committing'
    """
    parts = [f"{progress.done:,} of {progress.rows:,} rows"]
    if progress.phase != "running":
        parts.append(progress.phase)
    elif progress.rate is None or progress.remaining is None:
        parts.append(f"{duration(progress.seconds)} so far")
    else:
        parts += [f"{progress.rate:,.3g} rows/s", f"{duration(progress.remaining)} left"]
    if progress.skipped:
        parts.append(f"{progress.skipped:,} skipped")
    return " · ".join(parts)


def duration(seconds: float) -> str:
    """Format a duration.

    >>> [duration(s) for s in (0.4, 59.6, 61, 7322)]
    ['0 s', '1 min 0 s', '1 min 1 s', '2 h 2 min']
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
