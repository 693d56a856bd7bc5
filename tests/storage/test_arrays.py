"""Values per slot, compared with NumPy arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deeplake_lite.errors import DamagedError
from deeplake_lite.storage.array_spec import ArraySpec
from deeplake_lite.storage.arrays import SlotArray
from deeplake_lite.storage.chunk_cache import ChunkCache
from deeplake_lite.storage.repo import creating, run

SPEC = ArraySpec("int16", (2,))


@pytest.fixture
def repository(new_url):
    with creating(new_url()) as made:
        return made


def values(rng, n):
    return rng.integers(-9, 9, (n, 2)).astype("int16")


def reopened(repository):
    tip = repository.reader(repository.tip("main"))
    return SlotArray(tip, "a", SPEC, ChunkCache())


def committed(repository, array):
    session = repository.writer("main")
    run(array.write(session))
    session.commit("array")
    return reopened(repository)


@pytest.fixture
def blank(repository):
    return SlotArray(repository.writer("main"), "a", SPEC, ChunkCache(), new=True)


@pytest.mark.usefixtures("tiny")
def test_appends_updates_and_commits_read_like_a_numpy_array(repository, blank):
    rng, array, expected = np.random.default_rng(0), blank, np.zeros((0, 2), "int16")
    for step in range(12):
        more = values(rng, rng.integers(0, 11))
        array.append(more)
        expected = np.concatenate([expected, more])
        if len(expected):
            slots = rng.permutation(len(expected))[: rng.integers(1, 6)]
            new = values(rng, len(slots))
            run(array.set(slots, new))
            expected[slots] = new
        if step % 3 == 2:
            array = committed(repository, array)
        every = np.arange(len(expected))
        np.testing.assert_array_equal(run(array.read(every)), expected)
        some = rng.permutation(every)[:7]
        np.testing.assert_array_equal(run(array.read(some)), expected[some])
        assert run(array.length()) == len(expected)


@given(st.lists(st.integers(0, 14), max_size=20))
@settings(max_examples=25)
def test_any_slots_in_any_order_read_like_fancy_indexing(slots):
    from deeplake_lite.testing.tiny import tiny_chunks

    with tiny_chunks():
        array = SlotArray(None, "a", SPEC, ChunkCache(), new=True)
        everything = np.arange(30, dtype="int16").reshape(15, 2)
        array.append(everything)
        result = run(array.read(np.array(slots, np.int64)))
        np.testing.assert_array_equal(result, everything[np.array(slots, np.int64)])


def test_last_of_several_updates_wins(repository, blank):
    blank.append(np.zeros((3, 2), "int16"))
    array = committed(repository, blank)
    run(array.set(np.array([1, 1]), np.array([[1, 1], [2, 2]], "int16")))
    run(array.set(np.array([1, 0]), np.array([[3, 3], [4, 4]], "int16")))
    assert run(array.read(np.arange(3)))[:, 0].tolist() == [4, 3, 0]
    assert run(committed(repository, array).read(np.arange(3)))[:, 0].tolist() == [4, 3, 0]


def test_returned_arrays_belong_to_the_reader(repository, blank):
    blank.append(np.zeros((2, 2), "int16"))
    array = committed(repository, blank)
    run(array.read(np.array([0])))[:] = 7
    run(array.read(np.array([0, 1])))[:] = 7
    assert not run(array.read(np.arange(2))).any()


@pytest.mark.usefixtures("tiny")
def test_spilled_rows_are_written_ahead_and_unknown_to_an_earlier_fork(repository, blank):
    blank.append(np.ones((6, 2), "int16"))
    before = committed(repository, blank)
    before.append(np.full((1, 2), 5, "int16"))
    array = before.forked()
    array.append(np.full((9, 2), 2, "int16"))
    run(array.spill(repository.writer("main").fork()))
    assert run(array.stored()) == 16
    assert run(array.read(np.arange(16)))[:, 0].tolist() == [1] * 6 + [5] + [2] * 9
    assert run(before.length()) == 7
    again = before.forked()
    again.append(np.full((2, 2), 3, "int16"))
    assert run(again.read(np.arange(9)))[:, 0].tolist() == [1] * 6 + [5, 3, 3]


@pytest.mark.usefixtures("tiny")
def test_committed_chunk_is_not_read_in_place_of_a_spilled_one(make_lake):
    ds = make_lake({"x": "int16"}, x=range(5))
    view = ds[:]
    ds.append({"x": range(100, 140)})
    assert view["x"][[4]].tolist() == [4]
    assert ds["x"][[4, 5, 6, 30]].tolist() == [4, 100, 101, 125]


def test_value_of_many_chunks_is_one_row_per_chunk():
    assert ArraySpec("uint8", (2**20,)).chunk_rows == 1


def test_zero_sized_rows_keep_their_number(repository):
    spec = ArraySpec("int32", (0, 3))
    array = SlotArray(repository.writer("main"), "z", spec, ChunkCache(), new=True)
    array.append(np.zeros((5, 0, 3), "int32"))
    session = repository.writer("main")
    run(array.write(session))
    session.commit("zeros")
    again = SlotArray(repository.reader(repository.tip("main")), "z", spec, ChunkCache())
    assert run(again.length()) == 5
    assert run(again.read(np.array([4, 0]))).shape == (2, 0, 3)


def test_cache_evicts_the_least_recently_used_chunk():
    cache = ChunkCache(limit=80)
    for i in range(5):
        cache.put(("a", i), np.zeros(16, np.uint8))
    assert cache.get(("a", 0)) is not None
    cache.put(("a", 5), np.zeros(16, np.uint8))
    assert cache.get(("a", 1)) is None
    assert cache.get(("a", 0)) is not None


def test_flipped_bit_is_reported_as_damage(tmp_path):
    import deeplake_lite as dl

    ds = dl.create(str(tmp_path / "lake"), {"x": "float64"})
    ds.append({"x": np.random.default_rng(0).normal(size=5000)})
    ds.commit("noise")
    for path in (tmp_path / "lake" / "chunks").iterdir():
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    with pytest.raises(DamagedError, match=r"ds\.verify"):
        dl.open(ds.url)["x"][17]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "int64", "complex64"])
def test_chunks_equal_those_written_by_zarr(repository, dtype):
    spec, rows = ArraySpec(dtype), np.arange(9000).astype(dtype)
    array = SlotArray(repository.writer("main"), "a", spec, ChunkCache(), new=True)
    array.append(rows)
    session = repository.writer("main")
    run(array.write(session))
    for chunk, part in enumerate((rows[:8192], rows[8192:])):
        data = run(session.get(spec.chunk_key("a", chunk)))
        assert spec.encode_chunk(part) == bytes(data)
        np.testing.assert_array_equal(spec.decode_chunk(data)[: len(part)], part)
