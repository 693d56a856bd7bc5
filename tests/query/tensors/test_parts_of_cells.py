"""Indexes that select a part of large cells, of which only the bytes of this part are read."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.tensors import evaluate
from deeplake_lite.storage.heap import Heap
from deeplake_lite.storage.snapshot import Snapshot

INDEXES = {
    "[3:9]": np.s_[3:9],
    "[2]": np.s_[2],
    "[-1]": np.s_[-1],
    "[-4:]": np.s_[-4:],
    "[10:2:-3]": np.s_[10:2:-3],
    "[2:4, 1]": np.s_[2:4, 1],
    "[2:4, ::-1]": np.s_[2:4, ::-1],
    "[1, 2]": np.s_[1, 2],
    "[0:0]": np.s_[0:0],
    "[30]": np.s_[30],
    "[5:500]": np.s_[5:500],
}
DTYPES = ("float32", "int64", "uint8", "bool", "float16")
SHAPES = [(40, 5), (20, 3), (31, 4), (100, 1_500), (7, 5)]


@pytest.fixture
def values():
    """Return a function that makes cells of different shapes, one of which is null."""
    random = np.random.default_rng(0)

    def make(dtype):
        cells = [(random.random(shape) * 200 - 50 * (dtype != "uint8")) for shape in SHAPES]
        return [*(cell.astype(dtype) for cell in cells), None]

    return make


@pytest.fixture
def bytes_read(monkeypatch):
    """Return a list of the numbers of bytes that are read from heaps."""
    sizes, read = [], Heap.read

    async def counted(self, extents):
        sizes.append(int(extents[:, 1].sum()))
        return await read(self, extents)

    monkeypatch.setattr(Heap, "read", counted)
    return sizes


def expected(cell, index):
    """Return the value of an index: None where a row has no such position."""
    try:
        return None if cell is None else cell[index]
    except IndexError:
        return None


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_parts_are_those_of_numpy(make_lake, values, monkeypatch, dtype, committed):
    monkeypatch.setattr(evaluate, "are_small", lambda *_: False)
    cells = values(dtype)
    ds = make_lake({"x": dl.Array(dtype, (None, None), nullable=True)})
    ds.append({"x": cells})
    if committed:
        ds.commit("cells")
    for text, index in INDEXES.items():
        part = ds.query(f"SELECT x{text} AS part")["part"][:]
        for value, cell in zip(part, cells, strict=True):
            wanted = expected(cell, index)
            is_null = value is None or value is np.ma.masked
            assert is_null == (wanted is None), text
            if wanted is not None:
                np.testing.assert_array_equal(value, wanted)
                assert np.asarray(value).dtype == dtype


def test_a_slice_of_a_large_cell_reads_its_bytes_only(make_lake, bytes_read):
    big = np.arange(3_000_000, dtype="float32").reshape(-1, 100)
    ds = make_lake({"x": dl.Array("float32", (None, 100))}, x=[big, big[:20_000]])
    bytes_read.clear()
    part = ds.query("SELECT x[9000:9010] AS part")["part"][:]
    np.testing.assert_array_equal(part[1], big[9_000:9_010])
    assert sum(bytes_read) == 2 * 10 * 100 * 4


def test_a_part_and_the_whole_cell_in_one_expression_agree(make_lake):
    big = np.arange(600_000, dtype="int64").reshape(-1, 6)
    ds = make_lake({"x": dl.Array("int64", (None, 6))}, x=[big, big[5:]])
    text = "SELECT SUM(x[10:20]) + 0 * SUM(x) AS a, SUM(x[10:20]) AS b"
    rows = ds.query(text)
    assert rows["a"][:].tolist() == rows["b"][:].tolist()
    assert rows["b"][:].tolist() == [big[10:20].sum(), big[15:25].sum()]


def test_parts_belong_to_the_caller(make_lake):
    big = np.zeros((300_000, 6), "int64")
    ds = make_lake({"x": dl.Array("int64", (None, 6))}, x=[big])
    for _ in range(2):
        part = ds.query("SELECT x[5:9] AS part")["part"][0]
        assert part.max() == 0
        part[:] = 1


def test_parts_of_damaged_shapes_raise_our_error(make_lake, monkeypatch):
    big = np.zeros((300_000, 6), "int64")
    ds = make_lake({"x": dl.Array("int64", (None, 6))}, x=[big])
    monkeypatch.setattr(Snapshot, "shapes", lambda *_: np.array([[2**31 - 1, 6]], "int32"))
    assert ds.query("SELECT x[5:9] AS part")["part"][0].shape == (4, 6)


def test_parts_of_verified_reads_are_those_of_whole_cells(tmp_path):
    big = np.arange(600_000, dtype="int64").reshape(-1, 6)
    ds = dl.create(str(tmp_path / "lake"), {"x": dl.Array("int64", (None, 6))})
    ds.append({"x": [big]})
    ds.commit("a cell")
    checked = dl.open(ds.url, verify="read")
    np.testing.assert_array_equal(checked.query("SELECT x[7:9] AS p")["p"][0], big[7:9])
