"""Collation: every type by default and in each mode, with nulls."""

import importlib
import importlib.util
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.loader.make.arrays import RaggedBatch
from deeplake_lite.loader.make.collate import CHOICES

spec = importlib.util.spec_from_file_location(
    "everything", Path(__file__).parents[2] / "dataset" / "everything.py"
)
everything = importlib.util.module_from_spec(spec)
spec.loader.exec_module(everything)

FIXED = [
    "label", "number", "embedding", "matrix", "flags", "x", "n/small", "half", "wave", "ok", "when",
    "day", "age",
]  # fmt: skip
"""Columns of a fixed shape."""
RAGGED = ["mask", "objects", "tags", "boxes", "points", "ragged", "packed"]
"""Arrays of varying size with the same number of dimensions."""
MIXED = ["image", "pixels"]
"""Images, in greyscale and in colour."""
NESTED = ["outlines", "frames", "words", "counts"]
REST = ["text", "notes", "blob"]


@pytest.fixture(scope="module")
def ds():
    return everything.lake()


def batch_of(ds, columns, **options):
    return next(iter(ds.batches(3, columns=columns, **options)))


def same(found, expected):
    """Compare read values, with NaN equal to NaN."""
    if expected is None or found is None:
        return found is expected
    if isinstance(expected, list | dict | str | bytes):
        if isinstance(expected, list) and not isinstance(found, list):
            return False
        if isinstance(expected, list):
            return len(found) == len(expected) and all(map(same, found, expected))
        return found == expected
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    kind = np.asarray(expected).dtype.kind
    return np.array_equal(found, expected, equal_nan=kind in "fcmM")


def test_every_column_type_is_covered():
    assert {*FIXED, *RAGGED, *MIXED, *NESTED, *REST, "link"} == set(everything.SCHEMA)


@pytest.mark.parametrize("name", sorted(set(everything.SCHEMA) - {"link"}))
def test_every_type_is_collated_by_default_as_it_is_read(ds, name):
    batch = batch_of(ds, [name])
    nullable = ds.schema[name].htype.nullable
    values = [row[name] for row in ds[[name]]]
    if name in FIXED:
        assert isinstance(batch[name], np.ndarray)
        assert not isinstance(batch[name], np.ma.MaskedArray)
        assert (f"{name}_valid" in batch) == nullable
    else:
        assert isinstance(batch[name], list)
        assert set(batch) == {name}
    valid = batch.get(f"{name}_valid", np.ones(3, bool))
    result = [v if ok else None for v, ok in zip(batch[name], valid, strict=True)]
    assert all(map(same, result, values))


@pytest.mark.parametrize("how", CHOICES)
def test_mode_for_all_columns_skips_those_it_does_not_fit(ds, how):
    names = [*FIXED, *REST, "words", "outlines", "frames"]
    batch = batch_of(ds, names, collate=how)
    for name in FIXED:
        assert isinstance(batch[name], list if how == "list" else np.ndarray)
    for name in (*REST, "words", "outlines", "frames"):
        assert isinstance(batch[name], list)


def test_lists_have_none_for_null(ds):
    batch = batch_of(ds, ["label", "embedding", "boxes", "x"], collate="list")
    assert batch["label"] == [1, None, 0]
    assert batch["embedding"][1] is None
    assert not isinstance(batch["embedding"][0], np.ma.MaskedArray)
    assert batch["boxes"][1] is None
    assert batch["x"] == [1, -2, 3]


@pytest.mark.parametrize(
    ("name", "shape", "mask"),
    [
        ("mask", (3, 3, 3), (3, 3, 3)),
        ("objects", (3, 2, 3, 3), (3, 2, 3, 3)),
        ("tags", (3, 2), (3, 2)),
        ("boxes", (3, 1, 4), (3, 1)),
        ("points", (3, 2, 2, 2), (3, 2)),
        ("ragged", (3, 2, 2), (3, 2)),
        ("packed", (3, 2, 2), (3, 2, 2)),
    ],
)
def test_masks_have_the_axes_that_vary_by_type(ds, name, shape, mask):
    batch = batch_of(ds, [name], collate="pad")
    assert batch[name].shape == shape
    assert batch[f"{name}_mask"].shape == mask
    assert batch[f"{name}_mask"].dtype == bool
    for row, value in enumerate(ds[name][:]):
        size = () if value is None else value.shape
        inside = batch[name][row][tuple(map(slice, size))] if value is not None else 0
        assert value is None or np.array_equal(inside, value)
        varying = len(mask) - 1
        count = 0 if value is None else int(np.prod(size[:varying]))
        assert batch[f"{name}_mask"][row].sum() == count
        assert batch[name][row][~batch[f"{name}_mask"][row]].sum() == 0


