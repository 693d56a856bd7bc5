"""Names of branches and tags in the engine, which does not allow ``/`` in them.

It is replaced with ``=``, which our names do not have, and which file systems and object stores
allow in the names of files.
"""

from __future__ import annotations


def to_engine(name: str) -> str:
    """Return the engine's name of a branch or tag.

    >>> to_engine("feature/x")
    'feature=x'
    """
    return name.replace("/", "=")


def from_engine(name: str) -> str:
    """Return the user's name of a branch or tag.

    >>> from_engine("feature=x")
    'feature/x'
    """
    return name.replace("=", "/")
