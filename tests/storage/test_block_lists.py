"""The last of many small edits in one transaction costs as much as the first."""

import numpy as np

import deeplake_lite as dl
from deeplake_lite.storage.block_lists import MOST


def edited(count):
    """Return a lake with `count` edits of each kind, and the expected rows."""
    ds = dl.create("memory://many-small-edits", {"n": "int64", "t": "text"}, overwrite=True)
    ds.append({"n": range(500), "t": [str(n) for n in range(500)]})
    ds.commit("500 rows")
    rows, held = [(n, str(n)) for n in range(500)], []
    for i in range(count):
        ds.append({"n": [1000 + i], "t": ["é" * i]})
        ds["n"][i] = rows[i][0] - 2000
        ds["t"][len(rows)] = f"{i}!"
        rows = [*rows, (1000 + i, f"{i}!")]
        rows[i] = (rows[i][0] - 2000, rows[i][1])
        if i % 3 == 0:
            ds.delete([i + 1])
            del rows[i + 1]
        held.append((ds[:], list(rows)))
    return ds, held


def test_views_between_many_small_edits_keep_their_rows_and_the_lake_has_the_last():
    ds, held = edited(3 * MOST)
    for view, rows in held:
        assert list(zip(view["n"][:].tolist(), view["t"][:], strict=True)) == rows
    ds.commit("all")
    assert bool(ds.verify())
    rows = held[-1][1]
    assert list(zip(ds["n"][:].tolist(), ds["t"][:], strict=True)) == rows


def test_edit_copies_few_blocks_however_many_edits_came_before():
    ds, _ = edited(3 * MOST)
    table = ds.handle.table
    arrays = [a for c in table._columns.values() for a in c.arrays.values()] + [table.rows.ids]
    assert max(len(a._appended) for a in arrays) <= MOST + 1
    assert max(len(a._updates) for a in arrays) <= MOST + 1
    assert len(table.edits.deleted) <= MOST + 1
    assert max(map(len, table.edits.updated.values())) <= MOST + 1
    assert np.unique(table.edits.slots_deleted()).size == MOST
