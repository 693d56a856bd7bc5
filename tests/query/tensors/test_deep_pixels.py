"""Queries return all bits of images whose pixels have more or fewer than 8 bits."""

from dataclasses import replace
from io import BytesIO
from uuid import uuid4

import numpy as np
import pytest
import tifffile

import deeplake_lite as dl


def tiff(array):
    file = BytesIO()
    tifffile.imwrite(file, array, photometric="minisblack")
    return file.getvalue()


def pixels(dtype, seed=0):
    limits = (-3, 3) if dtype == "float32" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return np.random.default_rng(seed).uniform(*limits, (4, 5)).astype(dtype)


def make(**columns):
    """Return a lake with columns of images, or of sequences of them."""
    image = dl.Image("auto", nullable=True)
    schema = {
        name: dl.Sequence(dl.Image("auto")) if isinstance(values[0], list) else image
        for name, values in columns.items()
    }
    ds = dl.create(f"memory://{uuid4().hex}", {"k": "int8", **schema})
    some = next(iter(columns.values()))
    ds.append({"k": range(len(some)), **columns})
    return ds


EXPRESSIONS = {
    "i": lambda x: x,
    "i[1:3]": lambda x: x[1:3],
    "i[0]": lambda x: x[0],
    "i[1, 2]": lambda x: x[1, 2],
    "i[:, ::2]": lambda x: x[:, ::2],
    "TRANSPOSE(i)": lambda x: x.T,
    "RESHAPE(i, (2, 10))": lambda x: x.reshape(2, 10),
    "FLATTEN(i)": lambda x: x.ravel(),
    "CASE WHEN k >= 0 THEN i ELSE NULL END": lambda x: x,
    "COALESCE(NULL, i)": lambda x: x,
    "MAX(i, (0, 1))": lambda x: x.max(),
    "MIN(i, (0, 1))": lambda x: x.min(),
    "MEAN(i)": lambda x: x.astype(float).mean(),
    "i * 1.0": lambda x: x * 1.0,
    "CAST(i AS DOUBLE)": lambda x: x.astype(float),
    "ABS(CAST(i AS DOUBLE))": lambda x: np.abs(x.astype(float)),
    "i[0, 0] = i[0, 0]": lambda _: True,
    "[i, i][1]": lambda x: x,
    "(SELECT i[1:3])": lambda x: x[1:3],
}


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32", "uint32", "int8", "float32"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_computations_use_all_bits_of_files(expression, dtype):
    values = [pixels(dtype, seed) for seed in range(3)]
    ds = make(i=[tiff(x) for x in values])
    try:
        result = list(ds.query(f"SELECT {expression} AS y, k ORDER BY k")["y"][:])
    except dl.LakeError:
        assert expression in ("(SELECT i[1:3])", "[i, i][1]"), "that is no answer"
        return
    for value, x in zip(result, values, strict=True):
        np.testing.assert_allclose(value, EXPRESSIONS[expression](x), rtol=1e-6)


COMBINED = [
    "SELECT a AS y, k UNION ALL SELECT b AS y, k + 10 AS k ORDER BY k",
    "SELECT a[:] AS y, k UNION ALL SELECT b[:] AS y, k + 10 AS k ORDER BY k",
    "SELECT UNNEST([a, b]) AS y, k ORDER BY k",
]


@pytest.mark.parametrize("query", COMBINED)
@pytest.mark.parametrize("dtypes", [("uint8", "uint16"), ("uint16", "uint8"), ("int8", "uint32")])
def test_columns_of_two_dtypes_are_combined_without_loss(query, dtypes):
    a, b = (pixels(dtype) for dtype in dtypes)
    ds = make(a=[tiff(a)], b=[tiff(b)])
    try:
        result = list(ds.query(query)["y"][:])
    except dl.LakeError:
        return  # refused rather than wrong
    np.testing.assert_array_equal(result[0], a)
    np.testing.assert_array_equal(result[1], b)


@pytest.mark.parametrize("choice", ["IF(k = 0, a, b)", "CASE k WHEN 0 THEN a ELSE b END"])
@pytest.mark.parametrize("dtypes", [("uint8", "uint16"), ("uint16", "uint8"), ("int8", "uint32")])
def test_choice_between_two_dtypes_loses_nothing(choice, dtypes):
    a, b = (pixels(dtype) for dtype in dtypes)
    ds = make(a=[tiff(a)] * 2, b=[tiff(b)] * 2)
    try:
        result = list(ds.query(f"SELECT {choice} AS y, k ORDER BY k")["y"][:])
    except dl.LakeError:
        return  # refused rather than wrong
    np.testing.assert_array_equal(result[0], a)
    np.testing.assert_array_equal(result[1], b)


