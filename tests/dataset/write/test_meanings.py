"""Writing values of one column into another whose numbers mean something else.

Every way to write is tried with every pair of types: the values arrive with their meaning, or are
refused by an error that names both types.
"""

from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl

PETS, STEP = ["cat", "dog"], ["dog", "cat"]
POINTS = [[[1, 1, 2], [2, 2, 0]]]
SWAPPED = [[[2, 2, 0], [1, 1, 2]]]
CUT = [[0, 1], [1, 255]]

CONVERTED = {
    "one class": (dl.ClassLabel(PETS), [0, 1], dl.ClassLabel(STEP), [1, 0]),
    "more classes": (dl.ClassLabel(PETS), [0, 1], dl.ClassLabel(["x", *STEP]), [2, 1]),
    "classes": (
        dl.ClassLabel(PETS, multiple=True),
        [[0], [1, 0]],
        dl.ClassLabel(STEP, multiple=True),
        [[1], [0, 1]],
    ),
    "sequence of classes": (
        dl.Sequence(dl.ClassLabel(PETS)),
        [[0], [1, 0]],
        dl.Sequence(dl.ClassLabel(STEP)),
        [[1], [0, 1]],
    ),
    "classes as a sequence": (
        dl.ClassLabel(PETS, multiple=True),
        [[0], []],
        dl.Sequence(dl.ClassLabel(STEP)),
        [[1], []],
    ),
    "a sequence as classes": (
        dl.Sequence(dl.ClassLabel(PETS)),
        [[0], []],
        dl.ClassLabel(STEP, multiple=True),
        [[1], []],
    ),
    "sequence of sequences": (
        dl.Sequence(dl.ClassLabel(PETS, multiple=True)),
        [[[0], []], [[1, 0]]],
        dl.Sequence(dl.ClassLabel(STEP, multiple=True)),
        [[[1], []], [[0, 1]]],
    ),
    "class numbers": (dl.ClassLabel(PETS), [0, 1], dl.Scalar("int32"), [0, 1]),
    "class names": (dl.ClassLabel(PETS), [0, 1], dl.Text(), PETS),
    "names as classes": (dl.Text(), PETS, dl.ClassLabel(STEP), [1, 0]),
    "nulls among classes": (
        dl.ClassLabel(PETS, nullable=True),
        [None, 1],
        dl.ClassLabel(STEP, nullable=True),
        [None, 0],
    ),
    "xywh": (dl.Boxes("xywh"), [[[1, 1, 5, 5]], []], dl.Boxes("xyxy"), [[[1, 1, 6, 6]], []]),
    "cxcywh": (dl.Boxes("cxcywh"), [[[3, 3, 4, 4]], []], dl.Boxes("xywh"), [[[1, 1, 4, 4]], []]),
    "whole numbers": (
        dl.Boxes("xyxy", dtype="int32"),
        [[[1, 1, 5, 7]], []],
        dl.Boxes("cxcywh", dtype="int64"),
        [[[3, 4, 4, 6]], []],
    ),
    "fractions": (
        dl.Boxes("cxcywh", "fraction", nullable=True),
        [[[0.5, 0.5, 0.5, 0.25]], None],
        dl.Boxes("xyxy", "fraction", nullable=True),
        [[[0.25, 0.375, 0.75, 0.625]], None],
    ),
    "sequence of boxes": (
        dl.Sequence(dl.Boxes("xywh")),
        [[[[1, 1, 5, 5]], []], []],
        dl.Sequence(dl.Boxes("xyxy")),
        [[[[1, 1, 6, 6]], []], []],
    ),
    "numbers of boxes": (
        dl.Boxes("xywh"),
        [[[1, 1, 5, 5]], []],
        dl.Array("float32", (None, 4)),
        [[[1, 1, 5, 5]], np.zeros((0, 4))],
    ),
    "points": (dl.Keypoints(["l", "r"]), [POINTS, []], dl.Keypoints(["r", "l"]), [SWAPPED, []]),
    "points without names": (
        dl.Keypoints(["l", "r"]),
        [POINTS, POINTS],
        dl.Keypoints(),
        [POINTS, POINTS],
    ),
    "connections": (
        dl.Keypoints(["l", "r"], [(0, 1)]),
        [POINTS, POINTS],
        dl.Keypoints(["l", "r"]),
        [POINTS, POINTS],
    ),
    "sequence of points": (
        dl.Sequence(dl.Keypoints(["l", "r"])),
        [[POINTS], []],
        dl.Sequence(dl.Keypoints(["r", "l"])),
        [[SWAPPED], []],
    ),
    "mask": (
        dl.Mask(names=PETS),
        [CUT, [[0]]],
        dl.Mask(names=STEP),
        [[[1, 0], [0, 255]], [[1]]],
    ),
    "mask of other bits": (
        dl.Mask(names=PETS, dtype="int32"),
        [CUT, [[0]]],
        dl.Mask(names=["x", *STEP], dtype="uint16"),
        [[[2, 1], [1, 255]], [[2]]],
    ),
    "sequence of masks": (
        dl.Sequence(dl.Mask(names=PETS)),
        [[CUT], [[[0]]]],
        dl.Sequence(dl.Mask(names=STEP)),
        [[[[1, 0], [0, 255]]], [[[1]]]],
    ),
    "vector": (dl.Embedding(2), [[1, 2], [3, 4]], dl.Embedding(2, "float16"), [[1, 2], [3, 4]]),
    "hours": (
        dl.Scalar("datetime64[h]"),
        ["2026-01-02T03", "1960-01-01"],
        dl.Scalar("datetime64[ms]"),
        [1767322800000, -315619200000],
    ),
    "minutes": (
        dl.Scalar("timedelta64[s]"),
        ["120 s", "60 s"],
        dl.Scalar("timedelta64[m]"),
        [2, 1],
    ),
}
"""A stored column, and its equal in another type: (type, values, type, values)."""

