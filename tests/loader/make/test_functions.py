"""User functions: their names, their random numbers and the messages when they fail."""

import random
from functools import partial

import numpy as np
import pytest

from deeplake_lite.errors import LoaderError
from deeplake_lite.loader.make import functions
from deeplake_lite.loader.make.functions import FirstRow, Function
from deeplake_lite.loader.make.global_generators import preserve_globals


class Crop:
    """A stateful transform, as from a library."""

    def __call__(self, sample, rng=None):
        return sample + rng.random()


def test_functions_are_named_as_users_name_them():
    def local(sample):
        return sample

    named = [Function("transform", f).name for f in (local, Crop(), len, partial(local), Crop)]
    assert named == ["'local'", "'Crop'", "'len'", "'partial'", "'Crop'"]


def test_signature_is_inspected_once(monkeypatch):
    looked = []
    takes = functions.takes_rng
    monkeypatch.setattr(functions, "takes_rng", lambda f: looked.append(f) or takes(f))
    function = Function("transform", Crop(), seed=3)
    drawn = {function(0, epoch=1, row_id=row) for row in range(20)}
    assert len(drawn) == 20
    assert len(looked) == 1


def test_random_numbers_depend_on_seed_epoch_and_row():
    drawn = [Function("transform", Crop(), s)(0, e, r) for s, e, r in np.ndindex(2, 2, 2)]
    assert len({*drawn}) == 8
    assert drawn == [Function("transform", Crop(), s)(0, e, r) for s, e, r in np.ndindex(2, 2, 2)]


@pytest.mark.parametrize(
    "draw",
    [lambda x: x + random.random(), lambda x, rng: x + 0 * rng.random() + random.random()],
    ids=["plain", "rng"],
)
def test_global_generators_are_seeded_if_requested(draw):
    function = Function("transform", draw, seeds=True)
    with preserve_globals():
        assert function(0, 0, 7) == function(0, 0, 7) != function(0, 0, 8)


def test_error_of_a_batch_has_its_cause_and_its_name():
    with pytest.raises(LoaderError, match=r"row 3 of the view: .*Fix your function 'len'"):
        Function("collate", len).call_on_batch(3, 0, FirstRow(5, "row 3 of the view"))
    with pytest.raises(LoaderError, match=r"it returned None\. End the function by returning"):
        Function("transform", print)("", 0, 5)
