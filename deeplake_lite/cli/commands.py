"""The command line: ``deeplake-lite info photos.lake``.

Each command gathers one JSON document; it is printed as such with ``--json``, as text otherwise.
Libraries are imported within the commands, so that ``--help`` comes at once.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deeplake_lite.errors import InvalidValueError, LakeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.ingest.result import IngestedDataset

SHOWN = 20
"""Lines of a list that may be long."""

INTERRUPTED = 130
"""What a shell gives for a program that Ctrl-C ended."""

HELP = """Datasets for deep learning, versioned like code.

\b
Exit codes:
  0    done; the answer is yes
  1    the answer is no: verify found damage, diff --exit-code found changes
  2    wrong usage, or input that was refused: the reason is on stderr
  130  interrupted by Ctrl-C

With --json, a command prints one JSON document, also when it fails: {"error": "…"}.
Row ids are texts in it, because they have more digits than JavaScript keeps.
"""

app = typer.Typer(
    help=HELP, no_args_is_help=True, add_completion=False, rich_markup_mode=None,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
ingest_app = typer.Typer(
    help="Take files into a lake, which is made if there is none.", no_args_is_help=True
)
app.add_typer(ingest_app, name="ingest")

Url = Annotated[str, typer.Argument(metavar="URL", help="Folder or URL of the lake.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Version = Annotated[
    str | None, typer.Option(help="Branch, tag, commit id or time; main if left out.")
]
On = Annotated[str | None, typer.Option(help="Column that tells rows apart; else they are added.")]
OnError = Annotated[str, typer.Option(help="What a bad row does: raise or skip.")]
Check = Annotated[str, typer.Option(help="How files are checked: header, or full (decoded).")]
Branch = Annotated[str, typer.Option(help="Branch to write to.")]
Message = Annotated[str, typer.Option(help="Message of the commit.")]
CommitEvery = Annotated[
    int | None, typer.Option(help="Commit every so many rows; a rerun goes on from there.")
]
Update = Annotated[
    bool,
    typer.Option("--update/--no-update", help="Compare rows whose key is there, or skip them."),
]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="COLUMN=TYPE", help="Such as species=class_label."),
]


def main() -> None:
    """Run the command line."""
    app()


def _command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn errors into one line and an exit code."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader has gone: `| head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except (LakeError, OSError) as error:
            message = str(error) or type(error).__name__
            if kwargs.get("as_json"):
                typer.echo(json.dumps({"error": message}, ensure_ascii=False))
            typer.echo(f"error: {message}", err=True)
            raise typer.Exit(2) from error

    return run


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
    """Take the options that come before the command."""


@app.command()
@_command
def demo(
    folder: Annotated[
        str | None, typer.Argument(metavar="[DIR]", help="Where to make the lake.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a lake of handwritten digits and photographs, and go through what one does with it.

    Without DIR it is ./digits.lake, or the next name that is free. Needs the extra "demo".
    """  # fmt: skip
    from deeplake_lite.cli.demo import run_demo

    say = (lambda _: None) if as_json else typer.echo
    document = run_demo(folder, say)
    if as_json:
        _echo_json(document)


@app.command()
@_command
def info(url: Url, version: Version = None, as_json: Json = False) -> None:
    """Show what a lake holds: columns, rows, versions."""
    ds = _open(url, version)
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
        return _echo_json(document)
    typer.echo(f"{ds.url}: {len(ds):,} rows, {len(ds.schema)} columns, {_size(ds.nbytes)}")
    width = max((len(name) for name in ds.columns), default=0)
    for f in ds.schema:
        typer.echo(f"  {f.name:{width}}  {f.htype}")
    for kind, names in (("branches", ds.branches), ("tags", ds.tags), ("views", ds.views())):
        if names:
            typer.echo(f"{kind}: {', '.join(names)}")
    return typer.echo(f"{len(log)} commits, the last: {log[0].id} {log[0].message}")


