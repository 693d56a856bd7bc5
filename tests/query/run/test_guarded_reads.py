"""Other lakes named in a query are read as carefully as the queried one."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo import Repository
from deeplake_lite.testing.tiny import only_arrays as write_only_arrays
from tests.storage.repo_file import move, tip

N = 2_000


def asked_by_url(ds, other):
    return ds.query(f"SELECT a, p FROM '{other}'")


def asked_by_url_and_version(ds, other):
    return ds.query(f"SELECT a, p FROM '{other}' VERSION 'v1'")


def joined(ds, other):
    return ds.query(f"SELECT o.a, o.p, k + 1 AS n FROM ds JOIN '{other}' AS o ON o.i = ds.k")


def within(ds, other):
    return ds.query(f"SELECT a, p FROM (SELECT * FROM '{other}' WHERE i >= 0)")


def beside_given_sources(ds, other):
    return dl.query(f"SELECT o.a, o.p FROM d JOIN '{other}' AS o ON o.i = d.k", sources={"d": ds})


def saved(ds, _):
    return ds.views()["j"]


def saved_and_named(ds, _):
    return ds.query("SELECT a, p FROM 'j'")


def asked_of_a_result(ds, other):
    return ds.query("SELECT k * 2 AS n").query(f"SELECT a, p FROM '{other}'")


WAYS = [
    asked_by_url,
    asked_by_url_and_version,
    joined,
    within,
    beside_given_sources,
    saved,
    saved_and_named,
    asked_of_a_result,
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A lake with a saved query of another lake, which has two columns of numbers."""
    folder = tmp_path_factory.mktemp("sound")
    schema = {"i": "int64", "a": "float64", "b": "float64", "p": dl.Image("png", nullable=True)}
    other = dl.create(str(folder / "other.lake"), schema)
    a, b = np.random.default_rng(0).random((2, N))
    pictures = [np.zeros((12, 12), np.uint8)] * 3 + [None] * (N - 3)
    with write_only_arrays():
        other.append({"i": range(N), "a": a, "b": b, "p": pictures})
        other.commit("numbers")
    other.tag("v1")
    other.metadata["note"] = "later"
    other.commit("a note")
    other.tag("v2")
    ds = dl.create(str(folder / "asked.lake"), {"k": "int64"})
    ds.append({"k": [0, 1, 2]})
    ds.commit("keys")
    return folder


@pytest.fixture
def lakes(sound, tmp_path):
    folder = shutil.copytree(sound, tmp_path / "lakes")
    asked, other = (folder / name for name in ("asked.lake", "other.lake"))
    joined(dl.open(str(asked)), str(other)).save("j")
    return asked, other


def swap_columns(other):
    """Swap the files of the two columns of random numbers."""
    first, second = sorted((other / "chunks").iterdir(), key=lambda path: path.stat().st_size)[-2:]
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_undamaged_lake_is_read_with_checks(lakes, way):
    asked, other = lakes
    result = way(dl.open(str(asked), verify="read"), str(other))
    assert result["a"][:2].tolist() == dl.open(str(other))["a"][:2].tolist()


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_swapped_files_of_a_named_lake_are_damage_if_reads_are_checked(lakes, way):
    asked, other = lakes
    numbers = dl.open(str(other))["b"][:2].tolist()
    swap_columns(other)
    assert way(dl.open(str(asked)), str(other))["a"][:2].tolist() == numbers  # nothing is reported
    with pytest.raises(dl.DamagedError, match="of another chunk"):
        way(dl.open(str(asked), verify="read"), str(other))["a"][:2]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_limits_apply_to_lakes_named_in_a_query(lakes, way):
    asked, other = lakes
    assert way(dl.open(str(asked)), str(other))["p"][0].shape == (12, 12)
    with pytest.raises(dl.TooLargeError, match="100"):
        way(dl.open(str(asked), limits=dl.Limits(max_pixels=100)), str(other))["p"][0]


@pytest.mark.parametrize("query", ["FROM '{url}' VERSION 'v1'", "FROM ds VERSION 'v1'"])
def test_swapped_tag_is_damage_if_reads_are_checked(lakes, query):
    _, other = lakes
    move(other, "tag.v1", tip(other, "tag.v2"))
    query = f"SELECT a {query.format(url=other)}"
    for ds in (dl.open(str(other)), dl.open(str(other), version="v2")):
        assert len(ds.query(query)) == N
    with pytest.raises(dl.DamagedError, match="tag 'v1'"):
        dl.open(str(other), version="v2", verify="read").query(query)


def test_rolled_back_branch_is_damage_if_reads_are_checked(lakes):
    asked, other = lakes
    move(other, "branch.main", tip(other, "tag.v1"))
    query = f"SELECT a FROM '{other}'"
    assert len(dl.open(str(asked)).query(query)) == N
    with pytest.raises(dl.DamagedError, match="branch 'main'"):
        dl.open(str(asked), verify="read").query(query)


def test_links_are_followed_in_other_versions_of_the_lake_but_not_in_other_lakes(tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    for name in ("a", "b"):
        ds = dl.create(str(tmp_path / name), {"f": dl.Link("text")}, allow=[str(tmp_path)])
        ds.append({"f": [str(tmp_path / "a.txt")]})
        ds.commit("link")
        ds.tag("v1")
    for place in ("ds", f"'{ds.url}'"):
        assert ds.query(f"SELECT f FROM {place} VERSION 'v1'")["f"][0] == "hello"
    with pytest.raises(dl.LakeError, match="allow"):
        ds.query(f"SELECT f FROM '{tmp_path / 'a'}'")["f"][0]


def test_lake_is_opened_again_with_its_store_options(make_lake, monkeypatch):
    ds, other = make_lake({"x": "int8"}, x=[1]), make_lake({"x": "int8"}, x=[2])
    ds.tag("v1")
    ds.handle.lake = replace(ds.handle.lake, options={"region": "here"})
    asked, opened = dict[str, object](), Repository.open

    def open_(url, options=None, *rest):
        asked[url] = options
        return opened(url, {}, *rest)

    monkeypatch.setattr(Repository, "open", open_)
    for query in ("FROM ds VERSION 'v1'", f"FROM '{ds.url}'", f"FROM '{other.url}'"):
        ds.query(f"SELECT x {query}")
    assert asked == {ds.url: {"region": "here"}, other.url: {}}
