"""Batches of a view as PyTorch tensors."""

import json
import subprocess
import sys
import warnings
from itertools import islice

import numpy as np
import pytest
import torch
from torchdata.stateful_dataloader import Stateful

import deeplake_lite as dl

from ...dataset.everything import lake


@pytest.fixture
def ds(make_lake):
    return make_lake(
        {
            "x": dl.Array("float32", (2,)),
            "label": dl.ClassLabel(["a", "b", "c"]),
            "tags": dl.ClassLabel(["p", "q"], multiple=True),
            "boxes": dl.Boxes("xyxy"),
            "text": "text",
        },
        x=np.arange(22.0).reshape(11, 2),
        label=[i % 3 for i in range(11)],
        tags=[["p"] * (i % 3) for i in range(11)],
        boxes=[[[0, 0, 1, 1]] * (i % 4) for i in range(11)],
        text=[str(i) for i in range(11)],
    )


def texts(batches):
    return [text for batch in batches for text in batch["text"]]


def test_batches_equal_those_of_numpy_as_tensors(ds):
    options = {"shuffle": True, "seed": 3, "row_ids": True}
    for ours, numpys in zip(ds.pytorch(4, **options), ds.batches(4, **options), strict=True):
        assert ours.keys() == numpys.keys()
        assert ours["x"].dtype == torch.float32
        np.testing.assert_array_equal(ours["x"].numpy(), numpys["x"])
        np.testing.assert_array_equal(ours["_row_id"].numpy(), numpys["_row_id"])
        assert ours["label"].dtype == torch.int64
        assert ours["label"].tolist() == numpys["label"].tolist()
        assert ours["text"] == numpys["text"]
        for a, b in zip(ours["boxes"], numpys["boxes"], strict=True):
            np.testing.assert_array_equal(a.numpy(), b)
        assert {t.dtype for t in ours["tags"]} == {torch.int64}


def test_tensors_share_the_memory_of_the_batch(ds):
    kept = []
    batch = next(iter(ds.pytorch(11, batch_transform=lambda b: kept.append(b["x"]) or b)))
    assert batch["x"].data_ptr() == kept[0].ctypes.data
    assert batch["x"].data_ptr() % 64 == 0


def test_writes_to_a_batch_do_not_reach_the_next_epoch(ds):
    loader = ds.pytorch(11)
    for _ in range(2):
        (batch,) = loader
        assert [b.sum() for b in batch["boxes"]] == [2 * (i % 4) for i in range(11)]
        assert batch["x"].sum() == np.arange(22).sum()
        for tensor in (batch["x"], batch["label"], *batch["boxes"]):
            tensor.fill_(9)


@pytest.mark.parametrize("how", ["pad", "ragged", "list"])
def test_boxes_are_collated_as_requested(ds, how):
    (batch,) = ds.pytorch(11, columns=["boxes"], collate={"boxes": how})
    lengths = [i % 4 for i in range(11)]
    match how:
        case "pad":
            assert batch["boxes"].shape == (11, 3, 4)
            assert batch["boxes_mask"].sum(1).tolist() == lengths
        case "ragged":
            assert batch["boxes"].offsets().diff().tolist() == lengths
        case "list":
            assert [len(b) for b in batch["boxes"]] == lengths


def test_every_type_of_column_becomes_a_batch():
    ds = lake()
    (batch,) = ds.pytorch(3, columns=[name for name in ds.columns if name != "link"])
    assert batch["when"].dtype == torch.int64
    assert batch["when"][0] == np.datetime64("2026-01-02T03:04:05.006", "ms").astype(int)
    assert batch["when_valid"].tolist() == [True, False, True]
    assert batch["half"].dtype == torch.float16
    assert batch["wave"].dtype == torch.complex64
    assert batch["flags"].dtype == torch.bool
    assert batch["pixels"][0].dtype == torch.uint16
    assert batch["label"].dtype == batch["number"].dtype == torch.int64
    assert batch["text"] == ["grün", None, ""]


