"""Datasets and tables named in FROM."""

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryError
from deeplake_lite.query.run.opening import Sources


@pytest.fixture
def ds(make_lake):
    return make_lake({"x": "int32"}, x=[1, 2, 3])


def test_source_is_opened_once_and_stays_unchanged(ds):
    sources = Sources()
    first = sources(ds.url, None)
    ds.append({"x": [4]})
    ds.commit("later")
    assert sources(ds.url, None) is first
    assert len(first) == 3


@pytest.mark.parametrize("name", ["dataset", "ds", "this", "self"])
def test_queried_view_has_names(ds, name):
    sources = Sources(ds[:2])
    assert sources(name, None) is sources.default
    assert sources.opened == {}


def test_given_name_outranks_default_names(ds):
    assert len(Sources(ds[:2], {"ds": ds[:1]})("ds", None)) == 1


def test_version_means_all_of_its_rows(ds):
    first = ds.version
    ds.append({"x": [4]})
    ds.commit("later")
    sources = Sources(ds[:1], {"other": ds[:2]})
    for name in ("ds", "other", ds.url):
        assert len(sources(name, first)) == 3
    assert set(sources.opened) == {(n, first) for n in ("ds", "other", ds.url)}


def test_unknown_source_error_says_what_from_accepts():
    with pytest.raises(dl.QueryError, match=r"or a key of sources=\{…\}, but it names 'nothing'"):
        Sources()("nothing", None)


def test_saved_view_is_found_by_name(ds):
    ds[:2].save("first two")
    ds.query("SELECT x * 2 AS y").save("doubled")
    assert len(ds.query("SELECT * FROM 'first two'")) == 2
    result = ds.query('SELECT x, y FROM ds JOIN "doubled" AS d ON d.y = 2 * ds.x')
    assert result["y"][:].tolist() == [2, 4, 6]
    with pytest.raises(QueryError, match="a saved view of the queried lake"):
        dl.query("SELECT * FROM 'first two'")


def test_unknown_source_is_refused_even_if_the_queried_result_has_no_lake():
    with pytest.raises(QueryError, match="a key of sources"):
        dl.query("SELECT 1 AS x").query("SELECT * FROM 'nothing'")
