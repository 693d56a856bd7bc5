"""Views are exported as TFRecord and ArrayRecord files, and read back as the same cells."""

from __future__ import annotations

import warnings
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given, settings

import deeplake_lite as dl
from deeplake_lite.errors import ExportWarning
from deeplake_lite.testing.strategies import tables
from tests.dataset.export.test_round_trips import COLUMNS

WAYS = {
    "tfrecord": (dl.Dataset.to_tfrecord, dl.from_tfrecord),
    "arrayrecord": (dl.Dataset.to_arrayrecord, dl.from_arrayrecord),
}


def url():
    return f"memory://{uuid4().hex}"


def cells(ds, name):
    """Return the stored form of each cell."""
    return ds.handle.table.digests(ds.schema[name].id, np.arange(len(ds))).tolist()


def assert_same(new, ds):
    assert [(f.name, f.htype) for f in new.schema] == [(f.name, f.htype) for f in ds.schema]
    for name in ds.columns:
        assert cells(new, name) == cells(ds, name), name


@pytest.mark.parametrize("way", WAYS)
def test_every_type_round_trips(way, tmp_path):
    write, read = WAYS[way]
    wrong = []
    for number, (name, (schema, values)) in enumerate(COLUMNS.items()):
        ds = dl.create(url(), schema)
        ds.append({name: values})
        ds.commit()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExportWarning)
                write(ds, tmp_path / str(number))
            assert_same(read(tmp_path / str(number), url(), progress=False), ds)
        except Exception as error:
            wrong.append(f"{name}: {error!r:.300}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("way", WAYS)
@given(table=tables(min_size=1))
@settings(max_examples=60, deadline=None)
def test_any_view_round_trips(way, table, tmp_path_factory):
    write, read = WAYS[way]
    schema, rows = table
    ds = dl.create(url(), schema)
    ds.append(rows)
    ds.commit()
    folder = tmp_path_factory.mktemp("out")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExportWarning)
            write(ds, folder, shard_bytes=100)
    except dl.InvalidValueError:
        assert any(f.htype.value_dtype == "float64" for f in ds.schema)
        return
    new = read(folder, url(), progress=False)
    assert [(f.name, f.htype) for f in new.schema] == [(f.name, f.htype) for f in ds.schema]
    for f in ds.schema:
        if f.htype.value_dtype != "float64":
            assert cells(new, f.name) == cells(ds, f.name), f
