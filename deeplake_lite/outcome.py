"""A result that one thread hands to another, safe from Ctrl-C at any time.

Python raises KeyboardInterrupt in the main thread between any two instructions. `threading.Event`,
`Condition` and `concurrent.futures.Future` acquire their locks in Python code, so an interrupt can
arrive after a lock is acquired and before the ``finally`` that releases it: the other thread then
waits forever. Here, the waiting thread acquires a single lock of the interpreter, which the other
thread never waits for.
"""

from __future__ import annotations

from threading import Lock


class Outcome[T]:
    """A value or an error that one thread sets once and another thread waits for.

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
        self._given, self._pending = False, Lock()
        self._pending.acquire()  # held until there is an outcome

    @property
    def is_given(self) -> bool:
        """Whether there is a value or an error."""
        return self._given

    def give(self, value: T) -> None:
        """Hand over the value."""
        self._value = value
        self._finish()

    def fail(self, error: BaseException) -> None:
        """Hand over an error, which `result` raises."""
        self._error = error
        self._finish()

    def wait(self, seconds: float = -1) -> bool:
        """Wait for the outcome, at most some seconds; return whether there is one."""
        # An interrupt may arrive just after the lock is acquired. The lock then stays acquired, so
        # a second call must check `_given` first.
        return self._given or self._pending.acquire(timeout=seconds)

    def result(self) -> T:
        """Wait for the outcome; return the value, or raise the error."""
        self.wait()
        try:
            if self._error is not None:
                raise self._error
            return self._value  # type: ignore[return-value]
        finally:
            del self  # the error's traceback holds this frame, and `self` holds the error: a cycle

    def _finish(self) -> None:
        self._given = True
        self._pending.release()
