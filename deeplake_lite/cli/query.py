"""The command that queries a lake and prints a table, or JSON or CSV for programs."""

from __future__ import annotations

import json
import math
import shutil
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deeplake_lite.cli.app import MAX_LINES, Url, Version, app, command, open_lake
from deeplake_lite.cli.executors import Processes, Scheduler, executor_of
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

MAX_CELL_WIDTH = 40
"""Maximum length of a table cell, in characters."""

MAX_CELL_VALUES = 8
"""Maximum number of values of an array that a table shows in full.

Larger arrays are shown as shape and dtype.
"""


@app.command()
@command
def query(
    url: Url,
    text: Annotated[
        str, typer.Argument(metavar="SELECT", help="The query, or - to read it from stdin.")
    ],
    version: Version = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Value of $NAME in the query: JSON, or else a string."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("-n", "--limit", min=0, help="Maximum number of rows.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of objects.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print how the query ran.")] = False,
    processes: Processes = None,
    scheduler: Scheduler = None,
) -> None:
    """Run an SQL query on a lake, such as "SELECT label, COUNT(*) GROUP BY label".

    Without FROM, the query reads the lake at URL. By default, the first 20 rows are printed as a
    table; --json and --csv print all rows. Files are printed as their size, and pixels as their
    shape.
    """  # fmt: skip
    if as_json and as_csv:
        raise InvalidValueError("--json and --csv cannot be combined. Omit one of them.")
    sql = sys.stdin.read() if text == "-" else text
    executor = executor_of(processes, scheduler)
    params = dict(map(_parameter, param or ()))
    result = open_lake(url, version).query(sql, params, executor=executor)
    if explain:
        typer.echo(result.explain())
    elif as_json:
        print_json(result[:limit])
    elif as_csv:
        print_csv(result[:limit])
    else:
        print_table(result, MAX_LINES if limit is None else limit)


def _parameter(option: str) -> tuple[str, object]:
    """Return the name and value in an option ``--param NAME=VALUE``.

    Raises InvalidValueError if the option has another form.

    >>> _parameter("least=3"), _parameter("name=rose")
    (('least', 3), ('name', 'rose'))
    """
    name, sign, value = option.partition("=")
    if not (name.isidentifier() and sign):
        raise InvalidValueError(
            f"--param must be NAME=VALUE, such as --param least=3, but it is {option!r}."
        )
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def print_json(view: View) -> None:
    """Print a JSON list with one object per row, each on its own line."""
    names, before = view.columns, "["
    for row in rows_of(view):
        document = dict(zip(names, map(_to_json, row), strict=True))
        typer.echo(f"{before}\n{json.dumps(document, ensure_ascii=False)}", nl=False)
        before = ","
    typer.echo("[]" if before == "[" else "\n]")


def print_csv(view: View) -> None:
    """Print CSV, with arrays and lists as JSON, and empty fields for null."""
    import csv

    from deeplake_lite.dataset.export.strings import table_cell

    table = csv.writer(sys.stdout, quoting=csv.QUOTE_STRINGS, lineterminator="\n")
    table.writerow(view.columns)
    table.writerows(map(table_cell, row) for row in rows_of(view))


def print_table(view: View, rows: int) -> None:
    """Print the first rows as a table with as many columns as fit in the terminal."""
    first_rows = view[:rows]
    lines = [list(view.columns), *([_format_cell(v) for v in row] for row in rows_of(first_rows))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    fit = _count_fitting(widths)
    are_numbers = [_is_number(f) for f in view.schema]
    for line in (lines[0], ["─" * width for width in widths], *lines[1:]):
        cells = list(zip(line, widths, are_numbers, strict=True))[:fit]
        padded_cells = (cell.rjust(w) if right else cell.ljust(w) for cell, w, right in cells)
        typer.echo("  ".join(padded_cells).rstrip())
    footer = [pluralize(len(view), "row")]
    if len(first_rows) < len(view):
        footer.append(f"{pluralize(len(view) - len(first_rows), 'more row')}: --limit")
    if fit < len(widths):
        footer.append(f"not shown: {', '.join(view.columns[fit:])}")
    typer.echo(", ".join(footer))


def _count_fitting(widths: Sequence[int]) -> int:
    """Return how many columns of the given widths fit in the terminal.

    All columns fit if the output is not a terminal. At least one column is printed in any case.
    """
    if not sys.stdout.isatty():
        return len(widths)
    available, used = shutil.get_terminal_size().columns, 0
    for number, width in enumerate(widths):
        used += width + 2 * (number > 0)
        if used > available:
            return max(number, 1)
    return len(widths)


# ---- cells


def rows_of(view: View) -> Iterator[tuple[object, ...]]:
    """Yield each row as a tuple of values to print.

    Class labels become names, files become their sizes, pixels become their shapes, and null
    becomes None.
    """
    from deeplake_lite.dataset.export.portable import read_blocks

    fields = tuple(view.schema)
    for block in read_blocks(view, fields, "query"):
        yield from zip(*(_values(view, f, block[f.name]) for f in fields), strict=True)


def _values(view: View, f: Field, cells: Any) -> list[object]:
    from deeplake_lite.dataset.export.portable import values_of
    from deeplake_lite.dataset.read.values import decode_block, with_none

    if not _is_pixels(f.htype):
        return [_format_size(v) if isinstance(v, bytes) else v for v in values_of(f.htype, cells)]
    values = with_none(decode_block(f.htype, cells, view.rows.lake.allow))
    return [_format_shape(value) for value in values]


def _is_pixels(htype: Htype) -> bool:
    """Return whether values are images or masks, or lists of them."""
    return htype.pixels is not None if htype.item is None else _is_pixels(htype.item)


def _is_number(f: Field) -> bool:
    return f.htype.scalar is not None


def _format_shape(value: Any) -> object:
    """Format the shape and dtype of pixels, such as ``"250×250×3 uint8"``."""
    if isinstance(value, list):
        return [_format_shape(item) for item in value]
    if value is None or isinstance(value, str):
        return value
    return f"{'×'.join(map(str, value.shape))} {value.dtype}"


def _format_size(data: bytes) -> str:
    return pluralize(len(data), "byte")


def _to_json(value: object) -> object:
    """Convert a value to JSON. NaN and infinity, which JSON cannot represent, become null."""
    from deeplake_lite.dataset.export.strings import to_json_value

    def finite(item: object) -> object:
        if isinstance(item, list):
            return [finite(part) for part in item]
        if isinstance(item, dict):
            return {key: finite(part) for key, part in item.items()}
        return None if isinstance(item, float) and not math.isfinite(item) else item

    return finite(to_json_value(value))


def _format_cell(value: object) -> str:
    r"""Format a value as one line of at most `MAX_CELL_WIDTH` characters.

    >>> import numpy as np
    >>> [_format_cell(v) for v in (None, np.float32(0.1), np.zeros((3, 4)), "a\nb")]
    ['', '0.1', '3×4 float64', 'a b']
    """
    import numpy as np

    from deeplake_lite.dataset.export.strings import table_cell

    if value is None:
        return ""
    if isinstance(value, np.ndarray) and value.size > MAX_CELL_VALUES:
        return str(_format_shape(value))
    line = " ".join(str(table_cell(value)).split())
    return line if len(line) <= MAX_CELL_WIDTH else line[: MAX_CELL_WIDTH - 1] + "…"
