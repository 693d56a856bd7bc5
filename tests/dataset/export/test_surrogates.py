"""Lone surrogates in any string are stored unchanged or refused with their position, never lost."""

# ruff: noqa: ARG005  every case takes the lake
from __future__ import annotations

from uuid import uuid4

import numpy as np
import pandas as pd
import pytest

import deeplake_lite as dl

BAD = "a\ud800b"


def url():
    return f"memory://{uuid4().hex}"


@pytest.fixture(scope="module")
def ds():
    nullable = {
        "t": dl.Text(nullable=True), "j": dl.Json(nullable=True),
        "c": dl.ClassLabel(["x"], nullable=True),
        "s": dl.Sequence(dl.Text(), nullable=True), "n": dl.Sequence(dl.Json(), nullable=True),
        "l": dl.ClassLabel(["x"], multiple=True, nullable=True),
        "p": dl.Link(dl.Image(), nullable=True),
    }  # fmt: skip
    ds = dl.create(url(), {"k": "int32", **nullable})
    ds.append({"k": [0], "t": ["a"], "j": [{"a": 1}]})
    ds.commit()
    return ds


VALUES = {
    "t": BAD, "j": BAD, "c": BAD, "s": [BAD], "n": [{"a": BAD}], "l": [BAD], "p": BAD,
}  # fmt: skip


@pytest.mark.parametrize("column", VALUES)
def test_values_are_refused_with_column_and_row(ds, column):
    values = {"k": [1], column: [VALUES[column]]}
    for write in (
        lambda: ds.append(values),
        lambda: ds.append(pd.DataFrame(values, dtype=object)),
        lambda: ds.update([0], {column: [VALUES[column]]}),
        lambda: ds.upsert({"k": [0], column: [VALUES[column]]}, on="k"),
    ):
        with pytest.raises(dl.InvalidValueError, match=f"column '{column}'"):
            write()
    assert len(ds) == 1


@pytest.mark.parametrize("value", [{BAD: 1}, [[{"a": [BAD]}]]])
def test_documents_are_refused_wherever_a_surrogate_occurs(ds, value):
    with pytest.raises(dl.InvalidValueError, match="column 'j', row 0"):
        ds.append({"k": [1], "j": [value]})


PLACES = {
    "column": lambda ds: dl.create(url(), {BAD: "int32"}),
    "new column": lambda ds: ds.add_column(BAD, "int32", values=[1]),
    "other name": lambda ds: ds.rename_column("t", BAD),
    "class": lambda ds: dl.ClassLabel([BAD]),
    "class of a mask": lambda ds: dl.Mask(names=[BAD]),
    "point": lambda ds: dl.Keypoints([BAD]),
    "default": lambda ds: dl.create(url(), {"a": dl.Text(default=BAD)}),
    "message": lambda ds: ds.commit(BAD),
    "branch": lambda ds: ds.branch(BAD),
    "tag": lambda ds: ds.tag(BAD),
    "checkout": lambda ds: ds.checkout(BAD),
    "version": lambda ds: dl.open(ds.url, version=BAD),
    "view": lambda ds: ds[:1].save(BAD),
    "open": lambda ds: dl.open(f"/tmp/{BAD}"),
    "create": lambda ds: dl.create(f"/tmp/{BAD}", {"a": "int32"}),
    "in memory": lambda ds: dl.create(f"memory://{BAD}", {"a": "int32"}),
    "exists": lambda ds: dl.exists(f"/tmp/{BAD}"),
    "folder": lambda ds: dl.from_folder(f"/tmp/{BAD}", url()),
    "file": lambda ds: dl.from_csv(f"/tmp/{BAD}.csv", url()),
    "get": lambda ds: ds[BAD],
    "literal": lambda ds: ds.query(f"SELECT '{BAD}' AS a"),
    "alias": lambda ds: ds.query(f'SELECT k AS "{BAD}"'),
    "name": lambda ds: ds.query(f"SELECT {BAD}"),
    "comment": lambda ds: ds.query(f"SELECT k -- {BAD}"),
    "source": lambda ds: ds.query(f"SELECT k FROM '{BAD}'"),
    "key": lambda ds: ds.query(f"SELECT j['{BAD}'] AS a"),
    "parameter": lambda ds: ds.query("SELECT k WHERE t = ?", [BAD]),
    "named parameter": lambda ds: ds.query("SELECT k WHERE t = $a", {"a": 1, BAD: 1}),
    "list": lambda ds: ds.query("SELECT k WHERE t IN ?", [[BAD]]),
    "array": lambda ds: ds.query("SELECT k WHERE t IN ?", [np.array([BAD])]),
    "document": lambda ds: ds.query("SELECT k WHERE j = ?", [{"a": BAD}]),
    "document key": lambda ds: ds.query("SELECT k WHERE j = ?", [{BAD: 1}]),
    "document list": lambda ds: ds.query("SELECT k WHERE j = ?", [[BAD]]),
    "part": lambda ds: ds.query("SELECT k WHERE CONTAINS(j, ?)", [BAD]),
    "words": lambda ds: ds.query("SELECT k WHERE BM25_SIMILARITY(t, ?) > 0", [BAD]),
    "sought class": lambda ds: ds.query("SELECT k WHERE c = ?", [BAD]),
}


@pytest.mark.parametrize("place", PLACES)
def test_names_and_queries_are_refused_with_a_printable_message(ds, place):
    with pytest.raises(dl.LakeError) as caught:
        PLACES[place](ds)
    str(caught.value).encode()


def test_metadata_is_stored_unchanged():
    ds = dl.create(url(), {"t": "text"})
    ds.metadata.update({BAD: 1, "b": {"c": [BAD]}})
    ds["t"].metadata["d"] = BAD
    ds.commit()
    result = dl.open(ds.url)
    assert dict(result.metadata) == {BAD: 1, "b": {"c": [BAD]}}
    assert dict(result["t"].metadata) == {"d": BAD}


def test_comparisons_match_nothing(ds):
    assert not (ds["t"] == BAD).any()
    assert not (ds["j"] == BAD).any()
    assert BAD not in ds["t"]
