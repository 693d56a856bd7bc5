"""Sets of numbered files of which some are missing are noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl
from deeplake_lite.ingest.complete import check_complete

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["a.parquet", "b-1-of-3.parquet"],
        ["a-00000-of-00002.parquet", "a-00001-of-00002.parquet"],
        ["a-00001-of-00002.parquet", "a-00002-of-00002.parquet"],
        ["x.tfrecord-00000-of-00001"],
        ["a-00000-of-00002-0123abcd.parquet", "a-00001-of-00002-fedc.parquet"],
        ["{x}-00000-of-00001.parquet"],
    ],
)
def test_complete_sets_pass(names: list[str]) -> None:
    check_complete(names)


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (["a-00000-of-00002.parquet"], "'a-00001-of-00002.parquet'"),
        (["a-00001-of-00002.parquet"], "'a-00000-of-00002.parquet'"),
        (
            ["d/x.tfrecord-00001-of-00003"],
            "2 of 3 files are missing in 'd': 'x.tfrecord-00000-of-00003'",
        ),
        (["a/t-00000-of-00002.arrow", "b/t-00001-of-00002.arrow"], "'t-00001-of-00002.arrow'"),
        (["train-00000-of-00001.q", "test-00000-of-00002.q"], "'test-00001-of-00002.q'"),
        (["{0}-00000-of-00002.q"], "'{0}-00001-of-00002.q'"),
        (["a-00000-of-00002-0123abcd.parquet"], "'a-00001-of-00002"),
        (["a-00000-of-999999999999999999.q"], "999999999999999998 of"),
    ],
)
def test_missing_files_are_named(names: list[str], missing: str) -> None:
    with pytest.raises(dl.errors.InvalidValueError, match="pass a list") as error:
        check_complete(names)
    assert missing in str(error.value)


def write(path: Path, values: list[int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"x": values}), path)


@pytest.mark.parametrize("read", ["from_parquet", "from_huggingface", "ingest"])
def test_missing_files_of_a_folder_are_an_error_unless_they_are_listed(
    tmp_path: Path, new_url: Callable[[], str], read: str
) -> None:
    paths = [tmp_path / f"train-0000{n}-of-00003.parquet" for n in (0, 2)]
    for path in paths:
        write(path, [1])
    with pytest.raises(dl.errors.InvalidValueError, match=r"train-00001-of-00003\.parquet"):
        getattr(dl, read)(tmp_path, new_url())
    with pytest.raises(dl.errors.InvalidValueError, match=r"train-00001-of-00003\.parquet"):
        dl.from_parquet(f"{tmp_path}/*.parquet", new_url())
    assert len(dl.from_parquet(paths, new_url(), progress=False)) == 2
    assert len(dl.from_huggingface(paths, new_url(), progress=False)) == 2
    assert len(dl.from_parquet(paths[0], new_url(), progress=False)) == 1
    write(tmp_path / "train-00001-of-00003.parquet", [1])
    assert len(getattr(dl, read)(tmp_path, new_url(), progress=False)) == 3


@pytest.mark.parametrize("read", ["from_parquet", "from_huggingface", "ingest"])
def test_hidden_files_are_ignored_and_all_suffixes_read(
    tmp_path: Path, new_url: Callable[[], str], read: str
) -> None:
    for n, name in enumerate(["a.parquet", "sub/b.parq", "C.PARQUET", "d.pq"]):
        write(tmp_path / name, [n])
    for name in ("_metadata.parquet", ".a.parquet", "_old/a.parquet", "sub/.x/a.parquet"):
        write(tmp_path / name, [-1])
    (tmp_path / "_SUCCESS").touch()
    ds = getattr(dl, read)(tmp_path, new_url(), progress=False)
    assert sorted(ds["x"][:].tolist()) == [0, 1, 2, 3]


def test_lists_of_other_things_are_refused(new_url: Callable[[], str]) -> None:
    for wrong in ([], [1], ()):
        with pytest.raises(dl.errors.LakeError):
            dl.from_parquet(wrong, new_url())
        with pytest.raises(dl.errors.LakeError):
            dl.from_huggingface(wrong, new_url())
