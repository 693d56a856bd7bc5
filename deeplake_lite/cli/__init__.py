"""The command line, ``deeplake-lite``: a file per kind of command, and the story of its demo."""

from deeplake_lite.cli.main import app, main

__all__ = ["app", "main"]
