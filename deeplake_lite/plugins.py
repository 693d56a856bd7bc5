"""Column types and codecs that other packages add.

A package names each class in an entry point, whose name is that of the class in a lake::

    [project.entry-points."deeplake_lite.htypes"]
    signal = "my_package.signal:Signal"

Entry points are looked up only for names that this package does not know, so they cost nothing
otherwise, and a lake can only name what is installed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from deeplake_lite.errors import SchemaError

HTYPES = "deeplake_lite.htypes"
"""Group of the entry points of column types."""

CODECS = "deeplake_lite.codecs"
"""Group of the entry points of codecs."""


@cache
def names(group: str) -> tuple[str, ...]:
    """Return the names that installed packages add to a group, sorted."""
    from importlib.metadata import entry_points

    return tuple(sorted({point.name for point in entry_points(group=group)}))


@cache
def load(group: str, name: str, base: type) -> type[Any] | None:
    """Import the class of an entry point.

    Parameters
    ----------
    group, name : str
        Of the entry point.
    base : type
        What the class must be derived from.

    Returns
    -------
    type or None
        None where no package has such an entry point.

    Raises
    ------
    SchemaError
        When two packages add the name, or the class cannot be imported, or is not what it should
        be.
    """
    from importlib.metadata import entry_points

    points = tuple(entry_points(group=group, name=name))
    if not points:
        return None
    if len({point.value for point in points}) > 1:
        values = " and ".join(sorted(point.value for point in points))
        raise SchemaError(
            f"Only one package may add {name!r} to {group}, but there are {values}. Uninstall one."
        )
    try:
        added = points[0].load()
    except Exception as error:
        raise SchemaError(
            f"The entry point {name!r} of {group} must be importable, but {points[0].value} raises "
            f"{type(error).__name__}: {error}. Repair or uninstall the package."
        ) from error
    if not isinstance(added, type) or not issubclass(added, base):
        raise SchemaError(
            f"The entry point {name!r} of {group} must be a class derived from {base.__name__}, "
            f"but it is {added!r}. Repair or uninstall the package."
        )
    if getattr(added, "name", None) != name:
        raise SchemaError(
            f"A class and its entry point must have the same name, but {added.__name__}.name is "
            f"{getattr(added, 'name', None)!r} and the entry point of {group} is {name!r}. Repair "
            "or uninstall the package."
        )
    return added
