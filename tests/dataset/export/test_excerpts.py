"""Excerpts of two different values always look different to the reader."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deeplake_lite as dl
from deeplake_lite.dataset.repr.excerpts import cut_to_difference
from deeplake_lite.dataset.show import diff_html

LONG = "x" * 90
SEVERAL = dl.ClassLabel(["ant", "bee"], multiple=True)
BOX = [1.0, 2.0, 1700000123.25, 9.0]

# Per type: two values whose short forms are the same, or which differ only in names.
RING = np.random.default_rng(0).random((600, 2)).astype(np.float32)
RING_MOVED = RING.copy()
RING_MOVED[300] += 1
ONE_IN_THE_MIDDLE = np.zeros(30_000)
ONE_IN_THE_MIDDLE[15_000] = 1
PAIRS = {
    "float64": ("float64", 1700000123.25, 1700000123.75),
    "next float64": ("float64", 0.1, np.nextafter(0.1, 1)),
    "next float32": ("float32", np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(1))),
    "sign of zero": ("float64", 0.0, -0.0),
    "complex": ("complex128", 1700000123.25 + 1j, 1700000123.75 + 1j),
    "classes": (SEVERAL, ["ant"], ["bee"]),
    "list of classes": (dl.Sequence(dl.ClassLabel(["ant", "bee"])), ["ant"], ["bee"]),
    "array": (dl.Array("float64", (2,)), [1700000123.25, 1], [1700000123.75, 1]),
    "late in an array": (dl.Array("int64", (3000,)), np.zeros(3000, int), np.arange(3000) // 2000),
    "embedding": (dl.Embedding(64), np.ones(64), [*np.ones(63), 1.0001]),
    "list": (dl.Sequence("float64"), [1, 1700000123.25], [1, 1700000123.75]),
    "third box": (dl.Boxes(dtype="float64"), [BOX] * 3, [BOX, BOX, [1, 2, 1700000123.75, 9]]),
    "long text": ("text", LONG + "A", LONG + "B"),
    "longer text": ("text", 9 * LONG + "A" + LONG, 9 * LONG + "B" + LONG),
    "end of a text": ("text", 9 * LONG, 9 * LONG + "B"),
    "space in a text": ("text", "a b", "a  b"),
    "tags": (dl.Sequence("text"), [LONG, "a"], [LONG, "b"]),
    "comma in a tag": (dl.Sequence("text"), ["a", "b"], ["a, b"]),
    "quotes in a tag": (dl.Sequence("text"), ["a, b"], ['"a, b"']),
    "line in a tag": (dl.Sequence("text"), ["a", "b"], ["a\nb"]),
    "empty tag": (dl.Sequence("text"), [], [""]),
    "comma in a class": (dl.ClassLabel(["a", "b", "a, b"], multiple=True), ["a", "b"], ["a, b"]),
    "list of lists": (dl.Sequence(dl.Sequence("int32")), [[1], [2]], [[1, 2]]),
    "json": ("json", {"k": LONG + "A"}, {"k": LONG + "B"}),
    "bytes": ("bytes", bytes(90) + b"A", bytes(90) + b"B"),
    "corner of an outline": (dl.Polygons(), [RING], [RING_MOVED]),
    "next corner": (
        dl.Polygons(), [RING[:3]], [np.nextafter(np.float32(RING[:3]), np.float32(9e9))],
    ),
    "outlines in a list": (dl.Sequence(dl.Polygons()), [[RING]], [[RING_MOVED]]),
    "comma in a list of classes": (
        dl.Sequence(dl.ClassLabel(["tench", "Tinca", "tench, Tinca"])),
        ["tench", "Tinca"], ["tench, Tinca"],
    ),
    "class called null": (
        dl.Sequence(dl.ClassLabel(["a", "null"], nullable=True)), ["null"], [None],
    ),
    "long array": (dl.Array("float64", (30_000,)), np.zeros(30_000), ONE_IN_THE_MIDDLE),
    "long bytes": ("bytes", bytes(30_000), bytes(29_999) + b"A"),
    "next complex": ("complex128", 0.123456789012 + 0j, 0.123456789013 + 0j),
    "complex array": (dl.Array("complex128", (1,)), [0.123456789012], [0.123456789013]),
    "empty arrays": (dl.Array("float64", (None, None)), np.ones((0, 2)), np.ones((2, 0))),
    "late in a list": (dl.Sequence("int64"), [0] * 2000, [*[0] * 1500, 1, *[0] * 499]),
    "end of a very long text": ("text", 30_000 * "a", 29_999 * "a" + "b"),
    "end of long json": ("json", {"k": 30_000 * "a"}, {"k": 29_999 * "a" + "b"}),
    "link": (dl.Link("image"), f"{LONG}/a.png", f"{LONG}/b.png"),
}  # fmt: skip
NAMED = {"classes": ("ant", "bee"), "list of classes": ("ant", "bee")}


def two_versions(make_lake, kind):
    """Return a lake whose row had a different value in version v1."""
    htype, before, after = PAIRS[kind]
    ds = make_lake({"x": htype}, x=[before])
    ds.tag("v1")
    ds.update([0], {"x": [after]})
    ds.commit("two")
    return ds


def check_apart(kind, before, after):
    """Check that a reader sees two different values, and classes by name."""
    assert before != after
    for text, name in zip((before, after), NAMED.get(kind, ("", "")), strict=True):
        assert name in str(text)


@pytest.mark.parametrize("kind", PAIRS)
def test_excerpts_of_different_values_differ(make_lake, kind):
    diff = two_versions(make_lake, kind).diff("v1", "main")
    [line] = diff.to_pandas().itertuples()
    check_apart(kind, repr(line.before), repr(line.after))
    html = diff_html(diff)
    removed, added = (
        html.split(f'<span class="dl-{side}"><bdi>')[1].split("</bdi>")[0]
        for side in ("removed", "added")
    )
    check_apart(kind, removed, added)


@given(st.floats(width=64, allow_nan=False), st.sampled_from(["float16", "float32", "float64"]))
def test_number_is_shown_with_the_fewest_digits_that_identify_it(number, dtype):
    with np.errstate(over="ignore"):
        value = np.dtype(dtype).type(number)
    said = dl.Scalar(dtype).to_words(value)
    assert np.dtype(dtype).type(said).tobytes() == value.tobytes()


@given(st.text(max_size=400), st.text(max_size=400), st.text(max_size=400), st.integers(20, 200))
def test_long_strings_are_cut_around_their_first_difference(same, a, b, width):
    before, after = cut_to_difference(same + a, same + b, width)
    assert (before == after) == (a == b)
    assert max(len(before), len(after)) <= width + 2
