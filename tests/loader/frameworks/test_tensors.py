"""Batches as tensors, and moving them to a device."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from deeplake_lite.loader.frameworks.tensors import SideStream, as_tensors, move
from deeplake_lite.loader.make.arrays import concatenate
from deeplake_lite.loader.make.recipe import BatchResult


def test_tensors_share_the_memory_of_the_arrays():
    x = np.ones((2, 3), np.float32)
    tensor = as_tensors({"x": x})["x"]
    tensor[0, 0] = 7
    assert x[0, 0] == 7


def test_lists_and_tuples_are_converted_and_strings_stay():
    batch = as_tensors({"boxes": [np.ones(1), np.ones(2)], "json": [{"a": 1}], "pair": (1, "x")})
    assert [len(t) for t in batch["boxes"]] == [1, 2]
    assert batch["json"] == [{"a": 1}]
    assert batch["pair"] == (1, "x")
    assert as_tensors(np.float32(2)).dtype == torch.float32
    assert as_tensors((np.ones(2),))[0].tolist() == [1, 1]


def test_none_batch_passes():
    assert as_tensors(None) is None


def test_concatenated_values_are_a_nested_tensor_in_the_same_memory():
    batch = concatenate("boxes", [np.ones((2, 4)), np.zeros((0, 4)), np.full((1, 4), 3.0)])
    nested = as_tensors({"boxes": batch})["boxes"]
    assert nested.layout is torch.jagged
    assert nested.values().data_ptr() == batch.values.ctypes.data
    assert [t.tolist() for t in nested.unbind()] == [batch[i].tolist() for i in range(3)]


def test_nested_tensor_of_no_rows_is_empty():
    assert len(as_tensors(concatenate("x", []))) == 0


def test_concatenated_classes_are_int64():
    batch = concatenate("tags", [np.array([1, 2], np.uint8), np.array([3], np.uint8)])
    assert as_tensors({"tags": batch}, ["tags"])["tags"].dtype == torch.int64


def test_batch_moves_with_everything_in_it():
    batch = as_tensors(
        {"x": np.ones(2), "r": concatenate("r", [np.ones(2)]), "l": [np.ones(1), "a"]}
    )
    there = move(batch, torch.device("meta"))
    assert [there[k].device.type for k in "xr"] == ["meta", "meta"]
    assert there["l"][0].is_meta
    assert there["l"][1] == "a"


class Recorder:
    """Records calls for a GPU's streams, in place of `torch.cuda`."""

    def __init__(self):
        self.log = []
        event = object()
        side = SimpleNamespace(record_event=lambda: self.log.append("copied") or event)
        self.Stream = lambda _: side
        users = SimpleNamespace(wait_event=lambda e: self.log.append("wait" if e is event else "?"))
        self.current_stream = lambda _: users
        self.stream = lambda stream: nullcontext(stream is side or self.log.append("elsewhere"))


def hand_over(count, is_ready):
    recorder = Recorder()

    def made():
        for number in range(count):
            recorder.log.append(f"made {number}")
            yield BatchResult({"number": number}, 1)

    side = SideStream(torch.device("meta"), recorder)
    for batch in side.hand_over(made(), is_ready):
        recorder.log.append(f"got {batch.batch['number']}")
    return recorder.log


def test_next_copy_starts_before_a_finished_batch_is_delivered():
    assert hand_over(3, lambda: True) == [
        "made 0", "copied", "made 1", "copied", "wait", "got 0",
        "made 2", "copied", "wait", "got 1", "wait", "got 2",
    ]  # fmt: skip


def test_batch_does_not_wait_for_the_next_one_to_be_made():
    assert hand_over(2, lambda: False) == [
        "made 0", "copied", "wait", "got 0", "made 1", "copied", "wait", "got 1",
    ]  # fmt: skip


@pytest.mark.parametrize("ready", [True, False])
def test_nothing_is_delivered_if_there_is_no_batch(ready):
    assert hand_over(0, lambda: ready) == []
