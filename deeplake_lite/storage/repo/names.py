"""What the engine calls a branch or tag: it takes no ``/``, and keeps names in files.

``=`` stands for it: no name of ours has one, and every file system and object store takes it.
"""

from __future__ import annotations


def to_engine(name: str) -> str:
    """Return what the engine calls a branch or tag.

    >>> to_engine("feature/x")
    'feature=x'
    """
    return name.replace("/", "=")


def from_engine(name: str) -> str:
    """Return what users call it.

    >>> from_engine("feature=x")
    'feature/x'
    """
    return name.replace("=", "/")
