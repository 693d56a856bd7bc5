"""Blocks return the requested rows, however the rows are stored."""

from unittest import mock

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.read.values import decode_block, with_none
from deeplake_lite.loader.order import block_rows
from deeplake_lite.loader.order.order import BlockOrder, ExactOrder, Order
from deeplake_lite.loader.read import block_cells, block_policy
from deeplake_lite.loader.read import blocks as blocks_module
from deeplake_lite.loader.read.blocks import EARLY, Blocks
from deeplake_lite.loader.read.disk import Disk
from deeplake_lite.loader.read.readers import Readers
from deeplake_lite.loader.read.samples import ViewSamples

N = 220
SCHEMA = {
    "x": "int32",
    "vector": dl.Embedding(3, nullable=True),
    "text": dl.Text(nullable=True),
    "boxes": dl.Boxes(),
    "words": dl.Sequence("text", nullable=True),
}


@pytest.fixture(scope="module")
def view():
    ds = dl.create("memory://blocks-test", SCHEMA, overwrite=True)
    ds.append(
        {
            "x": range(N),
            "vector": [None if i % 7 == 0 else [i, 0, 1] for i in range(N)],
            "text": [None if i % 5 == 0 else str(i) * (i % 9) for i in range(N)],
            "boxes": [[[0, 0, i, i]] * (i % 3) for i in range(N)],
            "words": [None if i % 11 == 0 else [str(i)] * (i % 4) for i in range(N)],
        }
    )
    ds.commit("rows")
    return ds[1:]


@pytest.fixture
def readers():
    readers = Readers()
    yield readers
    readers.close()


@pytest.fixture(autouse=True)
def small_blocks():
    """Shrink blocks to about 16 rows."""
    with mock.patch.object(block_rows, "BLOCK_BYTES", 1024):
        yield


def values(samples, cells):
    """Return the row numbers that cells encode."""
    columns = [with_none(decode_block(f.htype, cells[f.name])) for f in samples.fields]
    return [repr(row) for row in zip(*columns, strict=True)]


def epochs(blocks, kind, batch=24, ahead=3):
    """Run some epochs, a few batches ahead; yield the requested and the returned rows."""
    n = len(blocks.samples)
    for epoch in range(2):
        order, coming = (orders(n, e)[kind] for e in (epoch, epoch + 1))
        starts = list(range(0, n, batch))
        asked = []
        for number, start in enumerate(starts):
            for coming_start in starts[number + len(asked) : number + ahead]:
                positions = order.at(coming_start, coming_start + batch)
                asked.append((positions, blocks.request(positions, order, start, coming)))
            positions, request = asked.pop(0)
            yield positions, blocks.take(request)


def orders(n, epoch):
    return {
        "none": Order(n, 1, epoch),
        "exact": ExactOrder(n, 1, epoch),
        "block": BlockOrder(n, 1, epoch, 16, 3),
    }


@pytest.mark.parametrize("large", [1, 4096])
@pytest.mark.parametrize("kind", ["none", "exact", "block"])
@pytest.mark.parametrize("mode", ["whole", "window", "rows", "nothing", "disk"])
def test_requested_rows_are_returned(view, readers, tmp_path, monkeypatch, mode, kind, large):
    monkeypatch.setattr(block_cells, "LARGE_CELLS", large)
    samples = ViewSamples.of(view)
    expected = [repr(tuple(row.values())) for row in view]
    total = samples.row_bytes * len(samples)
    limit = {"whole": 2 * total, "nothing": 0}.get(mode, total / 2)
    window = 48 if mode == "window" else 0
    disk = Disk("print", tmp_path) if mode == "disk" else None
    blocks = Blocks(samples, readers, int(limit), window, disk)
    assert blocks.mode == ("rows" if mode == "nothing" else mode)
    for positions, cells in epochs(blocks, kind):
        assert values(samples, cells) == [expected[p] for p in positions]
    assert blocks.complete == (mode == "whole")


def test_window_holds_no_more_than_its_limit_and_the_first_rows(view, readers):
    samples = ViewSamples.of(view)
    limit = int(samples.row_bytes * len(samples) * 0.65)
    blocks = Blocks(samples, readers, limit, 48)
    most = limit // (samples.row_bytes * blocks.rows)
    read = mock.patch.object(ViewSamples, "read", autospec=True, side_effect=ViewSamples.read)
    with read as reads:
        for _ in epochs(blocks, "block", batch=16, ahead=2):  # two epochs
            assert len(blocks._futures) <= most
    assert reads.call_count <= 2 * blocks.count - most // 2


