"""JSON keys that are empty or contain characters that are special in paths."""

from __future__ import annotations

import pytest

import deeplake_lite as dl

KEYS = [
    "", " ", "a.b", '"', 'a"b', "\\", "a\\", '\\"', "a\\b", "/", "~", "~1", "\\~/", "*", "a*", "$",
    "#", "[0]", "0", "-1", "é", "a'b", "\n",
]  # fmt: skip


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    ds = dl.create("memory://odd-keys", {"j": dl.Json(), "l": dl.Json()}, overwrite=True)
    values = {key: number for number, key in enumerate(KEYS)}
    ds.append({"j": [{**values, "in": values, "": {"": 7, "k": [8, {"": 9}]}}], "l": [[1, 2]]})
    return ds


@pytest.mark.parametrize("key", KEYS[1:], ids=repr)
def test_key_with_any_characters_is_read(ds: dl.Dataset, key: str) -> None:
    number = KEYS.index(key)
    assert ds.query("SELECT j[$k] AS y", {"k": key})["y"][0] == number
    quoted = key.replace("'", "''")
    assert ds.query(f"SELECT j['in']['{quoted}'] AS y")["y"][0] == number
    assert ds.query(f"SELECT j WHERE j['{quoted}'] = {number}").rows is not None
    assert ds.query("SELECT l[$k] AS y", {"k": key})["y"][0] is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("j['']['']", 7), ("j['']['k'][0]", 8), ("j['in']['']", 0), ('j."".k[1].""', 9),
        ("[j][0]['']['']", 7), ("j['']['none']", None), ("JSON_EXTRACT(j, '$.\"\".\"\"')", "7"),
        ("JSON_EXTRACT(j, '$.\"\".k[1].\"\"')", "9"), ("JSON_EXTRACT_STRING(j, '$.in.\"\"')", "0"),
        ("JSON_EXISTS(j, '$.\"\"')", True), ("JSON_EXISTS(j, '$.\"\".\"no\"')", False),
        ("JSON_TYPE(j, '$.\"\"')", "OBJECT"), ("JSON_ARRAY_LENGTH(j, '$.\"\".k')", 2),
    ],
)  # fmt: skip
def test_empty_keys_are_read(ds: dl.Dataset, text: str, wanted: object) -> None:
    result = ds.query(f"SELECT {text} AS y")["y"][0]
    assert result == wanted or str(result) == wanted


@pytest.mark.parametrize("path", ['$[*].""', "$[", '$."\\"".""'])
def test_unreadable_path_is_shown(ds: dl.Dataset, path: str) -> None:
    with pytest.raises(dl.QueryTypeError, match="A JSON path must consist of keys"):
        ds.query(f"SELECT JSON_EXTRACT(j, '{path}') AS y")
