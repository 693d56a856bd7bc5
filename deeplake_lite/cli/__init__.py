"""The command line, ``deeplake-lite``, with one file per group of commands, and its demo."""

from deeplake_lite.cli.main import app, main

__all__ = ["app", "main"]
