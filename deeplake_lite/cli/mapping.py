"""The commands that compute columns with a function, and list the jobs of a lake."""

from __future__ import annotations

import ast
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deeplake_lite.cli.app import Json, Url, app, command, print_json, print_some
from deeplake_lite.cli.executors import Processes, Scheduler, executor_of
from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Callable


@app.command(name="map")
@command
def map_command(
    url: Url,
    function: Annotated[
        str,
        typer.Argument(metavar="MODULE:FUNCTION", help="Function of a batch, in a Python module."),
    ],
    into: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=TYPE",
            help="Column to fill, such as emb=Embedding(512) or n=int32; repeatable. NAME alone "
            "for an existing column.",
        ),
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", help="Column that the function receives; repeatable."),
    ] = None,
    where: Annotated[str | None, typer.Option(help="Condition that selects rows.")] = None,
    batch: Annotated[int, typer.Option(min=1, help="Maximum number of rows in a batch.")] = 64,
    processes: Processes = None,
    scheduler: Scheduler = None,
    setup: Annotated[
        str | None,
        typer.Option(metavar="MODULE:FUNCTION", help="Function that is called once per process."),
    ] = None,
    commit: Annotated[str, typer.Option(help="Commit once, or each part.")] = "once",
    on_error: Annotated[str, typer.Option(help="raise, or skip rows that fail.")] = "raise",
    name: Annotated[str | None, typer.Option(help="Name of the job.")] = None,
    branch: Annotated[str, typer.Option(help="Branch to read and write.")] = "main",
    update: Annotated[
        bool, typer.Option("--update", help="Only compute new and changed rows.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Discard the parts that an earlier run has finished.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Fill columns with the results of a function of other columns, and commit them.

    If the command stops, the same command resumes the job. Modules are found in the current folder,
    too.
    """  # fmt: skip
    import deeplake_lite as dl

    executor = executor_of(processes, scheduler)
    job = dl.open(url, branch=branch).map(
        load_function(function),
        columns=columns,
        into=dict(map(_target, into)),
        where=where,
        batch=batch,
        executor=executor,
        setup=None if setup is None else load_function(setup),
        commit=commit,  # type: ignore[arg-type] # checked by `map`
        on_error=on_error,  # type: ignore[arg-type]
        name=name,
        update=update,
        restart=restart,
    )
    result = job.result()
    if as_json:
        print_json({
            "job": job.name,
            "version": result.version,
            "rows": result.rows,
            "resumed": result.resumed,
            "skipped": {str(row): error for row, error in result.skipped.items()},
            "edited": [str(i) for i in result.edited.tolist()],
            "outdated": [str(i) for i in result.outdated.tolist()],
            "deleted": [str(i) for i in result.deleted.tolist()],
            "seconds": result.seconds,
        })  # fmt: skip
        return
    print_some("skipped", (f"row {row}: {error}" for row, error in result.skipped.items()))
    typer.echo(f"{result!r}, version {result.version}")


@app.command()
@command
def jobs(url: Url, as_json: Json = False) -> None:
    """List the jobs that have computed columns, and those that have not finished."""
    import deeplake_lite as dl

    found = dl.jobs(url)
    if as_json:
        print_json([vars(job) for job in found])
        return
    for job in found:
        typer.echo(repr(job))


def load_function(text: str) -> Callable[..., object]:
    """Import a function, given as ``module:function``.

    Raises InvalidValueError if there is no such function.

    >>> load_function("math:sqrt")(4)
    2.0
    """
    module, colon, name = text.partition(":")
    if not (module and colon and name):
        raise InvalidValueError(
            f"A function must be MODULE:FUNCTION, such as clips:embed, but it is {text!r}."
        )
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InvalidValueError(
            f"The function {text!r} cannot be imported: {error}. Run the command in the folder of "
            "the module, or install the module."
        ) from error
    if not callable(found):
        raise InvalidValueError(f"{text!r} must be a function, but it is {found!r:.60}.")
    return found  # type: ignore[no-any-return]


def _target(text: str) -> tuple[str, object]:
    """Return the name and the type in an option ``--into NAME=TYPE``.

    >>> _target("n=int32"), _target("emb=Embedding(512)"), _target("tags=Sequence('text')")
    (('n', 'int32'), ('emb', Embedding(512)), ('tags', Sequence(Text())))
    >>> _target("label")
    ('label', None)
    """
    name, sign, kind = text.partition("=")
    return name, parse_type(kind) if sign else None


def parse_type(text: str) -> object:
    """Return a type, given as a name or as a call of a constructor with literal arguments.

    Raises InvalidValueError for any other text.
    """
    if "(" not in text:
        return text
    try:
        return _evaluate(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError) as error:
        raise InvalidValueError(
            f"A type must be a name such as int32 or a call such as Embedding(512), but it is "
            f"{text!r}: {error}."
        ) from error


def _evaluate(node: ast.expr) -> object:
    """Return the value of a literal, or of a call of one of this package's column types."""
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    import deeplake_lite as dl

    name = node.func.id if isinstance(node.func, ast.Name) else ""
    cls: Any = getattr(dl, name) if name in dl.__all__ else None
    is_known = isinstance(cls, type) and issubclass(cls, dl.Htype)
    if not is_known:
        raise ValueError(f"there is no column type {ast.unparse(node.func)!r}")
    named = {str(k.arg): _evaluate(k.value) for k in node.keywords}
    try:
        return cls(*map(_evaluate, node.args), **named)
    except TypeError as error:
        raise ValueError(str(error)) from error
