"""Durations in structs and maps are formatted as CAST(d AS TEXT) formats them."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

DAY = 86_400_000
SPANS = [-1, DAY, 90_061_001, 0, -36 * 3_600_000]
"""Durations in milliseconds."""

HELD = {
    "ROW({d})": lambda d: {"element1": d},
    "ROW(1, {d}, 'x')": lambda d: {"element1": 1, "element2": d, "element3": "x"},
    "STRUCT_VALUES({{'a': {d}}})": lambda d: {"element1": d},
    "{{'a': {d}}}": lambda d: {"a": d},
    "STRUCT_PACK(a := {d})": lambda d: {"a": d},
    "{{'a': [{d}, NULL], 'b': 1}}": lambda d: {"a": [d, None], "b": 1},
    "{{'a': {{'b': {d}}}}}": lambda d: {"a": {"b": d}},
    "{{'a': ROW({d})}}": lambda d: {"a": {"element1": d}},
    "ROW([{d}], {{'a': {d}}})": lambda d: {"element1": [d], "element2": {"a": d}},
    "MAP(['k'], [{d}])": lambda d: [["k", d]],
    "MAP([{d}], [[{d}]])": lambda d: [[d, [d]]],
    "HISTOGRAM({d}) OVER (PARTITION BY id)": lambda d: [[d, 1]],
    "TO_JSON({{'a': {d}}})": lambda d: {"a": d},
}


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    ds = dl.create(
        "memory://spans-in-structs", {"id": "int64", "d": "timedelta64[ms]"}, overwrite=True
    )
    ds.append({"id": range(len(SPANS)), "d": np.array(SPANS, "m8[ms]")})
    ds.commit("durations")
    return ds


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("span", ["d", "(d + INTERVAL 1 DAY)", "INTERVAL '36 hours'"])
def test_struct_formats_a_duration_like_a_cast(ds: dl.Dataset, held: str, span: str) -> None:
    texts = ds.query(f"SELECT CAST({span} AS TEXT) AS t ORDER BY id")["t"][:]
    result = ds.query(f"SELECT {held.format(d=span)} AS x ORDER BY id")["x"][:]
    expected = [HELD[held](text) for text in texts]
    assert result == expected


@pytest.mark.parametrize("form", ["LIST({x})", "[MIN({x}), MAX({x})]", "LIST([{x}])"])
@pytest.mark.parametrize("held", ["ROW(d)", "{'a': d}"])
def test_lists_of_structs_format_durations_too(ds: dl.Dataset, form: str, held: str) -> None:
    result = ds.query(f"SELECT {form.format(x=held)} AS x WHERE id = 1")["x"][0]
    assert "24:00:00" in repr(result)
    assert "day" not in repr(result)


def test_null_durations_and_null_structs_stay_null(ds: dl.Dataset) -> None:
    result = ds.query(
        "SELECT {'a': CASE WHEN id > 0 THEN d END} AS a, CASE WHEN id > 0 THEN ROW(d) END AS b, "
        "ROW(CASE WHEN id > 0 THEN d END) AS c WHERE id < 2"
    )
    assert result["a"][:] == [{"a": None}, {"a": "24:00:00"}]
    assert result["b"][:] == [None, {"element1": "24:00:00"}]
    assert result["c"][:] == [{"element1": None}, {"element1": "24:00:00"}]


def test_durations_outside_structs_keep_their_type(ds: dl.Dataset) -> None:
    result = ds.query("SELECT d + d AS x, [d] AS y, ROW(d) AS z")
    assert str(result["x"].htype) == "Scalar('timedelta64[us]')"
    assert "timedelta64" in str(result["y"].htype)