@pytest.mark.parametrize("expression", ["i[1:3]", "i[0]", "TRANSPOSE(i)", "MAX(i, (0, 1))"])
def test_column_of_several_dtypes_is_exact_or_an_error(expression):
    wide, narrow = pixels("uint16"), pixels("uint8")
    expected = EXPRESSIONS[expression]
    ds = make(i=[None, tiff(wide), tiff(narrow)])
    result = ds.query(f"SELECT {expression} AS y, k WHERE i IS NOT NULL ORDER BY k")["y"][:]
    np.testing.assert_array_equal(result[0], expected(wide))
    np.testing.assert_array_equal(result[1], expected(narrow))
    ds = make(i=[tiff(narrow), tiff(wide)])
    with pytest.raises(dl.LakeError, match=r"images of .* as uint8, the dtype of"):
        list(ds.query(f"SELECT {expression} AS y, k ORDER BY k")["y"][:])


@pytest.mark.parametrize("expression", ["f", "f[0]", "f[0:1]", "f[0][1:3]", "FIRST(f)", "LIST(f)"])
@pytest.mark.parametrize("dtype", ["uint16", "float32", "uint32"])
def test_sequences_of_deep_images(expression, dtype):
    x = pixels(dtype)
    ds = make(f=[[tiff(x), tiff(x)], [tiff(x)]])
    grouped = " GROUP BY k" if "(" in expression else ""
    try:
        result = ds.query(f"SELECT {expression} AS y, k{grouped} ORDER BY k")["y"][1]
    except dl.LakeError:
        assert expression not in ("f", "f[0]", "FIRST(f)"), "that is no answer"
        return
    while isinstance(result, list):
        [result] = result
    result = result[0] if np.ndim(result) > 2 else result
    np.testing.assert_array_equal(result, x[1:3] if expression.endswith("[1:3]") else x)


@pytest.mark.parametrize("expression", ["i[1:3]", "i[0]", "TRANSPOSE(i)", "MAX(i, (0, 1))", "i"])
@pytest.mark.parametrize("of", ["link", "links"])
def test_links_to_deep_images(tmp_path, expression, of):
    x = pixels("uint16")
    (tmp_path / "deep.tif").write_bytes(tiff(x))
    (tmp_path / "flat.tif").write_bytes(tiff(pixels("uint8")))
    link = dl.Link(dl.Image(), nullable=of == "link")
    htype = link if of == "link" else dl.Sequence(link)
    deep, flat = str(tmp_path / "deep.tif"), str(tmp_path / "flat.tif")
    for first in (deep, flat, str(tmp_path / "gone.tif")):
        ds = dl.create(f"memory://{uuid4().hex}", {"i": htype}, allow=[str(tmp_path)])
        ds.append({"i": [value if of == "link" else [value] for value in (first, deep)]})
        asked = expression if of == "link" else expression.replace("i", "i[0]", 1)
        asked = asked if of == "link" or "(" not in asked else expression.replace("(i", "(i[0]")
        try:
            result = ds.query(f"SELECT {asked} AS y LIMIT 1 OFFSET 1")["y"][0]
        except dl.LakeError:
            assert first != deep, "that is no answer"
            continue
        np.testing.assert_array_equal(result, EXPRESSIONS[expression](x))


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (dl.Image("png"), np.zeros((3, 4), "uint8")),
        (dl.Image("png"), np.zeros((3, 4, 3), "uint8")),
        (dl.Image("zstd"), np.zeros((3, 4), "uint8")),
        (dl.Array("int8", None), np.zeros(2, "int8")),
        (dl.Array("int8", None), np.zeros((1, 2, 3), "int8")),
        (dl.Mask("instance"), np.zeros((1, 2, 3), bool)),
    ],
)
@pytest.mark.parametrize("nulls", [False, True])
def test_shapes_have_as_many_axes_as_the_values(make_lake, type_, value, nulls):
    ds = make_lake({"a": replace(type_, nullable=nulls)}, a=[value] + [None] * nulls)
    shapes = ds.query("SELECT SHAPE(a) AS s, NDIM(a) AS n, SIZE(a) AS z")
    assert np.asarray(shapes["s"][0]).tolist() == list(value.shape)
    assert (shapes["n"][0], shapes["z"][0]) == (value.ndim, value.size)
    assert ds.query("SELECT SHAPE(a)[0] AS s")["s"][0] == value.shape[0]
