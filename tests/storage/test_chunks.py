"""Arithmetic of rows, bytes and chunks, compared with a naive version."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deeplake_lite.storage import chunks

integers = st.lists(st.integers(0, 30), max_size=30).map(lambda x: np.array(x, np.int64))
extents = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 40)), max_size=12)


@given(integers)
def test_indices_are_contiguous_exactly_when_each_is_one_more(slots):
    result = chunks.contiguous(slots)
    expected = len(slots) > 0 and slots.tolist() == list(range(slots[0], slots[0] + len(slots)))
    assert (result is not None) == expected
    if result is not None:
        assert list(range(result.start, result.stop)) == slots.tolist()


@given(integers)
def test_groups_cover_every_key_once(keys):
    order, runs = chunks.group(keys)
    assert sorted(order.tolist()) == list(range(len(keys)))
    seen = [int(keys[order[run]][0]) for run in runs]
    assert seen == sorted(set(keys.tolist()))
    assert all(len(set(keys[order[run]].tolist())) == 1 for run in runs)


@given(st.integers(0, 50), st.integers(1, 9))
def test_spans_split_a_range_without_gaps(length, size):
    rows = [i for span in chunks.spans(length, size) for i in range(span.start, span.stop)]
    assert rows == list(range(length))


@given(st.integers(0, 200), st.integers(0, 100), st.integers(1, 16))
def test_pieces_cover_every_byte_of_a_range(start, length, size):
    result = [
        chunk * size + i for chunk, a, b in chunks.pieces(start, length, size) for i in range(a, b)
    ]
    assert result == list(range(start, start + length))
    assert all(0 <= a < b <= size for _, a, b in chunks.pieces(start, length, size))


@given(extents, st.integers(1, 32), st.integers(0, 16))
def test_planned_reads_cover_every_cell(cells, size, gap):
    starts, lengths = np.array(cells, np.int64).reshape(-1, 2).T
    reads, spanning = chunks.plan_reads(starts, lengths, size, gap=gap)
    planned = sorted(spanning + [i for read in reads for i in read.cells.tolist()])
    assert planned == [i for i, (_, n) in enumerate(cells) if n]
    for read in reads:
        assert 0 <= read.start < read.stop <= size
        for i in read.cells.tolist():
            start, length = cells[i]
            assert read.chunk * size + read.start <= start
            assert start + length <= read.chunk * size + read.stop


@given(extents, st.integers(1, 32), st.integers(0, 16))
def test_planned_reads_of_one_chunk_are_further_apart_than_the_gap(cells, size, gap):
    starts, lengths = np.array(cells, np.int64).reshape(-1, 2).T
    reads, _ = chunks.plan_reads(starts, lengths, size, gap=gap)
    for a, b in pairwise(reads):
        assert a.chunk < b.chunk or b.start - a.stop > gap


def test_cell_across_a_chunk_boundary_spans():
    reads, spanning = chunks.plan_reads(np.array([6, 8]), np.array([4, 8]), 8)
    assert spanning == [0]
    assert [(r.chunk, r.start, r.stop) for r in reads] == [(1, 0, 8)]
