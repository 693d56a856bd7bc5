"""Names of branches and tags in Icechunk, which does not allow ``/`` in names.

The slash is replaced with ``=``, which this library does not allow in names, but which file systems
and object stores allow in file names.
"""

from __future__ import annotations


def to_engine(name: str) -> str:
    """Convert a user's name of a branch or tag to the name in Icechunk.

    >>> to_engine("feature/x")
    'feature=x'
    """
    return name.replace("/", "=")


def from_engine(name: str) -> str:
    """Convert the name of a branch or tag in Icechunk to the user's name.

    >>> from_engine("feature=x")
    'feature/x'
    """
    return name.replace("=", "/")