@app.command()
@_command
def log(
    url: Url,
    version: Version = None,
    limit: Annotated[int | None, typer.Option("-n", help="Show the newest so many.")] = None,
    as_json: Json = False,
) -> None:
    """List the commits up to a version, newest first."""
    commits = _open(url, version).log()[:limit]
    if as_json:
        return _echo_json([
            {"id": c.id, "parent": c.parent, "time": c.time.isoformat(), "message": c.message,
             "metadata": dict(c.metadata)}
            for c in commits
        ])  # fmt: skip
    for c in commits:
        merged = f"  (merged {c.metadata['merge'][:8]})" if "merge" in c.metadata else ""
        typer.echo(f"{c.id}  {c.time.astimezone():%Y-%m-%d %H:%M:%S}  {c.message}{merged}")
    return None


@app.command()
@_command
def diff(
    url: Url,
    a: Annotated[str, typer.Argument(help="Older version.")],
    b: Annotated[str, typer.Argument(help="Newer version.")] = "main",
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 on changes.")] = False,
    as_json: Json = False,
) -> None:
    """Show what changed from version A to version B: rows, cells, columns."""
    found = _open(url).diff(a, b)
    if as_json:
        _echo_json({
            "a": a, "b": b, "different": bool(found),
            "added": _texts(found.added), "removed": _texts(found.removed),
            "changed": {name: _texts(ids) for name, ids in found.changed.items()},
            "schema": str(found.schema) if found.schema else None,
            "metadata": {k: list(v) for k, v in found.metadata.items()},
        })  # fmt: skip
    else:
        typer.echo(repr(found))
    if exit_code and found:
        raise typer.Exit(1)


@ingest_app.command("folder")
@_command
def ingest_folder(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder of pictures.")],
    url: Url,
    label: Annotated[str, typer.Option(help="Name of the column of labels.")] = "label",
    labels: Annotated[str | None, typer.Option(help="CSV of file names and labels.")] = None,
    file_column: Annotated[
        str | None, typer.Option(help="Its column of file names; found if left out.")
    ] = None,
    on_error: OnError = "raise",
    check: Check = "header",
    update: Update = True,
    commit_every: CommitEvery = None,
    branch: Branch = "main",
    message: Message = "",
    types: Types = None,
    as_json: Json = False,
) -> None:
    """Take a folder of pictures: a folder per class, per split and class, or a CSV of labels."""
    from deeplake_lite.ingest.folder import from_folder

    options = _ingest_options(on_error, check, update, commit_every, branch, message, types)
    _report(
        from_folder(
            source, url, label=label, labels=labels, file_column=file_column, **options
        ),
        as_json,
    )  # fmt: skip


@ingest_app.command("parquet")
@_command
def ingest_parquet(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File, folder or 'pattern'.")],
    url: Url,
    on: On = None,
    on_error: OnError = "raise",
    check: Check = "header",
    update: Update = True,
    commit_every: CommitEvery = None,
    branch: Branch = "main",
    message: Message = "",
    types: Types = None,
    as_json: Json = False,
) -> None:
    """Take the rows of Parquet files."""
    from deeplake_lite.ingest.parquet import from_parquet

    options = _ingest_options(on_error, check, update, commit_every, branch, message, types)
    _report(from_parquet(source, url, on=on, **options), as_json)


@ingest_app.command("csv")
@_command
def ingest_csv(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File with a header line.")],
    url: Url,
    on: On = None,
    delimiter: Annotated[str, typer.Option(help="What stands between values.")] = ",",
    on_error: OnError = "raise",
    check: Check = "header",
    update: Update = True,
    commit_every: CommitEvery = None,
    branch: Branch = "main",
    message: Message = "",
    types: Types = None,
    as_json: Json = False,
) -> None:
    """Take the rows of a CSV file."""
    from deeplake_lite.ingest.csv import from_csv

    options = _ingest_options(on_error, check, update, commit_every, branch, message, types)
    _report(from_csv(source, url, on=on, delimiter=delimiter, **options), as_json)


@app.command()
@_command
def export(
    url: Url,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder to write to.")],
    format_: Annotated[str, typer.Option("--format", help="folder, parquet or csv.")] = "folder",
    version: Version = None,
    view: Annotated[str | None, typer.Option(help="Name of a saved view: only its rows.")] = None,
    as_json: Json = False,
) -> None:
    """Write the rows to DIR: a folder per class with a table beside it, a Parquet or a CSV file.

    CSV leaves out columns that are no text, number or class.
    """
    from deeplake_lite.cli.exports import FORMATS

    if format_ not in FORMATS:
        raise typer.BadParameter(f"--format is one of {', '.join(FORMATS)}, got {format_!r}.")
    ds = _open(url, version)
    rows = ds if view is None else ds.views()[view]
    done = FORMATS[format_](rows, folder)
    if as_json:
        return _echo_json({"path": str(done.path), "rows": len(rows), "left_out": done.left_out})
    if done.left_out:
        typer.echo(
            f"left out, because {format_} does not hold them: {', '.join(done.left_out)}", err=True
        )
    return typer.echo(f"{len(rows):,} rows written to {done.path}")  # fmt: skip


