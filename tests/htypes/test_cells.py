from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeplake_lite.htypes import Array, Htype, Scalar, Sequence, Text
from deeplake_lite.htypes.cells import concat, take

COLUMNS: dict[str, tuple[Htype, st.SearchStrategy]] = {
    "dense": (Scalar("int16", nullable=True), st.integers(-9, 9)),
    "text": (Text(nullable=True), st.text(max_size=3)),
    "ragged": (
        Array("int8", (None,), nullable=True),
        st.lists(st.integers(0, 9), max_size=3),
    ),
    "nested": (Sequence(Text(), nullable=True), st.lists(st.text(max_size=2), max_size=3)),
    "nested in nested": (
        Sequence(Sequence("int8"), nullable=True),
        st.lists(st.lists(st.integers(0, 9), max_size=2), max_size=3),
    ),
}


def as_lists(value):
    if isinstance(value, list):
        return [as_lists(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.parametrize("kind", COLUMNS)
@given(data=st.data())
def test_take_and_concat_behave_as_on_lists(kind, data):
    htype, value = COLUMNS[kind]
    blocks = data.draw(st.lists(st.lists(st.none() | value, max_size=4), min_size=1, max_size=3))
    cells = concat([htype.encode(block) for block in blocks])
    values = [value for block in blocks for value in block]
    decoded = as_lists(htype.decode_cells(cells))
    assert decoded == values
    rows = data.draw(
        st.lists(st.integers(0, len(values) - 1), max_size=6) if values else st.just([])
    )
    taken = take(cells, np.array(rows, np.int64))
    assert as_lists(htype.decode_cells(taken)) == [values[row] for row in rows]


def test_validity_is_dropped_when_no_null_is_left():
    cells = Text(nullable=True).encode(["a", None])
    assert take(cells, np.array([0])).valid is None
    assert take(cells, np.array([1])).valid.tolist() == [False]


def test_null_cells_have_no_bytes_and_no_shape():
    cells = Array("int8", (None, 2), nullable=True).encode([None, [[1, 2]]])
    assert cells.buffers == [b"", b"\x01\x02"]
    assert cells.shapes.tolist() == [[-1, -1], [1, 2]]
