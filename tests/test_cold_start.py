"""Modules imported by each first step in a new process, since imports dominate its duration."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import deeplake_lite as dl

SCHEMA = {
    "image": dl.Image("png"),
    "label": dl.ClassLabel(["rose", "tulip"]),
    "note": dl.Text(nullable=True),
    "boxes": dl.Boxes(),
    "size": "float32",
}

STEPS = {
    "import": "import deeplake_lite as dl",
    "open": "ds = dl.open(url)",
    "look": "len(ds), ds.columns, ds.schema, ds.branches, ds.tags, ds.log(), ds.current_branch",
    "numbers": "ds['label'][:], ds['size'][:], ds['boxes'][:]",
    "texts": "ds['note'][:]",
    "pictures": "ds[0]['image']",
    "version": "dl.open(url, version='v1')['size'][:]",
    "verify": "ds.verify()",
    "query": "len(ds.query('SELECT * WHERE size > 1'))",
    "browse": "ds.browse()",
}
"""The steps, in order and by name."""

SCRIPT = """
import json, sys
url, steps = json.loads(sys.argv[1])
loaded, names = {}, {"url": url}
for name, code in steps.items():
    before = set(sys.modules)
    exec(code, names)
    loaded[name] = sorted(sys.modules.keys() - before)
print(json.dumps(loaded))
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Make a lake with a column for each kind of layout."""
    ds = dl.create(str(tmp_path_factory.mktemp("cold") / "a.lake"), SCHEMA)
    rows = [
        {"image": np.full((8, 8, 3), i, "uint8"), "label": i % 2, "boxes": [[0, 0, 4, 4]],
         "note": f"note {i}", "size": float(i)}
        for i in range(4)
    ]  # fmt: skip
    ds.append(rows)
    ds.commit("four rows")
    ds.tag("v1")
    return ds.url


@pytest.fixture(scope="module")
def loaded(lake):
    """Run the steps in a new process; return the modules that each of them imported."""
    command = [sys.executable, "-W", "error", "-c", SCRIPT, json.dumps([lake, STEPS])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return {step: set(modules) for step, modules in json.loads(done.stdout).items()}


def before(loaded, step):
    """Return the modules imported by the end of a step."""
    names = list(loaded)[: list(loaded).index(step) + 1]
    return set().union(*(loaded[name] for name in names))


NEVER = {"zarr", "fsspec", "pandas", "xarray", "torch", "tensorflow", "jax", "dask"}
NOT_TO_READ = {"duckdb", "sqlglot", "pyarrow", "ipywidgets", "anywidget", "IPython", "tqdm"}


def test_opening_imports_neither_zarr_nor_the_query_engine_nor_the_browser(loaded):
    heavy = NEVER | NOT_TO_READ | {"numcodecs", "PIL", "simplejpeg", "filelock", "yaml"}
    heavy |= {"tempfile", "shutil", "secrets"}
    assert before(loaded, "open") & heavy == set()
    assert before(loaded, "import") & {"numpy", "asyncio", "dataclasses"} == set()


def test_opening_imports_neither_editing_nor_drawing_modules(loaded):
    ours = {name for name in before(loaded, "open") if name.startswith("deeplake_lite.")}
    unneeded = "html merge maintenance conflicts edits upserts diff saved splits show pickles"
    assert ours & {f"deeplake_lite.dataset.{name}" for name in unneeded.split()} == set()
    types = {name for name in ours if name.startswith("deeplake_lite.htypes.")}
    absent = "mask keypoints polygons sequence embedding json bytes"
    assert types & {f"deeplake_lite.htypes.{name}" for name in absent.split()} == set()


def test_reading_and_verifying_import_no_more_than_codecs(loaded):
    assert before(loaded, "texts") & (NEVER | NOT_TO_READ | {"PIL", "simplejpeg"}) == set()
    assert before(loaded, "version") & (NEVER | NOT_TO_READ) == set()
    assert before(loaded, "verify") & (NEVER | {"duckdb", "sqlglot", "ipywidgets"}) == set()


def test_query_imports_only_its_engines(loaded):
    assert {"duckdb", "sqlglot", "pyarrow"} <= before(loaded, "query")
    unneeded = NEVER | {"ipywidgets", "IPython", "pyarrow.compute", "PIL"}
    assert loaded["query"] & unneeded == set()


def test_browser_imports_only_its_widgets(loaded):
    assert {"anywidget", "ipywidgets"} <= before(loaded, "browse")
    assert loaded["browse"] & (NEVER | {"sklearn", "umap", "scipy"}) == set()


@pytest.mark.parametrize(
    "command", [["--version"], ["info"], ["log"], ["diff", "v1", "main"], ["verify"]]
)
def test_read_only_commands_do_not_import_zarr(lake, command):
    name, *more = command
    words = [name] if name.startswith("-") else [name, lake, *more]
    code = f"""
import sys
from deeplake_lite.cli import main
try:
    sys.argv = ["deeplake-lite", *{words!r}]
    main()
except SystemExit as end:
    assert not end.code, end.code
print(sorted({NEVER | {"duckdb", "sqlglot", "ipywidgets"}!r} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_engine_prints_nothing_to_stderr_when_it_writes_after_reading(lake, tmp_path):
    code = f"""
import deeplake_lite as dl
dl.open({lake!r})["size"][:]
ds = dl.create({str(tmp_path / "new.lake")!r}, {{"x": "int8"}})
ds.append({{"x": [1]}})
ds.commit("one")
assert dl.open(ds.url)["x"][:].tolist() == [1]
import icechunk
storage = icechunk.local_filesystem_storage({lake!r})
assert "main" in icechunk.Repository.open(storage).list_branches()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
