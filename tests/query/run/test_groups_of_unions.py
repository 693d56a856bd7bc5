"""Grouping distinguishes rows by stored values, both directly and through UNION."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

import deeplake_lite as dl

NAN = float("nan")


def png(level: int) -> bytes:
    """Return a file of one image; its bytes depend on the compression level."""
    out = io.BytesIO()
    pixels = np.arange(48, dtype="u1").reshape(4, 4, 3)
    Image.fromarray(pixels).save(out, "png", compress_level=level)
    return out.getvalue()


IMAGES = [png(1), png(9), png(1)]
NANS = [complex(NAN, 0), complex(0, NAN), complex(NAN, NAN), 1 + 1j]
COLUMNS: dict[str, tuple[Any, list[Any], int]] = {
    "image": (dl.Image("png"), [*IMAGES, png(9)], 2),
    "nullable": (dl.Image("png", nullable=True), [IMAGES[0], IMAGES[1], None, None], 3),
    "z": ("complex64", NANS, 2),
    "zs": (dl.Array("complex128", (2,)), [[x, 1] for x in NANS], 2),
    "ragged": (dl.Array("complex64", (None,)), [[x] for x in NANS], 2),
    "floats": (dl.Array("float32", (1,)), [[NAN], [-NAN], [0.0], [-0.0]], 2),
    "whole": (dl.Array("int64", (None,)), [[1], [1, 2], [1], [2**53 + 1]], 3),
}
UNIONS = [
    "SELECT id, {0} FROM ds UNION ALL SELECT id, {0} FROM ds WHERE id < 0",
    "SELECT id, {0} FROM ds WHERE id < 2 UNION ALL SELECT id, {0} FROM ds WHERE id >= 2",
    "SELECT id, {0} FROM ds UNION SELECT id, {0} FROM ds",
    (
        "SELECT id, {0} FROM ds WHERE id = 0 UNION ALL SELECT id, {0} FROM ds WHERE id = 1 "
        "UNION ALL SELECT id, {0} FROM ds WHERE id > 1"
    ),
]


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {name: htype for name, (htype, _, _) in COLUMNS.items()}
    ds = dl.create("memory://groups-of-unions", {"id": "int64", **schema}, overwrite=True)
    ds.append({"id": range(4), **{name: values for name, (_, values, _) in COLUMNS.items()}})
    ds.commit("rows")
    return ds


def groups(ds: dl.Dataset, name: str, source: str) -> list[int]:
    """Return the number of groups, for each form that groups rows."""
    is_nullable = name == "nullable"
    queries = [
        f"SELECT LIST(id) AS l FROM {source} GROUP BY {name}",
        f"SELECT DISTINCT {name} FROM {source}",
        f"SELECT DISTINCT ON ({name}) id FROM {source}",
        f"SELECT {name} FROM {source} UNION SELECT {name} FROM {source}",
        f"SELECT {name} FROM {source} INTERSECT SELECT {name} FROM {source}",
    ]
    counts = [len(ds.query(query)) for query in queries]
    [counted] = ds.query(f"SELECT COUNT(DISTINCT {name}) AS n FROM {source}")["n"][:]
    return [*counts, int(counted) + is_nullable]


@pytest.mark.parametrize("union", ["ds", *UNIONS], ids=["direct", "none", "half", "all", "three"])
@pytest.mark.parametrize("name", COLUMNS)
def test_union_of_unchanged_columns_has_the_same_groups(
    ds: dl.Dataset, name: str, union: str
) -> None:
    source = union if union == "ds" else f"({union.format(name)})"
    assert set(groups(ds, name, source)) == {COLUMNS[name][2]}


@pytest.mark.parametrize("name", [n for n in COLUMNS if "nullable" not in n and "image" not in n])
def test_computed_values_have_the_same_groups(ds: dl.Dataset, name: str) -> None:
    for computed in (f"{name} + 0", f"{name} * 1"):
        for source in ("ds", f"({UNIONS[1].format(name)})"):
            within = f"(SELECT id, {computed} AS {name} FROM {source})"
            assert set(groups(ds, name, within)) == {COLUMNS[name][2]}, (computed, source)


def test_pixels_are_compared_if_a_side_is_computed(ds: dl.Dataset) -> None:
    computed = "(SELECT image + 0 AS image FROM ds)"
    assert len(ds.query(f"SELECT DISTINCT image FROM {computed}")) == 1
    both = f"(SELECT 0 AS id, image FROM ds UNION ALL SELECT 1, image FROM {computed})"
    assert set(groups(ds, "image", both)) == {1}
    result = ds.query("SELECT image FROM ds INTERSECT SELECT CAST(image AS INT64) FROM ds")
    assert len(result) == 1
