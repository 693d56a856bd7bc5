"""No layer knows a column type by its class, and every module is short enough to be read."""

import ast
from pathlib import Path

import pytest

import deeplake_lite
from deeplake_lite.htypes.registry import CLASSES

PACKAGE = Path(deeplake_lite.__file__).parent
HOMES = f"{PACKAGE.name}.htypes."
LAYERS = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE / "htypes"]


MAX_LINES = 420
"""Maximum number of lines of code of a module, without blank lines, comments and docstrings."""

LISTS = {"query/bind/calls/allowed.py"}
"""Modules that consist of a list, and may be longer."""


def lines_of_code(source):
    """Return the number of lines that are not blank, a comment or part of a docstring."""
    prose = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)
        for number in range(node.lineno, node.end_lineno + 1)
    }
    lines = enumerate(map(str.strip, source.splitlines()), 1)
    return sum(
        bool(line) and not line.startswith("#") and number not in prose for number, line in lines
    )


def test_lines_of_code_are_counted():
    assert (
        lines_of_code('"""A module.\n\nMore."""\n\nX = 1\n"""One."""\n# Why\nY = 2  # two\n') == 2
    )


def test_modules_are_short():
    lengths = {
        path.relative_to(PACKAGE).as_posix(): lines_of_code(path.read_text("utf-8"))
        for path in PACKAGE.rglob("*.py")
    }
    assert lengths.keys() > LISTS
    too_long = {name: n for name, n in lengths.items() if n > MAX_LINES and name not in LISTS}
    assert too_long == {}


def checks_of_types(source):
    """Return the lines that check the class of a column type, or its name."""
    tree = ast.parse(source)
    types = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(HOMES)
        for alias in node.names
        if alias.name in CLASSES.values()
    }
    lines = set()
    for node in ast.walk(tree):
        asked = None
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
            "isinstance",
            "issubclass",
        ):
            asked = node.args[1]
        elif isinstance(node, ast.MatchClass):
            asked = node.cls
        elif isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("htype.name"):
            lines.add(node.lineno)
        if asked is not None and types & {
            name.id for name in ast.walk(asked) if isinstance(name, ast.Name)
        }:
            lines.add(node.lineno)
    return sorted(lines)


def test_type_checks_are_detected():
    source = (
        "from deeplake_lite.htypes import Image, Text\n"
        "isinstance(h, Image | int)\n"
        "match h:\n"
        "    case Text():\n"
        "        pass\n"
        "f.htype.name == 'image'\n"
        "Image('png')\n"
        "isinstance(h, int)\n"
    )
    assert checks_of_types(source) == [2, 4, 6]


@pytest.mark.parametrize("folder", sorted({path.relative_to(PACKAGE).parts[0] for path in LAYERS}))
def test_layers_use_the_interface_of_types_and_not_their_class(folder):
    files = [path for path in LAYERS if path.relative_to(PACKAGE).parts[0] == folder]
    checks = {str(path): checks_of_types(path.read_text()) for path in files}
    assert {path: lines for path, lines in checks.items() if lines} == {}
