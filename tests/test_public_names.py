"""The public names of `deeplake_lite`, and the modules that it imports lazily."""

import subprocess
import sys

import pytest

import deeplake_lite as dl

HEAVY = (
    "zarr",
    "icechunk",
    "numcodecs",
    "pandas",
    "pyarrow",
    "xarray",
    "PIL",
    "duckdb",
    "sqlglot",
    "torch",
    "tensorflow",
    "jax",
    "anywidget",
    "ipywidgets",
)


def test_every_public_name_exists():
    assert sorted(dl._MODULES) == sorted(dl.__all__)
    for name in dl.__all__:
        result = getattr(dl, name).__name__  # `query` is a callable package
        assert result.rpartition(".")[2] in (name, name.removeprefix("from_"))


def test_public_names_are_listed_once():
    assert len(set(dl.__all__)) == len(dl.__all__)
    assert {name for name in dir(dl) if not name.startswith("__")} == set(dl.__all__)


def test_package_knows_its_version():
    assert dl.__version__.split(".")[0].isdigit()


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'crate'"):
        dl.crate  # noqa: B018


@pytest.mark.parametrize("statement", ["import deeplake_lite", "from deeplake_lite import errors"])
def test_import_loads_nothing_heavy(statement):
    code = f"{statement}; import sys; print(*[m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_browser_shows_rows_before_the_query_engine_is_loaded():
    script = """
import sys
import deeplake_lite as dl
from deeplake_lite.widget import browser
browser._warm_up = lambda: None
ds = dl.create("memory://no-engine", {"label": dl.ClassLabel(["a", "b"]), "x": "int32"})
ds.append({"label": ["a", "b"], "x": [1, 2]})
w = ds.browse()
sent = []
w.send = lambda message, buffers: sent.append(message)
cells = {"type": "cells", "req": 1, "gen": 1, "start": 0, "stop": 2, "columns": ["label"]}
w._dispatcher.take(cells)
assert sent[0]["ok"] and len(sent[0]["cells"]) == 2, sent
print([name for name in ("duckdb", "sqlglot") if name in sys.modules])
w.query = "SELECT * WHERE x > 1"
print([name for name in ("duckdb", "sqlglot") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[:2] == ["[]", "['duckdb', 'sqlglot']"]


def test_query_package_is_also_a_function():
    import deeplake_lite.query as package

    ds = dl.create("memory://package-and-function", {"x": "int32"})
    ds.append({"x": [1, 2]})
    assert package("SELECT * WHERE x > 1", view=ds)["x"][:].tolist() == [2]
    with pytest.raises(AttributeError, match="no attribute 'quer'"):
        package.quer  # noqa: B018
