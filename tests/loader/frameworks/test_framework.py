"""Other packages add a framework with a single class."""

import numpy as np

import deeplake_lite as dl
from deeplake_lite.loader import Loader, Options
from deeplake_lite.loader.framework import Framework
from deeplake_lite.loader.make.collate import fits


class Columns(Framework):
    """Batches as lists of named columns, padded, for the second of two ranks."""

    def __init__(self):
        self.started, self.seen = 0, []

    def find_rank(self):
        return 1, 2

    def start(self):
        self.started += 1

    def adjust_column(self, f, recipe, resources):
        most = tuple(size[1] for size in resources.axes_of(f) if isinstance(size, tuple))
        if not fits(f.htype, "pad") or not most:
            return recipe
        return recipe.__class__(f.htype, collate="pad", full_shape=most)

    def convert(self, batch, resources):
        return [(name, batch[name].tolist()) for name in resources.columns]

    def hand_over(self, run):
        for result in run.batches():
            self.seen.append(result.rows)
            yield result


def test_framework_is_added_with_one_class(make_lake):
    ds = make_lake(
        {"x": "int32", "v": dl.Array("int64", (None,))},
        x=range(5),
        v=[[1], [2, 3], [], [4, 5, 6], [7]],
    )
    framework = Columns()
    loader = Loader(ds, Options.of(batch_size=2, last="uneven"), framework)
    assert (loader.shares.rank, loader.shares.world_size) == (1, 2)
    assert list(loader) == [[("x", [1, 3]), ("v", [[2, 3, 0], [4, 5, 6]])]]
    assert framework.started == 1
    assert framework.seen == [2]


def test_given_rank_takes_precedence_over_that_of_a_framework(make_lake):
    ds = make_lake({"x": "int32"}, x=range(5))
    loader = Loader(ds, Options.of(batch_size=2, rank=0, world_size=1), Columns())
    assert [dict(batch)["x"] for batch in loader] == [[0, 1], [2, 3], [4]]


def test_without_a_framework_batches_are_arrays(make_lake):
    ds = make_lake({"x": "int32"}, x=range(3))
    [batch] = Loader(ds, Options.of(batch_size=3))
    assert isinstance(batch["x"], np.ndarray)
