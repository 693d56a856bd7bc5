"""Trees of batches: branches, leaves and their names."""

from collections import namedtuple

import numpy as np
import pytest

from deeplake_lite.errors import LoaderError
from deeplake_lite.loader.tree import leaves, map_leaves, nbytes, pair_leaves

Pair = namedtuple("Pair", "x y")


def test_leaves_are_mapped_at_any_depth():
    assert map_leaves({"a": [1, (2,)], "b": {"c": 3}}, lambda x: x + 1, lists=True) == {
        "a": [2, (3,)],
        "b": {"c": 4},
    }


def test_lists_are_leaves_unless_requested():
    assert map_leaves({"a": [1, 2]}, len) == {"a": 2}


def test_named_tuple_stays_a_named_tuple():
    assert map_leaves(Pair(1, {"z": 2}), str) == Pair("1", {"z": "2"})
    assert type(map_leaves(Pair(1, 2), str)) is Pair


def test_leaves_are_named_by_key_or_position():
    tree = ({"a": 1, "b": (2, 3)}, 4)
    assert list(leaves(tree)) == [("a", 1), ("b[0]", 2), ("b[1]", 3), ("the batch[1]", 4)]
    assert list(leaves(5)) == [("the batch", 5)]


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        ({"b": 1}, "the batch must have the keys .'a'. in every batch, but it has .'b'."),
        (3, "the batch must have the keys .'a'. in every batch, but it is of type int"),
        ({"a": 3}, "a must be a tuple of length 2 in every batch, but it is of type int"),
        ({"a": (1, 2, 3)}, "a must be a tuple of length 2 in every batch, but its length is 3"),
    ],
)
def test_trees_of_different_structure_do_not_pair(tree, told):
    with pytest.raises(LoaderError, match=told):
        list(pair_leaves(tree, {"a": ("x", "y")}))


def test_memory_of_a_tree_is_that_of_its_arrays():
    x = np.zeros((4, 2))
    assert nbytes({"x": x, "y": (x, [x[0], x[1, :1]]), "t": ["a"], "n": 3}) == 2 * 64 + 16 + 8
