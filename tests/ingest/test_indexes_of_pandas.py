"""Pandas indexes become columns, except for numbers of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pandas as pd
import pyarrow as pa
import pytest

import deeplake_lite as dl

if TYPE_CHECKING:
    from pathlib import Path

FRAME = pd.DataFrame({"a": [1, 2, 3, 4], "b": list("wxyz")})
CHANGED = {
    "filtered": FRAME[FRAME.a != 2],
    "shuffled": FRAME.iloc[[2, 0, 3, 1]],
    "of two numbers": FRAME.set_index([pd.Index([1, 1, 2, 2]), pd.Index([1, 2, 1, 2])]),
}
KEPT = {
    "of texts": FRAME.set_index(pd.Index(list("stuv"))),
    "of days": FRAME.set_index(pd.date_range("2020-01-01", periods=4)),
    "of two levels": FRAME.set_index([pd.Index([1, 1, 2, 2]), pd.Index(list("stuv"))]),
    "next to a column": FRAME.rename(columns={"a": "index"}).set_index(pd.Index(list("stuv"))),
    "of a level with a name": FRAME.set_index(
        pd.MultiIndex.from_arrays([[1, 1, 2, 2], list("stuv")], names=["n", None])
    ),
}


def url() -> str:
    return f"memory://{uuid4().hex}"


def rows(ds: Any) -> dict[str, list[Any]]:
    result: dict[str, list[Any]] = ds.to_arrow().to_pydict()
    return result


@pytest.mark.parametrize("name", CHANGED)
def test_unnamed_numbers_of_rows_are_left_out(tmp_path: Path, name: str) -> None:
    frame = CHANGED[name]
    expected = frame.to_dict("list")
    table = pa.Table.from_pandas(frame)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_parquet(tmp_path / "b.parquet")
    ds = dl.create(url(), {"a": "int64", "b": "text"})
    ds.append(table)
    assert rows(ds) == expected
    assert rows(dl.from_dataframe(frame, url(), progress=False)) == expected
    assert rows(dl.from_dataframe(table, url(), progress=False)) == expected
    assert rows(dl.from_parquet(tmp_path / "a.parquet", url(), progress=False)) == expected
    both = dl.from_parquet(f"{tmp_path}/*.parquet", url(), progress=False)
    assert rows(both) == {key: values * 2 for key, values in expected.items()}


@pytest.mark.parametrize("name", KEPT)
def test_unnamed_index_of_data_becomes_columns(tmp_path: Path, name: str) -> None:
    frame = KEPT[name]
    expected = frame.reset_index().to_dict("list")
    table = pa.Table.from_pandas(frame)
    frame.to_parquet(tmp_path / "a.parquet")
    assert rows(dl.from_dataframe(frame, url(), progress=False)) == expected
    assert rows(dl.from_dataframe(table, url(), progress=False)) == expected
    assert rows(dl.from_parquet(tmp_path / "a.parquet", url(), progress=False)) == expected
    ds = dl.from_parquet(tmp_path / "a.parquet", url(), columns=["b"], progress=False)
    assert rows(ds) == {"b": list("wxyz")}


@pytest.mark.parametrize("label", ["id", "0"])
def test_named_index_becomes_a_column(tmp_path: Path, label: str) -> None:
    frame = FRAME.iloc[[2, 0, 3]].rename_axis(label)
    expected = {**frame.to_dict("list"), label: [2, 0, 3]}
    frame.to_parquet(tmp_path / "a.parquet")
    table = pa.Table.from_pandas(frame)
    assert rows(dl.from_dataframe(frame, url(), progress=False)) == expected
    assert rows(dl.from_dataframe(table, url(), progress=False)) == expected
    assert rows(dl.from_parquet(tmp_path / "a.parquet", url(), progress=False)) == expected


def test_csv_with_an_index_says_how_to_leave_it_out(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "a.csv")
    with pytest.raises(dl.errors.InvalidValueError, match=r"columns=\['a', 'b'\]") as error:
        dl.from_csv(tmp_path / "a.csv", url())
    assert "index=False" in str(error.value)
    ds = dl.from_csv(tmp_path / "a.csv", url(), columns=["a", "b"], progress=False)
    assert rows(ds) == FRAME.to_dict("list")
    ds = dl.from_csv(tmp_path / "a.csv", url(), columns=["b"], progress=False)
    assert rows(ds) == {"b": list("wxyz")}


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_selected_columns_are_unique_names(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"a.{format}"
    (FRAME.to_csv if format == "csv" else FRAME.to_parquet)(path, index=False)
    read = getattr(dl, f"from_{format}")
    assert read(path, url(), columns="b", progress=False).columns == ("b",)
    assert read(path, url(), columns=["b", "a"], progress=False).columns == ("b", "a")
    with pytest.raises(dl.errors.OptionError, match="'b' twice"):
        read(path, url(), columns=["b", "a", "b"])
    for wrong in (5, b"a", {"a"}):
        with pytest.raises(dl.errors.OptionError, match="list of names"):
            read(path, url(), columns=wrong)
    for unknown in ("c", 1, None):
        with pytest.raises(dl.errors.NotFoundError, match="There is no column"):
            read(path, url(), columns=[unknown])


WITHOUT_NAMES = {
    "twice": pa.DictionaryArray.from_arrays([0, 1, 2], ["a", "a", "b"]),
    "empty": pa.array(["", "b"]).dictionary_encode(),
    "a category": pd.Series(["", "b"], dtype="category"),
}


@pytest.mark.parametrize("name", WITHOUT_NAMES)
def test_invalid_class_names_are_refused_with_the_column(name: str) -> None:
    given = {"petal": WITHOUT_NAMES[name]}
    with pytest.raises(dl.SchemaError, match=r"'petal'.*schema=\{'petal': dl\.Text\(\)\}"):
        dl.from_arrays(given, url())
    ds = dl.from_arrays(given, url(), schema={"petal": "text"}, progress=False)
    assert rows(ds)["petal"] == pd.Series(WITHOUT_NAMES[name]).tolist()
