"""Conflict messages show where both sides differ, however late the difference begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl

LONG = "a" * 100
SIDES: dict[str, tuple[Any, Any, Any, Any]] = {
    "texts": ("text", "b", LONG + "1", LONG + "2"),
    "short texts": ("text", "b", "one", "two"),
    "json": (dl.Json(), {}, {"k": [LONG, 1]}, {"k": [LONG, 2]}),
    "floats": ("float64", 0.0, 1700000123.25, 1700000123.75),
    "arrays": (
        dl.Array("float64", (20,)), np.zeros(20), np.full(20, 0.1),
        np.append(np.full(19, 0.1), 0.10000000001),
    ),
    "boxes": (dl.Boxes(), [], np.array([[0, 0, 9, 9]]), np.array([[0, 0, 9, 8]])),
    "bytes": (dl.Bytes(), b"", LONG.encode() + b"1", LONG.encode() + b"2"),
}  # fmt: skip


@pytest.fixture(params=SIDES)
def diverged(request: pytest.FixtureRequest) -> dl.Dataset:
    htype, base, ours, theirs = SIDES[request.param]
    ds = dl.create(f"memory://apart-{request.param}", {"x": htype}, overwrite=True)
    ds.append({"x": [base]})
    ds.commit("base")
    ds.branch("fix")
    other = dl.open(ds.url, branch="fix")
    other["x"][0] = theirs
    other.commit("theirs")
    ds["x"][0] = ours
    ds.commit("ours")
    return ds


def test_conflicting_cell_values_look_different(diverged: dl.Dataset) -> None:
    with pytest.raises(dl.ConflictError) as error:
        diverged.merge("fix")
    line = next(line for line in str(error.value).splitlines() if "cell 'x'" in line)
    ours, theirs = line.split(": ours ")[1].split(", theirs ")
    assert ours != theirs
    assert len(line) < 200


def test_conflicting_metadata_values_look_different() -> None:
    ds = dl.create("memory://apart-notes", {"x": "int8"}, overwrite=True)
    ds.metadata["n"] = "b"
    ds.commit("base")
    ds.branch("fix")
    other = dl.open(ds.url, branch="fix")
    other.metadata["n"] = LONG + "2"
    other.commit("theirs")
    ds.metadata["n"] = LONG + "1"
    ds.commit("ours")
    with pytest.raises(dl.ConflictError, match=r"ours …a+1', theirs …a+2'"):
        ds.merge("fix")
