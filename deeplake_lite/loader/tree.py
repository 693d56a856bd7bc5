"""Functions that treat a batch as a tree, and change, list or pair the leaves of trees.

Dicts and tuples, nested to any depth, are the branches of a tree. All other values are leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import LoaderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAME = "the batch"
"""Name, in error messages, of a batch that consists of a single leaf."""


def map_leaves(tree: object, change: Callable[[Any], object], *, lists: bool = False) -> Any:
    """Return a tree with a function applied to its leaves.

    Parameters
    ----------
    tree : object
        A batch.
    change : callable
        Takes a leaf and returns the new leaf. Called for one leaf after another, in the tree's
        order.
    lists : bool
        Whether lists are branches of the tree, and not leaves.

    Examples
    --------
    >>> map_leaves({"a": [1, (2, 3)], "b": 4}, str, lists=True)
    {'a': ['1', ('2', '3')], 'b': '4'}
    >>> map_leaves(({"a": [1, 2]}, 3), str)
    ({'a': '[1, 2]'}, '3')
    """
    if isinstance(tree, Mapping):
        return {key: map_leaves(value, change, lists=lists) for key, value in tree.items()}
    if lists and isinstance(tree, list):
        return [map_leaves(value, change, lists=lists) for value in tree]
    if isinstance(tree, tuple):
        items = [map_leaves(value, change, lists=lists) for value in tree]
        return tree._make(items) if hasattr(tree, "_make") else tuple(items)
    return change(tree)


def leaves(tree: object, name: str = NAME) -> Iterator[tuple[str, Any]]:
    """Yield the key and value of each leaf, in the tree's order. Items of a tuple have no keys.

    They get names such as ``"the batch[1]"`` instead.

    >>> list(leaves(({"a": 1}, 2)))
    [('a', 1), ('the batch[1]', 2)]
    """
    for key, branch in _branches(tree, name):
        if branch is tree:
            yield key, tree
        else:
            yield from leaves(branch, key)


def pair_leaves(tree: object, model: object, name: str = NAME) -> Iterator[tuple[str, object, Any]]:
    """Yield the key and value of each leaf, and the leaf at the same position in `model`.

    Raises
    ------
    LoaderError
        When the two trees have different branches.

    Examples
    --------
    >>> list(pair_leaves({"a": 1, "b": (2, 3)}, {"b": ("x", "y"), "a": "z"}))
    [('b[0]', 2, 'x'), ('b[1]', 3, 'y'), ('a', 1, 'z')]
    """
    if isinstance(model, Mapping):
        if not isinstance(tree, Mapping) or tree.keys() != model.keys():
            actual = (
                f"it has {sorted(tree)}" if isinstance(tree, Mapping)
                else f"it is of type {type(tree).__name__}"
            )  # fmt: skip
            raise LoaderError(
                f"{name} must have the keys {sorted(model)} in every batch, but {actual}. Return "
                "the same keys from every call of your transform."
            )
    elif isinstance(model, tuple):
        if not isinstance(tree, tuple) or len(tree) != len(model):
            actual = (
                f"its length is {len(tree)}" if isinstance(tree, tuple)
                else f"it is of type {type(tree).__name__}"
            )  # fmt: skip
            raise LoaderError(
                f"{name} must be a tuple of length {len(model)} in every batch, but {actual}. "
                "Return the same structure from every call of your transform."
            )
    else:
        yield name, tree, model
        return
    branches = dict(_branches(tree, name))
    for key, model_branch in _branches(model, name):
        yield from pair_leaves(branches[key], model_branch, key)


def nbytes(tree: object) -> int:
    """Return the size of a batch in bytes. Strings in lists are not counted.

    >>> import numpy as np
    >>> nbytes({"x": np.zeros((4, 2)), "y": [np.zeros(3), np.zeros(1)], "name": ["a", "b"]})
    96
    >>> nbytes((np.zeros(2), {"y": np.zeros(1)}))
    24
    """
    return sum(_size(leaf) for _, leaf in leaves(tree))


def _size(leaf: object) -> int:
    if isinstance(leaf, list):
        return sum(map(nbytes, leaf)) if leaf and not isinstance(leaf[0], str) else 0
    return int(getattr(leaf, "nbytes", 0))


def _branches(tree: object, name: str) -> Iterator[tuple[str, object]]:
    """Yield the name and value of each branch of a tree. The only branch of a leaf is itself."""
    if isinstance(tree, Mapping):
        yield from tree.items()
    elif isinstance(tree, tuple):
        yield from ((f"{name}[{i}]", branch) for i, branch in enumerate(tree))
    else:
        yield name, tree
