"""Mixes: exact proportions, every view in its own epochs, and the contract of a loader."""

import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.htypes import ClassLabel, Image, Scalar
from deeplake_lite.loader.read.mix_samples import common_htype

SCHEMA = {"x": "int32", "text": dl.Text(nullable=True), "label": dl.ClassLabel(["cat", "dog"])}
FIRST, SECOND = 30, 70


@pytest.fixture(scope="module")
def views():
    """Return views of two lakes with different class numbers and column orders."""
    first = dl.create("memory://mix-first", SCHEMA, overwrite=True)
    first.append(
        {"x": range(FIRST), "text": [None] * FIRST, "label": [i % 2 for i in range(FIRST)]}
    )
    first.commit("rows")
    names = dl.ClassLabel(["dog", "emu"], nullable=True)
    second = dl.create(
        "memory://mix-second", {"label": names, "x": "int32", "text": "text"}, overwrite=True
    )
    numbers = range(1_000, 1_000 + SECOND)
    labels = [(None, "dog", "emu")[i % 3] for i in numbers]
    second.append({"x": numbers, "text": [str(i) for i in numbers], "label": labels})
    second.commit("rows")
    return first, second


def epoch(loader):
    return [batch["x"].tolist() for batch in loader]


def flat(batches):
    return [x for batch in batches for x in batch]


def test_epoch_has_exact_shares_and_batches_their_cells(views):
    both = dl.mix({views[0]: 0.7, views[1]: 0.3}, seed=1)
    assert (len(both), both.weights) == (100, (0.7, 0.3))
    loader = both.batches(8, shuffle=True, columns=["text", "x", "label", "_source"])
    names = ["cat", "dog", "emu"]
    sources = []
    for batch in loader:
        sources += batch["_source"].tolist()
        for x, text, label, valid, source in zip(
            batch["x"].tolist(), batch["text"], batch["label"], batch["label_valid"],
            batch["_source"], strict=True,
        ):  # fmt: skip
            assert source == (x >= 1_000)
            assert text == (str(x) if source else None)
            name = names[label] if valid else None
            assert name == ((None, "dog", "emu")[x % 3] if source else names[x % 2])
    assert Counter(sources) == {0: 70, 1: 30}


@pytest.mark.parametrize("shuffle", [False, "exact", "block"])
def test_every_view_shows_all_rows_before_any_repeats(views, shuffle):
    loader = dl.mix([(views[0], 3), (views[1], 1)], seed=2, length=48).batches(10, shuffle=shuffle)
    seen = [x for _ in range(8) for x in flat(epoch(loader))]
    assert len(seen) == 8 * 48
    for rows, own in (
        (FIRST, [x for x in seen if x < 1_000]),
        (SECOND, [x for x in seen if x >= 1_000]),
    ):
        passes = [own[i : i + rows] for i in range(0, len(own), rows)]
        assert all(len(set(one)) == len(one) for one in passes)
        if shuffle and len(passes) > 2:
            assert passes[0] != passes[1]
            assert sorted(passes[0]) == sorted(passes[1])
        if not shuffle:
            assert passes[0] == sorted(passes[0])


def test_mix_resumes_at_every_batch(views):
    def made(**options):
        both = dl.mix({views[0]: 2, views[1]: 1}, seed=4, length=60)
        return both.batches(7, shuffle=True, **options)

    loader = made()
    whole, following = epoch(loader), epoch(loader)
    assert whole != following
    loader.set_epoch(0)
    states = [loader.state_dict(), *(loader.state_dict() for _ in loader)]
    for k, state in enumerate(states):
        text = json.dumps(state)
        assert len(text) < 1_000
        fresh = made(num_workers=k % 3)
        fresh.load_state_dict(json.loads(text))
        rest = epoch(fresh)
        assert rest == (whole[k:] if k < len(whole) else following)