SHAPES = {
    "array": (dl.Array("int32", (None, None)), np.ones((2, 3), int), np.ones((2, 2), int)),
    "packed": (dl.Array("int32", (None,), "zstd"), np.ones(2, int), np.ones(3, int)),
    "picture": (dl.Image("png"), np.ones((4, 5, 3), "uint8"), np.ones((5, 5, 3), "uint8")),
    "mask": (dl.Mask("instance"), np.ones((2, 4, 5), "uint8"), np.ones((1, 4, 5), "uint8")),
    "boxes": (dl.Boxes(), np.ones((2, 4)), np.ones((0, 4))),
    "points": (dl.Keypoints(["a", "b"]), np.ones((1, 2, 3)), np.ones((2, 2, 3))),
    "tags": (dl.ClassLabel(["a", "b"], multiple=True), [1], []),
    "list": (dl.Sequence("int32"), [1, 2], [1]),
    "null": (dl.Boxes(nullable=True), np.ones((2, 4)), None),
}
"""Types whose values may differ in shape, a value, and one of a different shape."""


@pytest.mark.parametrize("exporter", ["batches", "pytorch", "jax", "tensorflow"])
@pytest.mark.parametrize("name", SHAPES)
def test_mask_depends_on_the_column_and_not_on_the_rows_of_a_batch(make_lake, name, exporter):
    htype, value, other = SHAPES[name]
    alike = make_lake({name: htype}, **{name: [value] * 3})
    differ = make_lake({name: htype}, **{name: [value] * 3 + [other]})

    def keys(view, **options):
        loader = getattr(view, exporter)(2, collate={name: "pad"}, **options)
        return {tuple(sorted(batch)) for batch in loader}

    valid = [f"{name}_valid"] if htype.nullable else []
    assert keys(alike) == keys(alike[:1]) == {(name, *valid)}
    masked = {(name, f"{name}_mask", *valid)}
    assert keys(differ) == keys(differ[:2]) == keys(differ[3:]) == masked
    assert keys(alike, transform=dict) == keys(differ, transform=dict) == masked


def test_resized_images_have_no_mask(make_lake):
    pixels = [np.full((2, 3, 3), 7, np.uint8), np.full((4, 1, 3), 9, np.uint8)]
    ds = make_lake({"i": dl.Image("png"), "m": dl.Mask()}, i=pixels, m=[p[..., 0] for p in pixels])
    assert list(batch_of(ds, ["i", "m"], collate="pad", size=(4, 4))) == ["i", "m"]


def test_mix_has_a_mask_if_one_of_its_lakes_needs_one(make_lake):
    schema = {"b": dl.Boxes()}
    two, also, one = (make_lake(schema, b=[np.ones((n, 4))] * 3) for n in (2, 2, 1))
    alike, differ = (dl.mix({two: 1, other: 1}) for other in (also, one))
    assert {tuple(batch) for batch in alike.batches(1, collate="pad")} == {("b",)}
    assert {tuple(batch) for batch in differ.batches(1, collate="pad")} == {("b", "b_mask")}


def test_images_are_padded_with_a_mask_of_their_pixels(make_lake):
    pixels = [np.full((2, 3, 3), 7, np.uint8), np.full((4, 1, 3), 9, np.uint8)]
    ds = make_lake({"i": dl.Image("png")}, i=pixels)
    batch = batch_of(ds, ["i"], collate="pad")
    assert batch["i"].shape == (2, 4, 3, 3)
    assert batch["i_mask"].shape == (2, 4, 3)
    assert batch["i"].sum() == sum(int(p.sum()) for p in pixels)


def test_images_of_several_kinds_are_not_padded(ds):
    with pytest.raises(Exception, match="'pad' needs values with the same number of axes"):
        batch_of(ds, ["pixels"], collate="pad")


@pytest.mark.parametrize("name", ["boxes", "ragged", "tags", "points"])
def test_ragged_values_are_concatenated(ds, name):
    batch = batch_of(ds, [name], collate={name: "ragged"})
    result = batch[name]
    assert isinstance(result, RaggedBatch)
    assert len(result) == 3
    for row, value in enumerate(ds[name][:]):
        assert np.array_equal(result[row], [] if value is None else value) or len(result[row]) == 0
        assert result.lengths[row] == (0 if value is None else len(value))


