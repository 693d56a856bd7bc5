"""Rows without a key, taken in again: a notebook's cell that is run twice writes them once."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl


def frame():
    return pd.DataFrame({"name": ["rose", "lily"], "vector": [np.zeros(2), np.ones(3)]})


def test_the_same_dataframe_twice_is_there_once(url, capsys):
    first = dl.from_dataframe(frame(), url)
    again = dl.from_dataframe(frame(), url)
    assert again.version == first.version
    assert (again.ingested.added, again.ingested.unchanged) == (0, 2)
    assert again.ingested.repeated == first.version
    assert f"nothing added: version {first.version} has these rows" in capsys.readouterr().err


def test_the_same_arrays_are_told_after_others_came_between(url):
    dl.from_arrays({"x": np.arange(10)}, url)
    dl.from_arrays({"x": np.arange(20)}, url)
    ds = dl.from_arrays({"x": np.arange(10)}, url, progress=False)
    assert len(ds) == 30


def test_other_rows_are_appended(url):
    dl.from_dataframe(frame(), url)
    assert len(dl.from_dataframe(frame().iloc[::-1], url)) == 4


def test_by_force_rows_are_added_once_more(url):
    dl.from_dataframe(frame(), url)
    assert len(dl.from_dataframe(frame(), url, update="force")) == 4


def test_the_same_file_is_not_read_again_and_one_of_the_same_rows_adds_nothing(tmp_path, url):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,a\n2,b\n")
    dl.from_csv(path, url)
    assert dl.from_csv(path, url, progress=False).ingested.unchanged == 2
    os.utime(path, (1, 1))
    assert len(dl.from_csv(path, url, progress=False)) == 2
    pq.write_table(pa.table({"x": [1, 2], "y": ["a", "b"]}), tmp_path / "a.parquet")
    assert len(dl.from_parquet(tmp_path / "a.parquet", url, progress=False)) == 2
    path.write_text("x,y\n1,a\n2,c\n")
    assert len(dl.from_csv(path, url)) == 4


@pytest.mark.parametrize("own", [False, True], ids=["forward", "merge"])
def test_what_a_merged_branch_took_in_is_not_taken_again(tmp_path, own):
    (tmp_path / "s.csv").write_text("v\n" + "\n".join(map(str, range(100))) + "\n")
    url = tmp_path / "x.lake"
    ds = dl.create(url, {"v": "int64"})
    ds.append({"v": [-1]})
    ds.commit("one row")
    ds.branch("other")
    dl.from_csv(tmp_path / "s.csv", url, branch="other")
    ds = dl.open(url)
    if own:
        ds.append({"v": [-2]})
        ds.commit("another")
    ds.merge("other")
    again = dl.from_csv(tmp_path / "s.csv", url)
    assert len(again) == 101 + own
    assert again.ingested.added == 0


def _csv(path, values):
    path.write_text("v\n" + "\n".join(map(str, values)) + "\n")


@pytest.mark.parametrize("how", ["keyed", "force", "restored"])
def test_a_file_that_changes_after_an_interruption_is_not_taken_twice(tmp_path, how):
    rows = 60_000
    file, url = tmp_path / "s.csv", tmp_path / "x.lake"
    _csv(file, [*range(50_000), "bad", *range(50_001, rows)])
    schema = {"v": "int64"}
    before = dl.create(url, schema).version
    with pytest.raises(dl.InvalidValueError, match="bad"):
        dl.from_csv(file, url, schema=schema, commit_every=10_000)
    taken = len(dl.open(url))
    assert 0 < taken < rows
    _csv(file, range(rows))
    with pytest.raises(
        dl.InvalidValueError, match=r"changed since .* committed [\d,]+ of its rows"
    ):
        dl.from_csv(file, url, schema=schema, commit_every=10_000)
    if how == "keyed":
        assert len(dl.from_csv(file, url, schema=schema, on="v")) == rows
    if how == "force":
        assert len(dl.from_csv(file, url, schema=schema, update="force")) == rows + taken
    if how == "restored":
        ds = dl.open(url)
        ds.restore(before)
        ds.commit("empty again")
        assert len(dl.from_csv(file, url, schema=schema, update="force")) == rows


def test_another_file_of_the_name_is_another_source(tmp_path):
    url = tmp_path / "x.lake"
    for folder, values in (("a", [*range(60_000), "bad"]), ("b", [1, 2])):
        (tmp_path / folder).mkdir()
        _csv(tmp_path / folder / "s.csv", values)
    schema = {"v": "int64"}
    with pytest.raises(dl.InvalidValueError):
        dl.from_csv(tmp_path / "a" / "s.csv", url, schema=schema, commit_every=10_000)
    taken = len(dl.open(url))
    assert len(dl.from_csv(tmp_path / "b" / "s.csv", url, schema=schema)) == taken + 2
