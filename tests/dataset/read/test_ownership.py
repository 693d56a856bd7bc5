"""Results of a call belong to the caller: writing into one changes no later result.

Each call is made, its result is overwritten wherever that is possible, and the call is repeated:
on the same handle, on another handle, and as plain reads of all columns.
"""

from __future__ import annotations

from copy import deepcopy
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deeplake_lite as dl
from deeplake_lite.query.registering import unregister

from ..everything import SCHEMA, VALUES

LARGE = {
    "v": dl.Array("float32", (3,)),
    "u": dl.Array("uint8", (4, 6)),
    "vn": dl.Array("float32", (3,), nullable=True),
    "json_default": dl.Json(default={"tags": ["new"]}),
    "box_default": dl.Boxes("xyxy", default=[[0, 0, 1, 1]]),
}
ROWS = 12
NAMES = [name for name in SCHEMA if name != "link"]


def values(rows: int) -> dict[str, list]:
    rng = np.random.default_rng(0)
    result = {name: (deepcopy(list(VALUES[name])) * rows)[:rows] for name in NAMES}
    result["v"] = list(rng.normal(size=(rows, 3)).astype("float32"))
    result["u"] = list(rng.integers(0, 255, (rows, 4, 6), np.uint8))
    result["vn"] = [None if row % 5 == 0 else [row, 1, 2] for row in range(rows)]
    result["json_default"] = [{"tags": ["new"]} for _ in range(rows)]
    result["box_default"] = [[[0, 0, 1, 1]] for _ in range(rows)]
    return result


def make(url: str) -> dl.Dataset:
    ds = dl.create(url, {name: SCHEMA[name] for name in NAMES} | LARGE)
    ds.append(values(ROWS))
    ds.metadata["about"] = {"authors": ["Ada"]}
    ds["v"].metadata["unit"] = {"name": ["m"]}
    ds.commit("filled")
    ds.query("SELECT v, u[1:] AS part WHERE x > 0").save("kept")
    ds.branch("side")
    side = dl.open(url, branch="side")
    side["v"][1] = [7, 8, 9]
    side["notes"][1] = {"b": [2]}
    side.commit("another")
    return ds


@pytest.fixture(scope="module", params=["folder", "memory"])
def url(request, tmp_path_factory):
    """Return the URL of a lake that must not change, whatever tests do to its results."""
    folder = tmp_path_factory.mktemp("own") / "own.lake"
    url = str(folder) if request.param == "folder" else f"memory://{uuid4().hex}"
    make(url)
    before = everything(dl.open(url))
    yield url
    assert everything(dl.open(url)) == before


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    """Return a handle with uncommitted appended, updated and deleted rows."""
    ds = make(str(tmp_path_factory.mktemp("own") / "edited.lake"))
    ds.append(values(5))
    ds.update([1, 3], {"v": np.full((2, 3), 5), "x": [8, 9], "ragged": [[[1, 2]], [[3, 4]]]})
    ds.delete([6])
    before = everything(ds)
    yield ds
    assert everything(ds) == before


WRITABLE = (
    "columns",
    "values",
    "rows",
    "iteration",
    "slices",
    "view",
    "array",
    "shapes",
    "row ids",
)
"""Calls other than queries whose results are writable arrays."""

# ---- results that are overwritten, and compared


def frozen(value):
    """Return a deep copy of a result in plain types, for comparison."""
    match value:
        case np.ma.MaskedArray():
            return repr(("masked", value.data.tolist(), np.ma.getmaskarray(value).tolist()))
        case np.ndarray():
            return repr((str(value.dtype), value.shape, value.tolist()))
        case dict():
            return {k: frozen(v) for k, v in value.items()}
        case list() | tuple():
            return [frozen(v) for v in value]
        case pd.DataFrame() | pd.Series():
            return repr(value.to_dict())
        case pa.Table():
            return value.to_pylist().__repr__()
        case memoryview() | bytearray():
            return bytes(value)
    if hasattr(value, "to_dict") and hasattr(value, "data_vars"):
        return repr(value.to_dict())
    return repr(value)


