"""The writer: schema checks, errors, intermediate commits, crashes and progress."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl
from deeplake_lite.ingest.encoding import read_ahead
from deeplake_lite.ingest.options import Options
from deeplake_lite.ingest.tables.arrays import MemorySource
from deeplake_lite.ingest.writer import ingest

from .conftest import fill

ROWS = 3_000


def test_error_leaves_the_lake_unchanged(url):
    dl.from_arrays({"k": ["a"], "x": [1]}, url, on="k")
    before = dl.open(url).version
    bad = {"k": ["b", "c"], "x": [1, "no number"]}
    with pytest.raises(dl.InvalidValueError, match=r"column 'x'.*arrays, row 1"):
        dl.from_arrays(bad, url, on="k", schema={"x": "int64"})
    assert dl.open(url).version == before


def test_types_of_the_lake_apply_and_a_column_that_it_lacks_is_named(url):
    dl.create(url, {"k": "text", "x": "float32", "z": dl.Scalar("int8", nullable=True)})
    ds = dl.from_arrays({"k": ["a"], "x": [1]}, url, on="k")
    assert ds["x"].htype == dl.Scalar("float32")
    assert ds[0]["z"] is None
    with pytest.raises(dl.SchemaError, match=r"has no column 'y'\. First add it"):
        dl.from_arrays({"k": ["a"], "y": [1]}, url, on="k")
    with pytest.raises(dl.SchemaError, match="not Scalar\\('int8'\\)"):
        dl.from_arrays({"k": ["a"], "x": [1]}, url, on="k", schema={"x": "int8"})


def test_column_without_a_default_must_be_given(url):
    dl.from_arrays({"k": ["a"], "x": [1]}, url, on="k")
    with pytest.raises(
        dl.SchemaError, match="no column 'x', and this column of the lake has no default"
    ):
        dl.from_arrays({"k": ["b"]}, url, on="k")


def test_empty_lake_adopts_the_given_types(url):
    rows = {"x": ["1", "b"]}
    with pytest.raises(dl.InvalidValueError):
        dl.from_arrays(rows, url, schema={"x": "int64"})
    assert dl.from_arrays(rows, url, schema={"x": "text"})["x"][:] == ["1", "b"]


def test_bad_rows_are_found_in_all_columns_at_once(url):
    rows = {"x": [1, "a", 3, 4], "y": [1, 2, "b", 4]}
    schema = {"x": "int64", "y": "int64"}
    ds = dl.from_arrays(rows, url, schema=schema, on_error="skip", progress=False)
    assert ds["y"][:].tolist() == [1, 4]
    assert [s.path for s in ds.ingested.skipped] == ["arrays, row 1", "arrays, row 2"]
    assert ds.ingested.skipped[0].reason.startswith("column 'x': ")


def test_ingest_of_only_bad_rows_is_empty(url):
    ds = dl.from_arrays({"x": ["a"]}, url, schema={"x": "int8"}, on_error="skip", progress=False)
    assert (len(ds), len(ds.ingested.skipped)) == (0, 1)


def test_invalid_options_are_refused(url):
    with pytest.raises(ValueError, match="on_error must be 'raise' or 'skip'"):
        dl.from_arrays({"x": [1]}, url, on_error="ignore")
    with pytest.raises(ValueError, match="commit_every must be an integer of at least 1"):
        dl.from_arrays({"x": [1]}, url, on="x", commit_every=0)
    with pytest.raises(ValueError, match=r"requires a key column.*on="):
        dl.from_arrays({"x": [1]}, url, commit_every=10)


def test_error_leaves_no_new_lake_behind(url, monkeypatch):
    monkeypatch.setattr(import_module("deeplake_lite.ingest.tables.arrays"), "BLOCK_ROWS", 1)
    with pytest.raises(dl.InvalidValueError):
        dl.from_arrays({"x": [1, "b"]}, url, schema={"x": "int64"})
    assert not os.path.exists(url)
    with pytest.raises(dl.InvalidValueError):
        dl.from_arrays({"x": ["b"]}, "memory://in-vain", schema={"x": "int64"})
    assert not dl.exists("memory://in-vain")
    assert len(dl.from_arrays({"x": ["b"]}, "memory://in-vain")) == 1


def test_error_leaves_an_empty_lake_empty(url):
    dl.create(url, {"x": "int64"})
    with pytest.raises(dl.InvalidValueError):
        dl.from_arrays({"x": ["b"]}, url)
    assert len(dl.open(url)) == 0


def test_intermediate_commits_are_kept_and_the_error_says_how_to_resume(url, monkeypatch):
    monkeypatch.setattr(import_module("deeplake_lite.ingest.tables.arrays"), "BLOCK_ROWS", 2)
    rows = {"k": [1, 2, 3, 4, 5], "x": [1, 2, 3, "bad", 5]}
    options = {"on": "k", "schema": {"x": "int64"}, "commit_every": 2}
    with pytest.raises(dl.InvalidValueError) as caught:
        dl.from_arrays(rows, url, **options)
    assert caught.value.__notes__ == [
        "Committed so far: 2 rows of the source. To resume, run the ingest again."
    ]
    assert dl.open(url)["k"][:].tolist() == [1, 2]
    ds = dl.from_arrays({**rows, "x": [1, 2, 3, 4, 5]}, url, **options)
    assert (ds.ingested.added, ds.ingested.unchanged) == (3, 2)


def test_rows_are_written_to_the_given_branch(url):
    dl.from_arrays({"x": [1]}, url).branch("more")
    ds = dl.from_arrays({"x": [2]}, url, branch="more", message="two")
    assert ds.current_branch == "more"
    assert ds.log()[0].message == "two"
    assert len(dl.open(url)) == 1


def test_new_lake_gets_the_given_branch(url):
    ds = dl.from_arrays({"x": [2]}, url, branch="more")
    assert ds.current_branch == "more"
    assert len(dl.open(url)) == 0


def test_keys_survive_other_writers_between_commits(url, monkeypatch):
    monkeypatch.setattr(import_module("deeplake_lite.ingest.tables.arrays"), "BLOCK_ROWS", 10)
    dl.from_arrays({"k": np.arange(5), "x": np.zeros(5, int)}, url, on="k")
    source = MemorySource.of({"k": np.arange(60), "x": np.arange(60)}, "k", None)
    blocks = source.blocks

    def interrupted(start=0):
        for i, block in enumerate(blocks(start)):
            if i == 3:
                other = dl.open(url)
                other.append({"k": [1_000], "x": [1]})
                other.commit("from elsewhere")
            yield block

    object.__setattr__(source, "blocks", interrupted)
    ds = ingest(source, url, commit_every=10)
    assert sorted(ds["k"][:].tolist()) == [*range(60), 1_000]
    twice = dl.from_arrays({"k": np.arange(60), "x": np.arange(60)}, url, on="k")
    assert twice.ingested.unchanged == 60


def test_fast_ingest_prints_nothing(url, capsys):
    dl.from_arrays({"x": [1]}, url)
    assert capsys.readouterr() == ("", "")


def test_slow_ingest_shows_a_progress_bar(url, capsys, monkeypatch):
    monkeypatch.setattr("deeplake_lite.dataset.repr.bars.DELAY", 0)
    monkeypatch.setattr(import_module("deeplake_lite.ingest.tables.arrays"), "BLOCK_ROWS", 500)
    dl.from_arrays({"x": np.arange(5_000)}, url)
    assert "rows" in capsys.readouterr().err
    dl.from_arrays({"x": np.arange(5_000)}, url, progress=False)
    assert capsys.readouterr().err == ""


def test_read_ahead_passes_errors_on_and_ends():
    def broken():
        yield 1
        raise KeyError("two")

    seen = []
    with pytest.raises(KeyError, match="two"):
        seen.extend(read_ahead(broken()))
    first = next(read_ahead(iter(range(10))))
    assert first == 0


CRASH = """
import sys
import deeplake_lite as dl
from deeplake_lite.ingest.folders import folder
from deeplake_lite.ingest.tables import tabular
folder.BLOCK_ROWS = tabular.BATCH_ROWS = 50
kind, source, url = sys.argv[1:]
ingest = {"folder": dl.from_folder, "parquet": dl.from_parquet}[kind]
ingest(source, url, commit_every=100, progress=False)
print("done")
"""


def run_and_kill(kind: str, source: Path, url: str, commits: int) -> None:
    """Start an ingest in a process of its own and kill it after some commits."""
    process = subprocess.Popen([sys.executable, "-c", CRASH, kind, str(source), url])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(Exception):  # the lake is still being created
            if len(dl.open(url).log()) > commits:
                break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL


def run_to_the_end(kind: str, source: Path, url: str) -> None:
    command = [sys.executable, "-c", CRASH, kind, str(source), url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_folder_resumes_after_a_kill_without_duplicates(tmp_path, url):
    paths = [f"{i % 3}/{i:04}.png" for i in range(ROWS // 2)]
    folder = fill(tmp_path / "photos", paths)
    run_and_kill("folder", folder, url, commits=3)
    there = len(dl.open(url))
    assert 0 < there < len(paths)
    run_to_the_end("folder", folder, url)
    ds = dl.open(url)
    assert sorted(ds["path"][:]) == sorted(paths)
    assert ds.verify()


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_rows_without_a_key_resume_after_a_kill_without_duplicates(tmp_path, url):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": np.arange(ROWS)}), path, row_group_size=50)
    run_and_kill("parquet", path, url, commits=3)
    assert 0 < len(dl.open(url)) < ROWS
    run_to_the_end("parquet", path, url)
    assert dl.open(url)["x"][:].tolist() == list(range(ROWS))
    run_to_the_end("parquet", path, url)  # it had finished
    assert len(dl.open(url)) == ROWS


def test_ctrl_c_drops_uncommitted_rows_and_the_next_run_resumes(url, monkeypatch):
    monkeypatch.setattr(import_module("deeplake_lite.ingest.tables.arrays"), "BLOCK_ROWS", 10)
    rows = {"k": np.arange(100)}
    source = MemorySource.of(rows, "k", None)
    blocks = source.blocks

    def interrupted(start=0):
        for i, block in enumerate(blocks(start)):
            if i == 5:
                raise KeyboardInterrupt
            yield block

    object.__setattr__(source, "blocks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ingest(source, url, commit_every=20)
    assert len(dl.open(url)) == 40
    assert dl.from_arrays(rows, url, on="k")["k"][:].tolist() == list(range(100))


FUNCTIONS = [dl.from_arrays, dl.from_csv, dl.from_dataframe, dl.from_folder, dl.from_parquet]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_unknown_option_error_names_the_function_and_the_nearest_option(function, url):
    name = function.__name__
    with pytest.raises(TypeError, match=rf"{name}\(\) has no option 'onerror'\. .*'on_error'\?"):
        function("nowhere", url, onerror="skip")
    assert not dl.exists(url)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_help_lists_every_option(function):
    for name in Options.__annotations__:
        assert f"\n    {name} : " in function.__doc__
    assert "**options" not in function.__doc__


def test_garbage_collector_is_paused_while_a_block_is_read_and_runs_again():
    seen = []

    def blocks():
        for n in range(3):
            seen.append(gc.isenabled())
            yield n

    assert list(read_ahead(blocks())) == [0, 1, 2]
    assert seen == [False] * 3
    assert gc.isenabled()

    def failing():
        yield 0
        raise ValueError("cannot be read")

    with pytest.raises(ValueError, match="cannot be read"):
        list(read_ahead(failing()))
    assert gc.isenabled()
