"""Splits for training and testing."""

import json
import re

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

import deeplake_lite as dl
from deeplake_lite.dataset.splits import apportion as apportionment
from deeplake_lite.dataset.splits import parts, stratify
from deeplake_lite.dataset.splits.apportion import apportion, largest_remainder
from deeplake_lite.dataset.splits.hashing import xxh3_64
from deeplake_lite.dataset.splits.stratify import Labels, by_labels, cut


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


def test_same_seed_gives_the_same_parts_and_another_seed_others(ds):
    first = xs(ds.split([0.5, 0.5], seed=1)[0])
    assert first == xs(dl.open(ds.url).split([0.5, 0.5], seed=1)[0])
    assert first != xs(ds.split([0.5, 0.5], seed=2)[0])


def test_order_of_rows_does_not_matter(ds):
    before = set(xs(ds.split([0.5, 0.5])[0]))
    ds.optimize(shuffle=True)
    assert set(xs(ds.split([0.5, 0.5])[0])) == before
    assert set(xs(ds[::-1].split([0.5, 0.5])[0])) == before


def test_added_rows_move_few_others(ds):
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


def test_empty_view_is_an_error(make_lake):
    with pytest.raises(ValueError, match="the view has no rows to split"):
        make_lake({"x": "int32"}).split([0.5, 0.5])


def test_uncommitted_rows_and_nulls_are_split(make_lake):
    ds = make_lake({"x": dl.Scalar("int32", nullable=True)})
    ds.append({"x": [None, 1] * 50})
    for part in ds.split([0.5, 0.5], by="x"):
        assert np.ma.getmaskarray(part["x"][:]).sum() == 25


def test_named_parts_are_returned_by_name(ds):
    parts = ds.split({"train": 0.9, "val": 0.1}, seed=3)
    assert {name: len(part) for name, part in parts.items()} == {"train": 180, "val": 20}
    assert parts["val"].origin == "split val"
    assert xs(parts["train"]) == xs(ds.split([0.9, 0.1], seed=3)[0])


@pytest.mark.parametrize(
    ("fractions", "match"),
    [
        ([], "one number per part"),
        ({}, "one number per part"),
        (0.9, r"one number per part, such as \[0.9, 0.1\], but it is 0.9"),
        ("train", "one number per part"),
        (["a", "b"], "one number per part"),
        ([1.5, -0.5], "0 to 1, but one is -0.5"),
        ([float("nan"), 1], "0 to 1, but one is nan"),
        ([800, 200], r"add up to 1, .* adds up to 1000. Divide them by their sum: \[0.8, 0.2\]"),
        ({"train": 0.5, "val": 0.4}, r"adds up to 0.9. Divide them by their sum: \[0.556, 0.444\]"),
        ([0, 0], "Pass a fraction above 0"),
    ],
)
def test_fractions_that_do_not_add_up_are_refused(ds, fractions, match):
    with pytest.raises(ValueError, match=match):
        ds.split(fractions)


@pytest.mark.parametrize("how", ["by", "group"])
def test_unknown_column_suggests_the_nearest_name(ds, how):
    with pytest.raises(dl.ColumnNotFoundError, match=r"no column 'lable'\. Did you mean 'label'"):
        ds.split([0.5, 0.5], **{how: "lable"})


def test_any_integer_is_a_seed(ds):
    assert xs(ds.split([0.5, 0.5], seed=-1)[0]) != xs(ds.split([0.5, 0.5], seed=2**70)[0])


# ---- exact totals

SHARES = st.one_of(
    st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(any),
    st.integers(2, 7).map(lambda k: [1] * k),
).map(lambda numbers: np.array(numbers) / sum(numbers))


@given(st.integers(0, 10_000), SHARES)
def test_largest_remainder_is_within_one_row(count, shares):
    result = largest_remainder(count, shares)
    assert result.sum() == count
    assert (np.abs(result - count * shares) < 1).all()


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), SHARES)
def test_every_class_is_rounded_and_every_total_is_exact(sizes, shares):
    check_apportionment(np.array(sizes), shares)


def test_rows_move_between_parts_until_every_total_is_exact(monkeypatch):
    paths = []

    def path(*args):
        paths.append(find(*args))
        return paths[-1]

    find = apportionment._find_moves
    monkeypatch.setattr(apportionment, "_find_moves", path)
    for seed in range(300):
        random = np.random.default_rng(seed)
        shares = random.integers(1, 9, random.integers(2, 6)).astype(float)
        check_apportionment(random.integers(1, 9, 40), shares / shares.sum())
    assert any(paths)