@app.command()
@_command
def verify(url: Url, version: Version = None, as_json: Json = False) -> None:
    """Read everything again and compare it with hashes and checksums; exit with 1 on damage."""
    report = _open(url, version).verify()
    if as_json:
        damaged = [
            {"column": d.column, "row": d.row, "reason": d.reason,
             "row_id": None if d.row_id is None else str(d.row_id)}
            for d in report.damaged
        ]  # fmt: skip
        _echo_json({"ok": bool(report), "rows": report.rows, "damaged": damaged})
    else:
        typer.echo(repr(report))
    if not report:
        raise typer.Exit(1)


@app.command()
@_command
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
        done = _open(url).vacuum(older_than=older_than, dry_run=dry_run)
    except ValueError as error:
        raise error if isinstance(error, LakeError) else InvalidValueError(str(error)) from error
    if as_json:
        return _echo_json({**asdict(done), "dry_run": dry_run})
    verb = "would delete" if dry_run else "deleted"
    return typer.echo(
        f"{verb} {done.expired} versions, {_size(done.bytes)}: {done.chunks} chunks, "
        f"{done.manifests} manifests, {done.snapshots} snapshots"
    )


def _open(url: str, version: str | None = None) -> Dataset:
    """Open a lake: at the tip of ``main``, or at a version, read-only."""
    import deeplake_lite as dl

    return dl.open(url) if version is None else dl.open(url, version=version)


def _ingest_options(
    on_error: str,
    check: str,
    update: bool,
    commit_every: int | None,
    branch: str,
    message: str,
    types: list[str] | None,
) -> Any:
    """Return the options of an ingest, checked."""
    for name, value, known in (
        ("--on-error", on_error, ("raise", "skip")),
        ("--check", check, ("header", "full")),
    ):
        if value not in known:
            raise typer.BadParameter(f"{name} is one of {', '.join(known)}, got {value!r}.")
    pairs = [text.partition("=") for text in types or ()]
    if any(not (name and spec) for name, _, spec in pairs):
        raise typer.BadParameter("--type is COLUMN=TYPE, such as --type species=class_label.")
    return {
        "on_error": on_error,
        "check": check,
        "update": update,
        "commit_every": commit_every,
        "branch": branch,
        "message": message,
        "schema": {name: spec for name, _, spec in pairs} or None,
        "progress": sys.stderr.isatty(),
    }


def _report(ds: IngestedDataset, as_json: bool) -> None:
    """Print what an ingest did."""
    done = ds.ingested
    if as_json:
        _echo_json({
            "url": ds.url, "version": ds.version, "rows": len(ds), "added": done.added,
            "changed": done.changed, "unchanged": done.unchanged, "seconds": round(done.seconds, 3),
            "skipped": [{"path": s.path, "reason": s.reason} for s in done.skipped],
        })  # fmt: skip
        return
    _list("skipped", map(str, done.skipped))
    typer.echo(f"{done!r}; {ds.url} has {len(ds):,} rows")


def _list(word: str, lines: Iterable[str]) -> None:
    """Print the beginning of a list to stderr."""
    every = list(lines)
    for line in every[:SHOWN]:
        typer.echo(f"{word} {line}", err=True)
    if len(every) > SHOWN:
        typer.echo(f"{word} {len(every) - SHOWN} more; --json lists all", err=True)


def _echo_json(document: Any) -> None:
    typer.echo(json.dumps(document, ensure_ascii=False, indent=2, default=str))


def _texts(ids: Any) -> list[str]:
    """Return row ids as texts."""
    return [str(i) for i in ids.tolist()]


def _size(count: int) -> str:
    """Return a number of bytes for people.

    >>> _size(999), _size(21_600_000)
    ('999 B', '21.6 MB')
    """
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


__all__ = ["app", "main"]
