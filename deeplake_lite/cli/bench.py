"""The command that measures how fast a view loads on this machine, and finds the bottleneck."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from deeplake_lite.cli.app import (
    Json,
    Url,
    Version,
    app,
    command,
    open_lake,
    print_json,
    size,
)
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from deeplake_lite.loader import Loader
    from deeplake_lite.loader.report.limit import Limit
    from deeplake_lite.loader.report.stats import Stats


@app.command()
@command
def bench(
    url: Url,
    version: Version = None,
    query: Annotated[str | None, typer.Option(help="Load the result of a query.")] = None,
    batch_size: Annotated[
        int, typer.Option("-b", "--batch-size", min=1, help="Rows in a batch.")
    ] = 64,
    columns: Annotated[str | None, typer.Option(help="Columns to load, comma-separated.")] = None,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Load in random order.")] = False,
    epochs: Annotated[int, typer.Option(min=1, help="Number of epochs.")] = 2,
    num_workers: Annotated[
        int | None, typer.Option(min=0, help="Number of threads. By default, one per core.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Load all rows as in training, and print the speed and the bottleneck.

    The speed is compared with the decode limit, which is the speed at which the same number of
    threads decode rows in memory into preallocated batches.
    """
    ds = open_lake(url, version)
    view = ds if query is None else ds.query(query)
    names = None if columns is None else [name.strip() for name in columns.split(",")]
    loader = view.batches(batch_size, columns=names, shuffle=shuffle, num_workers=num_workers)
    if not len(loader):
        raise InvalidValueError(
            "bench needs rows to load, but the view is empty. Choose another version or query."
        )
    _load(loader, epochs)
    limit = loader.decode_limit()
    if as_json:
        return print_json({"url": view.url, **_document(loader, limit)})
    return _print(loader, limit)


def _load(loader: Loader, epochs: int) -> None:
    """Load all rows `epochs` times, with a progress bar if the output is a terminal."""
    from deeplake_lite.dataset.repr import bars

    rows, size = loader.shares.n, loader.batch_size
    with bars.bar("epoch 0", epochs * rows, visible=None, delay=0) as bar:
        for epoch in range(epochs):
            bar.set_description(f"epoch {epoch}")
            for number, _ in enumerate(loader):
                bar.update(min(size, rows - number * size))


def _document(loader: Loader, limit: Limit) -> dict[str, object]:
    stats, best = loader.stats(), limit.samples_per_second
    return {
        "rows": loader.shares.n,
        "columns": list(loader.columns),
        "batch_size": loader.batch_size,
        "shuffle": loader.shuffle.kind,
        "workers": loader.options.threads,
        "decode_limit": best,
        "of_decode_limit": [epoch.samples_per_second / best for epoch in stats.epochs],
        "stats": stats.to_dict(),
        "bottleneck": loader.explain().bottleneck,
        "explain": str(loader.explain()),
    }


def _print(loader: Loader, limit: Limit) -> None:
    typer.echo(repr(loader))
    best = limit.samples_per_second
    for epoch in loader.stats().epochs:
        typer.echo(_line(f"epoch {epoch.epoch}", epoch.samples_per_second, best, _note(epoch)))
    threads = pluralize(limit.threads, "thread")
    typer.echo(_line("decode limit", best, best, f"{threads}, rows in memory"))
    typer.echo(f"\n{loader.explain()!r}")


def _note(epoch: Stats) -> str:
    return f"{epoch.wall:.2f} s, {size(epoch.bytes_read)} read"


def _line(name: str, speed: float, best: float, note: str) -> str:
    """Format one row of the printed table: a name, a speed, its share of the limit, and a note.

    >>> _line("epoch 0", 1234.5, 2469.0, "1.46 s")
    '  epoch 0            1,234 samples/s   50% of the decode limit   1.46 s'
    """
    share = f"{100 * speed / best:>5.0f}% of the decode limit"
    return f"  {name:12}{speed:>12,.0f} samples/s{share}   {note}"
