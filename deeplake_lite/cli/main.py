"""The entry point of the program, with the command for its demo."""

from __future__ import annotations

from typing import Annotated

import typer

from deeplake_lite.cli import bench, export, indexing, ingest, look, maintenance, mapping, query
from deeplake_lite.cli.app import Json, app, command, print_json

__all__ = [
    "app",
    "bench",
    "export",
    "indexing",
    "ingest",
    "look",
    "main",
    "maintenance",
    "mapping",
    "query",
]


def main() -> None:
    """Run the command line."""
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("deeplake-lite"))
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Handle the options that precede a command."""


@app.command()
@command
def demo(
    folder: Annotated[
        str | None, typer.Argument(metavar="[DIR]", help="Path of the new lake.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Create a lake of handwritten digits and photographs, and demonstrate its use.

    Without DIR, the lake is ./digits.lake, or ./digits-2.lake and so on if ./digits.lake exists.
    This command needs the extra "demo".
    """  # fmt: skip
    from deeplake_lite.cli.demo import run_demo

    write = (lambda _: None) if as_json else typer.echo
    document = run_demo(folder, write)
    if as_json:
        print_json(document)
