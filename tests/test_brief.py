"""Messages show the beginning of any value."""

import tracemalloc
from collections import deque

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.brief import brief

DEEP = []
for _ in range(3000):
    DEEP = [DEEP]


class Raising:
    def __repr__(self):
        raise ValueError("no")


SMALL = [
    *(1, None, "it's", b"ab", [1, ["a", {}]], (1,), (), {"a": [1, (2, 3)]}, {3}, set(), [[], {}]),
    *(np.arange(3), deque([1]), np.float32(2), range(4), True, {1: {2: 3}}),
]


@pytest.mark.parametrize("value", SMALL, ids=repr)
def test_small_values_are_shown_as_by_repr(value):
    assert brief(value) == repr(value)


def test_long_values_are_truncated():
    for value in ([[1, 2, 3]] * 100, {"a" * 50: list(range(50))}, "x" * 500, 10**200):
        assert brief(value, 80) == repr(value)[:80]


def test_values_without_a_repr_are_shown_by_type():
    assert brief(DEEP) == "[" * 60
    assert brief([1, Raising()]) == "[1, <Raising>]"
    assert brief(10**5000) == "<int>"
    holds_itself = [1]
    holds_itself.append(holds_itself)
    assert brief(holds_itself) == repr(holds_itself) == "[1, [...]]"


def test_millions_of_items_are_not_formatted():
    values = ["x" * 1000] * 1_000_000
    tracemalloc.start()
    try:
        brief([values])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 100_000


VALUES = {"deep": DEEP, "raising": Raising(), "huge": 10**5000}
TYPES = [
    *("text", "json", "bytes", "int64", "datetime64[us]", "class_label", "image", "mask"),
    *("boxes", "polygons", dl.Sequence("text"), dl.Array("int64", (None,)), dl.Embedding(2)),
    *(dl.Keypoints(["a"]), dl.Link(dl.Image()), dl.ClassLabel(["a"], multiple=True)),
]


@pytest.mark.parametrize(
    ("htype", "kind"),
    [(h, k) for h in TYPES for k in VALUES if (h, k) != ("json", "huge")],  # JSON has such numbers
    ids=str,
)
def test_every_type_refuses_huge_values_with_their_row(htype, kind):
    value = VALUES[kind]
    ds = dl.create("memory://brief", {"x": htype}, overwrite=True)
    with pytest.raises(dl.InvalidValueError, match="row 0"):
        ds.append({"x": [value]})


@pytest.mark.parametrize("value", [DEEP, Raising()], ids=["deep", "raising"])
def test_huge_values_are_refused_as_options_and_rows(value):
    ds = dl.create("memory://brief", {"x": "json"}, overwrite=True)
    ds.append([{"x": 1}])
    for call in (
        lambda: ds.append(value),
        lambda: ds.append([value]),
        lambda: dl.create("memory://brief2", {"x": value}),
        lambda: ds.query("SELECT x WHERE x = $v", {"v": {"a": value}}),
        lambda: ds.metadata.update({"a": value}),
        lambda: dl.from_arrays({"x": value}, "memory://brief3"),
        lambda: ds.add_column("y", "text", values=value),
        lambda: dl.Json(default=value),
    ):
        with pytest.raises(dl.LakeError):
            call()
