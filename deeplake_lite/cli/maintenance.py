"""Commands that verify, clean up and publish a lake, and manage its branches and tags."""

from __future__ import annotations

from typing import Annotated

import typer

from deeplake_lite.cli.app import (
    Json,
    Url,
    Version,
    app,
    command,
    for_the_shell,
    open_lake,
    print_json,
    size,
)
from deeplake_lite.htypes.words import pluralize


@app.command()
@command
def verify(url: Url, version: Version = None, as_json: Json = False) -> None:
    """Read all data and compare it with hashes and checksums. Exit with 1 if there is damage."""
    report = open_lake(url, version).verify()
    if as_json:
        damaged = [
            {"column": d.column, "row": d.row, "reason": d.reason, "index": d.index,
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
        typer.Option(
            help="Expire versions without a name that are older than this, such as 30d or 12h. By "
            "default, expire none."
        ),
    ] = None,
    spare: Annotated[
        str,
        typer.Option(help="Keep objects younger than this, such as 24h or 90m. See ds.vacuum."),
    ] = "24h",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count the objects.")] = False,
    as_json: Json = False,
) -> None:
    """Delete objects that no version needs."""
    from dataclasses import asdict

    result = open_lake(url).vacuum(older_than=older_than, spare=spare, dry_run=dry_run)
    if as_json:
        print_json({**asdict(result), "dry_run": dry_run})
        return
    verb = "would delete" if dry_run else "deleted"
    typer.echo(
        f"{verb} {result.expired} versions, {size(result.bytes)}: {result.chunks} chunks, "
        f"{result.manifests} manifests, {result.snapshots} snapshots"
    )
    if result.why:
        typer.echo(for_the_shell(result.why))


@app.command()
@command
def publish(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Folder or URL of the lake.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Folder or URL to publish to.")],
    version: Version = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a published lake in the folder TARGET.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Copy one version to a new lake, for a web server or the Hugging Face hub.

    TARGET gets the rows without their history, and the tags and saved views of the version.
    """
    from dataclasses import asdict

    done = open_lake(source, version).publish(target, overwrite=overwrite)
    if as_json:
        print_json(asdict(done))
        return
    amount = "" if done.files is None else f", {done.files} files, {size(done.bytes or 0)}"
    typer.echo(f"published {pluralize(done.rows, 'row')} to {done.url}{amount}")
    if done.left_out:
        typer.echo(f"left out: {', '.join(done.left_out)}")


@app.command()
@command
def tag(
    url: Url,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the tag.")],
    version: Version = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the tag instead.")] = False,
    as_json: Json = False,
) -> None:
    """Give a version a permanent name, or delete a tag. Names of deleted tags cannot be reused."""
    ds = open_lake(url, None if delete else version)
    if delete:
        ds.delete_tag(name)
    else:
        ds.tag(name)
    _report_name("tag", name, None if delete else ds.version, as_json=as_json)


@app.command()
@command
def branch(
    url: Url,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the branch.")],
    version: Version = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the branch instead.")] = False,
    as_json: Json = False,
) -> None:
    """Create a branch at a version, or delete a branch (its versions stay until a vacuum)."""
    ds = open_lake(url, None if delete else version)
    if delete:
        ds.delete_branch(name)
    else:
        ds.branch(name)
    _report_name("branch", name, None if delete else ds.version, as_json=as_json)


def _report_name(kind: str, name: str, version: str | None, *, as_json: bool) -> None:
    """Print that a tag or branch was created at `version`, or deleted if `version` is None."""
    if as_json:
        print_json({kind: name, "version": version, "deleted": version is None})
    elif version is None:
        typer.echo(f"deleted {kind} {name}")
    else:
        typer.echo(f"{kind} {name} at {version}")
