"""``meta.key`` and ``meta['key']`` mean the same in every clause."""

from __future__ import annotations

import itertools

import pytest

import deeplake_lite as dl

QUERIES = [
    "SELECT {0} AS c, COUNT(*) AS n GROUP BY {1} ORDER BY n, c",
    "SELECT {0} AS c GROUP BY m ORDER BY c",
    "SELECT COUNT(*) AS n GROUP BY m HAVING {0} > 9 ORDER BY {1}",
    "SELECT DISTINCT {0} AS c ORDER BY {1}",
    "SELECT id WHERE {0} > 9 AND {1} < 12",
    "SELECT MAX({0}) AS c GROUP BY {1} ORDER BY c",
    "SELECT id ORDER BY {0}, {1}",
    "SELECT {0} + 1 AS c GROUP BY {1} ORDER BY c",
    "SELECT SUM(id) OVER (PARTITION BY {0} ORDER BY {1}) AS c",
]
NOTATIONS = [("m.s", "m['s']"), ("m.d.s", "m['d']['s']")]


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    made = dl.create(
        "memory://notations", {"id": "int64", "m": dl.Json(nullable=True)}, overwrite=True
    )
    values = [10, 9.4, None, 10, 11]
    made.append(
        {
            "id": range(5),
            "m": [None if v is None else {"s": v, "d": {"s": v}} for v in values],
        }
    )
    return made


@pytest.mark.parametrize("notations", NOTATIONS, ids=lambda n: n[0])
@pytest.mark.parametrize("query", QUERIES)
def test_any_pair_of_notations_gives_the_same_result(
    ds: dl.Dataset, query: str, notations: tuple[str, str]
) -> None:
    result = [
        ds.query(query.format(*pair), sources={"ds": ds}).to_arrow().to_pydict()
        for pair in itertools.product(notations, repeat=2)
    ]
    assert result[0]
    assert all(other == result[0] for other in result)


@pytest.mark.parametrize(
    ("condition", "way_out"),
    [
        ("id = ANY([1, 2])", "ANY(id = [1, 2])"),
        ("id = ANY(v)", "ANY(id = v)"),
        ("ANY(v) = id", "ANY(v = id)"),
        ("id > ALL(v)", "ALL(id > v)"),
        ("'a' <> ALL(v)", "ALL('a' <> v)"),
    ],
)
def test_any_of_a_list_is_not_a_number(condition: str, way_out: str) -> None:
    ds = dl.create("memory://any", {"id": "int64", "v": dl.Array("int64", (2,))}, overwrite=True)
    ds.append({"id": [1, 2], "v": [[1, 2], [0, 0]]})
    with pytest.raises(dl.QueryTypeError) as error:
        ds.query(f"SELECT id WHERE {condition}")
    assert f"write {way_out}." in str(error.value)
    assert ds.query("SELECT id WHERE ANY(v) = true")["id"][:].tolist() == [1]
    assert ds.query("SELECT id WHERE ANY(id = v)")["id"][:].tolist() == [1]


def test_operators_of_other_databases_are_refused() -> None:
    ds = dl.create("memory://operators", {"e": dl.Embedding(2)}, overwrite=True)
    ds.append({"e": [[1, 0], [0, 1]]})
    for sign in ("<=>", "<->", "<#>"):
        with pytest.raises(dl.QueryError):
            ds.query(f"SELECT e {sign} [1, 0] AS x")
