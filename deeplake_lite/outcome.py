"""A result that one thread hands to others, safe from Ctrl-C at any time.

Python may raise KeyboardInterrupt between any two instructions of the main thread.
`threading.Event`, `Condition` and `concurrent.futures.Future` acquire their locks in Python code,
so an interrupt can arrive after a lock is acquired, but before the ``finally`` that releases it.
The other thread then waits forever. Here, the waiting thread only acquires a single lock of the
interpreter, for which the other thread never waits.
"""

from __future__ import annotations

from threading import Lock


class Outcome[T]:
    """A value or error that one thread sets once, while other threads wait for it.

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
        """Set the value."""
        self._value = value
        self._finish()

    def fail(self, error: BaseException) -> None:
        """Set the error, which `result` raises."""
        self._error = error
        self._finish()

    def wait(self, seconds: float = -1) -> bool:
        """Wait for the outcome until a timeout, in seconds, and return whether there is one."""
        # An interrupt may arrive just after the lock is acquired. The lock then stays acquired, so
        # another call must check `_given` first.
        if self._given:
            return True
        if not self._pending.acquire(timeout=seconds):
            return False
        self._pending.release()  # for other threads that wait
        return True

    def result(self) -> T:
        """Wait for the outcome, then return the value or raise the error."""
        self.wait()
        try:
            if self._error is not None:
                raise self._error
            return self._value  # type: ignore[return-value]
        finally:
            # Break a cycle: `self` refers to the error, whose traceback refers to this frame.
            del self

    def _finish(self) -> None:
        self._given = True
        self._pending.release()
