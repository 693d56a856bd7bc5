"""Lists with nulls are hashed and used as masks like stored ones, wherever they come from."""

from __future__ import annotations

from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl


@pytest.fixture(scope="module")
def ds():
    schema = {
        "id": "int64",
        "s": "text",
        "f": "float32",
        "day": "datetime64[D]",
        "seen": dl.Sequence(dl.Scalar("bool", nullable=True)),
        "counts": dl.Sequence(dl.Scalar("int64", nullable=True)),
        "tags": dl.Sequence("text"),
        "v": dl.Array("int32", (2,)),
    }
    ds = dl.create(f"memory://{uuid4().hex}", schema, overwrite=True)
    ds.append(
        {
            "id": [0, 1],
            "s": ["a", "b"],
            "f": [0.5, 2.0],
            "day": np.array(["2026-01-02", "2026-01-03"], "M8[D]"),
            "seen": [[True, None], [False, True]],
            "counts": [[0, None], [1, None]],
            "tags": [["x", "y"], ["z", "w"]],
            "v": [[1, 2], [3, 4]],
        }
    )
    return ds


def values(ds, text):
    return ds.query(f"SELECT {text} AS y")["y"][:].tolist()


@pytest.mark.parametrize(
    ("computed", "constant"),
    [
        ("[id, NULL]", "[1, NULL]"),
        ("[NULL, id, 2]", "[NULL, 1, 2]"),
        ("[id + 0.5, NULL]", "[1.5, NULL]"),
        ("[f, NULL]", "[2, NULL]"),
        ("[s, NULL]", "['b', NULL]"),
        ("[id > 0, NULL]", "[TRUE, NULL]"),
        ("[id > 0]", "[TRUE]"),
        ("[[id, NULL], [2]]", "[[1, NULL], [2]]"),
        ("[id, 2]", "[1, 2]"),
    ],
)
def test_computed_list_has_the_hash_of_an_equal_constant(ds, computed, constant):
    first, second = values(ds, f"HASH({computed})")
    assert first != second
    assert values(ds, f"HASH({constant})") == [second] * 2
    assert values(ds, f"HASH({computed}) = HASH({constant})") == [False, True]


def test_computed_list_with_nulls_equals_a_stored_one(ds):
    assert values(ds, "HASH([id, NULL]) = HASH(counts)") == [True, True]
    assert values(ds, "HASH([day, NULL]) IS NULL") == [False, False]


@pytest.mark.parametrize(
    ("indexed", "expected"),
    [
        ("tags[seen]", [["x"], ["w"]]),
        ("v[seen]", [[1], [4]]),
        ("seen[seen]", [[True], [True]]),
        ("v[[TRUE, NULL]]", [[1], [3]]),
        ("tags[seen AND TRUE]", [["x"], ["w"]]),
        ("tags[NOT seen]", [[], ["z"]]),
    ],
)
def test_null_in_a_mask_selects_nothing(ds, indexed, expected):
    assert [list(row) for row in ds.query(f"SELECT {indexed} AS y")["y"][:]] == expected


MIXED = ["a", 1, None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LIST_CONTAINS($p, 'a')", True),
        ("LIST_CONTAINS($p, s)", True),
        ("LIST_CONTAINS($p, 1.0)", True),
        ("LIST_CONTAINS($p, '1')", False),
        ("LIST_POSITION($p, 1)", 2),
        ("LIST_HAS_ANY($p, ['a', 'b'])", True),
        ("LIST_HAS_ALL($p, ['a', 'b'])", False),
        ("LEN(LIST_INTERSECT($p, ['a']))", 1),
        ("LIST_APPEND($p, 'c')[-1]", "c"),
        ("LIST_RESIZE($p, 4, 'c')[-1]", "c"),
        ("LEN(LIST_FILTER($p, x -> x = 'a'))", 1),
    ],
)
def test_list_functions_read_mixed_parameters_as_json(ds, text, expected):
    assert ds.query(f"SELECT {text} AS y LIMIT 1", {"p": MIXED})["y"][0] == expected


def test_value_is_not_searched_among_constants_of_several_types(ds):
    with pytest.raises(dl.QueryTypeError, match="CAST"):
        ds.query("SELECT s IN ('a', 1) AS y")
