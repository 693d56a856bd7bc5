"""Commands that take files in."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deeplake_lite.cli.app import Json, Url, app, command, print_json, print_some
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.ingest.result import IngestedDataset

group = typer.Typer(
    help="Take files into a lake, which is made if there is none.", no_args_is_help=True
)
app.add_typer(group, name="ingest")

On = Annotated[str | None, typer.Option(help="Column that tells rows apart; else they are added.")]


def _options(
    on_error: Annotated[
        str, typer.Option(metavar="raise|skip", help="What a bad row does.")
    ] = "raise",
    check: Annotated[
        str, typer.Option(metavar="header|full", help="How files are checked; full decodes them.")
    ] = "header",
    update: Annotated[
        bool,
        typer.Option("--update/--no-update", help="Compare rows whose key is there, or skip them."),
    ] = True,
    force: Annotated[
        bool, typer.Option("--force", help="The source counts, even over edits in the lake.")
    ] = False,
    commit_every: Annotated[
        int | None, typer.Option(help="Commit every so many rows; a rerun goes on from there.")
    ] = None,
    branch: Annotated[str, typer.Option(help="Branch to write to.")] = "main",
    message: Annotated[str, typer.Option(help="Message of the commit.")] = "",
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="COLUMN=TYPE", help="Such as species=class_label."),
    ] = None,
) -> dict[str, Any]:
    """Return what every ingest can be told, checked."""
    if commit_every is not None and commit_every < 1:
        raise InvalidValueError(f"--commit-every is 1 or more rows, got {commit_every}.")
    if force and not update:
        raise InvalidValueError("--force and --no-update exclude each other. Leave one out.")
    return {
        "on_error": _one_of("--on-error", on_error, "raise", "skip"),
        "check": _one_of("--check", check, "header", "full"),
        "update": "force" if force else update,
        "commit_every": commit_every,
        "branch": branch,
        "message": message,
        "schema": _types(types or []),
    }


def _ingests(function: Callable[..., IngestedDataset]) -> Callable[..., None]:
    """Give a command the options that every ingest has, and print what it did."""
    shared = inspect.signature(_options, eval_str=True)
    own = inspect.signature(function, eval_str=True)

    @command
    @functools.wraps(function)
    def run(**given: Any) -> None:
        as_json = given.pop("as_json")
        options = _options(**{name: given.pop(name) for name in shared.parameters})
        _report(function(**given, progress=sys.stderr.isatty(), **options), as_json)

    own_ones = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    last = inspect.Parameter("as_json", own_ones[0].kind, default=False, annotation=Json)
    parameters = [*own_ones, *shared.parameters.values(), last]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


@group.command("folder")
@_ingests
def ingest_folder(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder of pictures.")],
    url: Url,
    label: Annotated[str, typer.Option(help="Name of the column of labels.")] = "label",
    labels: Annotated[str | None, typer.Option(help="CSV of file names and labels.")] = None,
    file_column: Annotated[
        str | None, typer.Option(help="Its column of file names; found if left out.")
    ] = None,
    **options: Any,
) -> Any:
    """Take a folder of pictures: a folder per class, per split and class, or a CSV of labels."""
    from deeplake_lite.ingest.folder import from_folder

    return from_folder(source, url, label=label, labels=labels, file_column=file_column, **options)


@group.command("parquet")
@_ingests
def ingest_parquet(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File, folder or 'pattern'.")],
    url: Url,
    on: On = None,
    **options: Any,
) -> Any:
    """Take the rows of Parquet files."""
    from deeplake_lite.ingest.parquet import from_parquet

    return from_parquet(source, url, on=on, **options)


@group.command("csv")
@_ingests
def ingest_csv(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File with a header line.")],
    url: Url,
    on: On = None,
    delimiter: Annotated[str, typer.Option(help="What stands between values.")] = ",",
    **options: Any,
) -> Any:
    """Take the rows of a CSV file."""
    from deeplake_lite.ingest.csv import from_csv

    return from_csv(source, url, on=on, delimiter=delimiter, **options)


def _one_of(option: str, value: str, *known: str) -> str:
    if value not in known:
        raise InvalidValueError(f"{option} is {' or '.join(known)}, got {value!r}.")
    return value


def _types(texts: list[str]) -> dict[str, str] | None:
    """Return the types of columns that were given.

    >>> _types(["species=class_label"])
    {'species': 'class_label'}
    """
    pairs = [text.partition("=") for text in texts]
    for text, (name, _, spec) in zip(texts, pairs, strict=True):
        if not (name and spec):
            raise InvalidValueError(
                f"--type is COLUMN=TYPE, such as --type species=class_label, got {text!r}."
            )
    return {name: spec for name, _, spec in pairs} or None


def _report(ds: IngestedDataset, as_json: bool) -> None:
    """Print what an ingest did."""
    done = ds.ingested
    if as_json:
        print_json({
            "url": ds.url, "version": ds.version, "rows": len(ds), "added": done.added,
            "changed": done.changed, "unchanged": done.unchanged, "seconds": round(done.seconds, 3),
            "skipped": [{"path": s.path, "reason": s.reason} for s in done.skipped],
            "kept": [{"path": k.path, "columns": list(k.columns)} for k in done.kept],
            "repeated": done.repeated or None,
        })  # fmt: skip
        return
    print_some("skipped", map(str, done.skipped))
    print_some("kept", map(str, done.kept))
    if done.kept:
        typer.echo("--force makes these rows as in the source", err=True)
    if done.repeated:
        typer.echo(
            f"version {done.repeated} has these rows already; --force adds them once more", err=True
        )
    typer.echo(f"{done!r}; {ds.url} has {counted(len(ds), 'row')}")
