"""The command that builds, lists and drops the indexes of a lake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from deeplake_lite.cli.app import Json, Url, Version, app, command, open_lake, print_json, size
from deeplake_lite.errors import OptionError
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from deeplake_lite.index import Index


@app.command()
@command
def index(
    url: Url,
    column: Annotated[
        str | None,
        typer.Argument(metavar="[COLUMN]", help="Column to index. Without it, list the indexes."),
    ] = None,
    version: Version = None,
    kind: Annotated[
        str | None, typer.Option(help="vector or text; by default, as it suits the column.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="cosine, l2 or dot, for vectors; cosine by default.")
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(help="Share of the nearest vectors to find; 0.98 by default."),
    ] = None,
    lists: Annotated[int | None, typer.Option(help="Number of lists of vectors.")] = None,
    drop: Annotated[
        bool, typer.Option("--drop", help="Drop the indexes of the column instead.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Build an index of a column, for fast searches; list the indexes, or drop them."""
    ds = open_lake(url, version)
    if column is None and drop:
        raise OptionError("--drop needs a column. Name the column whose indexes to drop.")
    if column is not None and drop:
        count = ds.drop_index(column, kind)  # type: ignore[arg-type]
        if as_json:
            print_json({"column": column, "dropped": count})
        else:
            typer.echo(f"dropped {pluralize(count, 'index')}")
        return
    built = []
    if column is not None:
        options = {"metric": metric, "recall": recall, "lists": lists}
        built = [ds.create_index(column, kind, **options)]  # type: ignore[arg-type]
    shown = ds.indexes if column is None else built
    if as_json:
        print_json([_document(item) for item in shown])
        return
    for item in shown:
        typer.echo(f"{item!r}, {size(item.nbytes)}")
    if not shown:
        typer.echo("no indexes")


def _document(item: Index) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(item)