def scribble(value) -> int:
    """Overwrite a result wherever that is possible; return the number of places."""
    match value:
        case np.ma.MaskedArray():
            mask = np.ma.getmask(value)
            return scribble(value.data) + (scribble(mask) if mask is not np.ma.nomask else 0)
        case np.ndarray() if value.dtype == object:
            return sum(map(scribble, value.flat))
        case np.ndarray():
            if not value.flags.writeable or not value.size:
                return 0
            value[...] = ~value if value.dtype == bool else np.ones(1, value.dtype)[0]
            return 1
        case dict():
            return sum(map(scribble, list(value.values()))) + wrote(value.update, {"scribble": 1})
        case list():
            return sum(map(scribble, value)) + wrote(value.append, "scribble")
        case tuple():
            return sum(map(scribble, value))
        case memoryview():
            if value.readonly:
                return 0
            value[:] = b"\x77" * len(value)
            return 1
        case bytearray():
            value[:] = b"\x77" * len(value)
            return 1
        case pd.DataFrame():
            return sum(_scribble_series(value[name]) for name in value.columns)
        case pa.Table():
            return sum(map(_scribble_arrow, value.columns))
    if hasattr(value, "data_vars"):
        return sum(scribble(v.values) for v in value.data_vars.values())
    return 0


def wrote(write, value) -> int:
    """Write in place; return whether that succeeded."""
    try:
        write(value)
    except TypeError:
        return 0
    return 1


def _scribble_series(series: pd.Series) -> int:
    array = series.array
    done = scribble(np.asarray(series))
    for part in ("_data", "_mask", "_ndarray", "_codes"):
        inner = getattr(array, part, None)
        done += scribble(inner) if isinstance(inner, np.ndarray) else 0
    return done


def _scribble_arrow(column: pa.ChunkedArray) -> int:
    done = 0
    for chunk in column.chunks:
        if not pa.types.is_nested(chunk.type) and not isinstance(chunk, pa.ExtensionArray):
            done += scribble(chunk.to_numpy(zero_copy_only=False))
        for buffer in chunk.buffers():
            if buffer is not None and buffer.is_mutable:
                done += scribble(np.frombuffer(buffer, np.uint8))
    return done


def everything(ds) -> object:
    """Return the results of plain reads of all columns and of the queries."""
    result = [[ds[name][:] for name in ds.columns]]
    for text in QUERIES.values():
        view = ds.query(text)
        result.append([view[name][:] for name in view.columns])
    notes = [dict(ds.metadata), [f.metadata for f in ds.schema], str(ds.schema.to_json())]
    return frozen([result, notes, ds.row_ids])


def answer(text):
    """Return the call that runs a query and reads all columns of its result."""
    return lambda ds: columns(ds.query(text))


def columns(view):
    return {name: view[name][:] for name in view.columns}


QUERIES = {
    "plain": "SELECT v, u, vn, x, matrix, boxes, ragged, notes, image, text, blob",
    "slice": "SELECT v[0:2] AS x, u[1:3, ::2] AS y, vn[0:2] AS z",
    "one": "SELECT v[0] AS x, u[0] AS y, u[:, 1] AS w, vn[1] AS z",
    "new axis": "SELECT v[None] AS x, u[None, ..., None] AS y",
    "transpose": "SELECT TRANSPOSE(u) AS x, TRANSPOSE(matrix) AS y",
    "reshape": "SELECT RESHAPE(u, [6, 4]) AS x, FLATTEN(u) AS y, FLATTEN(vn) AS z",
    "unchanged values": "SELECT CAST(v AS FLOAT) AS x, CLIP(v, -9e9, 9e9) AS y, ROUND(x) AS z",
    "case": "SELECT CASE WHEN x > 0 THEN v ELSE v[:] END AS y",
    "where": "SELECT v, v[1:] AS y WHERE x > 0",
    "order": "SELECT v[1:] AS y, x ORDER BY x DESC",
    "group": "SELECT x, LIST(v) AS vs, FIRST(u) AS u, MAX(v) AS m, v GROUP BY x ORDER BY x",
    "union": "SELECT v FROM dataset UNION ALL SELECT v * 2 AS v FROM dataset",
    "shapes": "SELECT SHAPE(u) AS s, SHAPE(ragged) AS r, SHAPE(ragged)[0] AS n, ROW_ID() AS i",
    "sequence": "SELECT frames, words, counts",
    "picture": "SELECT image[:2] AS a, image[None] AS b, CROP(image, [0, 0, 2, 2]) AS c",
    "scalars": "SELECT x + 1 AS y, x, text || 'a' AS t, ok, \"when\", half",
    "parts": "SELECT ragged[:, 0] AS a, boxes[:, :2] AS b, packed[0] AS c, points[:, 0] AS d",
}