def check_apportionment(sizes, shares):
    counts, exact = apportion(sizes, shares), sizes[:, np.newaxis] * shares
    assert (counts.sum(axis=1) == sizes).all()
    assert (counts.sum(axis=0) == largest_remainder(int(sizes.sum()), shares)).all()
    assert (counts >= np.floor(exact + 1e-9)).all()
    assert (counts <= np.ceil(exact - 1e-9)).all()


@pytest.mark.parametrize(
    ("classes", "each", "fractions", "expected"),
    [
        (500, 5, [0.9, 0.1], [2250, 250]),
        (500, 5, [0.8, 0.1, 0.1], [2000, 250, 250]),
        (500, 3, [0.9, 0.1], [1350, 150]),
        (7, 1, [0.5, 0.5], [4, 3]),
        (1000, 1, [0.7, 0.2, 0.1], [700, 200, 100]),
    ],
)
def test_many_small_classes_add_up(make_lake, classes, each, fractions, expected):
    ds = make_lake({"c": dl.ClassLabel()}, c=np.repeat(np.arange(classes), each))
    for seed in range(3):
        parts = ds.split(fractions, by="c", seed=seed)
        assert [len(part) for part in parts] == expected
        for part, share in zip(parts, fractions, strict=True):
            counts = np.bincount(part["c"][:], minlength=classes)
            assert (np.abs(counts - each * share) < 1).all()


def test_empty_part_is_an_error_with_a_suggestion(ds):
    with pytest.raises(
        ValueError, match=r"'b' would be empty.* 0.0001 of 200 rows.*at least 0.005"
    ):
        ds.split({"a": 0.9995, "b": 0.0001, "c": 0.0004})
    with pytest.raises(ValueError, match=r"part 2 would be empty.* 0.3 of 2 rows is less than one"):
        ds[:2].split([0.4, 0.3, 0.3])
    match = r"part 2 would be empty, because group='patient' has 2 groups for 3 parts"
    with pytest.raises(ValueError, match=match):
        ds[:14].split([0.4, 0.3, 0.3], group="patient")
    assert [len(part) for part in ds.split([1, 0])] == [200, 0]  # as requested


def test_every_part_has_a_group_if_there_are_enough(ds):
    parts = ds[:14].split([0.95, 0.05], group="patient")
    assert [len(part) for part in parts] == [7, 7]
    fold_sizes = [len(fold.test) for fold in ds[:21].folds(3, group="patient")]
    assert fold_sizes == [7, 7, 7]


def test_many_rows_are_hashed_in_one_call(make_lake, monkeypatch):
    ds = make_lake({"c": dl.ClassLabel(), "t": "text"}, c=[0, 1] * 500, t=["a", "b"] * 500)
    calls = []
    monkeypatch.setattr(
        parts, "xxh3_64", lambda keys, seed: calls.append(len(keys)) or xxh3_64(keys, seed)
    )
    monkeypatch.setattr(xxhash, "xxh3_64_intdigest", lambda *_: pytest.fail("one call per row"))
    ds.split([0.9, 0.1], by="c")
    assert calls == [1000, 1000]  # the rows, and their classes


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(-(2**64), 2**66))
def test_hashes_equal_those_of_xxhash(numbers, seed):
    expected = [
        xxhash.xxh3_64_intdigest(n.to_bytes(8, "little", signed=True), seed) for n in numbers
    ]
    assert xxh3_64(np.array(numbers, np.int64), seed).tolist() == expected


# ---- several labels


@pytest.fixture(scope="module")
def tagged():
    """600 rows with up to 20 tags, some of them rare, in three columns; and groups."""
    rng = np.random.default_rng(0)
    tags = [np.flatnonzero(rng.random(20) < np.linspace(0.01, 0.5, 20)) for _ in range(600)]
    schema = {
        "x": "int32",
        "classes": dl.ClassLabel(multiple=True, nullable=True),
        "words": dl.Sequence(dl.Text()),
        "numbers": dl.Array("int64", (None,)),
        "patient": "int32",
    }
    ds = dl.create("memory://tagged-splits", schema, overwrite=True)
    ds.append(
        {
            "x": range(600),
            "classes": [None if not len(t) else t for t in tags],
            "words": [[f"w{tag}" for tag in t] for t in tags],
            "numbers": tags,
            "patient": rng.integers(0, 80, 600),
        }
    )
    return ds


