"""Sets of numbered files of which some are missing are noticed."""

from __future__ import annotations

import pytest

import deeplake_lite as dl
from deeplake_lite.ingest.complete import check_complete


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
    with pytest.raises(dl.errors.InvalidValueError, match="pass the list") as error:
        check_complete(names)
    assert missing in str(error.value)