def test_transform_may_return_tensors(ds):
    def transform(sample):
        x = torch.from_numpy(sample["x"])
        return {"x": x * 2, "odd": x[: sample["label"]]}

    (batch,) = ds.pytorch(11, transform=transform)
    assert torch.equal(batch["x"], torch.arange(0, 44, 2.0).reshape(11, 2))
    assert [len(odd) for odd in batch["odd"]] == [min(i % 3, 2) for i in range(11)]


def test_list_has_none_for_null(make_lake):
    ds = make_lake({"x": dl.Scalar("int32", nullable=True)}, x=[1, None])
    (batch,) = ds.pytorch(2, collate="list")
    assert batch["x"] == [torch.tensor(1), None]


@pytest.mark.parametrize("threads", [0, 2])
def test_batches_are_moved_to_the_given_device(ds, threads):
    assert ds.pytorch(4).device == torch.device("cpu")
    for batch in ds.pytorch(4, device="cpu", num_workers=threads):
        assert batch["x"].device.type == "cpu"
    there = list(ds.pytorch(4, device="meta", collate={"boxes": "ragged"}, num_workers=threads))
    assert len(there) == 3
    assert {b[k].device.type for b in there for k in ("x", "label", "boxes")} == {"meta"}
    assert texts(there) == [str(i) for i in range(11)]


def test_missing_gpu_is_an_error(ds, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"device='cuda:1' needs a GPU.*Leave device out"):
        ds.pytorch(4, device="cuda:1")


def test_driver_that_does_not_start_is_named(ds, monkeypatch):
    def without_driver():
        warnings.warn("CUDA initialization: CUDA unknown error.", UserWarning, stacklevel=2)
        return False

    monkeypatch.setattr(torch.cuda, "is_available", without_driver)
    with pytest.raises(ValueError, match=r"PyTorch warns: .*unknown error\. Leave device out"):
        ds.pytorch(4, device=0)


def test_gpu_index_out_of_range_is_an_error(ds, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match=r"device='cuda:2' does not exist: .* is 2\. Choose .*:1"):
        ds.pytorch(4, device="cuda:2")


@pytest.mark.parametrize("device", ["gpu", 2.5, "", ["cuda"]])
def test_invalid_device_is_an_error(ds, device):
    with pytest.raises(
        ValueError,
        match=r"device must be an argument of torch\.device, .* but it is .*Leave device",
    ):
        ds.pytorch(4, device=device)


@pytest.mark.parametrize("seen", range(5))
def test_state_resumes_at_the_next_batch(ds, seen):
    first, again = (ds.pytorch(3, shuffle=True, seed=5) for _ in range(2))
    taken = list(islice(first, seen))
    again.load_state_dict(json.loads(json.dumps(first.state_dict())))
    if seen < 4:
        whole = texts(ds.pytorch(3, shuffle=True, seed=5))
        assert texts(taken) + texts(again) == whole
    else:  # of a whole epoch: the next one follows
        assert texts(again) == texts(first)
        assert again.epoch == 1


def test_loader_implements_torchdatas_stateful_protocol(ds):
    assert isinstance(ds.pytorch(3), Stateful)


def test_without_pytorch_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import deeplake_lite as dl\n"
        "ds = dl.create('memory://no-torch', {'x': 'int32'})\n"
        "for make in (lambda: ds.pytorch(2), lambda: ds.pytorch_dataset()):\n"
        "    try: make()\n"
        "    except dl.MissingPackageError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    line = 'A loader of tensors needs PyTorch. Install it: pip install "deeplake-lite[torch]".'
    assert done.stdout.splitlines() == [line, line]


class Digits(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)
        )

    def forward(self, image):
        return self.layers(image.float() / 16)


def test_model_learns_the_digits(digits):
    train, test = digits.split([0.8, 0.2], by="label")
    torch.manual_seed(0)
    model = Digits()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    loader, losses = train.pytorch(32, shuffle=True), []
    for _ in range(3):
        for batch in loader:
            loss = torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert np.mean(losses[-10:]) < np.mean(losses[:10]) / 3
    (batch,) = test.pytorch(len(test))
    right = model(batch["image"]).argmax(1) == batch["label"]
    assert right.float().mean() > 0.85
