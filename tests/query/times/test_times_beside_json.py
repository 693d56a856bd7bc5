"""A time compared with JSON, which has no times, is an error that says which CAST helps."""

import datetime as dt

import numpy as np
import pytest

import deeplake_lite as dl

TIME = np.datetime64("2024-01-01T23:30")

TIMES = {
    **{f"t_{unit}": TIME.astype(f"M8[{unit}]") for unit in ("D", "s", "ms", "us", "ns")},
    "d": np.timedelta64(5, "s"),
}
"""A time of each type, by column."""

VALUES = [*TIMES, "CAST(t_us AS TIME)", "CURRENT_DATE", "INTERVAL 1 DAY", "$p", "MAX(t_us)"]

JSON = ["meta.t", "j", "js[0]", "$m.t", "meta['l'][0]", "JSON_EXTRACT(meta, '$.t')", "MAX(meta.t)"]

FORMS = [
    "{t} = {j}",
    "{j} = {t}",
    "{t} <> {j}",
    "{t} < {j}",
    "{j} <= {t}",
    "{t} > {j}",
    "{t} IN ({j})",
    "{j} IN ({t}, NULL)",
    "{t} NOT IN ({j}, {j})",
    "{t} BETWEEN {j} AND {j}",
    "{j} BETWEEN {t} AND {t}",
    "CASE {t} WHEN {j} THEN 1 END",
    "CASE {j} WHEN {t} THEN 1 END",
    "NULLIF({t}, {j})",
    "NULLIF({j}, {t})",
    "{t} IS NOT DISTINCT FROM {j}",
    "{j} IS DISTINCT FROM {t}",
    "({t}, 1) = ({j}, 1)",
    "{{'a': {t}}} = {{'a': {j}}}",
    "LIST_CONTAINS(LIST_VALUE({t}), {j})",
    "LIST_POSITION(LIST_VALUE({j}), {t})",
    "LIST_HAS_ANY(LIST_VALUE({j}), LIST_VALUE({t}))",
    "LIST_INTERSECT(LIST_VALUE({t}), LIST_VALUE({j}))",
    "MAP(LIST_VALUE({t}), [1])[{j}]",
    "MAP_CONTAINS(MAP(LIST_VALUE({j}), [1]), {t})",
    "LIST_FILTER(LIST_VALUE({t}), x -> x = {j})",
    "CONTAINS({j}, {t})",
]

QUERIES = [
    "SELECT id WHERE t_us IN (SELECT meta.t)",
    "SELECT id WHERE meta.t IN (SELECT t_us)",
    "SELECT id WHERE t_us = ANY(SELECT meta.t)",
    "SELECT id WHERE meta.t <= ALL(SELECT t_us)",
    "SELECT id WHERE t_us > (SELECT j LIMIT 1)",
    "SELECT a.id FROM dataset AS a JOIN dataset AS b ON a.t_us = b.meta.t",
    "SELECT a.id FROM (SELECT id, t_us AS k) AS a JOIN (SELECT id, j AS k) AS b USING (k)",
    "SELECT t_us AS x INTERSECT SELECT j AS x",
    "SELECT j AS x EXCEPT SELECT d AS x",
    "SELECT COUNT(*) FILTER (WHERE t_us = j)",
    "SELECT id GROUP BY id HAVING MAX(t_us) > MAX(j)",
]

ERROR = "Times can be compared only with times, .* CAST"


@pytest.fixture(scope="module")
def ds():
    """Make a lake with a time of each type, and JSON strings of times in each place."""
    text = "2024-01-01T23:30:00"
    schema = {column: f"{time.dtype}" for column, time in TIMES.items()}
    schema |= {"id": "int64", "meta": dl.Json(), "j": dl.Json(), "js": dl.Sequence(dl.Json())}
    lake = dl.create("memory://times_beside_json", schema, overwrite=True)
    meta = {"t": text, "l": [text], "d": "00:00:05"}
    rows = {column: [time] for column, time in TIMES.items()}
    lake.append(rows | {"id": [0], "meta": [meta], "j": [text], "js": [[text, "00:00:05"]]})
    return lake


def _params(query):
    values = {"p": dt.datetime(2024, 1, 1, 23, 30), "m": {"t": "2024-01-01T23:30:00"}}
    return {name: value for name, value in values.items() if f"${name}" in query}


def _check_rejected(ds, query):
    with pytest.raises(dl.QueryError, match=ERROR):
        ds.query(query, params=_params(query)).to_pandas()


@pytest.mark.parametrize("form", FORMS)
def test_every_comparison_is_rejected(ds, form):
    _check_rejected(ds, f"SELECT {form.format(t='t_us', j='meta.t')} AS x")


@pytest.mark.parametrize("value", VALUES)
def test_times_of_all_types_are_rejected(ds, value):
    for sign in ("=", "<", "IS DISTINCT FROM"):
        _check_rejected(ds, f"SELECT {value} {sign} {'MAX(j)' if 'MAX' in value else 'j'} AS x")


@pytest.mark.parametrize("json", JSON)
def test_json_of_all_sources_is_rejected(ds, json):
    for sign in ("=", ">", "IS NOT DISTINCT FROM"):
        _check_rejected(ds, f"SELECT {'MAX(t_us)' if 'MAX' in json else 't_us'} {sign} {json} AS x")


@pytest.mark.parametrize("query", QUERIES)
def test_clauses_that_compare_reject_them(ds, query):
    _check_rejected(ds, query)


def test_greatest_names_the_cast(ds):
    with pytest.raises(dl.QueryError, match=r"CAST\(meta.t AS TIMESTAMP\)"):
        ds.query("SELECT GREATEST(t_us, meta.t)")


@pytest.mark.parametrize(
    "condition",
    [
        "CAST(meta.t AS TIMESTAMP) = t_us",
        "t_ns BETWEEN CAST(j AS TIMESTAMP_NS) AND CAST(js[0] AS TIMESTAMP)",
        "CAST(meta.t AS DATE) = t_D",
        "CAST(meta.d AS INTERVAL) = d",
        "CAST(meta.d AS TIME) < CAST(t_us AS TIME)",
        "CAST(js[1] AS INTERVAL) = d",
        "meta.t = '2024-01-01T23:30:00'",
        "LEN(LIST_VALUE(t_us, meta.t)) = 2",
    ],
)
def test_casts_of_json_compare(ds, condition):
    assert len(ds.query(f"SELECT id WHERE {condition}")) == 1
