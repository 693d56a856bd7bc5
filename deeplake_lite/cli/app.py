"""The command-line app, and the options, exit codes and output helpers that all commands share.

Each command imports other modules only when it runs, so that ``--help`` prints without delay.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Annotated, cast

import typer

from deeplake_lite.errors import LakeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset

MAX_LINES = 20
"""Maximum number of rows or list items that a command prints by default."""

INTERRUPTED = 130
"""Conventional exit code of a program that was interrupted by Ctrl-C."""


def _as_option(match: re.Match[str]) -> str:
    """Return the command-line option that replaces a keyword argument in an error message.

    `match` has the name of the argument as its first group and, if its pattern has two groups, the
    value as its second.
    """
    option = f"--{match[1].replace('_', '-')}"
    return f"{option} {match[2]}" if match.re.groups > 1 else option


SHELL_REPLACEMENTS = (
    (r"""on_error=["'](\w+)["']""", r"--on-error \1"),
    (r"""update=["']force["']""", "--force"),
    (r"\b(restart|update)=True", _as_option),
    (r"\b(restart|update|name|batch|where|setup|into)=(?=[\s.,])", _as_option),
    (r"\b(older_than|spare|commit_every)=['\"]?(\w[\w.]*)['\"]?", _as_option),
    (r"\b(older_than|spare|commit_every)=", _as_option),
    (r"query\(…, \{'(\w+)': value\}\)", r"--param \1=VALUE"),
    (r"\bon=…", "--on COLUMN"),
    (r"make one with dl\.create\([^)]*\)", "make one with deeplake-lite ingest"),
    (r"dl\.open\(…, version=('[^']*')\)", r"--version \1"),
    (r"ds\.branches, ds\.tags or ds\.log\(\)", "deeplake-lite info and deeplake-lite log"),
    (r"\boverwrite=True", "--overwrite"),
    (r"\bds\.log\(\)", "deeplake-lite log"),
    (r"\bds\.verify\(\)", "deeplake-lite verify"),
)
"""Pairs of a pattern for Python code in error messages, and the command-line text to print
instead."""

HELP = """Datasets for deep learning, versioned like code.

\b
Exit codes:
  0    success
  1    verify found damage, or diff --exit-code found changes
  2    wrong usage or invalid input; the reason is printed to stderr
  130  interrupted by Ctrl-C

With --json, commands print one JSON document, or {"error": "…"} if they fail.
Row ids are strings, because they have more digits than JavaScript's numbers.
"""

app = typer.Typer(
    help=HELP, no_args_is_help=True, add_completion=False, rich_markup_mode=None,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip

Url = Annotated[str, typer.Argument(metavar="URL", help="Folder or URL of the lake.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Version = Annotated[
    str | None, typer.Option(help="Branch, tag, commit id or time; main by default.")
]


def command[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a command so that an error prints one line to stderr and sets the exit code."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader has closed the pipe, as `| head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except (LakeError, OSError) as error:
            parts = [str(error) or type(error).__name__, *notes_of(error)]
            message = for_the_shell(" ".join(parts))
            if kwargs.get("as_json"):
                typer.echo(json.dumps({"error": message}, ensure_ascii=False))
            typer.echo(f"error: {message}", err=True)
            raise typer.Exit(2) from error

    return run


def for_the_shell(message: str) -> str:
    """Replace Python code in an error message with the command-line options of this program.

    >>> for_the_shell('Or leave such rows out: on_error="skip".')
    'Or leave such rows out: --on-error skip.'
    """
    for python, shell in SHELL_REPLACEMENTS:
        message = re.sub(python, cast("str", shell), message)
    return message


def notes_of(error: BaseException) -> list[str]:
    """Return the notes that `BaseException.add_note` has added to an error."""
    return list(getattr(error, "__notes__", ()))


def open_lake(url: str, version: str | None = None) -> Dataset:
    """Open a lake at the tip of ``main`` or, read-only, at the given version."""
    import deeplake_lite as dl

    return dl.open(url) if version is None else dl.open(url, version=version)


def print_json(document: object) -> None:
    """Print a JSON document, indented, to stdout."""
    typer.echo(json.dumps(document, ensure_ascii=False, indent=2, default=str))


def print_some(word: str, lines: Iterable[str]) -> None:
    """Print the first `MAX_LINES` lines to stderr, each after `word`, such as "skipped"."""
    items = list(lines)
    for line in items[:MAX_LINES]:
        typer.echo(f"{word} {line}", err=True)
    if len(items) > MAX_LINES:
        typer.echo(f"{word} {len(items) - MAX_LINES} more (--json lists all)", err=True)


def id_strings(ids: NDArray[np.int64]) -> list[str]:
    """Return row ids as strings."""
    return [str(i) for i in ids.tolist()]


def size(count: int) -> str:
    """Format a number of bytes in a readable unit.

    >>> size(999), size(21_600_000)
    ('999 B', '21.6 MB')
    """
    left = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if left < 1000:
            return f"{left:.0f} B" if unit == "B" else f"{left:.1f} {unit}"
        left /= 1000
    return f"{left:.1f} TB"
