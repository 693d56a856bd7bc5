"""Every type survives a round trip through Arrow, Parquet, pandas or a column."""

from dataclasses import replace
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl
from deeplake_lite.htypes import resolve
from tests.dataset.everything import SCHEMA, VALUES

MORE = {
    "complex list": (dl.Array("complex64", (None,)), [[1 + 2j], [], [3, 4j]]),
    "complex block": (
        dl.Array("complex128", (2, 2), nullable=True),
        [np.eye(2) * 1j, None, np.zeros((2, 2))],
    ),
    "complex any": (dl.Array("complex64", None), [[1 + 2j], np.zeros((2, 0)), [[3, 4j]]]),
    "complex sequence": (
        dl.Sequence(dl.Scalar("complex64", nullable=True)),
        [[1j, None], [], [2]],
    ),
    "complex nan": (dl.Scalar("complex64"), [1j, complex("nan"), 2]),
    "no rows of five": (
        dl.Array("int8", (None, None), nullable=True),
        [np.zeros((0, 5)), None, [[1, 2]]],
    ),
    "nobody's points": (dl.Keypoints(), [np.zeros((0, 7, 3)), [[[1, 2, 1]]], []]),
    "large classes": (dl.Mask(dtype="int32"), [[[1, 2]], [[70_000]], [[0]]]),
    "years": (dl.Scalar("timedelta64[Y]", nullable=True), ["5 Y", None, "-1 Y"]),
    "hours": (dl.Scalar("timedelta64[h]", nullable=True), ["5 h", None, "1 h"]),
    "months": (dl.Sequence(dl.Scalar("timedelta64[M]")), [["5 M"], [], ["1 M"]]),
    "no objects": (
        dl.Sequence(dl.Mask("instance")),
        [[np.zeros((0, 2, 3), bool)], [], [np.ones((1, 1, 1), bool)]],
    ),
    "any axes": (dl.Array("float64", None, nullable=True), [np.zeros((0, 3)), None, [3.0]]),
    "block": (
        dl.Array("float32", (2, 3), nullable=True),
        [np.zeros((2, 3)), None, np.ones((2, 3))],
    ),
}
NAN = float("nan")
MORE |= {
    f"{inner} in sequences": (
        dl.Sequence(replace(resolve(SCHEMA[inner]), nullable=nullable)),
        [VALUES[inner][:2], [], VALUES[inner][2:]],
    )
    for inner in sorted(SCHEMA.keys() - {"link", "words", "counts", "frames"})
    for nullable in [any(value is None for value in VALUES[inner])]
}
MORE |= {
    "not a number in sequences": (
        dl.Sequence(dl.Scalar("float32", nullable=True)),
        [[1, NAN, None], [], [NAN]],
    ),
    "not a number in arrays": (dl.Sequence(dl.Array("float32", (2,))), [[[1, NAN]], [], [[2, 3]]]),
    "times in sequences": (
        dl.Sequence(dl.Scalar("datetime64[us]", nullable=True)),
        [["2026-01-02", None], [], [None]],
    ),
}
COLUMNS = {name: (dl.Schema.build({name: SCHEMA[name]}), VALUES[name]) for name in SCHEMA} | {
    name: (dl.Schema.build({name: htype}), values) for name, (htype, values) in MORE.items()
}


def url():
    return f"memory://{uuid4().hex}"


def lake_of_every_type():
    """Return a lake with all columns; tests of files export it once, instead of each column."""
    ds = dl.create(url(), {name: schema[name].htype for name, (schema, _) in COLUMNS.items()})
    ds.append({name: values for name, (_, values) in COLUMNS.items()})
    ds.commit("made")
    return ds


def appended(data, ds):
    new = dl.create(url(), ds.schema)
    new.append(data)
    new.commit("appended")
    return new


def parquet(ds, folder, **options):
    pq.write_table(ds.to_arrow(), folder / "table.parquet")
    return dl.from_parquet(folder / "table.parquet", url(), **options)


