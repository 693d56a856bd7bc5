"""A user function's name is taken, cannot be written, or means that function everywhere."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.bind.calls.catalog import catalog
from deeplake_lite.query.functions import REGISTRY
from deeplake_lite.query.registering import _is_callable, built_in, unregister

pytestmark = pytest.mark.usefixtures("registry")

KEYWORDS = duckdb.sql("SELECT upper(keyword_name) FROM duckdb_keywords()").fetchall()
OF_THIS_LANGUAGE = {"KEEP", "ARRANGE", "EXPAND", "SEED", "PERCENT", "UNGROUP", "SPLIT", "QUALIFY"}
WORDS = sorted({row[0] for row in KEYWORDS} | OF_THIS_LANGUAGE)
BUILT_IN = sorted(name for name in built_in() if name.isidentifier())
PARTS = 24


@pytest.fixture(scope="module")
def ds():
    ds = dl.create(
        "memory://names-of-functions",
        {"i": "int32", "v": dl.Array("float32", (3,)), "r": dl.Array("uint8", (None,)), "t": "text",
         "n": dl.Json()},
        overwrite=True,
    )  # fmt: skip
    ds.append(
        {"i": [1, 2], "v": np.ones((2, 3)), "r": [[1], [1, 2]], "t": ["a", "b"], "n": [1, {}]}
    )
    ds.commit("rows")
    return ds


def register(name, **options):
    dl.function(returns="int64", name=name.lower(), **options)(lambda *args: -7)  # noqa: ARG005


def answers_everywhere(ds, name):
    """Tell whether the function returns its value for every argument type, in every clause."""
    parts = ", ".join(f"{name}({column}) AS {column}" for column in "ivrtn")
    result = ds.query(f"SELECT {parts}, {name}() AS c, {name}(i, v) AS d, {name}([1, 2]) AS e")
    values = [result[name][:].tolist() for name in result.columns]
    chosen = ds.query(f"SELECT i WHERE {name}(i) = -7 AND {name}(v) = -7 ORDER BY {name}(t), i")
    return values == [[-7, -7]] * 8 and chosen["i"][:].tolist() == [1, 2]


@pytest.mark.parametrize("part", range(PARTS))
def test_built_in_name_is_the_users_only_where_it_is_overridden(ds, part):
    for name in BUILT_IN[part::PARTS]:
        if not _is_callable(name):
            for override in (False, True):
                with pytest.raises(dl.QueryTypeError, match="must not be a keyword"):
                    register(name, override=override)
            continue
        with pytest.raises(
            dl.ExistsError, match=f"A built-in function {name} already exists.*override=True"
        ):
            register(name)
        register(name, override=True)
        assert answers_everywhere(ds, name), name
        unregister(name)


def test_every_name_that_queries_recognise_is_known():
    ours = {name for name in REGISTRY if name.isidentifier()}
    assert ours | {name.upper() for name in catalog()} <= built_in()


@pytest.mark.parametrize("part", range(PARTS))
def test_keyword_can_be_called_or_is_refused(ds, part):
    refused = []
    for name in sorted({*WORDS} - built_in())[part::PARTS]:
        try:
            register(name)
        except dl.QueryTypeError as error:
            refused.append(str(error))
            with pytest.raises(dl.QueryError):
                ds.query(f"SELECT {name}(i), {name}(i) WHERE {name}(i) = 1 ORDER BY {name}(i)")
        else:
            assert answers_everywhere(ds, name), name
            unregister(name)
    assert all("must not be a keyword" in message for message in refused)


@pytest.mark.parametrize("name", ["KEEP", "INNER", "COPY", "SHOW", "FULL", "LOAD", "VIEW", "SET"])
def test_keyword_that_cannot_be_called_is_refused(name):
    with pytest.raises(dl.QueryTypeError, match="must not be a keyword"):
        register(name)


def test_internal_computations_of_the_language_are_unaffected(ds):
    """Functions that operators and other functions use internally remain those of the language."""
    texts = [
        "-v", "COALESCE(v, v)", "CASE WHEN i = 1 THEN v END", "v BETWEEN 0 AND 1",
        "(SELECT MAX(x.i) FROM dataset x)", "CAST(v AS int8)", "v IS NULL",
    ]  # fmt: skip
    query = "SELECT " + ", ".join(f"{text} AS c{n}" for n, text in enumerate(texts))
    query += " WHERE v IS DISTINCT FROM r ORDER BY v[0], i"
    expected = [repr(ds.query(query)[f"c{n}"][:]) for n in range(len(texts))]
    for name in ("HASH", "NEG", "ABS", "LEN", "SHAPE", "EQUALS", "NULLIF", "ISNAN", "LIST"):
        register(name, override=True)
    assert [repr(ds.query(query)[f"c{n}"][:]) for n in range(len(texts))] == expected


def test_only_aggregates_accept_distinct_and_order(ds):
    register("spread")
    for inside in ("DISTINCT i", "i ORDER BY i"):
        with pytest.raises(dl.QueryTypeError, match="Only aggregates take DISTINCT or ORDER BY"):
            ds.query(f"SELECT SPREAD({inside})")
