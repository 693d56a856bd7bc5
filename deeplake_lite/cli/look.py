"""Commands that show a lake's contents, its commits, and the changes between versions."""

from __future__ import annotations

from typing import Annotated

import typer

from deeplake_lite.cli.app import (
    Json,
    Url,
    Version,
    app,
    command,
    id_strings,
    open_lake,
    print_json,
    size,
)
from deeplake_lite.htypes.words import pluralize


@app.command()
@command
def info(url: Url, version: Version = None, as_json: Json = False) -> None:
    """Show the columns, rows and versions of a lake."""
    ds = open_lake(url, version)
    log = ds.log()
    document = {
        "url": ds.url,
        "version": ds.version,
        "branch": ds.current_branch,
        "rows": len(ds),
        "bytes": ds.nbytes,
        "columns": [{"name": f.name, **f.htype.get_config()} for f in ds.schema],
        "branches": ds.branches,
        "tags": ds.tags,
        "views": list(ds.views()),
        "commits": len(log),
        "metadata": dict(ds.metadata),
    }
    if as_json:
        return print_json(document)
    counts = pluralize(len(ds), "row"), pluralize(len(ds.schema), "column"), size(ds.nbytes)
    typer.echo(f"{ds.url}: {', '.join(counts)}")
    width = max((len(name) for name in ds.columns), default=0)
    for f in ds.schema:
        typer.echo(f"  {f.name:{width}}  {f.htype}")
    for kind, names in (("branches", ds.branches), ("tags", ds.tags), ("views", ds.views())):
        if names:
            typer.echo(f"{kind}: {', '.join(names)}")
    return typer.echo(f"{pluralize(len(log), 'commit')}; the last is {log[0].id} {log[0].message}")


@app.command()
@command
def log(
    url: Url,
    version: Version = None,
    limit: Annotated[
        int | None, typer.Option("-n", min=0, help="Maximum number of commits.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the commits up to a version, newest first."""
    commits = open_lake(url, version).log()[:limit]
    if as_json:
        return print_json([
            {"id": c.id, "parent": c.parent, "time": c.time.isoformat(), "message": c.message,
             "metadata": dict(c.metadata)}
            for c in commits
        ])  # fmt: skip
    for c in commits:
        merged = f"  (merged {c.metadata['merge'][:8]})" if "merge" in c.metadata else ""
        typer.echo(f"{c.id}  {c.time.astimezone().isoformat(' ', 'seconds')}  {c.message}{merged}")
    return None


@app.command()
@command
def diff(
    url: Url,
    a: Annotated[str, typer.Argument(help="Older version.")],
    b: Annotated[str, typer.Argument(help="Newer version.")] = "main",
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with 1 if there are changes.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the rows, cells and columns that changed from version A to version B."""
    changes = open_lake(url).diff(a, b)
    if as_json:
        print_json({
            "a": a, "b": b, "different": bool(changes),
            "added": id_strings(changes.added), "removed": id_strings(changes.removed),
            "changed": {name: id_strings(ids) for name, ids in changes.changed.items()},
            "schema": str(changes.schema) if changes.schema else None,
            "metadata": {k: list(v) for k, v in changes.metadata.items()},
        })  # fmt: skip
    else:
        typer.echo(repr(changes))
    if exit_code and changes:
        raise typer.Exit(1)
