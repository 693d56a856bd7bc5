"""Relative paths in the files of a dataset.

Workers of an import need nothing else of the package `annotations`, and so start faster.
"""

from __future__ import annotations

from pathlib import PurePosixPath


def is_inside(name: str) -> bool:
    """Return whether a path is relative and stays inside the folder that it is relative to.

    >>> is_inside("a/b.jpg"), is_inside("../b.jpg"), is_inside("/b.jpg")
    (True, False, False)
    """
    path = PurePosixPath(name.replace("\\", "/"))
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and (
        "\0" not in name and ":" not in path.parts[0]
    )  # fmt: skip