def test_sequences_of_numbers_are_padded_too(make_lake):
    ds = make_lake({"s": dl.Sequence("int32")}, s=[[1, 2], [], [3]])
    batch = batch_of(ds, ["s"], collate="pad")
    assert batch["s"].tolist() == [[1, 2], [0, 0], [3, 0]]
    assert batch["s"].dtype == np.int32
    assert batch["s_mask"].tolist() == [[True, True], [False, False], [True, False]]


@pytest.mark.parametrize("how", ["stack", "pad", "ragged"])
@pytest.mark.parametrize("name", ["text", "notes", "blob", "words", "outlines"])
def test_padding_a_column_without_numbers_is_refused(ds, name, how):
    with pytest.raises(Exception, match=f"{how}.* '{name}'.* Use"):
        batch_of(ds, [name], collate={name: how})


def test_stacking_error_lists_alternatives(ds):
    message = r"'stack' needs values of the same shape.*Use collate='pad'"
    with pytest.raises(Exception, match=message):
        batch_of(ds, ["ragged"], collate="stack")


def test_nulls_are_zeros_in_a_stack(make_lake):
    pictures = [np.full((2, 2, 3), 5, np.uint8), None]
    ds = make_lake({"i": dl.Image("png", nullable=True)}, i=pictures)
    batch = batch_of(ds, ["i"], collate="stack")
    assert batch["i"].shape == (2, 2, 2, 3)
    assert batch["i"][1].sum() == 0
    assert batch["i_valid"].tolist() == [True, False]


def test_images_with_nulls_are_resized(make_lake):
    pictures = [np.full((4, 6, 3), 5, np.uint8), None, np.full((2, 2, 3), 9, np.uint8)]
    ds = make_lake({"i": dl.Image("png", nullable=True)}, i=pictures)
    batch = batch_of(ds, ["i"], size=(3, 3))
    assert batch["i"].shape == (3, 3, 3, 3)
    assert [int(p.max()) for p in batch["i"]] == [5, 0, 9]
    assert batch["i_valid"].tolist() == [True, False, True]


def test_all_nulls_make_a_batch(make_lake):
    ds = make_lake(
        {
            "i": dl.Image(nullable=True),
            "b": dl.Boxes(nullable=True),
            "x": dl.Scalar("int8", nullable=True),
        },
        i=[None],
        b=[None],
        x=[None],
    )
    for how in (None, *CHOICES):
        batch = next(iter(ds.batches(2, collate=how)))
        assert all(len(batch[name]) == 1 for name in "ibx")


def test_images_of_one_size_are_stacked_and_resized(make_lake):
    pictures = [np.full((8, 6, 3), value, np.uint8) for value in (5, 9)]
    ds = make_lake({"i": dl.Image("png"), "x": "int32"}, i=pictures, x=[1, 2])
    assert batch_of(ds, ["i"])["i"].shape == (2, 8, 6, 3)
    for size in ((2, 3), {"i": (2, 3)}):
        batch = batch_of(ds, ["i", "x"], size=size)
        assert batch["i"].shape == (2, 2, 3, 3)
        assert batch["i"][1].tolist() == np.full((2, 3, 3), 9).tolist()


def test_collate_function_gets_the_samples(ds):
    batch = batch_of(ds, ["x", "label"], collate=lambda rows: [(r["x"], r["label"]) for r in rows])
    assert batch == [(1, 1), (-2, None), (3, 0)]
    both = ds.batches(3, columns=["x"], transform=lambda r: r["x"] * 2, collate=sum)
    assert list(both) == [4]


@pytest.mark.parametrize("how", [None, "list", "pad"])
@pytest.mark.parametrize("change", [lambda row: row, lambda row: {**row}, lambda row: dict(row)])
def test_columns_passed_through_a_transform_are_collated_as_without_it(ds, how, change):
    columns = [n for n in everything.SCHEMA if n != "link" and not (how == "pad" and n in MIXED)]
    plain = batch_of(ds, columns, collate=how)
    through = batch_of(ds, columns, collate=how, transform=change)
    assert list(through) == list(plain)
    for key, value in plain.items():
        assert type(through[key]) is type(value), key
        assert same(list(through[key]), list(value)), key


def test_nullable_column_changed_by_a_transform_still_says_which_rows_are_null(ds):
    def change(row):
        return row | {"embedding": None if row["embedding"] is None else row["embedding"] * 2}

    batch = batch_of(ds, ["x", "label", "embedding"], transform=change)
    assert batch["label"].tolist() == [1, 0, 0]
    assert batch["label_valid"].tolist() == batch["embedding_valid"].tolist() == [True, False, True]
    plain = batch_of(ds, ["embedding"])["embedding"]
    assert same(batch["embedding"], plain * 2)


