"""Bytes of any length in chunks, tails and memory, compared with a list of bytes."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deeplake_lite as dl
from deeplake_lite.storage import heap
from deeplake_lite.storage.heap import PENDING, Settled
from deeplake_lite.testing.invariants import check_consistent
from deeplake_lite.testing.tiny import TINY, tiny_chunks

CHUNK = TINY["storage.heap.RAW_CHUNK"]
cells = st.lists(
    st.integers(0, 4 * CHUNK) | st.sampled_from([0, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK]),
    max_size=8,
)


def payload(number, size):
    return np.random.default_rng(number).bytes(size)


@pytest.mark.parametrize("htype", ["bytes", "text"])
def test_cells_of_any_length_survive_every_commit(htype, new_url):
    @given(st.lists(st.tuples(st.booleans(), cells), max_size=5))
    @settings(max_examples=20)
    def check(steps):
        with tiny_chunks():
            ds = dl.create(new_url(), {"b": htype})
            expected = []
            for commit, sizes in steps:
                new = [payload(len(expected) + i, n) for i, n in enumerate(sizes)]
                new = [b.hex()[: len(b)] for b in new] if htype == "text" else new
                ds.append({"b": new})
                expected += new
                assert ds["b"][:] == expected
                if commit:
                    ds.commit("cells")
                    assert ds["b"][:] == expected
            ds.commit("rest")
            assert dl.open(ds.url)["b"][:] == expected
            check_consistent(ds)

    check()


@pytest.mark.parametrize("size", [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 1])
@pytest.mark.usefixtures("tiny")
def test_cell_as_large_as_a_chunk_or_larger_round_trips(make_lake, size):
    expected = [b"before", payload(size, size), b"after"]
    ds = make_lake({"b": "bytes"}, b=expected)
    assert ds["b"][:] == expected
    assert ds["b"][1] == expected[1]


@pytest.mark.usefixtures("tiny")
def test_bytes_that_do_not_fill_a_chunk_go_to_the_tail(make_lake):
    ds = make_lake({"b": "bytes"}, b=[b"x" * 10])
    assert ds.handle.table.state.heaps == {}
    ds.append({"b": [b"y" * (2 * CHUNK + 5)]})
    ds.commit("large")
    [end] = ds.handle.table.state.heaps.values()
    assert end == 3  # more than STRADDLE_BYTES were in full chunks, so the third was filled up


@pytest.mark.usefixtures("tiny")
def test_cell_with_few_bytes_in_the_last_full_chunk_moves_to_the_tail_entirely(make_lake):
    first, second = b"a" * (CHUNK - 10), b"b" * 20
    ds = make_lake({"b": "bytes"}, b=[first, second])
    [end] = ds.handle.table.state.heaps.values()
    assert end == 1
    assert ds["b"][:] == [first, second]


@pytest.mark.usefixtures("tiny")
def test_consecutive_transactions_claim_chunks_after_the_last(make_lake):
    ds = make_lake({"b": "bytes"}, b=[b"a" * (2 * CHUNK)])
    for n in range(1, 4):
        ds.append({"b": [bytes([n]) * (2 * CHUNK)]})
        ds.commit("two chunks")
    assert list(ds.handle.table.state.heaps.values()) == [8]
    assert [v[0] for v in ds["b"][:]] == [97, 1, 2, 3]


@pytest.mark.usefixtures("tiny")
def test_failed_edit_leaves_none_of_its_chunks(make_lake):
    ds = make_lake({"t": "text"}, t=["first"])
    ds.append({"t": ["pending"]})
    for _ in range(3):
        with pytest.raises(dl.InvalidValueError, match="column 't', row 70: must be text"):
            ds.append({"t": ["wrong" * 9] * 70 + [5]})
        assert ds["t"][:] == ["first", "pending"]
    ds.append({"t": ["right" * 9] * 3})
    assert ds["t"][:] == ["first", "pending", *["right" * 9] * 3]
    ds.commit("right")
    assert ds["t"][:] == ["first", "pending", *["right" * 9] * 3]
    check_consistent(ds)


@pytest.mark.usefixtures("tiny")
def test_chunks_read_between_two_attempts_are_not_those_of_the_first(make_lake):
    ds = make_lake({"t": "text"})

    class Peek:
        """Reads the dataset in the middle of an append."""

        def __init__(self, values):
            self.values = values

        def __len__(self):
            return len(self.values)

        def __getitem__(self, index):
            return self.values[index]

    ds.append({"t": ["a" * 40] * 4})
    assert ds["t"][:] == ["a" * 40] * 4
    with pytest.raises(dl.InvalidValueError):
        ds.append({"t": Peek(["b" * 40] * 20 + [None])})
    ds.append({"t": ["c" * 40] * 20})
    assert ds["t"][:] == ["a" * 40] * 4 + ["c" * 40] * 20


@pytest.mark.usefixtures("tiny")
def test_updates_leave_the_old_bytes_to_the_old_versions(make_lake):
    ds = make_lake({"b": "bytes"}, b=[b"a" * 100, b"b" * 100])
    old = ds.version
    ds["b"][0] = b"c" * 150
    ds.commit("changed")
    assert ds["b"][:] == [b"c" * 150, b"b" * 100]
    assert dl.open(ds.url, version=old)["b"][:] == [b"a" * 100, b"b" * 100]


def test_pending_starts_become_addresses_or_positions_in_the_tail():
    settled = Settled(address=640, remainder=128, tail=9)
    result = settled.translate(np.array([[PENDING, 5], [PENDING + 128, 5], [77, 1], [-3, 1]]))
    assert result[:, 0].tolist() == [640, ~9, 77, -3]


@pytest.mark.usefixtures("tiny")
def test_memoryviews_and_byte_arrays_are_stored_unchanged(make_lake):
    data = bytearray(b"x" * 100)
    ds = make_lake({"b": "bytes"})
    ds.append({"b": [memoryview(data), bytes(data)]})
    data[:] = b"y" * 100
    assert ds["b"][:] == [b"x" * 100] * 2
    ds.commit("copied")
    assert ds["b"][:] == [b"x" * 100] * 2


def test_reading_a_cell_of_many_chunks_takes_little_more_memory_than_the_cell(
    tmp_path, monkeypatch
):
    size = 48 * 2**20
    ds = dl.create(str(tmp_path / "lake"), {"b": "bytes"})
    ds.append({"b": [b"first", b"0123456789abcdef" * (size // 16)]})
    ds.commit("large")
    ds = dl.open(ds.url)
    assert ds["b"][0] == b"first"
    monkeypatch.setattr(heap, "IN_FLIGHT", 2)
    tracemalloc.start()
    try:
        result = ds["b"][1]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result == b"0123456789abcdef" * (size // 16)
    assert peak < 1.5 * size


@pytest.mark.usefixtures("tiny")
def test_cells_in_two_chunks_need_no_further_reads(make_lake, monkeypatch):
    expected = [payload(i, CHUNK // 2 + 1) for i in range(9)]
    ds = make_lake({"b": "bytes"}, b=expected)
    ds.append({"b": [payload(9, 8 * CHUNK)]})  # so that all cells before it are in whole chunks
    ds.commit("more")
    ranges, read = [], heap.Heap._read_ranges

    async def count(self, name, wanted):
        ranges.extend((name, chunk) for chunk, _, _ in wanted)
        return await read(self, name, wanted)

    monkeypatch.setattr(heap.Heap, "_read_ranges", count)
    assert dl.open(ds.url)["b"][:9] == expected
    assert len(ranges) == len(set(ranges))
