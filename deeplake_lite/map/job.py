"""Jobs that run in this process: their progress, their result, and how to cancel them."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from deeplake_lite import checks
from deeplake_lite.dataset import lazy_calls
from deeplake_lite.errors import JobError
from deeplake_lite.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from deeplake_lite.map.driver import Mapped, State

type Phase = Literal["running", "committing", "finished", "failed", "cancelled"]


@dataclass(frozen=True)
class Progress:
    """The progress of a job.

    >>> progress = Progress(
    ...     "running", rows=2000, done=500, skipped=1, parts=10, parts_done=2, seconds=5
    ... )
    >>> progress
    running: 500 of 2,000 rows (25%), 1 skipped
    >>> progress.rate, progress.remaining
    (100.0, 15.0)
    """

    phase: str
    """``"running"``, ``"committing"``, ``"finished"``, ``"failed"`` or ``"cancelled"``."""
    rows: int
    """Number of rows of the job."""
    done: int
    """Number of rows in finished parts, including skipped rows."""
    skipped: int
    """Number of rows that were skipped because of errors."""
    parts: int
    """Number of parts."""
    parts_done: int
    """Number of finished parts."""
    resumed: int = 0
    """Number of rows that an earlier run had finished."""
    seconds: float = 0.0
    """Duration of this run so far, in seconds."""

    @property
    def rate(self) -> float | None:
        """Number of rows per second in this run, or None if no row is finished yet."""
        computed = self.done - self.resumed
        return computed / self.seconds if computed and self.seconds else None

    @property
    def remaining(self) -> float | None:
        """Estimated seconds until all rows are computed, or None if there is no estimate."""
        if self.phase != "running" or self.rate is None:
            return None
        return (self.rows - self.done) / self.rate

    def __repr__(self) -> str:
        share = self.done / self.rows if self.rows else 1.0
        skipped = f", {self.skipped:,} skipped" if self.skipped else ""
        return f"{self.phase}: {self.done:,} of {self.rows:,} rows ({share:.0%}){skipped}"


class Job:
    """A job that runs in this process. `Dataset.map` returns one.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://job-doc", {"x": "int32"})
    >>> ds.append({"x": range(5)})
    >>> commit = ds.commit("five rows")
    >>> job = ds.map(lambda batch: batch["x"] * 2, into={"double": "int32"}, wait=False)
    >>> job.result().rows, ds.refresh()["double"][:].tolist()
    (5, [0, 2, 4, 6, 8])
    >>> job.progress()
    finished: 5 of 5 rows (100%)
    """

    def __init__(self, name: str, state: State) -> None:
        self.name = name
        """Name of the job."""
        self._state, self._outcome = state, Outcome["Mapped"]()

    def progress(self) -> Progress:
        """Return the current progress of the job."""
        s = self._state
        return Progress(
            s.phase, s.rows, s.done, s.skipped, s.parts, s.parts_done, s.resumed, s.seconds
        )

    def cancel(self) -> None:
        """Stop the job. Finished parts are kept; the same call of `map` resumes the job.

        Batches that are being computed in threads are finished first.
        """
        self._state.cancelled = True

    @property
    def done(self) -> bool:
        """Whether the job has ended, successfully or not."""
        return self._outcome.is_given

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the job for some seconds, and return whether it has ended."""
        return self._outcome.wait(seconds)

    def result(self, timeout: float | None = None) -> Mapped:
        """Wait for the end of the job, and return its result.

        Parameters
        ----------
        timeout : float, optional
            Maximum number of seconds to wait.

        Raises
        ------
        JobError
            When the job has failed or was cancelled.
        TimeoutError
            When the job has not ended in time. It keeps running.
        """
        seconds = -1 if timeout is None else checks.seconds("timeout", timeout)
        if not self._outcome.wait(seconds):
            raise TimeoutError(
                f"The job {self.name!r} has not ended after {timeout} s. It keeps running; "
                "job.cancel() stops it."
            )
        return self._outcome.result()

    def run(self, work: Callable[[], Mapped]) -> None:
        """Do the work of the job in this thread, for `map`."""
        try:
            result = work()
        except BaseException as error:
            self._outcome.fail(error)
            raise
        self._outcome.give(result)

    def start(self, work: Callable[[], Mapped]) -> None:
        """Do the work of the job in another thread, for `map`."""

        def target() -> None:
            try:
                self._outcome.give(work())
            except BaseException as error:  # raised by `result`
                self._outcome.fail(error)

        threading.Thread(target=target, name=f"deeplake-lite-job-{self.name}", daemon=True).start()

    def _ipython_display_(self) -> None:
        """Show a live progress bar while the job runs, and its repr afterwards."""
        lazy_calls.show_job(self)

    def __repr__(self) -> str:
        return f"job {self.name}, {self.progress()!r}"

    def __reduce__(self) -> NoReturn:
        raise JobError("A job cannot be pickled or copied, because it runs in this process.")