def test_transform_may_say_itself_which_rows_are_null(ds):
    batch = batch_of(
        ds,
        ["label"],
        transform=lambda row: row | {"label_valid": -1 if row["label"] is None else row["label"]},
    )
    assert batch["label_valid"].tolist() == [1, -1, 0]


def test_masks_of_boxes_changed_by_a_transform_are_those_of_the_column(ds):
    def change(row):
        return {"boxes": None if row["boxes"] is None else row["boxes"] + 1}

    plain = batch_of(ds, ["boxes"], collate="pad")
    changed = batch_of(ds, ["boxes"], collate="pad", transform=change)
    assert list(changed) == list(plain) == ["boxes", "boxes_mask", "boxes_valid"]
    assert same(changed["boxes_mask"], plain["boxes_mask"])
    assert same(changed["boxes_valid"], plain["boxes_valid"])


def test_none_in_a_new_column_of_a_transform_stays_in_a_list(ds):
    batch = batch_of(ds, ["x"], transform=lambda row: {"y": None if row["x"] < 0 else row["x"]})
    assert batch["y"] == [1, None, 3]


@pytest.mark.parametrize("framework", ["torch", "jax.numpy"])
def test_arrays_of_other_frameworks_are_collated_like_numpys(ds, framework):
    asarray = importlib.import_module(framework).asarray

    def change(row):
        n = abs(int(row["x"]))
        return {"a": asarray([n, 2.5]), "n": asarray(n), "r": asarray([0.5] * n)}

    batch = batch_of(ds, ["x"], transform=change, collate={"r": "pad"})
    assert list(batch) == ["a", "n", "r", "r_mask"]
    assert batch["a"].tolist() == [[1, 2.5], [2, 2.5], [3, 2.5]]
    assert batch["n"].tolist() == batch["r_mask"].sum(axis=1).tolist() == [1, 2, 3]
    x, *rest = batch_of(ds, ["x"], transform=lambda row: (asarray([row["x"].item()]), "t"))
    assert (x.tolist(), rest) == ([[1], [-2], [3]], [["t"] * 3])
    assert batch_of(ds, ["x"], transform=lambda _: asarray([1, 2])).shape == (3, 2)


def test_transform_returns_the_same_keys_for_every_row(ds):
    with pytest.raises(Exception, match="same keys for every sample, but one sample has no 'x'"):
        batch_of(ds, ["x"], transform=lambda row: row if row["x"] > 0 else {"y": 1})


def test_arrays_from_a_transform_are_padded_on_any_axis(ds):
    batch = batch_of(ds, ["x"], transform=lambda r: {"a": np.ones((2, abs(r["x"])))}, collate="pad")
    assert batch["a"].shape == batch["a_mask"].shape == (3, 2, 3)
    assert batch["a_mask"].sum() == 12


def test_batches_are_aligned_and_owned_by_the_user(ds):
    padded_masks = batch_of(ds, ["mask"], collate="pad")["mask"]
    assert padded_masks.ctypes.data % 64 == 0
    loader = ds.batches(3, columns=["x", "embedding", "boxes"])
    for _ in range(3):
        batch = next(iter(loader))
        assert batch["x"].tolist() == [1, -2, 3]
        batch["x"][:] = 0
        batch["embedding"][:] = 0
        assert batch["boxes"][0].flags.writeable
        batch["boxes"][0][:] = 0
    assert ds["boxes"][0].sum() == 3


def test_images_with_more_bits_are_not_cut_to_those_of_the_first(make_lake):
    pixels = [np.full((2, 2), 200, np.uint8), np.full((2, 2), 40_000, np.uint16)]
    ds = make_lake({"i": "image"}, i=pixels)
    with pytest.raises(dl.LoaderError, match=r"'i'.* uint16 does not fit into .* uint8"):
        next(iter(ds.batches(2)))
    assert next(iter(ds.batches(2, collate="list")))["i"][1].max() == 40_000
    assert next(iter(ds[::-1].batches(2)))["i"].max(axis=(1, 2)).tolist() == [40_000, 200]


def test_grey_images_do_not_become_columns_of_coloured_ones(make_lake):
    pixels = [np.full((3, 3, 3), 1, np.uint8), np.arange(9, dtype=np.uint8).reshape(3, 3)]
    ds = make_lake({"i": dl.Image("png")}, i=pixels)
    with pytest.raises(dl.LoaderError, match="does not fit into"):
        next(iter(ds.batches(2, size=(3, 3))))


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("options", [{"size": (4, 4)}, {"collate": "stack"}])
@pytest.mark.parametrize("transform", [None, dict])
def test_all_null_batch_is_as_large_as_the_others(make_lake, dtype, options, transform):
    picture = np.full((5, 6), 7, dtype)
    ds = make_lake({"image": dl.Image("png", nullable=True)}, image=[None, picture, None])
    first, second, third = ds.batches(1, transform=transform, **options)
    assert first["image"].shape == second["image"].shape == third["image"].shape
    assert {batch["image"].dtype.name for batch in (first, second, third)} == {dtype}
    assert not first["image"].any()
    assert not first["image_valid"].any()


