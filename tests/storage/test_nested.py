"""Sequences return the items that were written."""

import icechunk
import numpy as np
import pytest
import zarr.api.asynchronous as zarr_async

import deeplake_lite as dl
from deeplake_lite.storage import nested
from deeplake_lite.storage.checksums import Checksums, checksum
from deeplake_lite.storage.repo import run

VALUES = {
    "int8": [[1, 2], [], [3], None, [4, 5, 6]],
    "text": [["a", "b"], [], ["c"], None, ["d", "e", "f"]],
}


@pytest.fixture(params=["int8", "text"])
def ds(request, make_lake):
    htype = dl.Sequence(request.param, nullable=True)
    return make_lake({"s": htype}, s=VALUES[request.param])


pytestmark = pytest.mark.usefixtures("only_arrays")


def rewrite(ds, name, change):
    """Commit different content of a column's array, bypassing the column, with a checksum."""
    session, state = ds.handle.repository.writer("main"), ds.handle.table.state
    [f] = ds.handle.table.schema
    path = f"{state.generation}/{f.id}/{name}"

    async def write():
        store = icechunk.IcechunkStore(session._session.store, for_fork=False)
        array = await zarr_async.open_array(store=store, path=path)
        await array.setitem(slice(None), change(np.asarray(await array.getitem(slice(None)))))
        stored = await session._get(f"{path}/c/0" + "/0" * (array.ndim - 1), None)
        sums = Checksums(session, state.generation, state.checksums)
        await sums.write(session, {(path, 0): checksum(stored)}, state.checksums)

    run(write())
    session.commit("rewritten")
    return dl.open(ds.url)


@pytest.mark.parametrize("rows", [1, 8_192])
def test_undamaged_sequences_verify(ds, monkeypatch, rows):
    monkeypatch.setattr(nested, "VERIFIED_ROWS", rows)
    assert ds.verify()
    ds["s"][0] = ds["s"][4]
    ds.delete([2])
    ds.commit("edited")
    assert ds.verify()


def test_wrong_hash_of_items_is_damage(ds):
    [damaged] = (
        rewrite(ds, "hashes", lambda h: h + np.array([0, 0, 1, 0, 0], np.uint64)).verify().damaged
    )
    assert (damaged.column, damaged.row) == ("s", 2)
    assert "items do not match its stored hash" in damaged.reason


def test_spans_that_point_to_other_items_are_damage(ds):
    damaged = rewrite(ds, "spans", lambda s: s[[2, 1, 0, 3, 4]]).verify().damaged
    assert [d.row for d in damaged] == [0, 2]


def test_null_sequence_with_items_is_damage(ds):
    damaged = rewrite(ds, "valid", lambda v: ~v).verify().damaged
    assert {d.row for d in damaged} == {0, 1, 2, 3, 4}