def test_ranks_share_the_batches_of_a_mix(views):
    both = dl.mix({views[0]: 0.5, views[1]: 0.5}, seed=4)
    alone = epoch(both.batches(12, shuffle=True))
    for world in (2, 3):
        ranks = [
            list(both.batches(12 // world, shuffle=True, rank=r, world_size=world))
            for r in range(world)
        ]
        for k, rows in enumerate(alone):
            own = [rank[k]["x"][~rank[k]["_padding"]].tolist() for rank in ranks]
            assert Counter(flat(own)) == Counter(rows)


def test_order_depends_only_on_seed_and_epoch(views):
    both = dl.mix({views[0]: 0.5, views[1]: 0.5}, seed=4)
    expected = epoch(both.batches(9, shuffle=True))
    for options in ({"num_workers": 0}, {"num_workers": 3}, {"cache": None}, {"cache": "decoded"}):
        assert epoch(both.batches(9, shuffle=True, **options)) == expected
    assert epoch(both.batches(9, shuffle=True, seed=5)) != expected
    assert (
        epoch(dl.mix(list(zip(views, (1, 1), strict=True)), seed=4).batches(9, shuffle=True))
        == expected
    )


def test_state_of_another_mix_is_refused_with_the_difference(views):
    def state(weights, seed=1, **options):
        return dl.mix(dict(zip(views, weights, strict=True)), seed=seed, **options).batches(8)

    old = state((0.7, 0.3)).state_dict()
    state((7, 3)).load_state_dict(old)
    with pytest.raises(ValueError, match=r"weights': \[0.7, 0.3\].*weights': \[0.6, 0.4\]"):
        state((0.6, 0.4)).load_state_dict(old)
    with pytest.raises(ValueError, match=r"another view of this version, with 100 rows.* has 90"):
        state((0.7, 0.3), length=90).load_state_dict(old)
    with pytest.raises(ValueError, match="of 2 views, but this loader has 1"):
        dl.mix({views[0]: 1}).batches(8).load_state_dict(old)
    moved = dl.mix({views[0]: 0.7, views[1][::-1]: 0.3}, seed=1).batches(8)
    with pytest.raises(ValueError, match="another view"):
        moved.load_state_dict(old)


def test_state_of_another_version_of_one_view_names_that_view(new_url):
    first, second = (dl.create(new_url(), {"x": "int32"}) for _ in range(2))
    for ds in (first, second):
        ds.append({"x": range(10)})
        ds.commit("rows")
    state = dl.mix({first: 1, second: 1}).batches(4).state_dict()
    second["x"][0] = 5
    second.commit("five")
    with pytest.raises(ValueError, match=f"dl.open.'{second.url}'"):
        dl.mix({first: 1, second: 1}).batches(4).load_state_dict(state)


@pytest.mark.parametrize(
    ("weights", "options", "message"),
    [
        ((0.5, 0), {}, "The weights of a mix must be positive numbers, but one of them is 0"),
        ((0.5, -1), {}, "weights of a mix must be positive"),
        ((0.5, float("nan")), {}, "weights of a mix must be positive"),
        (
            (1, 1e-6),
            {},
            r"length=100, view 1 \(counted from 0\) contributes none. Set length=1000001 or more",
        ),
        ((1, 1), {"length": 0}, "length must be an integer of at least 1, but it is 0"),
        ((1, 1), {"seed": 1.5}, "seed must be an integer, but it is 1.5"),
    ],
)
def test_invalid_mixes_are_refused(views, weights, options, message):
    with pytest.raises(ValueError, match=message):
        dl.mix(dict(zip(views, weights, strict=True)), **options)


def test_empty_views_and_no_views_are_refused(views):
    with pytest.raises(ValueError, match=r"view 1 \(counted from 0\) has none"):
        dl.mix([(views[0], 1), (views[1][:0], 1)])
    with pytest.raises(ValueError, match="at least one view, but none was passed"):
        dl.mix({})


def test_columns_must_be_in_all_views_with_the_same_meaning(make_lake):
    one = make_lake({"x": "int32", "y": "int32"}, x=[1], y=[2])
    other = make_lake({"x": "int64", "y": "int32", "z": "text"}, x=[1], y=[2], z=["a"])
    both = dl.mix([(one, 1), (other, 1)])
    with pytest.raises(
        dl.ColumnNotFoundError,
        match=r"view 0 \(counted from 0\) has no column 'z'.*columns=\['x', 'y'\]",
    ):
        both.batches(1)
    with pytest.raises(dl.ColumnNotFoundError, match="There is no column 'z'"):
        both.batches(1, columns=["z"])
    with pytest.raises(
        ValueError, match=r"'x' is Scalar\('int32'\) in view 0 and .*'int64'.* view 1"
    ):
        both.batches(1, columns=["x"])
    assert next(iter(both.batches(2, columns=["y"])))["y"].tolist() == [2, 2]


def test_compatible_types_are_covered_by_one():
    assert common_htype("x", [Scalar("int8"), Scalar("int8", nullable=True, default=3)]) == Scalar(
        "int8", nullable=True
    )
    assert common_htype("i", [Image("jpeg"), Image("jpeg")]) == Image("jpeg")
    assert common_htype("i", [Image("jpeg"), Image("png")]) == Image("auto")
    for one, other in [
        (ClassLabel(["a"]), ClassLabel()),
        (ClassLabel(["a"]), ClassLabel(["a"], multiple=True)),
        (Image("jpeg"), Image("zstd")),
        (Image("png"), Image("png", mode="RGB")),
    ]:
        with pytest.raises(ValueError, match="must have the same type in all views"):
            common_htype("x", [one, other])


def test_limits_of_the_first_view_apply():
    strict = dl.Limits(max_pixels=100)
    for first, second in [(Image("jpeg"), Image("png")), (Image("png"), Image("png"))]:
        assert common_htype("i", [first.limited(strict), second]).limits == strict


def test_images_and_multiple_classes_of_views_are_combined(make_lake):
    pixels = np.full((4, 4, 3), 100, np.uint8)
    one = make_lake(
        {"i": dl.Image("png"), "c": dl.ClassLabel(["a", "b"], multiple=True)},
        i=[pixels], c=[["a", "b"]],
    )  # fmt: skip
    other = make_lake(
        {"i": dl.Image("jpeg"), "c": dl.ClassLabel(["b", "c"], multiple=True)},
        i=[pixels], c=[["c"]],
    )  # fmt: skip
    loader = dl.mix([(one, 1), (other, 1)]).batches(2, columns=["i", "c", "_source"], row_ids=True)
    batch = next(iter(loader))
    assert batch["i"].shape == (2, 4, 4, 3)
    assert abs(batch["i"].astype(int) - 100).max() < 3
    classes = {s: c.tolist() for s, c in zip(batch["_source"].tolist(), batch["c"], strict=True)}
    assert classes == {0: [0, 1], 1: [2]}
    ids = dict(zip(batch["_source"].tolist(), batch["_row_id"].tolist(), strict=True))
    assert ids == {0: one.row_ids[0], 1: other.row_ids[0]}


def test_mix_works_in_other_frameworks(views):
    both = dl.mix({views[0]: 0.5, views[1]: 0.5}, seed=1)
    loader = both.pytorch(10, columns=["x"], shuffle=True)
    result = [int(x) for batch in loader for x in batch["x"]]
    assert result == flat(epoch(both.batches(10, shuffle=True)))


def test_repr_describes_the_mix(views):
    text = repr(dl.mix({views[0]: Fraction(1, 3), views[1]: Fraction(2, 3)}, length=60))
    assert text.startswith(
        "Mix · 60 rows per epoch, seed 0\n   33.3%  30 rows of memory://mix-first"
    )
    loader = dl.mix({views[0]: 1, views[1]: 1}).batches(4, shuffle=True)
    assert "memory://mix-first, memory://mix-second" in repr(loader)
    assert "mix of 0.5 exact" in repr(loader)
    quality = loader.shuffle_quality()
    assert abs(quality.rank_correlation) < 0.4
    assert quality.label == "label"


@pytest.mark.parametrize("wrong", [lambda *v: list(v), lambda a, _: [(1, a)], lambda a, _: a])
def test_error_for_views_without_weights_says_how_to_give_them(views, wrong):
    with pytest.raises(TypeError, match=r"A mix needs views with weights, such as dl\.mix\(\{a: "):
        dl.mix(wrong(*views))


@pytest.mark.parametrize("weight", ["half", None, True])
def test_non_numeric_weight_is_refused(views, weight):
    with pytest.raises(
        ValueError, match="weights of a mix must be positive numbers, but one of them is"
    ):
        dl.mix({views[0]: weight, views[1]: 1})


def test_mix_offers_only_loaders_that_decide_the_order_of_rows(make_lake):
    ds = make_lake({"x": "int32"}, x=range(4))
    mix = dl.mix({ds[:2]: 0.5, ds[2:]: 0.5})
    assert not hasattr(mix, "pytorch_dataset")
    for load in (mix.batches, mix.pytorch):
        assert sum(len(batch["x"]) for batch in load(2)) == 4