REFUSED = {
    "a class that is not there": (dl.ClassLabel(PETS), [0, 1], dl.ClassLabel(["cat", "cow"])),
    "names without numbers": (dl.ClassLabel(PETS), [0, 1], dl.ClassLabel()),
    "fractions as pixels": (dl.Boxes("xyxy", "fraction"), [[[0, 0, 1, 1]], []], dl.Boxes("xyxy")),
    "pixels as fractions": (dl.Boxes("xyxy"), [[[0, 0, 1, 1]], []], dl.Boxes("xyxy", "fraction")),
    "half pixels": (dl.Boxes("xyxy"), [[[0, 0, 1, 1]], []], dl.Boxes("cxcywh", dtype="int32")),
    "boxes in a sequence": (
        dl.Sequence(dl.Boxes("xyxy", "fraction")),
        [[[[0, 0, 1, 1]]], []],
        dl.Sequence(dl.Boxes()),
    ),
    "other points": (dl.Keypoints(["l", "r"]), [POINTS, []], dl.Keypoints(["l", "tail"])),
    "fewer points": (dl.Keypoints(["l", "r"]), [POINTS, []], dl.Keypoints(["l"])),
    "visibility": (dl.Keypoints(["l", "r"]), [POINTS, []], dl.Keypoints(["l", "r"], dims=2)),
    "no visibility": (
        dl.Keypoints(["l"], dims=2),
        [[[[1, 1]]], []],
        dl.Keypoints(["l"]),
    ),
    "points as outlines": (
        dl.Keypoints(["a", "b", "c"], dims=2),
        [[[[0, 0], [1, 0], [0, 1]]], []],
        dl.Polygons(),
    ),
    "a mask of other classes": (dl.Mask(names=PETS), [CUT, [[0]]], dl.Mask(names=["cat", "cow"])),
    "objects as classes": (dl.Mask("instance"), [np.ones((1, 2, 2), bool)] * 2, dl.Mask()),
    "classes as objects": (dl.Mask(), [CUT, CUT], dl.Mask("instance")),
    "a longer vector": (dl.Embedding(2), [[1, 2], [3, 4]], dl.Embedding(3)),
    "halves": (dl.Embedding(2), [[1, 0.5], [3, 4]], dl.Embedding(2, "int8")),
    "a moment as a duration": (
        dl.Scalar("datetime64[s]"),
        ["2026-01-01"] * 2,
        dl.Scalar("timedelta64[s]"),
    ),
    "a duration as a moment": (
        dl.Scalar("timedelta64[s]"),
        ["5 s", "6 s"],
        dl.Scalar("datetime64[s]"),
    ),
    "part of an hour": (
        dl.Scalar("datetime64[m]"),
        ["2026-01-01T00:30"] * 2,
        dl.Scalar("datetime64[h]"),
    ),
    "16 bits": (
        dl.Image("zstd", dtype="uint16"),
        [np.full((2, 2), 999), np.full((2, 2), 999)],
        dl.Image("zstd"),
    ),
}
"""A stored column, and a type without an equal for it: (type, values, type)."""


@pytest.fixture(scope="module")
def sources():
    """Return two lakes with a column per case: those that convert, and those that do not."""
    return lake(CONVERTED), lake(REFUSED)


