"""Functions that format any value refuse bytes, for which DuckDB has a format of its own."""

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError


@pytest.mark.parametrize(
    "call",
    [
        "CONCAT(b, 'x')", "CONCAT(b, b)", "CONCAT(1, b)", "CONCAT_WS('-', b, 'x')",
        "STRING_AGG(b, ',')", "GROUP_CONCAT(b)", "LISTAGG(b)", "ARRAY_TO_STRING(LIST(b), ',')",
        "ARRAY_TO_STRING([b], ',')", "FORMAT('{}', b)", "PRINTF('%s', b)", "b || 'x'",
    ],
)  # fmt: skip
@pytest.mark.parametrize("source", ["ds", "(SELECT b FROM ds UNION ALL SELECT b FROM ds)"])
def test_bytes_are_not_strings(call, source):
    ds = dl.create("memory://texts-of-bytes", {"b": dl.Bytes()}, overwrite=True)
    ds.append({"b": [b"\xff", b"\\xFF"]})
    with pytest.raises(QueryTypeError, match="bytes"):
        ds.query(f"SELECT {call} AS x FROM {source}", sources={"ds": ds})
    assert ds.query("SELECT HEX(b) AS x")["x"][:] == ["FF", "5C784646"]
    assert ds.query("SELECT b || b AS x")["x"][0] == b"\xff\xff"
