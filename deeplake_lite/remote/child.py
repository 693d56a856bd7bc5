"""New processes of this package, which read from standard input and reply on standard output.

Such a process imports only this package, so scripts need no ``if __name__ == "__main__"``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import IO

PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from {module} import main; main()"
)
"""Code of a process. It reads the import path from standard input."""


class Child:
    """A new process.

    Parameters
    ----------
    module : str
        The module whose function ``main`` the process runs, once `greet` was called.
    """

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(module=module)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A terminal sends Ctrl-C to a whole group; this process ends its children itself.
            process_group=0 if os.name == "posix" else None,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.requests, self.replies = self._process.stdin, self._process.stdout

    def greet(self, data: bytes) -> None:
        """Send the import path, and `data` after it. Raises OSError if the process has ended."""
        self.requests.write(json.dumps(sys.path).encode() + b"\n" + data)

    def kill(self) -> None:
        """Kill the process. Any thread may call this method."""
        self._process.kill()

    def wait(self) -> int:
        """Wait until the process ends, and return its exit code."""
        return self._process.wait()

    def end(self) -> int:
        """Kill the process unless it has ended, close the pipes, and return its exit code."""
        self.kill()
        code = self.wait()
        for pipe in (self.requests, self.replies):
            with suppress(OSError):  # buffered data cannot be sent any more
                pipe.close()
        return code


def open_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Return the pipes of requests and replies in such a process, which ignores Ctrl-C.

    Output of libraries goes to standard error, so that it does not mix with replies.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return requests, replies