def lake(cases):
    types = {case: of for case, (of, *_) in cases.items()}
    ds = dl.create(f"memory://{uuid4().hex}", {"k": "int32", **types}, overwrite=True)
    ds.append({"k": [1, 2], **{case: values for case, (_, values, *_) in cases.items()}})
    ds.commit()
    return ds


@pytest.fixture
def make_target():
    """Make a lake with a column per case, of the other type, and two null rows."""

    def make(cases):
        types = {
            case: replace(row[-1 if cases is REFUSED else 2], nullable=True)
            for case, row in cases.items()
        }
        ds = dl.create(f"memory://{uuid4().hex}", {"k": "int32", **types})
        ds.append({"k": [0, 1]})
        ds.commit()
        return ds

    return make


def append(ds, source):
    ds.append(source)


def append_a_query(ds, source):
    columns = ", ".join(f'"{name}"' for name in source.columns)
    ds.append(source.query(f"SELECT {columns} WHERE k < 5"))


def append_columns(ds, source):
    ds.append({name: source[name] for name in source.columns})


def update(ds, source):
    ds.update([0, 1], {name: source[name] for name in source.columns})


def update_by_id(ds, source):
    ds.update(ids=ds.row_ids, data=source)


def assign(ds, source):
    for name in source.columns:
        ds[name][:] = source[name]


def upsert(ds, source):
    done = ds.upsert(source, on="k")
    assert (done.added, done.changed) == (1, 1)


def upsert_a_query(ds, source):
    ds.upsert(source[[1, 0]].query("SELECT * ORDER BY k DESC"), on="k")
    ds.upsert(source.query("SELECT * WHERE k < 5"), on="k")


def add_columns(ds, source):
    for name in source.columns[1:]:
        htype = ds.schema[name].htype
        ds.drop_column(name)
        ds.add_column(name, htype, values=source[name])


def append_arrow(ds, source):
    ds.append(source.to_arrow())


def upsert_arrow(ds, source):
    ds.upsert(source.to_arrow(), on="k")


def ingest_arrow(ds, source):
    dl.from_dataframe(source.to_arrow(), ds.url)
    ds.refresh()


def ingest_columns(ds, source):
    dl.from_arrays({name: source[name] for name in source.columns}, ds.url)
    ds.refresh()


def ingest_by_key(ds, source):
    dl.from_dataframe(source.to_arrow(), ds.url, on="k")
    ds.refresh()


def ingest_new_rows(ds, source):
    ds.delete(np.flatnonzero(ds["k"][:] == 1))
    ds.commit()
    dl.from_dataframe(source.to_arrow(), ds.url, on="k", update=False)
    ds.refresh()


def ingest_into_a_new_lake(ds, source):
    types = {name: ds.schema[name].htype for name in source.columns}
    url = f"memory://{uuid4().hex}"
    return dl.from_dataframe(source.to_arrow(), url, schema=types)


TABLES = [
    append_arrow,
    upsert_arrow,
    ingest_arrow,
    ingest_by_key,
    ingest_new_rows,
    ingest_into_a_new_lake,
]
"""Ways to write in which classes are passed as names to any type."""

WAYS = [
    ingest_columns,
    *TABLES,
    append,
    append_a_query,
    append_columns,
    update,
    update_by_id,
    assign,
    upsert,
    upsert_a_query,
    add_columns,
]
"""Ways to write the rows of a view into a lake, as its last two rows."""


def plain(value):
    """Return values in lists."""
    if value is None or value is np.ma.masked:
        return None
    if isinstance(value, np.ma.MaskedArray):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "mM":
        return value.astype(np.int64).tolist()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [plain(v) for v in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_values_preserve_their_meaning(way, sources, make_target):
    ds = make_target(CONVERTED)
    source = sources[0][
        [c for c in sources[0].columns if way not in TABLES or c != "class numbers"]
    ]
    ds = way(ds, source) or ds
    result = {case: plain(ds[case][-2:]) for case in source.columns[1:]}
    assert result == {case: plain(CONVERTED[case][-1]) for case in source.columns[1:]}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_values_without_an_equivalent_are_refused(way, sources, make_target):
    ds = make_target(REFUSED)
    named = {case for case, (of, *_) in REFUSED.items() if of.name == "class_label"}
    for case in REFUSED.keys() - (named if way in (*TABLES, ingest_columns) else set()):
        with pytest.raises(
            dl.InvalidValueError,
            match=rf"column '{case}'.* from a column of type .* to a column of type ",
        ):
            way(ds, sources[1][["k", case]])
