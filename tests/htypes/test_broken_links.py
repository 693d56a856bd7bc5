"""Links to unreadable files raise an error that names the link and does not blame the lake."""

from __future__ import annotations

import pytest

import deeplake_lite as dl

FILES = {
    "json": [b"[1", b"[NaN]", b"[-Infinity]", b'{"a": 1, "a": 2}', b"\xff\xfe", b"[" * 100_000],
    "text": [b"\xff\xfe", b"ok \x80"],
    "image": [b"", b"no image"],
}


WAYS = {
    "cell": lambda ds: ds["x"][0],
    "rows": lambda ds: ds["x"][:],
    "query": lambda ds: ds.query("SELECT x AS y")["y"][:],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("of", FILES)
def test_error_names_the_link(tmp_path, make_lake, of, way):
    for number, content in enumerate(FILES[of]):
        (tmp_path / f"{number}.bin").write_bytes(content)
        ds = make_lake({"x": dl.Link(of)}, x=[f"{number}.bin"])
        here = dl.open(ds.url, allow=[str(tmp_path)])
        with pytest.raises(dl.InvalidValueError, match=rf"{number}\.bin'"):
            WAYS[way](here)


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 3_000, "b" * 5_000])
def test_link_too_long_for_the_system_leads_to_no_file(tmp_path, make_lake, name):
    ds = make_lake({"x": dl.Link("image")}, x=[name])
    with pytest.raises(dl.InvalidValueError, match="there is no file for the link"):
        dl.open(ds.url, allow=[str(tmp_path)])["x"][0]
