"""Parquet files of one dataset may differ in their columns, and folders may name values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as arrow_dataset
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

READ = ["from_parquet", "from_huggingface"]


def write(folder: Path, *tables: Any) -> Path:
    for n, table in enumerate(tables):
        pq.write_table(table if isinstance(table, pa.Table) else pa.table(table),
                       folder / f"{n}.parquet")  # fmt: skip
    return folder


def rows(ds: Any) -> dict[str, list[Any]]:
    result: dict[str, list[Any]] = ds.to_arrow().to_pydict()
    return result


@pytest.mark.parametrize("read", READ)
def test_a_column_of_some_files_is_null_in_the_others(
    tmp_path: Path, new_url: Callable[[], str], read: str
) -> None:
    a, b = {"x": [1], "only_a": ["a"]}, {"only_b": [2.5], "x": [2]}
    ds = getattr(dl, read)(write(tmp_path, a, b), new_url(), progress=False)
    assert rows(ds) == {"x": [1, 2], "only_a": ["a", None], "only_b": [None, 2.5]}
    assert not ds.schema["x"].htype.nullable
    assert ds.schema["only_b"].htype.nullable


def test_a_required_column_of_some_files_is_null_in_the_others(
    tmp_path: Path, new_url: Callable[[], str]
) -> None:
    required = pa.schema([pa.field("y", pa.int8(), nullable=False)])
    write(tmp_path, {"x": [1]}, pa.table({"y": [2]}, schema=required))
    ds = dl.from_parquet(tmp_path, new_url(), progress=False)
    assert rows(ds) == {"x": [1, None], "y": [None, 2]}


PAIRS = {
    "null": (pa.array([None]), pa.array(["a"]), [None, "a"]),
    "value, then null": (pa.array([1]), pa.array([None]), [1, None]),
    "integers": (pa.array([1], pa.int32()), pa.array([2**40]), [1, 2**40]),
    "integers, then floats": (pa.array([1]), pa.array([1.5]), [1.0, 1.5]),
    "floats, then integers": (pa.array([1.5]), pa.array([2**53]), [1.5, 2.0**53]),
    "classes": (pa.array(["a"]).dictionary_encode(), pa.array(["b"]), ["a", "b"]),
    "structs": (pa.array([{"a": 1}]), pa.array([{"a": 2, "b": "x"}]),
                ['{"a":1,"b":null}', '{"a":2,"b":"x"}']),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_types_are_widened(tmp_path: Path, new_url: Callable[[], str], name: str) -> None:
    a, b, expected = PAIRS[name]
    ds = dl.from_parquet(write(tmp_path, {"x": a}, {"x": b}), new_url(), progress=False)
    assert rows(ds) == {"x": expected}


@pytest.mark.parametrize(
    ("a", "b", "expected", "file"),
    [
        ([1], ["a"], ["1", "a"], 1),
        ([1.5], [2**53 + 1], ["1.5", "9007199254740993"], 1),
        ([2**53 + 1], [1.5], ["9007199254740993", "1.5"], 0),
        (["a"], [True], ["a", "true"], 1),
    ],
)
def test_types_that_do_not_fit_are_an_error_unless_declared(
    tmp_path: Path, new_url: Callable[[], str], a: Any, b: Any, expected: Any, file: int
) -> None:
    write(tmp_path, {"x": a}, {"x": b})
    for read in READ:
        with pytest.raises(dl.errors.InvalidValueError, match=r"dl\.Text\(\)") as error:
            getattr(dl, read)(tmp_path, new_url())
        assert f"{file}.parquet" in str(error.value)
        assert "'x'" in str(error.value)
        ds = getattr(dl, read)(tmp_path, new_url(), schema={"x": dl.Text()}, progress=False)
        assert rows(ds) == {"x": expected}


def test_files_that_name_classes_in_other_orders_are_refused(
    tmp_path: Path, new_url: Callable[[], str]
) -> None:
    tables = []
    for names in (["cat", "dog"], ["dog", "cat"]):
        features = {"x": {"_type": "ClassLabel", "names": names}}
        info = json.dumps({"info": {"features": features}})
        tables.append(pa.table({"x": [0]}).replace_schema_metadata({"huggingface": info}))
    with pytest.raises(dl.errors.InvalidValueError, match=r"'x' differently"):
        dl.from_parquet(write(tmp_path, *tables), new_url())


@pytest.mark.parametrize("read", [*READ, "ingest"])
def test_names_of_folders_become_columns(
    tmp_path: Path, new_url: Callable[[], str], read: str
) -> None:
    table = pa.table({"x": [1, 2, 3], "y": [2020, 2021, 2021], "z": ["a/b", "01", None]})
    root = tmp_path / "out=1"
    arrow_dataset.write_dataset(
        table, root, format="parquet", partitioning=["y", "z"], partitioning_flavor="hive"
    )
    ds = getattr(dl, read)(root, new_url(), progress=False)
    found = ds.to_arrow().sort_by("x")
    assert found.to_pydict() == table.to_pydict()
    assert ds.schema["y"].htype.scalar == "int64"
    if read == "from_parquet":
        ds = dl.from_parquet(f"{root}/y=2021/*/*.parquet", new_url(), progress=False)
        assert rows(ds.query("SELECT * ORDER BY x"))["x"] == [2, 3]


def test_a_column_of_the_file_precedes_that_of_the_folder(
    tmp_path: Path, new_url: Callable[[], str]
) -> None:
    (tmp_path / "y=1").mkdir()
    write(tmp_path / "y=1", {"y": ["own"]})
    assert rows(dl.from_parquet(tmp_path, new_url(), progress=False)) == {"y": ["own"]}
