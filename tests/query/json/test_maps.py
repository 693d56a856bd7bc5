"""Maps of every origin return values by key."""

from __future__ import annotations

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {"id": "int64", "x": "float64", "s": "text", "j": dl.Json(), "l": dl.ClassLabel(["c"])}
    ds = dl.create("memory://maps", schema, overwrite=True)
    ds.append([{"id": k, "x": [float("nan"), 1.0][k], "s": "ab", "j": [1, "1"][k], "l": 0}
               for k in range(2)])  # fmt: skip
    return ds


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "MAP(['1'], [id])['1']": [0, 1],
        "MAP(['1'], [id])['2']": [None, None],
        "MAP([1, 2], [id, 5])[2]": [5, 5],
        "MAP([id], ['v'])[0]": ["v", None],
        "MAP([id], [s])[id]": ["ab", "ab"],
        "MAP(['k'], [x])['k'] > 0": [False, True],
        "MAP(['k'], [j])['k'] = 1": [True, False],
        "MAP([j], [id])[j]": [0, 1],
        "MAP([l], [id])['c']": [0, 1],
        "MAP([s], [id])[s || '']": [0, 1],
        "MAP {'1': id}['1']": [0, 1],
        "MAP_EXTRACT_VALUE(MAP_FROM_ENTRIES([('a', id)]), 'a')": [0, 1],
    }.items(),
)
def test_key_gives_its_value(ds, text, expected):
    assert [row["a"] for row in ds.query(f"SELECT {text} AS a")] == expected
    if "MAP(" in text and "id])[" not in text.replace("'1'], [id])", ""):
        made, key = text[: text.index(")[") + 1], text[text.index(")[") + 1 :]
        inner = f"SELECT {made} AS m, id, s, j FROM dataset"
        query = f"SELECT m{key} AS a FROM ({inner})"
        assert [row["a"] for row in ds.query(query)] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    {
        "MAP(['1'], [id])[1]": "can be compared only with strings",
        "HISTOGRAM(s)['ab']": r"MAP_EXTRACT_VALUE\(m, key\)",
        "MAP_FROM_ENTRIES([('a', id)])['a']": r"MAP_EXTRACT_VALUE\(m, key\)",
    }.items(),
)
def test_errors_of_maps_say_what_to_write(ds, text, message):
    with pytest.raises(QueryTypeError, match=message):
        ds.query(f"SELECT {text} AS a")
