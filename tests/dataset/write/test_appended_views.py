"""Appending a view of another dataset copies stored bytes unchanged and preserves their meaning."""

import numpy as np
import pytest

import deeplake_lite as dl


def test_classes_keep_their_names_when_their_numbers_differ(make_lake):
    source = make_lake(
        {
            "one": dl.ClassLabel(["rose", "tulip"]),
            "many": dl.ClassLabel(["rose", "tulip"], multiple=True),
            "each": dl.Sequence(dl.ClassLabel(["rose", "tulip"])),
        },
        one=["rose", "tulip"],
        many=[["tulip"], ["rose", "tulip"]],
        each=[["rose"], ["tulip", "tulip"]],
    )
    names = ["tulip", "lily", "rose"]
    target = make_lake(
        {
            "one": dl.ClassLabel(names),
            "many": dl.ClassLabel(names, multiple=True),
            "each": dl.Sequence(dl.ClassLabel(names)),
        }
    )
    target.append(source[:])
    assert target["one"][:].tolist() == [2, 0]
    assert [v.tolist() for v in target["many"][:]] == [[0], [2, 0]]
    assert target["each"][:] == [[2], [0, 0]]


def test_class_missing_in_the_target_is_an_error_that_names_the_row(make_lake):
    source = make_lake({"label": dl.ClassLabel(["rose", "iris"])}, label=["rose", "iris"])
    target = make_lake({"label": dl.ClassLabel(["rose"])})
    with pytest.raises(dl.InvalidValueError, match=r"column 'label', row 1: .*'iris'"):
        target.append(source[:])
    assert len(target) == 0


def test_types_with_different_new_classes_on_both_sides_do_not_merge(make_lake):
    ds = make_lake({"label": dl.ClassLabel(["a", "b"])}, label=["a", "b"])
    ds.branch("fix")
    for branch, name in (("main", "c"), ("fix", "d")):
        side = dl.open(ds.url, branch=branch)
        side.add_classes("label", [name])
        side.append({"label": [name]})
        side.commit(name)
    ds.refresh()
    for side in ("raise", "ours", "theirs"):
        with pytest.raises(
            dl.ConflictError, match="stored values of column 'label' under different types"
        ) as e:
            ds.merge("fix", on_conflict=side)
        assert [(c.kind, c.name) for c in e.value.conflicts] == [("column", "label")]
    assert ds["label"][:].tolist() == [0, 1, 2]
    assert not ds.status()


def test_columns_compare_element_by_element(make_lake):
    ds = make_lake(
        {"label": dl.ClassLabel(["rose", "tulip"]), "x": "float32", "text": "text"},
        label=["rose", "tulip", "rose"],
        x=[1, 2, np.nan],
        text=["a", "b", "a"],
    )
    assert (ds["label"] == "rose").tolist() == [True, False, True]
    assert (ds["x"] == 2).tolist() == [False, True, False]
    assert (ds["text"] != "a").tolist() == [False, True, False]
    assert ds[ds["label"] == "rose"]["text"][:] == ["a", "a"]
