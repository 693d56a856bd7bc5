"""The options shared by all commands of `deeplake-lite ingest`, and the report of their result."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from deeplake_lite.cli.app import Json, app, command, print_json, print_some
from deeplake_lite.cli.executors import Processes, Scheduler, executor_of
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.ingest.result import IngestedDataset


class _Group(typer.core.TyperGroup):
    """The ingest commands, one for each format. If the user names no format, ``auto`` runs."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        first = args[0] if args else ""
        is_word = first.isidentifier() and not os.path.exists(first)  # the name of a format
        is_source = not (first in self.commands or first.startswith("-") or is_word)
        return super().resolve_command(ctx, ["auto", *args] if is_source else args)


group = typer.Typer(
    cls=_Group,
    help="Ingest files into a lake, which is created if it does not exist. If the name of the "
    "format is omitted, as in `ingest SRC URL`, it is recognised.",
    no_args_is_help=True,
)
app.add_typer(group, name="ingest")

On = Annotated[
    str | None,
    typer.Option(
        help="Key column, to update rows whose key exists. By default, all rows are added, "
        "unless the same file was ingested before."
    ),
]

Images = Annotated[
    str | None,
    typer.Option(help="Folder of the images. By default, search near the annotation file."),
]
NoImages = Annotated[bool, typer.Option("--no-images", help="Ingest only the annotations.")]


Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="Column to ingest. Repeat for several. By default, all."),
]


def _options(
    on_error: Annotated[
        str, typer.Option(metavar="raise|skip", help="Whether to fail on a bad row or skip it.")
    ] = "raise",
    check: Annotated[
        str, typer.Option(metavar="header|full", help="How to check files. full decodes them.")
    ] = "header",
    update: Annotated[
        bool,
        typer.Option(
            "--update/--no-update", help="Whether to update rows whose key exists, or skip them."
        ),
    ] = True,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite edits in the lake with the source.")
    ] = False,
    commit_every: Annotated[
        int | None, typer.Option(help="Commit after this many rows. A rerun continues from there.")
    ] = None,
    branch: Annotated[str, typer.Option(help="Branch to write to.")] = "main",
    message: Annotated[str, typer.Option(help="Commit message.")] = "",
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type", metavar="COLUMN=TYPE", help="Type of a column, such as species=class_label."
        ),
    ] = None,
    processes: Processes = None,
    scheduler: Scheduler = None,
) -> dict[str, object]:
    """Check the shared options, and return them as keyword arguments."""
    if commit_every is not None and commit_every < 1:
        raise InvalidValueError(f"--commit-every must be at least 1, but it is {commit_every}.")
    if force and not update:
        raise InvalidValueError("--force and --no-update cannot be combined. Omit one of them.")
    return {
        "on_error": _check_choice("--on-error", on_error, "raise", "skip"),
        "check": _check_choice("--check", check, "header", "full"),
        "update": "force" if force else update,
        "commit_every": commit_every,
        "branch": branch,
        "message": message,
        "schema": _parse_types(types or []),
        "executor": executor_of(processes, scheduler),
    }


def ingests(function: Callable[..., IngestedDataset]) -> Callable[..., None]:
    """Turn a function into an ingest command that has the shared options and prints the result."""
    shared = inspect.signature(_options, eval_str=True)
    signature = inspect.signature(function, eval_str=True)

    @command
    @functools.wraps(function)
    def run(**arguments: Any) -> None:
        as_json = arguments.pop("as_json")
        options = _options(**{name: arguments.pop(name) for name in shared.parameters})
        _report(function(**arguments, progress=sys.stderr.isatty(), **options), as_json)

    named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    last = inspect.Parameter("as_json", named[0].kind, default=False, annotation=Json)
    parameters = [*named, *shared.parameters.values(), last]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _check_choice(option: str, value: str, *choices: str) -> str:
    if value not in choices:
        raise InvalidValueError(f"{option} must be {' or '.join(choices)}, but it is {value!r}.")
    return value


def _parse_types(options: list[str]) -> dict[str, str] | None:
    """Parse the values of ``--type`` to a dict that maps columns to types, or to None.

    >>> _parse_types(["species=class_label"])
    {'species': 'class_label'}
    """
    pairs = [option.partition("=") for option in options]
    for option, (name, _, spec) in zip(options, pairs, strict=True):
        if not (name and spec):
            raise InvalidValueError(
                "--type must be COLUMN=TYPE, such as --type species=class_label, but it is "
                f"{option!r}."
            )
    return {name: spec for name, _, spec in pairs} or None


def _report(ds: IngestedDataset, as_json: bool) -> None:
    """Print the result of an ingest."""
    result = ds.ingested
    if as_json:
        print_json({
            "url": ds.url, "version": ds.version, "rows": len(ds), "added": result.added,
            "changed": result.changed, "unchanged": result.unchanged,
            "seconds": round(result.seconds, 3),
            "skipped": [{"path": s.path, "reason": s.reason} for s in result.skipped],
            "kept": [{"path": k.path, "columns": list(k.columns)} for k in result.kept],
            "repeated": result.repeated or None,
        })  # fmt: skip
        return
    print_some("skipped", map(str, result.skipped))
    print_some("kept", map(str, result.kept))
    if result.kept:
        typer.echo("--force overwrites edits of these rows with the source", err=True)
    if result.repeated:
        typer.echo(
            f"version {result.repeated} already has these rows; --force adds them again", err=True
        )
    typer.echo(f"{result!r}; {ds.url} has {pluralize(len(ds), 'row')}")
