"""Every command of `deeplake-lite ingest` reads the files of its format."""

from __future__ import annotations

import json
import struct

import h5py
import numpy as np
import pytest
import zarr
from typer.testing import CliRunner

import deeplake_lite as dl
from deeplake_lite.cli import app
from deeplake_lite.cli.ingest import group

ELSEWHERE = {"auto", "deeplake", "lance", "tfds", "torch"}
"""Commands with tests of their own, and those of packages that other tests must not import."""


@pytest.fixture
def boxes(tmp_path):
    """Return a lake of two images with boxes."""
    schema = {"image": dl.Image("png"), "path": "text", "boxes": dl.Boxes(),
              "labels": dl.Sequence(dl.ClassLabel(["cat", "dog"]))}  # fmt: skip
    ds = dl.create(str(tmp_path / "source.lake"), schema)
    ds.append(
        {
            "image": [np.zeros((20, 30, 3), np.uint8), np.ones((20, 30, 3), np.uint8)],
            "path": ["a.png", "b.png"],
            "boxes": [[[1, 2, 9, 12]], np.zeros((0, 4))],
            "labels": [["dog"], []],
        }
    )
    ds.commit("two images")
    return ds


def write(ds, name, folder):
    """Write a lake, or two rows of numbers, in the format of a command; return the path."""
    numbers = np.arange(6, dtype=np.int32).reshape(2, 3)
    match name:
        case "folder":
            ds.to_folder(folder, image="image", label=None)
        case "huggingface" | "parquet":
            ds.to_parquet(folder)
        case "csv":
            folder.mkdir()
            (folder / "a.csv").write_text("a,b\n1,x\n2,y\n")
            return folder / "a.csv"
        case "coco":
            ds.to_coco(folder / "a.json", images=folder)
            return folder / "a.json"
        case "numpy":
            folder.mkdir()
            return ds.to_numpy(folder / "a.npz")
        case "idx":
            folder.mkdir()
            header = struct.pack(">HBBII", 0, 0x0C, 2, *numbers.shape)
            (folder / "train-images-idx2-int").write_bytes(header + numbers.astype(">i4").tobytes())
        case "hdf5":
            folder.mkdir()
            with h5py.File(folder / "a.h5", "w") as file:
                file["x"] = numbers
            return folder / "a.h5"
        case "zarr":
            zarr.save_group(str(folder), x=numbers)
        case "labelstudio":
            ds.to_labelstudio(folder)
            return folder / "tasks.json"
        case _:
            getattr(ds, f"to_{name}")(folder)
    return folder


@pytest.mark.filterwarnings("ignore::deeplake_lite.errors.ExportWarning")
def test_each_command_ingests_two_rows(boxes, tmp_path):
    commands = {command.name for command in group.registered_commands} - ELSEWHERE
    assert len(commands) > 15
    for name in sorted(commands):
        path = write(boxes, name, tmp_path / name)
        url = str(tmp_path / f"{name}.lake")
        done = CliRunner().invoke(app, ["ingest", name, str(path), url, "--json"])
        assert done.exit_code == 0, (name, done.output, done.exception)
        assert json.loads(done.stdout)["added"] == 2, name
        assert len(dl.open(url)) == 2, name


def test_processes_ingest_the_same_rows(boxes, tmp_path):
    path, url = write(boxes, "coco", tmp_path / "coco"), str(tmp_path / "a.lake")
    arguments = ["ingest", "coco", str(path), url, "--json"]
    done = CliRunner().invoke(app, [*arguments, "--processes", "2"])
    assert done.exit_code == 0, (done.output, done.exception)
    assert json.loads(done.stdout)["added"] == 2
    assert json.loads(CliRunner().invoke(app, arguments).stdout)["unchanged"] == 2
    both = ["--processes", "2", "--scheduler", "tcp://a:1"]
    refused = CliRunner().invoke(app, [*arguments, *both])
    assert "--processes and --scheduler cannot be combined" in refused.output
