"""Values of several lakes in one column or comparison: labels by name, boxes, numbers."""

from __future__ import annotations

from itertools import product
from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl

A, B = ["cat", "dog", "owl"], ["owl", "dog", "bat", "cat"]


def lake(htype, values):
    ds = dl.create(f"memory://{uuid4().hex}", {"k": "int32", "x": htype})
    ds.append({"k": range(len(values)), "x": values})
    ds.commit()
    return ds


LABELS = {
    "one": (lambda names: dl.ClassLabel(names), lambda names: names),
    "several": (
        lambda names: dl.ClassLabel(names, multiple=True),
        lambda names: [[a, b] for a, b in zip(names, names[1:] + names[:1], strict=True)],
    ),
    "sequence": (
        lambda names: dl.Sequence(dl.ClassLabel(names)),
        lambda names: [[a, b] for a, b in zip(names, names[1:] + names[:1], strict=True)],
    ),
}


def pair(kind):
    """Return two lakes whose labels are the same words with different numbers."""
    htype, values = LABELS[kind]
    return {"A": lake(htype(A), values(A)), "B": lake(htype(B), values(["cat", "dog", "owl"]))}


def words(column):
    """Return the values of a column as words, whatever its type."""
    htype = column.htype
    names = getattr(htype, "names", None) or getattr(getattr(htype, "of", None), "names", None)

    def word(value):
        if isinstance(value, str):
            return value
        return [word(v) for v in value] if np.ndim(value) else names[int(value)]

    return [word(value) for value in column[:]]


