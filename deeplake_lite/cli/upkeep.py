"""Commands that keep a lake whole and small."""

from __future__ import annotations

from typing import Annotated

import typer

from deeplake_lite.cli.app import Json, Url, Version, app, command, open_lake, print_json, size
from deeplake_lite.errors import InvalidValueError, LakeError


@app.command()
@command
def verify(url: Url, version: Version = None, as_json: Json = False) -> None:
    """Read everything again and compare it with hashes and checksums; exit with 1 on damage."""
    report = open_lake(url, version).verify()
    if as_json:
        damaged = [
            {"column": d.column, "row": d.row, "reason": d.reason,
             "row_id": None if d.row_id is None else str(d.row_id)}
            for d in report.damaged
        ]  # fmt: skip
        print_json({
            "ok": bool(report), "version": report.version, "rows": report.rows, "damaged": damaged,
        })  # fmt: skip
    else:
        typer.echo(repr(report))
    if not report:
        raise typer.Exit(1)


@app.command()
@command
def vacuum(
    url: Url,
    older_than: Annotated[
        str | None,
        typer.Option(help="Age from which versions without a name expire: 30d, 12h. Else none."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    as_json: Json = False,
) -> None:
    """Delete what no version needs any more."""
    from dataclasses import asdict

    try:
        done = open_lake(url).vacuum(older_than=older_than, dry_run=dry_run)
    except ValueError as error:
        raise error if isinstance(error, LakeError) else InvalidValueError(str(error)) from error
    if as_json:
        return print_json({**asdict(done), "dry_run": dry_run})
    verb = "would delete" if dry_run else "deleted"
    return typer.echo(
        f"{verb} {done.expired} versions, {size(done.bytes)}: {done.chunks} chunks, "
        f"{done.manifests} manifests, {done.snapshots} snapshots"
    )
