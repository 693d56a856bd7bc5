"""Blocks whose next use is farthest are evicted first, which is as good as any order can be."""

from __future__ import annotations

import os
import time
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest

from deeplake_lite.htypes.cells import DenseCells
from deeplake_lite.loader.order.order import BlockOrder, ExactOrder, Order
from deeplake_lite.loader.read import disk_space
from deeplake_lite.loader.read.disk import Disk
from deeplake_lite.loader.read.next_uses import NEVER, Uses

ROWS = 4
"""Number of rows in a block."""


def save(disk, block):
    disk.save(block * ROWS, (block + 1) * ROWS, {"x": DenseCells(np.full((ROWS, 500), block))})


def load(disk, block):
    return disk.load(block * ROWS, (block + 1) * ROWS)


def follow(disk, order, done=0, next_order=None):
    disk.follow(order, ROWS, done, next_order or order)


def blocks_of(folder, view="own"):
    return sorted(int(p.name.split("-")[0]) // ROWS for p in (folder / view).glob("[0-9]*"))


@pytest.fixture(scope="module")
def size(tmp_path_factory):
    """Size of the file of a block."""
    folder = tmp_path_factory.mktemp("size")
    disk = Disk("own", folder)
    save(disk, 100)
    return (folder / "own" / "400-404").stat().st_size


# ---- compared with other policies


def windows_of(order, window):
    """Return the sets of blocks that an order needs at a time, and where each set begins."""
    positions = order.at(0, order.n)
    starts = range(0, order.n, window * ROWS)
    return [
        (start, frozenset((positions[start : start + window * ROWS] // ROWS).tolist()))
        for start in starts
    ]


def reads_of_disk(folder, orders, window, budget):
    """Return how many blocks are read from the lake if the disk cache has a given budget."""
    disk, reads = Disk("own", folder, budget), 0
    for order, next_order in pairwise(orders):
        for start, blocks in windows_of(order, window):
            follow(disk, order, start, next_order)
            for block in sorted(blocks):
                if load(disk, block) is None:
                    save(disk, block)
                    reads += 1
                assert load(disk, block) is not None
            assert sum(p.stat().st_size for p in (folder / "own").glob("[0-9]*")) <= budget
    return reads


def reads_of_lru(requests, capacity):
    """Return how many blocks are read if the least recently used block is evicted."""
    held, reads = [], 0
    for blocks in requests:
        for block in sorted(blocks):
            if block in held:
                held.remove(block)
            else:
                reads += 1
                held = held[-(capacity - 1) :] if capacity > 1 else []
            held.append(block)
    return reads


def fewest_reads(requests, capacity):
    """Return the minimum number of blocks that are read, over all possible evictions."""

    @cache
    def least(at, held):
        if at == len(requests):
            return 0
        needed, others = requests[at], held - requests[at]
        spare = min(len(others), capacity - len(needed))
        kept = map(frozenset, combinations(sorted(others), spare))
        return len(needed - held) + min(least(at + 1, needed | each) for each in kept)

    return least(0, frozenset())


def orders_of(kind, blocks, window, seed):
    """Return the orders of three epochs, and of the one after them."""
    if kind == "none":
        return [Order(blocks * ROWS, seed, epoch) for epoch in range(4)]
    return [BlockOrder(blocks * ROWS, seed, epoch, ROWS, window) for epoch in range(4)]


CASES = [
    (kind, blocks, window, capacity, seed)
    for kind, windows, seeds in (("none", [1], [0]), ("block", [1, 2], range(4)))
    for blocks in (4, 6)
    for window in windows
    for capacity in range(window, blocks + 1)
    for seed in seeds
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_evictions_cause_as_few_reads_as_possible_and_not_more_than_lru(tmp_path, size, case):
    kind, blocks, window, capacity, seed = case
    orders = orders_of(kind, blocks, window, seed)
    reads = reads_of_disk(tmp_path, orders, window, capacity * size)
    requests = [each for order in orders[:-1] for _, each in windows_of(order, window)]
    assert reads == fewest_reads(requests, capacity) <= reads_of_lru(requests, capacity)
    if kind == "none" and 1 < capacity < blocks:  # where LRU never finds a block
        assert reads < reads_of_lru(requests, capacity)


def test_block_is_evicted_only_if_the_new_block_is_used_earlier(tmp_path, size):
    disk = Disk("own", tmp_path, 2 * size)
    follow(disk, Order(4 * ROWS))
    for block in (1, 3, 2):  # 3 is used after 2
        save(disk, block)
    assert blocks_of(tmp_path) == [1, 2]
    save(disk, 3)
    assert blocks_of(tmp_path) == [1, 2]


def test_blocks_of_an_exact_shuffle_stay(tmp_path, size):
    disk = Disk("own", tmp_path, 2 * size)
    for epoch in range(3):
        follow(disk, ExactOrder(4 * ROWS, 0, epoch))
        for block in range(4):
            save(disk, block)
    assert blocks_of(tmp_path) == [0, 1]
    assert not disk.admits(2 * ROWS, 3 * ROWS, size)
    assert disk.admits(0, ROWS, size)


def test_block_that_another_loader_uses_earlier_stays(tmp_path, size):
    mine, other = Disk("own", tmp_path, 2 * size), Disk("own", tmp_path, 2 * size)
    order = Order(4 * ROWS)
    follow(mine, order)
    follow(other, order, done=3 * ROWS)
    for block in (0, 2, 3):  # for this loader, 3 is used last; the other is using it
        save(other if block == 3 else mine, block)
    assert blocks_of(tmp_path) == [0, 3]
    save(mine, 1)
    assert blocks_of(tmp_path) == [0, 3]
    del other
    save(mine, 1)
    assert blocks_of(tmp_path) == [0, 1]


# ---- views and processes


def set_used(folder, ago):
    os.utime(folder / disk_space.USED, (time.time() - ago,) * 2)


def test_blocks_of_views_without_a_loader_are_evicted_first_the_oldest_view_first(tmp_path, size):
    for name in ("old", "new"):
        disk = Disk(name, tmp_path)
        for block in range(2):
            save(disk, block)
        del disk
        set_used(tmp_path / name, 1000 if name == "old" else 10)
    mine = Disk("own", tmp_path, 4 * size)
    follow(mine, ExactOrder(9 * ROWS))
    remaining = []
    for block in range(5):
        save(mine, block)
        remaining.append([len(blocks_of(tmp_path, name)) for name in ("old", "new", "own")])
    assert remaining == [[1, 2, 1], [0, 2, 2], [0, 1, 3], [0, 0, 4], [0, 0, 4]]
    assert not (tmp_path / "old").exists()


def test_loaders_of_other_views_keep_the_blocks_that_they_use(tmp_path, size):
    other, mine = Disk("other", tmp_path, 2 * size), Disk("own", tmp_path, 2 * size)
    order = Order(4 * ROWS)
    follow(other, order)
    follow(mine, order)
    save(other, 0)
    save(other, 3)
    save(mine, 0)
    save(mine, 1)
    assert (blocks_of(tmp_path, "other"), blocks_of(tmp_path)) == ([0], [0])


def test_smaller_budget_evicts_the_blocks_of_former_loaders(tmp_path, size):
    disk = Disk("old", tmp_path)
    for block in range(4):
        save(disk, block)
    del disk
    Disk("own", tmp_path, 2 * size)
    assert blocks_of(tmp_path, "old") == [0, 1]


def test_budget_below_one_block_stores_nothing_and_evicts_nothing_in_vain(tmp_path, size):
    disk = Disk("own", tmp_path, 2 * size)
    follow(disk, Order(4 * ROWS))
    save(disk, 0)
    cells = {"x": DenseCells(np.zeros((ROWS, 5000)))}
    disk.save(ROWS, 2 * ROWS, cells)
    assert blocks_of(tmp_path) == [0]
    assert disk.load(ROWS, 2 * ROWS) is None
    small = Disk("small", tmp_path, 0)
    follow(small, Order(4 * ROWS))
    save(small, 0)
    assert blocks_of(tmp_path, "small") == []


@pytest.mark.parametrize("damage", [None, b"", b"x" * 40, b"9" * 20])
def test_lost_or_damaged_total_is_computed_again(tmp_path, size, damage):
    disk = Disk("own", tmp_path, 2 * size)
    follow(disk, Order(4 * ROWS))
    for block in range(3):
        total = tmp_path / disk_space.TOTAL
        total.unlink() if damage is None else total.write_bytes(damage)
        save(disk, block)
    assert blocks_of(tmp_path) == [0, 1]


def test_total_follows_files_that_a_user_removes(tmp_path, size):
    disk = Disk("own", tmp_path, 2 * size)
    follow(disk, ExactOrder(9 * ROWS))
    for block in range(3):
        save(disk, block)
    for file in (tmp_path / "own").glob("[0-9]*"):
        file.unlink()
    save(disk, 5)
    assert blocks_of(tmp_path) == [5]


@pytest.mark.parametrize("content", [b"", b"1234567", bytes(32), b"\xff" * 80])
def test_malformed_uses_of_a_loader_protect_its_blocks(tmp_path, size, content):
    other, mine = Disk("other", tmp_path, 2 * size), Disk("own", tmp_path, 2 * size)
    follow(other, Order(4 * ROWS))
    follow(mine, Order(4 * ROWS))
    save(other, 0)
    save(other, 1)
    [file] = (tmp_path / "other").glob(".*.uses")
    copy = file.with_name("copy")  # as the file is mapped, it is replaced
    copy.write_bytes(content)
    copy.replace(file)
    save(mine, 0)
    assert (blocks_of(tmp_path, "other"), blocks_of(tmp_path)) == ([0, 1], [])


def test_uses_of_positions_outside_of_the_view_never_come():
    uses = Uses.parse(np.array([2, 4, 0, 2, 0, 2, 2, 4, 0, 2]))
    assert [uses.wait(start) for start in (0, 2, 4, 100)] == [0, 2, NEVER, NEVER]
