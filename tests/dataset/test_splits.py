"""Parts for training and testing."""

import numpy as np
import pytest

import deeplake_lite as dl


@pytest.fixture
def ds(make_lake):
    n = 200
    return make_lake(
        {"x": "int32", "label": "text", "patient": "int32"},
        x=range(n),
        label=["rare" if i % 10 == 0 else "common" for i in range(n)],
        patient=[i // 7 for i in range(n)],
    )


def xs(view):
    return view["x"][:].tolist()


def test_parts_hold_every_row_once_in_order(ds):
    parts = ds.split([0.7, 0.2, 0.1])
    assert [len(p) for p in parts] == [140, 40, 20]
    assert sorted(x for p in parts for x in xs(p)) == list(range(200))
    assert all(xs(p) == sorted(xs(p)) for p in parts)


def test_the_same_seed_gives_the_same_parts_and_another_others(ds):
    first = xs(ds.split([0.5, 0.5], seed=1)[0])
    assert first == xs(dl.open(ds.url).split([0.5, 0.5], seed=1)[0])
    assert first != xs(ds.split([0.5, 0.5], seed=2)[0])


def test_the_order_of_rows_plays_no_part(ds):
    before = set(xs(ds.split([0.5, 0.5])[0]))
    ds.optimize(shuffle=True)
    assert set(xs(ds.split([0.5, 0.5])[0])) == before
    assert set(xs(ds[::-1].split([0.5, 0.5])[0])) == before


def test_rows_added_later_move_few_of_the_others(ds):
    before = set(xs(ds.split([0.8, 0.2])[0]))
    ds.append({"x": range(200, 210), "label": ["common"] * 10, "patient": [0] * 10})
    after = set(xs(ds.split([0.8, 0.2])[0]))
    assert len(before - after) <= 20


def test_strata_have_the_same_share_in_each_part(ds):
    for part, count in zip(ds.split([0.75, 0.25], by="label"), (15, 5), strict=True):
        assert part["label"][:].count("rare") == count


def test_groups_stay_together(ds):
    parts = ds.split([0.6, 0.4], group="patient")
    groups = [set(p["patient"][:].tolist()) for p in parts]
    assert not groups[0] & groups[1]
    assert sum(map(len, parts)) == 200
    assert abs(len(parts[0]) - 120) <= 7


def test_rows_are_split_by_values_or_by_groups(ds):
    with pytest.raises(ValueError, match="not both"):
        ds.split([1], by="label", group="patient")


def test_nothing_splits_into_nothing(make_lake):
    assert [len(p) for p in make_lake({"x": "int32"}).split([0.5, 0.5])] == [0, 0]


def test_parts_of_uncommitted_rows_and_nulls(make_lake):
    ds = make_lake({"x": dl.Scalar("int32", nullable=True)})
    ds.append({"x": [None, 1] * 50})
    for part in ds.split([0.5, 0.5], by="x"):
        assert np.ma.getmaskarray(part["x"][:]).sum() == 25


def test_named_parts_come_by_name(ds):
    parts = ds.split({"train": 0.9, "val": 0.1}, seed=3)
    assert {name: len(part) for name, part in parts.items()} == {"train": 180, "val": 20}
    assert parts["val"].origin == "split val"
    assert xs(parts["train"]) == xs(ds.split([0.9, 0.1], seed=3)[0])


@pytest.mark.parametrize(
    ("fractions", "match"),
    [
        ([], "a number per part"),
        ({}, "a number per part"),
        (0.9, r"a number per part, such as \[0.9, 0.1\], got 0.9"),
        ("train", "a number per part"),
        (["a", "b"], "a number per part"),
        ([1.5, -0.5], "0 to 1, got -0.5"),
        ([float("nan"), 1], "0 to 1, got nan"),
        ([800, 200], r"add up to 1, .* add up to 1000. Divide them: \[0.8, 0.2\]"),
        ({"train": 0.5, "val": 0.4}, r"add up to 0.9. Divide them: \[0.556, 0.444\]"),
        ([0, 0], "Give one that is not 0"),
    ],
)
def test_fractions_that_are_no_parts_of_a_whole_are_refused(ds, fractions, match):
    with pytest.raises(ValueError, match=match):
        ds.split(fractions)


@pytest.mark.parametrize("how", ["by", "group"])
def test_an_unknown_column_to_split_by_gets_the_nearest_name(ds, how):
    with pytest.raises(dl.ColumnNotFoundError, match=r"no column 'lable'\. Did you mean 'label'"):
        ds.split([0.5, 0.5], **{how: "lable"})


def test_any_whole_number_is_a_seed(ds):
    assert xs(ds.split([0.5, 0.5], seed=-1)[0]) != xs(ds.split([0.5, 0.5], seed=2**70)[0])
