"""Rows of the lake that the source does not have any more are listed, and can be deleted."""

from __future__ import annotations

import pandas as pd
import pytest
from PIL import Image as PillowImage

import deeplake_lite as dl


@pytest.fixture
def yolo(tmp_path):
    """Write a YOLO dataset of four images."""
    for split, numbers in {"train": (0, 1, 2), "val": (3,)}.items():
        for kind in ("images", "labels"):
            (tmp_path / "yolo" / kind / split).mkdir(parents=True)
        for n in numbers:
            PillowImage.new("RGB", (8, 8), (40 * n, 0, 0)).save(
                tmp_path / "yolo" / "images" / split / f"{n}.png"
            )
            (tmp_path / "yolo" / "labels" / split / f"{n}.txt").write_text("0 0.5 0.5 0.2 0.2\n")
    text = "train: images/train\nval: images/val\nnames: [cat]\n"
    (tmp_path / "yolo" / "data.yaml").write_text(text)
    return tmp_path / "yolo"


def test_image_that_moved_to_another_split_can_be_deleted_where_it_was(yolo, new_url, capsys):
    url = new_url()
    assert len(dl.from_yolo(yolo, url).ingested.absent) == 0
    for kind, suffix in (("images", "png"), ("labels", "txt")):
        (yolo / kind / "train" / f"0.{suffix}").rename(yolo / kind / "val" / f"0.{suffix}")
    capsys.readouterr()
    ds = dl.from_yolo(yolo, url)
    assert ds.ingested.absent["path"][:] == ["images/train/0.png"]
    assert "1 row of the lake is not in the source" in capsys.readouterr().err
    assert "1 row added, 3 unchanged, 1 not in the source in" in repr(ds.ingested)
    ds.delete(ds.ingested.absent)
    ds.commit("images that moved")
    assert sorted(ds["path"][:]) == [
        "images/train/1.png", "images/train/2.png", "images/val/0.png", "images/val/3.png"
    ]  # fmt: skip
    assert len(dl.from_yolo(yolo, url, progress=False).ingested.absent) == 0


def test_rows_of_other_sources_are_absent_but_not_announced(new_url, capsys):
    url = new_url()
    dl.from_dataframe(pd.DataFrame({"k": range(5)}), url, on="k")
    capsys.readouterr()
    ds = dl.from_dataframe(pd.DataFrame({"k": [4, 5]}), url, on="k")
    assert ds.ingested.absent["k"][:].tolist() == [0, 1, 2, 3]
    assert "source" not in capsys.readouterr().err + repr(ds.ingested)
    assert dl.from_dataframe(pd.DataFrame({"k": [1]}), new_url()).ingested.absent is None


@pytest.mark.parametrize("update", [True, False, "force"])
@pytest.mark.parametrize("commit_every", [None, 2])
def test_rows_that_are_skipped_or_not_compared_are_in_the_source(new_url, update, commit_every):
    url = new_url()
    schema = {"x": dl.Scalar("int8")}
    table = pd.DataFrame({"k": range(6), "x": [1] * 6})
    dl.from_dataframe(table, url, on="k", schema=schema, progress=False)
    table = pd.DataFrame({"k": [0, 1, 2, 3, 9], "x": [1, 500, 1, 2, 7]})
    ds = dl.from_dataframe(
        table, url, on="k", on_error="skip", update=update, commit_every=commit_every,
        progress=False,
    )  # fmt: skip
    assert ds.ingested.absent["k"][:].tolist() == [4, 5]


def test_edits_and_deletions_in_the_lake_change_nothing(new_url):
    url = new_url()
    table = pd.DataFrame({"k": range(4), "x": [1] * 4})
    ds = dl.from_dataframe(table, url, on="k", progress=False)
    ds["x"][0] = 3
    ds.delete([1])
    ds.commit("edits")
    ds = dl.from_dataframe(table[:3], url, on="k", progress=False)
    assert ds.ingested.absent["k"][:].tolist() == [3]