CALLS = {
    **{f"query {name}": answer(text) for name, text in QUERIES.items()},
    "columns": columns,
    "values": lambda ds: [[ds[name][row] for row in range(3)] for name in ds.columns],
    "rows": lambda ds: [ds[row] for row in range(4)],
    "iteration": lambda ds: [row for row, _ in zip(ds, range(5), strict=False)],
    "slices": lambda ds: [ds["v"][3:9], ds["u"][[1, 2]], ds["ragged"][3:9], ds["n/small"][1:]],
    "view": lambda ds: columns(ds[3:9]),
    "array": lambda ds: [np.asarray(ds["v"]), np.asarray(ds["u"])],
    "encoded": lambda ds: [
        ds[n].encoded()[:3] for n in ("image", "boxes", "text", "notes", "blob")
    ],
    "shapes": lambda ds: [ds[n].shapes for n in ("u", "image", "boxes", "ragged", "frames")],
    "lengths": lambda ds: ds["frames"].lengths(),
    "row ids": lambda ds: [ds.row_ids, ds[3:9].row_ids],
    "arrow": lambda ds: ds.to_arrow(),
    "arrow of a query": lambda ds: ds.query("SELECT v, v[1:] AS y, u[0] AS z, x").to_arrow(),
    "pandas": lambda ds: ds[[n for n in ds.columns if n != "image"]].to_pandas(),
    "pandas of a query": lambda ds: ds.query("SELECT v, v[1:] AS y, u[0] AS z, x").to_pandas(),
    "xarray": lambda ds: ds[["v", "u", "x", "half", "matrix"]].to_xarray().load(),
    "xarray of a query": lambda ds: ds.query("SELECT v, v[1:] AS y, x").to_xarray().load(),
    "comparison": lambda ds: [ds["x"] == 1, ds["label"] == "rose"],
    "htypes": lambda ds: [
        [ds["label"].names, ds["points"].htype.names, ds["json_default"].htype.default],
        [f.htype.get_config() for f in ds.schema],
    ],
    "schema": lambda ds: [ds.schema.to_json(), [f.metadata for f in ds.schema]],
    "notes": lambda ds: [dict(ds.metadata), ds.metadata["about"], dict(ds["v"].metadata)],
    "refs": lambda ds: [ds.branches, ds.tags, ds.log()],
    "split": lambda ds: [part["v"][:] for part in ds.split([0.5, 0.5])],
}

OF_COMMITTED = {
    "batches": lambda ds: list(ds[["v", "u", "x", "boxes", "matrix"]].batches(8)),
    "batches of a query": lambda ds: list(
        ds.query("SELECT v, v[1:] AS y, u[0] AS z WHERE x > 0").batches(8)
    ),
    "saved view": lambda ds: columns(ds.views()["kept"]),
    "diff": lambda ds: [
        [diff.added, diff.changed, diff.metadata, diff.before("v"), diff.after("v")]
        for diff in [ds.diff("main", "side")]
    ],
}
"""Calls that need a version that does not change."""


