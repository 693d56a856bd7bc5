"""Rows without a key, taken in again: a notebook's cell that is run twice writes them once."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

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