def test_cached_blocks_are_not_read_again(view, readers, monkeypatch):
    monkeypatch.setattr(blocks_module, "FEW_BYTES", 4096)
    monkeypatch.setattr(block_policy, "TOGETHER", 1)
    samples = ViewSamples.of(view)
    blocks = Blocks(samples, readers, 2**30)
    with mock.patch.object(
        ViewSamples, "read", autospec=True, side_effect=ViewSamples.read
    ) as read:
        for _ in epochs(blocks, "exact"):
            pass
    assert read.call_count <= blocks.count + EARLY
    with mock.patch.object(ViewSamples, "read", side_effect=AssertionError):
        for _ in epochs(blocks, "exact"):
            pass


def test_first_batches_do_not_wait_for_many_bytes_of_blocks(view, readers, monkeypatch):
    monkeypatch.setattr(blocks_module, "FEW_BYTES", 4096)
    monkeypatch.setattr(block_policy, "TOGETHER", 1)
    blocks = Blocks(ViewSamples.of(view), readers, 2**30)
    order = ExactOrder(len(view))
    first = blocks.request(order.at(0, 40), order, 0, order)
    assert not first.blocks
    assert first.alone is not None
    expected = view["x"][:][order.at(0, 40)].tolist()
    assert blocks.take(first)["x"].values.tolist() == expected


@pytest.mark.parametrize("shuffle", [False, "block", "exact"])
def test_batches_are_the_same_whether_the_first_wait_for_blocks_or_not(view, monkeypatch, shuffle):
    batches = []
    for few_bytes in (0, 2**40):
        monkeypatch.setattr(blocks_module, "FEW_BYTES", few_bytes)
        loader = view.batches(16, shuffle=shuffle, seed=3)
        batches.append([batch["x"].tolist() for _ in range(2) for batch in loader])
    assert batches[0] == batches[1]


def test_failed_read_is_retried(view, readers):
    samples = ViewSamples.of(view)
    blocks = Blocks(samples, readers, 2**30)
    order, rows = Order(len(samples)), np.arange(10)
    with mock.patch.object(ViewSamples, "read", side_effect=OSError("no network")):
        request = blocks.request(rows, order, 0, order)
        with pytest.raises(OSError, match="no network"):
            blocks.take(request)
    cells = blocks.take(blocks.request(rows, order, 0, order))
    assert cells["x"].values.tolist() == list(range(1, 11))


def test_blocks_are_read_together_if_all_are_cached(view, readers):
    samples = ViewSamples.of(view, ["x", "vector"])
    total = int(samples.row_bytes * len(samples))
    whole, some = Blocks(samples, readers, 2 * total), Blocks(samples, readers, total // 2)
    assert whole.rows == 16 * some.rows
    assert whole.count == -(-len(samples) // whole.rows)
    with mock.patch.object(block_policy, "MAX_ROWS", 2 * some.rows):
        assert Blocks(samples, readers, 2 * total).rows == 2 * some.rows


def test_blocks_of_small_cells_are_not_read_together(view, readers):
    samples = ViewSamples.of(view, ["x", "text"])
    total = int(samples.row_bytes * len(samples))
    whole, some = Blocks(samples, readers, 2 * total), Blocks(samples, readers, total // 2)
    assert (whole.mode, whole.rows) == ("whole", some.rows)


@pytest.mark.parametrize("shuffle", ["none", "exact"])
def test_first_batch_waits_for_few_computed_rows(view, readers, shuffle):
    computed = view.query("SELECT x, boxes[:, 0:2] AS corner")
    samples = ViewSamples.of(computed)
    with mock.patch.object(block_rows, "BLOCK_BYTES", 2**22):
        blocks = Blocks(samples, readers, 2**30)
    n = len(computed)
    order = ExactOrder(n) if shuffle == "exact" else Order(n)
    with mock.patch.object(
        ViewSamples, "read", autospec=True, side_effect=ViewSamples.read
    ) as read:
        cells = blocks.take(blocks.request(order.at(0, 8), order, 0, order))
    assert len(cells["x"]) == 8
    assert sum(len(call.args[1]) for call in read.call_args_list) <= 32
