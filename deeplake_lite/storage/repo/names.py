"""Names of branches and tags in the engine, which does not allow ``/`` in them.

The slash is replaced with ``=``, which does not occur in our names, and which file systems and
object stores allow in file names.
"""

from __future__ import annotations


def to_engine(name: str) -> str:
    """Return the engine's name for a branch or tag.

    >>> to_engine("feature/x")
    'feature=x'
    """
    return name.replace("/", "=")


def from_engine(name: str) -> str:
    """Return the user's name for a branch or tag.

    >>> from_engine("feature=x")
    'feature/x'
    """
    return name.replace("=", "/")