@pytest.mark.parametrize("name", [*CALLS, *OF_COMMITTED])
def test_results_belong_to_the_caller(url, name):
    ds, call = dl.open(url), (CALLS | OF_COMMITTED)[name]
    known = frozen(call(ds))
    for _ in range(2):  # the second result may come from a cache
        assert scribble(call(ds))
        assert frozen(call(ds)) == known
    assert frozen(call(dl.open(url))) == known


@pytest.mark.parametrize("name", CALLS)
def test_results_with_pending_edits_belong_to_the_caller(edited, name):
    known = frozen(CALLS[name](edited))
    for _ in range(2):
        assert scribble(CALLS[name](edited))
        assert frozen(CALLS[name](edited)) == known


@pytest.mark.parametrize("name", [n for n in CALLS if n.startswith("query") or n in WRITABLE])
def test_returned_arrays_are_writable(url, name):
    ds = dl.open(url)
    for _ in range(2):
        assert not list(read_only(CALLS[name](ds)))


def read_only(value):
    """Yield the arrays in a result that are read-only."""
    match value:
        case np.ma.MaskedArray():
            yield from () if value.mask.flags.writeable and value.flags.writeable else [value]
        case np.ndarray() if value.dtype == object:
            yield from (result for item in value.flat for result in read_only(item))
        case np.ndarray():
            yield from () if value.flags.writeable else [value]
        case dict():
            yield from (result for item in value.values() for result in read_only(item))
        case list() | tuple():
            yield from (result for item in value for result in read_only(item))


# ---- arguments


def test_arguments_still_belong_to_the_caller(tmp_path):
    """Writing into arrays after a call with them changes no row."""
    ds = make(str(tmp_path / "in.lake"))
    given = values(3)
    given["v"], given["u"] = np.ones((3, 3), "float32"), np.ones((3, 4, 6), "uint8")
    given["matrix"], given["x"] = np.ones((3, 2, 3), "float32"), np.arange(3, dtype="int32")
    row, note, params = np.ones(3, "float32"), {"a": [1]}, [np.ones(3), [1, 2]]
    computed = np.arange(ROWS + 3, dtype="float32")
    ds.append(given)
    ds.update([0], {"v": [row]})
    ds.add_column("fresh", "float32", values=computed)
    ds.metadata["note"] = note
    view = ds.query("SELECT v * ? AS y, x IN ? AS z", params)
    before = everything(ds), frozen([ds["fresh"][:], dict(ds.metadata), columns(view)])
    for value in (given, row, note, params, computed):
        assert scribble(value)
    assert (everything(ds), frozen([ds["fresh"][:], dict(ds.metadata), columns(view)])) == before
    ds.commit("handed in")
    assert everything(dl.open(ds.url)) == before[0]


@pytest.mark.parametrize("per", ["row", "block"])
def test_functions_may_write_into_their_arguments(url, per):
    def scrawl(x, y):
        for part in (x, y) if per == "row" else (*x, *y):
            part[...] = 0
        return 0.0 if per == "row" else [0.0] * len(x)

    ds, constant = dl.open(url), np.arange(3.0)
    dl.function(returns="float64", per=per)(scrawl)
    try:
        for name in ("v", "u", "vn", "matrix", "ragged", "boxes", "image", "v[1:]", "v * 2"):
            sums = columns(ds.query(f"SELECT SCRAWL({name}, v) AS s, SUM({name}) AS same"))
            assert not np.any(sums["s"])
            assert frozen(sums["same"]) == frozen(ds.query(f"SELECT SUM({name}) AS s")["s"][:])
            assert len(ds.query(f"SELECT x WHERE SCRAWL({name}, {name}) = 0"))
        groups = "SELECT SCRAWL(MAX(v), MAX(v)) AS s, MAX(v) AS v GROUP BY x ORDER BY x"
        assert frozen(ds.query(groups)["v"][:]) == frozen(
            ds.query("SELECT MAX(v) AS v GROUP BY x ORDER BY x")["v"][:]
        )
        if per == "row":
            ds.query("SELECT SCRAWL(v, ?) AS s", [constant])["s"][:]
    finally:
        unregister("scrawl")
    assert constant.tolist() == [0, 1, 2]
