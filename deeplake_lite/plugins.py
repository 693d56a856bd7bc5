"""Column types and codecs that other packages define.

A package registers each class with an entry point, under the name that the class has in lakes::

    [project.entry-points."deeplake_lite.htypes"]
    signal = "my_package.signal:Signal"

This package looks up entry points only for names that it does not define itself, so its own types
and codecs load without delay. A lake can only be used if the packages of its types and codecs are
installed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from deeplake_lite.errors import SchemaError

HTYPES = "deeplake_lite.htypes"
"""Entry point group of column types."""

CODECS = "deeplake_lite.codecs"
"""Entry point group of codecs."""


@cache
def names(group: str) -> tuple[str, ...]:
    """Return the sorted names that installed packages have registered in a group."""
    from importlib.metadata import entry_points

    return tuple(sorted({point.name for point in entry_points(group=group)}))


@cache
def load(group: str, name: str, base: type) -> type[Any] | None:
    """Import the class of an entry point.

    Parameters
    ----------
    group, name : str
        Group and name of the entry point.
    base : type
        Required base class.

    Returns
    -------
    type or None
        None if no package has such an entry point.

    Raises
    ------
    SchemaError
        If several packages register the name, or if the class cannot be imported, does not derive
        from `base`, or has another name.
    """
    from importlib.metadata import entry_points

    points = tuple(entry_points(group=group, name=name))
    if not points:
        return None
    if len({point.value for point in points}) > 1:
        values = " and ".join(sorted(point.value for point in points))
        raise SchemaError(
            f"Only one package may register {name!r} in {group}, but {values} are registered. "
            "Uninstall all but one of the packages that register them."
        )
    try:
        added = points[0].load()
    except Exception as error:
        reason = str(error).rstrip(".")
        raise SchemaError(
            f"The entry point {name!r} of {group} must be importable, but {points[0].value} raises "
            f"{type(error).__name__}: {reason}. Repair or uninstall the package."
        ) from error
    if not isinstance(added, type) or not issubclass(added, base):
        raise SchemaError(
            f"The entry point {name!r} of {group} must be a class derived from {base.__name__}, "
            f"but it is {added!r}. Repair or uninstall the package."
        )
    if getattr(added, "name", None) != name:
        raise SchemaError(
            f"A class and its entry point must have the same name, but {points[0].value} has the "
            f"name {getattr(added, 'name', None)!r}, and its entry point in {group} is {name!r}. "
            "Repair or uninstall the package."
        )
    return added