CHANNELS = [(2, 2, 3), (2, 2, 4), (2, 2), (2, 2, 2)]


@pytest.mark.parametrize("codec", ["png", "raw", "zstd"])
@pytest.mark.parametrize("pair", list(combinations(CHANNELS, 2)), ids=str)
def test_padding_adds_no_channels(make_lake, codec, pair):
    pictures = [np.full(shape, 200, "uint8") for shape in pair]
    ds = make_lake({"image": dl.Image(codec)}, image=pictures)
    for batches in (ds.batches(2, collate="pad"), ds.pytorch(2, collate="pad"), ds.jax(2)):
        with pytest.raises(dl.OptionError, match=r"mode='RGB'|same number of axes"):
            next(iter(batches))
    [batch] = ds.batches(2, collate="pad", mode="RGB")
    assert batch["image"].shape == (2, 2, 2, 3)


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize(
    ("htype", "one"),
    [
        (dl.Embedding(3), np.ones(3, "float32")),
        (dl.Array("int16", (2, 3)), np.ones((2, 3), "int16")),
        (dl.Scalar("int8"), np.int8(1)),
    ],
)
def test_rows_without_items_have_the_shape_of_the_others(make_lake, htype, one, nullable):
    column = dl.Sequence(htype, nullable=nullable)
    ds = make_lake({"a": column}, a=[[one, one], [], [one]])
    for batches in (ds.batches(3, collate="pad"), ds.jax(3)):
        [batch] = batches
        assert batch["a"].shape == (3, 2, *one.shape)
        assert np.asarray(batch["a_mask"]).tolist() == [[True] * 2, [False] * 2, [True, False]]
    [batch] = ds.batches(3, collate="ragged")
    assert batch["a"].values.shape == (3, *one.shape)
    assert batch["a"].lengths.tolist() == [2, 0, 1]


NULLABLE = dl.Array("int64", (None,), nullable=True)
UNEVEN = [[[1], [2, 3]], [1, [2]], [[], [[]]], [np.ones(1), np.ones(2)], [np.ones((2, 1)), 3]]
"""Lists that NumPy cannot convert to an array."""


@pytest.mark.parametrize("value", UNEVEN, ids=str)
@pytest.mark.parametrize("how", [None, *CHOICES])
def test_lists_of_uneven_items_stay_lists_if_a_mode_is_for_all_arrays(ds, value, how):
    batches = ds.batches(2, columns=["number"], collate=how, transform=lambda _: {"z": value})
    assert all(type(b["z"]) is list and all(z is value for z in b["z"]) for b in batches)


@pytest.mark.parametrize("value", UNEVEN, ids=str)
@pytest.mark.parametrize("how", ["stack", "pad", "ragged"])
@pytest.mark.parametrize("name", ["z", "boxes", "number"])
def test_lists_of_uneven_items_cannot_be_collated(ds, value, how, name):
    with pytest.raises(dl.OptionError, match=f"'{name}' has .* items that differ in shape"):
        list(
            ds[["number", "boxes"]].batches(
                2, collate={name: how}, transform=lambda _: {name: value}
            )
        )


@pytest.mark.parametrize("how", ["stack", "pad", "ragged"])
@pytest.mark.parametrize("transform", [None, dict, lambda s: {"c": s["c"] and [*s["c"]]}])
@pytest.mark.parametrize(
    ("htype", "values"),
    [
        ("json", [[[1, [2]], 3]] * 2),
        (dl.Sequence(dl.Sequence("int64")), [[[1], [2, 3]], [[1]]]),
        (dl.Sequence(NULLABLE, nullable=True), [[[1], None], None]),
    ],
    ids=["json", "sequences", "nulls"],
)
def test_columns_of_uneven_items_cannot_be_collated(htype, values, transform, how):
    ds = dl.create("memory://uneven", {"c": htype}, overwrite=True)
    ds.append({"c": values})
    with pytest.raises(dl.OptionError, match=r"'c' has .* items that differ in shape"):
        list(ds.batches(2, collate={"c": how}, transform=transform))
    with pytest.raises(dl.OptionError, match="differ in shape"):
        np.asarray(ds["c"])
    assert list(map(type, np.asarray(ds["c"], object))) == list(map(type, values))
