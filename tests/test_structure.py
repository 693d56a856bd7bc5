"""The layers stay separate: none of them knows a column type by its class."""

import ast
from pathlib import Path

import pytest

import deeplake_lite
from deeplake_lite.htypes.registry import CLASSES

PACKAGE = Path(deeplake_lite.__file__).parent
HOMES = f"{PACKAGE.name}.htypes."
LAYERS = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE / "htypes"]


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