def tag_counts(view):
    tags = np.concatenate([np.asarray(t, np.int64) for t in view["numbers"][:]])
    return np.bincount(tags, minlength=20)


@pytest.mark.parametrize("by", ["classes", "words", "numbers"])
@pytest.mark.parametrize("fractions", [[0.9, 0.1], [0.8, 0.1, 0.1], [0.25] * 4])
def test_labels_are_proportional_in_parts_of_exact_size(tagged, by, fractions):
    total = tag_counts(tagged)
    rare = int(np.argmin(total))

    def error(parts):
        pairs = zip(parts, fractions, strict=True)
        return sum(np.abs(tag_counts(part) - total * f).sum() for part, f in pairs)

    chance = np.mean([error(tagged.split(fractions, seed=seed)) for seed in range(8)])
    for seed in range(2):
        parts = tagged.split(fractions, by=by, seed=seed)
        assert [len(part) for part in parts] == [round(600 * f) for f in fractions]
        assert sorted(x for part in parts for x in xs(part)) == list(range(600))
        assert error(parts) < 0.7 * chance
        for part, f in zip(parts, fractions, strict=True):
            assert abs(tag_counts(part)[rare] - total[rare] * f) < 1


def test_small_part_gets_some_of_many_rare_labels(make_lake):
    ds = make_lake({"t": dl.ClassLabel(multiple=True)}, t=[[i // 5] for i in range(2500)])
    assert [len(part) for part in ds.split([0.9, 0.1], by="t")] == [2250, 250]
    for part, share in zip(ds.split([0.9, 0.1], by="t"), (4.5, 0.5), strict=True):
        counts = np.bincount(np.concatenate(part["t"][:]), minlength=500)
        assert (np.abs(counts - share) < 1).all()


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_labels_give_parts_of_the_right_size(data):
    rows = data.draw(st.lists(st.lists(st.integers(0, 6), max_size=4), min_size=1, max_size=40))
    shares = data.draw(SHARES)
    pairs = [(row, label) for row, labels in enumerate(rows) for label in labels]
    at, labels = (np.array(p, np.int64) for p in (zip(*pairs, strict=True) if pairs else ([], [])))
    rank = xxh3_64(np.arange(len(rows)))
    result = by_labels(Labels.of(at, labels, len(rows)), shares, rank)
    sizes = np.bincount(result, minlength=len(shares))
    assert sizes.tolist() == largest_remainder(len(rows), shares).tolist()


def test_labels_of_a_few_rows_each_are_not_apportioned_individually(monkeypatch):
    """With as many labels as rows, the costly rounding over classes would run for each label."""
    calls, count = [], 2_000

    def counted(sizes, shares):
        calls.append(len(sizes))
        return apportion(sizes, shares)

    monkeypatch.setattr(stratify, "apportion", counted)
    rows, rng = np.repeat(np.arange(count), 2), np.random.default_rng(0)
    own = np.stack([np.arange(count), rng.permutation(count)], axis=1)
    for labels in (own, own // 5):
        part = by_labels(
            Labels.of(rows, labels.ravel(), count),
            np.array([0.8, 0.1, 0.1]),
            xxh3_64(np.arange(count)),
        )
        assert np.bincount(part).tolist() == [1600, 200, 200]
        assert len(calls) < 20


@given(st.lists(st.integers(-99, 99), min_size=1, max_size=30, unique=True), st.data())
def test_rows_that_all_differ_are_distributed_as_if_apportioned(kind, data):
    counts = np.zeros(3, np.int64)
    for part in data.draw(st.lists(st.integers(0, 2), min_size=len(kind), max_size=len(kind))):
        counts[part] += 1
    kinds, rank = np.array(kind), xxh3_64(np.arange(len(kind)))
    _, number, sizes = np.unique(kinds, return_inverse=True, return_counts=True)
    expected = cut(number, rank, apportion(sizes, counts / counts.sum()))
    assert stratify._spread(kinds, rank, counts).tolist() == expected.tolist()


# ---- groups and strata


@pytest.mark.parametrize("by", ["label", "classes"])
def test_groups_stay_together_in_approximately_the_same_proportions(tagged, ds, by):
    view = tagged if by == "classes" else ds
    for fractions in ([0.8, 0.2], [0.6, 0.2, 0.2]):
        parts = view.split(fractions, by=by, group="patient")
        groups = [set(part["patient"][:].tolist()) for part in parts]
        assert len(set.union(*groups)) == sum(map(len, groups))
        for part, f in zip(parts, fractions, strict=True):
            assert abs(len(part) - f * len(view)) <= 10
            if by == "label":
                assert abs(part["label"][:].count("rare") - 20 * f) <= 3
            else:
                common = tag_counts(view)[-1] * f
                assert abs(tag_counts(part)[-1] - common) < 0.15 * common + 4


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_groups_of_one_size_leave_totals_as_close_as_possible(size):
    """Each of many rare labels is rounded towards the same part, unless groups move afterwards."""
    n = 2_100  # a multiple of each group size
    view = dl.create(f"memory://rare-{size}", {"label": "int32", "group": "int32"})
    view.append({"label": np.arange(n) // 5, "group": np.arange(n) // size})
    for fractions in ([0.8, 0.2], [0.8, 0.1, 0.1], [0.9, 0.1], [0.5, 0.3, 0.15, 0.05]):
        parts = view.split(fractions, by="label", group="group")
        groups = np.concatenate([np.unique(part["group"][:]) for part in parts])
        assert np.array_equal(np.sort(groups), np.arange(n // size))
        for part, fraction in zip(parts, fractions, strict=True):
            assert abs(len(part) - fraction * n) < size


def test_duplicate_row_stays_in_one_part(ds):
    twice = ds[[*range(100), *range(100)]]
    for by in (None, "label"):
        parts = twice.split([0.5, 0.5], by=by)
        assert not set(xs(parts[0])) & set(xs(parts[1]))
        assert [len(part) for part in parts] == [100, 100]


# ---- stability

HOWS = [{}, {"by": "label"}, {"group": "patient"}, {"by": "label", "group": "patient"}]


@pytest.mark.parametrize("how", HOWS, ids=str)
def test_parts_depend_only_on_rows_and_seed(ds, how):
    before = [set(xs(part)) for part in ds.split([0.7, 0.2, 0.1], **how, seed=3)]
    shuffled = np.random.default_rng(1).permutation(200)
    query = ds.query("SELECT x, patient, label ORDER BY patient DESC, x")
    for view in (ds[shuffled], dl.open(ds.url), query):
        assert [set(xs(part)) for part in view.split([0.7, 0.2, 0.1], **how, seed=3)] == before
    ds.optimize(shuffle=True)
    assert [set(xs(part)) for part in ds.split([0.7, 0.2, 0.1], **how, seed=3)] == before
    assert [set(xs(part)) for part in ds.split([0.7, 0.2, 0.1], **how, seed=4)] != before


@pytest.mark.parametrize("by", ["classes", "words"])
def test_parts_with_multiple_labels_depend_only_on_rows_and_seed(tagged, by):
    def parts(view, seed):
        return [set(xs(part)) for part in view.split([0.7, 0.3], by=by, seed=seed)]

    assert parts(tagged[::-1], 1) == parts(tagged, 1) != parts(tagged, 2)


def test_added_rows_move_about_as_many_others(make_lake):
    def lake(count):
        return make_lake(
            {"x": "int32", "c": dl.ClassLabel()}, x=range(count), c=[i % 50 for i in range(count)]
        )

    ds = lake(2000)
    before = [set(xs(part)) for part in ds.split([0.8, 0.2], by="c")]
    ds.append({"x": range(2000, 2020), "c": [i % 50 for i in range(20)]})
    after = [set(xs(part)) for part in ds.split([0.8, 0.2], by="c")]
    assert sum(len(a & set(range(2000)) - b) for a, b in zip(after, before, strict=True)) <= 20 + 50


# ---- folds


@pytest.mark.parametrize("how", HOWS, ids=str)
def test_every_row_is_tested_in_exactly_one_fold(ds, how):
    folds = ds.folds(4, **how, seed=2)
    assert sorted(x for fold in folds for x in xs(fold.test)) == list(range(200))
    for train, test in folds:
        assert sorted(xs(train) + xs(test)) == list(range(200))
        if "group" in how:
            assert not set(train["patient"][:].tolist()) & set(test["patient"][:].tolist())
        elif "by" in how:
            assert (len(test), test["label"][:].count("rare")) == (50, 5)
    assert folds[0].test.origin == "fold 0 of 4, test"
    assert xs(ds.folds(4, **how, seed=2)[1].test) == xs(folds[1].test)


def test_folds_with_too_few_rows_or_an_invalid_count_are_refused(ds):
    for k in (1, 0, -1, 2.5, True, None, "5"):
        with pytest.raises(ValueError, match="k must be an integer of at least 2"):
            ds.folds(k)
    for k in (5, 10**30):
        with pytest.raises(ValueError, match=rf"{k:,} folds need at least .* rows, .* has 3\."):
            ds[:3].folds(k)
    assert [len(fold.test) for fold in ds[:7].folds(np.int64(3))] == [3, 2, 2]


@pytest.mark.parametrize("column", ["polygons", "lists", "tags"])
def test_groups_of_unlabelled_rows_make_parts_of_the_right_size(make_lake, column):
    n = 60
    schema = {
        "x": "int32",
        "polygons": dl.Polygons(),
        "lists": dl.Sequence("text"),
        "tags": dl.ClassLabel(multiple=True),
    }
    ds = make_lake(schema, x=range(n), polygons=[[]] * n, lists=[[]] * n, tags=[[]] * n)
    assert list(map(len, ds.split([0.7, 0.3], by=column, group="x"))) == [42, 18]


@pytest.mark.parametrize("seed", [None, 1.5, "a", [1]])
def test_non_integer_seed_is_refused(ds, seed):
    for ask in (lambda: ds.split([0.5, 0.5], seed=seed), lambda: ds.folds(2, seed=seed)):
        with pytest.raises(ValueError, match="seed must be an integer, but it is"):
            ask()


def test_numpy_integer_is_a_seed(ds):
    assert xs(ds.split([0.5, 0.5], seed=np.int64(3))[0]) == xs(ds.split([0.5, 0.5], seed=3)[0])


@pytest.mark.parametrize("keyword", ["by", "group"])
def test_values_instead_of_a_column_are_refused(ds, keyword):
    for wrong in (np.zeros(200), ["label"], 3):
        with pytest.raises(TypeError, match=f"{keyword} must be the name of a column"):
            ds.split([0.5, 0.5], **{keyword: wrong})


@pytest.mark.parametrize(
    "fractions", [[0.333] * 3, [1, 1, 1], [70, 20, 10], [1 / 7] * 6, np.float16([0.1] * 10)]
)
def test_fractions_suggested_by_an_error_work(ds, fractions):
    with pytest.raises(ValueError, match="add up to 1") as error:
        ds.split(fractions)
    suggested = re.search(r"Divide them by their sum: (\[.*\])\.$", str(error.value))[1]
    assert len(ds.split(json.loads(suggested))) == len(fractions)


def test_duplicates_of_one_row_cannot_be_split(ds):
    with pytest.raises(ValueError, match="has 1 different row for 2 parts"):
        ds[[0] * 10].split([0.5, 0.5])


EQUAL = {
    "scalar": (dl.Scalar("float32"), [0.0, -0.0]),
    "complex": (dl.Scalar("complex64"), [0j, complex(-0.0, -0.0)]),
    "json": (dl.Json(), [{"a": 1, "b": 2}, {"b": 2.0, "a": 1}]),
    "array": (dl.Array("float32", (2,)), [[0.0, 1], [-0.0, 1]]),
    "ragged": (dl.Array("float64", (None,)), [[0.0], [-0.0]]),
    "boxes": (dl.Boxes(), [[[0.0, 0, 1, 1]], [[-0.0, 0, 1, 1]]]),
    "outlines": (dl.Polygons(), [[[[0.0, 0], [1, 0], [1, 1]]], [[[-0.0, 0], [1, 0], [1, 1]]]]),
    "items": (dl.Sequence(dl.Json()), [[{"a": 1}], [{"a": 1.0}]]),
    "vectors": (dl.Sequence(dl.Embedding(1)), [[[0.0]], [[-0.0]]]),
}
"""Types, and two values that are equal but differ in bytes."""


@pytest.mark.parametrize("name", EQUAL)
@pytest.mark.parametrize("how", ["group", "by"])
def test_equal_values_are_one_group_and_one_class(make_lake, name, how):
    htype, values = EQUAL[name]
    ds = make_lake({"x": htype, "k": "int32"}, x=[*values] * 10, k=range(20))
    if how == "group":
        with pytest.raises(ValueError, match="1 group for 2 parts"):
            ds.split([0.5, 0.5], group="x")
        return
    one = make_lake({"x": htype, "k": "int32"}, x=values[:1] * 20, k=range(20))
    parts = zip(ds.split([0.9, 0.1], by="x"), one.split([0.9, 0.1], by="x"), strict=True)
    assert all(len(part) == len(other) for part, other in parts)
