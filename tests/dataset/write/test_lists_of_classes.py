"""Versions whose columns list different classes, so that one number means two classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import ConflictError

if TYPE_CHECKING:
    from pathlib import Path

LABELS = [
    dl.ClassLabel(["a", "b"], nullable=True),
    dl.ClassLabel(["a", "b"], multiple=True, nullable=True),
]


def _value(htype: dl.ClassLabel, name: str | None) -> Any:
    return [name] if htype.multiple and name is not None else name


def _lake(url: Path, htype: dl.ClassLabel, names: list[str | None]) -> dl.Dataset:
    ds = dl.create(url, {"l": htype})
    ds.append({"l": [_value(htype, name) for name in names]})
    ds.commit("rows")
    return ds


def _diverged(url: Path, htype: dl.ClassLabel) -> dl.Dataset:
    """Return a lake whose branches "main" and "other" added classes of their own."""
    _lake(url, htype, ["a", "b", "a", None, "b"]).branch("other")
    sides = {
        "main": (["cat"], ["cat", "cat", "cat", "cat", "b"]),
        "other": (["dog", "cat"], ["dog", "cat", "a", "cat", "b"]),
    }
    for branch, (classes, names) in sides.items():
        ds = dl.open(url, branch=branch)
        ds.add_classes("l", classes)
        for at, name in enumerate(names):
            ds["l"][at] = _value(htype, name)
        ds.commit(branch)
    return dl.open(url)


@pytest.mark.parametrize("htype", LABELS, ids=str)
def test_diff_compares_classes_by_name(tmp_path: Path, htype: dl.ClassLabel) -> None:
    diff = _diverged(tmp_path / "x.lake", htype).diff("other", "main")
    frame = diff.to_pandas()
    assert frame[["before", "after"]].to_numpy().tolist() == [["dog", "cat"], ["a", "cat"]]
    assert {name: len(ids) for name, ids in diff.changed.items()} == {"l": 2}
    assert "dog" in repr(diff)
    assert "cat" in repr(diff)


def test_diff_of_pending_edits_compares_classes_by_name(tmp_path: Path) -> None:
    ds = _lake(tmp_path / "x.lake", LABELS[0], ["a", "b"])
    first = ds.version
    ds.add_classes("l", ["cat"])
    ds["l"][0] = "cat"
    ds.commit("cat")
    ds.restore(first)
    ds.add_classes("l", ["dog"])
    ds["l"][0] = "dog"
    assert ds.diff().to_pandas()[["before", "after"]].to_numpy().tolist() == [["cat", "dog"]]


def test_rows_of_a_class_removed_by_a_restore_bring_it_back(tmp_path: Path) -> None:
    ds = _restored(tmp_path / "x.lake")
    ds.merge("other")
    assert [ds["l"].names[n] for n in ds["l"][:]] == ["a", "b", "cat"]


@pytest.mark.parametrize("resolution", ["raise", "ours", "theirs"])
def test_rows_of_a_class_whose_number_was_reused_are_a_conflict(
    tmp_path: Path, resolution: Any
) -> None:
    ds = _restored(tmp_path / "x.lake")
    ds.add_classes("l", ["dog"])
    ds.commit("dog")
    with pytest.raises(ConflictError, match="would be misread"):
        ds.merge("other", on_conflict=resolution)


def _restored(url: Path, also: str = "rows") -> dl.Dataset:
    """Return a lake without the class that branch "other" has and may use in rows."""
    ds = _lake(url, LABELS[0], ["a", "b"])
    first = ds.version
    ds.add_classes("l", ["cat"])
    ds.commit("cat")
    ds.branch("other")
    other = dl.open(url, branch="other")
    if also == "rows":
        other.append({"l": ["cat"]})
    else:
        other.metadata["seen"] = True
    other.commit(also)
    ds.restore(first)
    ds.commit("restored")
    return ds


FROM_THE_CLASS = {
    "append": lambda ds, value: ds.append({"l": [value]}),
    "update": lambda ds, value: ds.update([0], {"l": [value]}),
    "both": lambda ds, value: (ds.append({"l": [value]}), ds["l"].__setitem__(0, value)),
    "in a transaction": lambda ds, value: _append_in_transaction(ds, value),
}


def _append_in_transaction(ds: dl.Dataset, value: Any) -> None:
    with ds.transaction("cat"):
        ds.append({"l": [value]})


@pytest.mark.parametrize("edit", FROM_THE_CLASS)
@pytest.mark.parametrize("htype", LABELS, ids=str)
@pytest.mark.parametrize("restored", ["before the edit", "after the edit"])
@pytest.mark.parametrize("instead", [[], ["dog"], ["dog", "cat"]], ids=str)
def test_edits_with_a_class_removed_by_a_restore_keep_it_or_conflict(
    tmp_path: Path, htype: dl.ClassLabel, edit: str, restored: str, instead: list[str]
) -> None:
    ds = _lake(tmp_path / "x.lake", htype, ["a", "b"])
    first = ds.version
    ds.add_classes("l", ["cat"])
    ds.commit("cat")
    writer = dl.open(tmp_path / "x.lake")

    def restore() -> None:
        ds.restore(first)
        if instead:
            ds.add_classes("l", instead)
        ds.commit("restored")

    def write() -> None:
        FROM_THE_CLASS[edit](writer, _value(htype, "cat"))

    in_order = (restore, write) if restored == "before the edit" else (write, restore)
    if edit == "in a transaction":
        in_order = (restore,)
    for step in in_order:
        step()
    finish = write if edit == "in a transaction" else lambda: writer.commit("cat")
    if instead:
        with pytest.raises(ConflictError, match="would be misread"):
            finish()
        return
    finish()
    now = dl.open(tmp_path / "x.lake", verify="read")
    assert now.verify()
    names = [now["l"].htype.to_names(value) for value in now["l"][:]]
    expected = {"append": ["a", "b", "cat"], "update": ["cat", "b"], "both": ["cat", "b", "cat"]}
    wanted = [_value(htype, name) for name in expected.get(edit, expected["append"])]
    assert [list(n) if htype.multiple else n for n in names] == wanted


def test_restore_survives_a_merge_with_a_branch_that_stored_nothing(tmp_path: Path) -> None:
    ds = _restored(tmp_path / "x.lake", also="metadata")
    ds.merge("other")
    assert tuple(ds["l"].names) == ("a", "b")
    assert ds.metadata["seen"] is True


def test_nulls_merged_with_a_restore_of_a_non_nullable_column(tmp_path: Path) -> None:
    ds = dl.create(tmp_path / "x.lake", {"x": "int64"})
    ds.append({"x": [1]})
    first = ds.commit("one")
    ds.set_nullable("x")
    ds.commit("nullable")
    ds.branch("other")
    other = dl.open(tmp_path / "x.lake", branch="other")
    other.append({"x": [None]})
    other.commit("null")
    ds.restore(first)
    ds.commit("restored")
    ds.merge("other")
    assert ds["x"].htype.nullable
    assert ds["x"][:].tolist() == [1, None]
    assert ds.verify()


def test_mode_change_merged_with_a_branch_that_stored_no_image(tmp_path: Path) -> None:
    url = tmp_path / "x.lake"
    ds = dl.create(url, {"im": dl.Image("png"), "x": "int64"})
    ds.append({"im": [np.full((4, 4), 7, np.uint8)], "x": [1]})
    ds.commit("grey")
    ds.branch("other")
    other = dl.open(url, branch="other")
    other["x"][0] = 2
    other.commit("x")
    ds.set_mode("im", "RGB")
    ds.commit("RGB")
    ds.merge("other")
    assert ds[0]["im"].shape == (4, 4, 3)
    assert ds["x"][0] == 2
    assert ds.verify()
