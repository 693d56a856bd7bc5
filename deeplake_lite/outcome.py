"""What a thread hands to the one that waits for it, safe from Ctrl-C at any moment.

Python raises KeyboardInterrupt in the main thread between any two instructions. `threading.Event`,
`Condition` and `concurrent.futures.Future` take their locks in Python code, so an interrupt can
come after a lock was taken and before anybody knows that it is to be given back: the other thread
then waits for ever. Here the one that waits only ever asks one lock of the interpreter, which the
other thread never waits for.
"""

from __future__ import annotations

from threading import Lock


class Outcome[T]:
    """A value or an error that another thread gives once, and that one thread waits for.

    Examples
    --------
    >>> outcome = Outcome[int]()
    >>> outcome.wait(0.01)
    False
    >>> outcome.give(5)
    >>> outcome.result()
    5
    """

    def __init__(self) -> None:
        self._value: T | None = None
        self._error: BaseException | None = None
        self._given, self._closed = False, Lock()
        self._closed.acquire()

    @property
    def is_given(self) -> bool:
        """Whether there is a value or an error."""
        return self._given

    def give(self, value: T) -> None:
        """Hand over the value."""
        self._value = value
        self._open()

    def fail(self, error: BaseException) -> None:
        """Hand over an error, which `result` raises."""
        self._error = error
        self._open()

    def wait(self, seconds: float = -1) -> bool:
        """Wait until it is given, or for some seconds; tell whether it is."""
        # An interrupt may come when the lock is taken: it is not asked again then.
        return self._given or self._closed.acquire(timeout=seconds)

    def result(self) -> T:
        """Wait until it is given; return the value, or raise the error."""
        self.wait()
        try:
            if self._error is not None:
                raise self._error
            return self._value  # type: ignore[return-value]
        finally:
            del self  # an error would keep it, and it the error

    def _open(self) -> None:
        self._given = True
        self._closed.release()