QUERIES = {
    "SELECT {a} AS y FROM A UNION ALL SELECT {b} FROM B": "aabb",
    "SELECT {a} AS y FROM A UNION SELECT {b} FROM B": "set",
    "SELECT {a} AS y FROM A INTERSECT SELECT {b} FROM B": "set",
    "SELECT {a} AS y FROM A EXCEPT SELECT {b} FROM B": "none",
    "SELECT CASE WHEN A.k > 9 THEN {A} ELSE {B} END AS y FROM A JOIN B ON A.k = B.k": "a",
    "SELECT CASE WHEN A.k < 9 THEN {B} ELSE {A} END AS y FROM A JOIN B ON A.k = B.k": "a",
    "SELECT COALESCE({B}, {A}) AS y FROM A JOIN B ON A.k = B.k": "a",
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_keep_their_names_when_combined_with_those_of_another_lake(kind):
    sources = pair(kind)
    parts = ["x"] if kind == "one" else ["x", "x[0]", "x[0:1]"]
    for text, part in product(QUERIES, parts):
        if "COALESCE" in text and ":" in part:
            continue  # IS NULL of a part of a tensor is refused
        column = {"a": part, "b": part, "A": f"A.{part}", "B": f"B.{part}"}
        query = text.format(**column)
        result = words(dl.query(query, sources=sources)["y"])
        expected = words(dl.query(f"SELECT {part} AS y FROM A", sources=sources)["y"])
        match QUERIES[text]:
            case "aabb":
                assert sorted(map(str, result)) == sorted(map(str, expected * 2)), query
            case "set":
                assert sorted(map(str, result)) == sorted(map(str, expected)), query
            case "none":
                assert result == [], query
            case "a":
                assert sorted(map(str, result)) == sorted(map(str, expected)), query


@pytest.mark.parametrize(
    "condition",
    [
        "A.x[0] = B.x[0]",
        "A.x[0] IS NOT DISTINCT FROM B.x[0]",
        "HASH(A.x[0]) = HASH(B.x[0]) OR TRUE",
    ],
)
@pytest.mark.parametrize("kind", ["several", "sequence"])
def test_labels_are_joined_by_name(kind, condition):
    result = dl.query(f"SELECT A.k AS a, B.k AS b FROM A JOIN B ON {condition}", sources=pair(kind))
    pairs = set(zip(result["a"][:].tolist(), result["b"][:].tolist(), strict=True))
    assert pairs >= {(0, 0), (1, 1), (2, 2)}
    assert len(pairs) == (9 if "TRUE" in condition else 3)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("test", ["IN", "= ANY"])
def test_labels_are_searched_by_name(kind, test):
    part = "x" if kind == "one" else "x[0]"
    query = f"SELECT k FROM A WHERE {part} {test} (SELECT {part} FROM B WHERE k = 0)"
    assert dl.query(query, sources=pair(kind))["k"][:].tolist() == [0]


@pytest.mark.parametrize("kind", ["several", "sequence"])
def test_unnested_listed_and_compared_labels_keep_their_names(kind):
    sources = pair(kind)
    unnested = dl.query(
        "SELECT UNNEST(x) AS y FROM A UNION ALL SELECT UNNEST(x) FROM B", sources=sources
    )
    assert sorted(words(unnested["y"])) == sorted(["cat", "dog", "owl"] * 4)
    listed = dl.query(
        "SELECT LIST(x[0] ORDER BY k) AS y FROM A UNION ALL SELECT LIST(x[0] ORDER BY k) FROM B",
        sources=sources,
    )
    assert words(listed["y"]) == [["cat", "dog", "owl"]] * 2
    same = (
        dl.query(
            "SELECT COUNT(*) AS n FROM A JOIN B ON A.k = B.k AND ALL((A.x = B.x))", sources=sources
        )
        if kind == "several"
        else None
    )
    assert same is None or same["n"][:].tolist() == [3]


def test_lists_of_one_label_per_row_keep_their_names():
    result = dl.query(
        "SELECT LIST(x ORDER BY k) AS y FROM A UNION ALL SELECT LIST(x ORDER BY k) FROM B",
        sources=pair("one"),
    )
    assert words(result["y"]) == [["cat", "dog", "owl"]] * 2


def test_name_gives_the_names_of_several_labels():
    ds = pair("several")["B"]
    assert ds.query("SELECT NAME(x[0]) AS n")["n"][:] == ["cat", "dog", "owl"]
    assert [list(v) for v in ds.query("SELECT NAME(x) AS n")["n"][:]] == [
        ["cat", "dog"], ["dog", "owl"], ["owl", "cat"],
    ]  # fmt: skip
    with pytest.raises(dl.errors.QueryTypeError, match="NAME returns the name of a class"):
        ds.query("SELECT NAME(k) AS n")


@pytest.mark.parametrize("other", [dl.Boxes("xyxy", "fraction"), dl.Boxes("xywh")])
def test_boxes_with_different_units_or_formats_are_refused(other):
    sources = {"A": lake(dl.Boxes(), [[[0, 0, 1, 1]]]), "B": lake(other, [[[0, 0, 0.5, 1]]])}
    for query in (
        "SELECT x FROM A UNION ALL SELECT x FROM B",
        "SELECT CASE WHEN A.k = 0 THEN A.x ELSE B.x END AS x FROM A JOIN B ON A.k = B.k",
        "SELECT COALESCE(A.x, B.x) AS x FROM A JOIN B ON A.k = B.k",
    ):
        refusal = r"boxes (in the same unit|of the same format)"
        with pytest.raises(dl.errors.QueryTypeError, match=refusal):
            dl.query(query, sources=sources)


DTYPES = ["bool", "uint8", "int16", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("a", DTYPES)
def test_arrays_of_different_dtypes_are_promoted_as_in_numpy(a, ragged):
    shape = (None,) if ragged else (1,)
    schema = {"k": "int32"} | {dtype: dl.Array(dtype, shape) for dtype in DTYPES}
    ds = dl.create(f"memory://{uuid4().hex}", schema)
    values = {"bool": True, "uint8": 255, "int16": -300, "int64": -(2**40)}
    rows = {dtype: np.full(1, values.get(dtype, 0.1), dtype) for dtype in DTYPES}
    ds.append({"k": [0, 1], **{dtype: [value, value] for dtype, value in rows.items()}})
    for b in DTYPES:
        expected = np.promote_types(a, b)
        for text in (f'CASE WHEN k = 0 THEN "{a}" ELSE "{b}" END', f'COALESCE(NULL, "{a}", "{b}")'):
            column = ds.query(f"SELECT {text} AS y")["y"]
            first, second = column[:]
            assert column.htype.dtype == expected, (text, column.htype)
            assert first.tolist() == rows[a].astype(expected).tolist(), text
            if "CASE" in text:
                assert second.tolist() == rows[b].astype(expected).tolist(), text


def test_constants_adopt_the_dtype_of_arrays():
    ds = lake(dl.Embedding(2), [[1, 2], [3, 4]])
    assert ds.query("SELECT CASE WHEN k = 0 THEN x ELSE [0.5, 0.25] END AS y")["y"].htype.dtype == (
        "float32"
    )
