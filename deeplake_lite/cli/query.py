"""The command that queries a lake and prints a table, or JSON or CSV for programs."""

from __future__ import annotations

import json
import math
import shutil
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deeplake_lite.cli.app import SHOWN, Url, Version, app, command, open_lake
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

WIDTH = 40
"""Maximum length of a table cell, in characters."""

FEW = 8
"""Maximum size of arrays shown in full in tables. Larger arrays are shown as shape and dtype."""


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
        typer.Option(metavar="NAME=VALUE", help="Value of $NAME, as JSON or else a string."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("-n", "--limit", min=0, help="Maximum number of rows.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of objects.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print how the query ran.")] = False,
) -> None:
    """Run an SQL query on a lake, such as "SELECT label, COUNT(*) GROUP BY label".

    Without FROM, the query reads the lake at URL. By default, the first 20 rows are printed as a
    table; --json and --csv print all rows. Files are printed as their size, and pixels as their
    shape.
    """  # fmt: skip
    if as_json and as_csv:
        raise InvalidValueError("--json and --csv cannot be combined. Omit one of them.")
    sql = sys.stdin.read() if text == "-" else text
    result = open_lake(url, version).query(sql, dict(map(_parameter, param or ())))
    if explain:
        typer.echo(result.explain())
    elif as_json:
        print_json(result[:limit])
    elif as_csv:
        print_csv(result[:limit])
    else:
        print_table(result, SHOWN if limit is None else limit)


def _parameter(option: str) -> tuple[str, object]:
    """Parse the name and value of a parameter. Raises InvalidValueError.

    >>> _parameter("least=3"), _parameter("name=rose")
    (('least', 3), ('name', 'rose'))
    """
    name, sign, value = option.partition("=")
    if not (name.isidentifier() and sign):
        raise InvalidValueError(f"A parameter must be NAME=VALUE, but it is {option!r}.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def print_json(view: View) -> None:
    """Print a JSON list with one object per row, each on its own line."""
    names, before = view.columns, "["
    for row in rows_of(view):
        document = dict(zip(names, map(_plain, row), strict=True))
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
    part = view[:rows]
    lines = [list(view.columns), *([_cell(v) for v in row] for row in rows_of(part))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    fit = _count_fitting(widths)
    rights = [_is_number(f) for f in view.schema]
    for line in (lines[0], ["─" * width for width in widths], *lines[1:]):
        cells = list(zip(line, widths, rights, strict=True))[:fit]
        padded_cells = (cell.rjust(w) if right else cell.ljust(w) for cell, w, right in cells)
        typer.echo("  ".join(padded_cells).rstrip())
    words = [pluralize(len(view), "row")]
    if len(part) < len(view):
        words.append(f"{pluralize(len(view) - len(part), 'more row')}: --limit")
    if fit < len(widths):
        words.append(f"not shown: {', '.join(view.columns[fit:])}")
    typer.echo(", ".join(words))


def _count_fitting(widths: Sequence[int]) -> int:
    """Return the number of columns that fit in the terminal, or all if it is not a terminal."""
    if not sys.stdout.isatty():
        return len(widths)
    room, used = shutil.get_terminal_size().columns, 0
    for number, width in enumerate(widths):
        used += width + 2 * (number > 0)
        if used > room:
            return max(number, 1)
    return len(widths)


# ---- cells


def rows_of(view: View) -> Iterator[tuple[object, ...]]:
    """Yield rows with class names, file sizes, pixel shapes, and None for null."""
    from deeplake_lite.dataset.export.portable import read_blocks

    fields = tuple(view.schema)
    for block in read_blocks(view, fields, "query"):
        yield from zip(*(_values(view, f, block[f.name]) for f in fields), strict=True)


def _values(view: View, f: Field, cells: Any) -> list[object]:
    from deeplake_lite.dataset.export.portable import values_of
    from deeplake_lite.dataset.read.values import decode_block, with_none

    if not _is_pixels(f.htype):
        return [_size(v) if isinstance(v, bytes) else v for v in values_of(f.htype, cells)]
    values = with_none(decode_block(f.htype, cells, view.rows.lake.allow))
    return [_shape(value) for value in values]


def _is_pixels(htype: Htype) -> bool:
    """Return whether values are images or masks, or lists of them."""
    return htype.pixels is not None if htype.item is None else _is_pixels(htype.item)


def _is_number(f: Field) -> bool:
    return f.htype.scalar is not None


def _shape(value: Any) -> object:
    """Format the shape and dtype of pixels, such as ``"250×250×3 uint8"``."""
    if isinstance(value, list):
        return [_shape(item) for item in value]
    if value is None or isinstance(value, str):
        return value
    return f"{'×'.join(map(str, value.shape))} {value.dtype}"


def _size(data: bytes) -> str:
    return pluralize(len(data), "byte")


def _plain(value: object) -> object:
    """Convert a value to JSON, with null for NaN and infinity, which JSON cannot represent."""
    from deeplake_lite.dataset.export.strings import to_json_value

    def finite(item: object) -> object:
        if isinstance(item, list):
            return [finite(part) for part in item]
        if isinstance(item, dict):
            return {key: finite(part) for key, part in item.items()}
        return None if isinstance(item, float) and not math.isfinite(item) else item

    return finite(to_json_value(value))


def _cell(value: object) -> str:
    r"""Format a value as a short string.

    >>> import numpy as np
    >>> _cell(None), _cell(np.float32(0.1)), _cell(np.zeros((3, 4))), _cell("a\nb")
    ('', '0.1', '3×4 float64', 'a b')
    """
    import numpy as np

    from deeplake_lite.dataset.export.strings import table_cell

    if value is None:
        return ""
    if isinstance(value, np.ndarray) and value.size > FEW:
        return str(_shape(value))
    line = " ".join(str(table_cell(value)).split())
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