WAYS = {
    "append a view": lambda ds, *_: appended(ds, ds),
    "append a column": lambda ds, name, _: appended({name: ds[name]}, ds),
    "append an Arrow table": lambda ds, *_: appended(ds.to_arrow(), ds),
    "append a DataFrame": lambda ds, *_: appended(ds.to_pandas(), ds),
    "from_dataframe, of Arrow": lambda ds, *_: dl.from_dataframe(ds.to_arrow(), url()),
    "from_dataframe, with its schema": lambda ds, *_: dl.from_dataframe(
        ds.to_pandas(), url(), schema=ds.schema
    ),
    "from_arrays": lambda ds, name, _: dl.from_arrays({name: ds[name]}, url()),
    "from_arrays, with its schema": lambda ds, name, _: dl.from_arrays(
        {name: ds[name]}, url(), schema=ds.schema
    ),
    "from_parquet": lambda ds, _, folder: parquet(ds, folder),
    "from_parquet, with its schema": lambda ds, _, folder: parquet(ds, folder, schema=ds.schema),
}


@pytest.fixture(scope="module")
def lakes():
    made = {}
    for name, (schema, values) in COLUMNS.items():
        made[name] = dl.create(url(), schema)
        made[name].append({name: values})
        made[name].commit("made")
    return made


def cells_of(ds, name):
    """Return the stored form of each cell."""
    return ds.handle.table.digests(ds.schema[name].id, np.arange(3)).tolist()


@pytest.mark.parametrize("way", WAYS)
def test_every_type_round_trips(way, lakes, tmp_path):
    wrong = []
    for name, ds in lakes.items():
        try:
            new = WAYS[way](ds, name, tmp_path)
        except Exception as error:
            wrong.append(f"{name}: {error!r:.300}")
            continue
        if new.schema[name].htype != ds.schema[name].htype:
            wrong.append(f"{name}: type {new.schema[name].htype}")
        elif cells_of(new, name) != cells_of(ds, name):
            wrong.append(f"{name}: {new[name][:]!r:.200}")
    assert not wrong, "\n".join(wrong)


def test_columns_of_a_lake_are_read_in_parts(lakes, monkeypatch):
    from deeplake_lite.ingest.tables import arrays

    monkeypatch.setattr(arrays, "LAKE_ROWS", 1)
    asked = []
    values = arrays.LakeColumn.values
    monkeypatch.setattr(
        arrays.LakeColumn, "values", lambda *given: asked.append(given) or values(*given)
    )
    new = dl.from_arrays({"image": lakes["image"]["image"]}, url())
    assert len(asked) == 3
    assert cells_of(new, "image") == cells_of(lakes["image"], "image")


def test_unreadable_type_metadata_falls_back_to_the_arrow_type(lakes, tmp_path):
    table = lakes["x"].to_arrow()
    for note in (
        "",
        "{",
        "[]",
        '{"htype": "sequence"}',
        '{"htype": "nothing"}',
        '{"htype": "array", "shape": "x"}',
    ):
        field = table.schema.field("x").with_metadata({"deeplake_lite.htype": note})
        noted = pa.Table.from_arrays(table.columns, schema=pa.schema([field]))
        pq.write_table(noted, tmp_path / "x.parquet")
        ds = dl.from_parquet(tmp_path / "x.parquet", url())
        assert ds.schema["x"].htype == dl.Scalar("int32")


def test_integers_are_not_durations_of_other_units():
    ds = dl.create(url(), {"x": "timedelta64[s]"})
    with pytest.raises(dl.InvalidValueError, match="must be a duration"):
        ds.append({"x": [5]})


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_and_null_stay_distinct_in_tables(dtype):
    schema = {"k": "int32", "x": dl.Scalar(dtype, nullable=True)}

    def make(name):
        return dl.create(f"memory://{name}-{uuid4().hex}", schema)

    source = make("source")
    source.append({"k": range(3), "x": [1.0, float("nan"), None]})
    source.commit()
    ways = {
        "pandas": lambda ds: ds.append(source.to_pandas()),
        "arrow": lambda ds: ds.append(source.to_arrow()),
        "upsert": lambda ds: ds.upsert(source.to_pandas(), on="k"),
        "query": lambda ds: ds.append(source.query("SELECT k, x + 0 AS x")),
        "update": lambda ds: (ds.append({"k": range(3)}), ds.update(range(3), source.to_pandas())),
        "from_dataframe": lambda ds: dl.from_dataframe(source.to_pandas(), ds.url),
    }
    for name, way in ways.items():
        ds = make(name)
        way(ds)
        ds.refresh() if name == "from_dataframe" else None
        result = ds["x"][:]
        assert np.ma.getmaskarray(result).tolist() == [False, False, True], name
        assert np.isnan(np.ma.getdata(result)[:2]).tolist() == [False, True], name
