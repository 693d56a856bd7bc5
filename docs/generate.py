"""Write the generated parts of the documentation.

Run ``python docs/generate.py`` after changing the query language or its functions: it updates the
block of `reference/query.md` that the tests compare with the code. The pages below `_generated` are
written anew by every build.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer.main
from curves import draw_curves
from typer.testing import CliRunner

from deeplake_lite.cli import app
from deeplake_lite.query.reference import reference

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
BLOCK = re.compile(
    r"(<!-- reference: python -m deeplake_lite\.query\.reference -->\n).*?"
    r"(<!-- end of reference -->)",
    re.DOTALL,
)
PEERS = {"Browser": "Also"}
"""Heading of the fourth column, where it is not that of peers."""


def write_pages(folder: Path) -> None:
    """Write the pages that are not kept in the repository."""
    folder.mkdir(exist_ok=True)
    results = json.loads((HERE / "benchmarks.json").read_text())
    (folder / "benchmarks.md").write_text(benchmarks(results))
    draw_curves(results, folder / "scale.svg")
    (folder / "command_line.md").write_text(command_line())


def update_query_reference(page: Path) -> None:
    """Put the current reference into the block of a page."""
    text = page.read_text()
    page.write_text(BLOCK.sub(lambda m: f"{m[1]}{reference().strip()}\n{m[2]}", text))


def benchmarks(results: dict[str, Any]) -> str:
    """Return the tables of the results in Markdown.

    A table names its machine and versions where they differ from those of the table before.
    """
    lines, before = [], ""
    for table in results["tables"]:
        about = (
            f"Machine: {table['machine']}. During the measurements, other processes used up to "
            f"{table['other_cores']:.2f} cores.\n\nVersions: {table['versions']}."
        )
        lines += [f"## {table['title']}", ""]
        if about != before:
            lines += [about, ""]
        before = about
        head = ("Figure", "Target", "Measured", PEERS.get(table["title"], "Peers"), "Verdict")
        cells = [
            [row[key] for key in ("figure", "target", "measured", "peers", "verdict")]
            for row in table["rows"]
        ]
        lines += [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *cells)]
        lines.append("")
    return "\n".join(lines)


def command_line() -> str:
    """Return the help of every command in Markdown."""
    root = typer.main.get_command(app)
    return f"```text\n{_help()}\n```\n\n" + "\n".join(_commands(root))


def _commands(group: Any, *path: str) -> Iterator[str]:
    """Show the help of the commands of a group, and of those of groups within it."""
    for name, command in group.commands.items():
        words = (*path, name)
        yield f"## `{' '.join(words)}`\n\n```text\n{_help(*words)}\n```\n"
        yield from _commands(command, *words) if hasattr(command, "commands") else ()


def _help(*words: str) -> str:
    """Return what a command prints with ``--help``."""
    env = {"COLUMNS": "88", "TERMINAL_WIDTH": "88"}
    done = CliRunner().invoke(app, [*words, "--help"], prog_name="deeplake-lite", env=env)
    return done.stdout.strip()


if __name__ == "__main__":
    update_query_reference(HERE / "reference" / "query.md")
