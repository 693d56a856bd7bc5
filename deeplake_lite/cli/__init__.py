"""The command line, ``deeplake-lite``: its commands, and the story that its demo tells."""

from deeplake_lite.cli.commands import app, main

__all__ = ["app", "main"]
