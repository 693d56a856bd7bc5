"""Indexes as a part of the lake: lists, vacuums, killed builds, damage and several builders."""

import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.index import stored
from deeplake_lite.query.run.cache import CACHE
from deeplake_lite.storage.repo import run
from deeplake_lite.storage.repo.index_refs import INDEX
from deeplake_lite.storage.state import add_digest

DIM = 8
TEXT = "SELECT n ORDER BY COSINE_SIMILARITY(v, ?) DESC LIMIT 5 USING INDEX"


@pytest.fixture
def ds(tmp_path):
    ds = dl.create(str(tmp_path / "lake"), {"v": dl.Embedding(DIM), "n": "int32", "t": "text"})
    random = np.random.default_rng(0)
    ds.append({
        "v": random.normal(size=(3_000, DIM)), "n": np.arange(3_000),
        "t": [f"word{i % 7} word{i % 11}" for i in range(3_000)],
    })  # fmt: skip
    ds.commit("rows")
    return ds


def is_used(ds):
    return "searched" in ds.query(TEXT, [ds["v"][5]]).explain()


def branches(ds):
    return [name for name in ds.handle.repository.branch_names() if name.startswith(INDEX)]


def test_indexes_are_listed_and_dropped(ds):
    vector, text = ds.create_index("v"), ds.create_index("t")
    dot = ds.create_index("v", metric="dot")
    assert ds.indexes == [vector, text, dot]
    assert [i.kind for i in ds.indexes] == ["vector", "text", "vector"]
    assert repr(vector) == (
        f"vector index on v (cosine), 3,000 rows, recall {vector.recall:.3f}, version {ds.version}"
    )
    assert repr(text) == f"text index on t (bm25), 3,000 rows, version {ds.version}"
    assert ds.drop_index(dot) == 1
    assert ds.drop_index("t", "text") == 1
    assert ds.indexes == [vector]
    assert ds.drop_index("v") == 1
    assert ds.indexes == []
    assert not is_used(ds)
    with pytest.raises(dl.NotFoundError, match="There is no index on 'v'"):
        ds.drop_index("v")
    with pytest.raises(
        dl.NotFoundError, match=r"The vector index on v \(dot\) .* no longer exists"
    ):
        ds.drop_index(dot)


def test_second_index_of_a_version_replaces_the_first(ds):
    ds.create_index("v")
    second = ds.create_index("v", lists=3)
    assert ds.indexes == [second]
    assert "of 3 lists searched" in ds.query(TEXT, [ds["v"][5]]).explain()


def test_indexes_do_not_appear_among_branches_and_versions(ds):
    ds.create_index("v")
    assert len(ds.log()) == 2
    with pytest.raises(dl.VersionNotFoundError):
        dl.open(ds.url, version=branches(ds)[0])
    ds.branch("fix")
    assert not ds.status()


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"column": "n"}, dl.SchemaError, "vectors of numbers that all have the same length"),
        ({"column": "t", "kind": "vector"}, dl.SchemaError, "column 't' has the type"),
        ({"column": "v", "kind": "text"}, dl.SchemaError, "needs a column of strings"),
        ({"column": "u"}, dl.ColumnNotFoundError, "no column 'u'"),
        ({"column": "v", "kind": "tree"}, dl.OptionError, "kind must be"),
        ({"column": "v", "metric": "l1"}, dl.OptionError, "metric must be"),
        ({"column": "v", "recall": 0}, dl.OptionError, "recall must be greater than 0"),
        ({"column": "v", "recall": "high"}, dl.OptionError, "recall must be greater than 0"),
        ({"column": "v", "lists": 0}, dl.OptionError, "lists must be"),
        ({"column": "t", "lists": 4}, dl.OptionError, "lists is an option of vector indexes"),
        ({"column": "t", "metric": "dot"}, dl.OptionError, "metric is an option of vector"),
        ({"column": 3}, dl.OptionError, "column must be"),
    ],
)
def test_wrong_arguments_are_reported(ds, options, error, reason):
    with pytest.raises(error, match=reason):
        ds.create_index(**options)
    assert branches(ds) == []


def test_uncommitted_edits_must_be_committed_first(ds):
    ds["n"][0] = 7
    with pytest.raises(dl.UncommittedError, match="building an index"):
        ds.create_index("v")


def test_tag_has_an_index_that_branches_use(ds):
    ds.tag("v1")
    ds["n"][0] = -1
    ds.commit("edit")
    old = dl.open(ds.url, version="v1")
    old.create_index("v")
    assert is_used(old)
    assert is_used(ds)


def test_vacuum_keeps_the_index_that_is_used_and_its_version(ds):
    ds.create_index("v")
    indexed = ds.version
    for number in range(3):
        ds["n"][0] = -number
        ds.commit("edit")
    done = ds.vacuum(older_than="0s", spare="0s")
    assert done.expired >= 2
    assert [index.version for index in ds.indexes] == [indexed]
    CACHE.clear()
    assert is_used(dl.open(ds.url))
    assert not ds.verify().damaged


def test_vacuum_drops_replaced_indexes_once_their_versions_expire(ds):
    ds.create_index("v")
    ds["v"][0] = np.ones(DIM)
    ds.commit("edit")
    newer = ds.create_index("v")
    assert ds.vacuum(spare="0s").bytes == 0
    assert len(ds.indexes) == 2
    counted = ds.vacuum(older_than="0s", spare="0s", dry_run=True)
    assert len(ds.indexes) == 2
    done = ds.vacuum(older_than="0s", spare="0s")
    assert done.bytes > 100_000
    assert abs(counted.bytes - done.bytes) < 5_000
    assert [index.key for index in ds.indexes] == [newer.key]
    assert is_used(ds)


def test_vacuum_drops_the_index_of_a_deleted_branch(ds):
    ds.branch("fix")
    ds.checkout("fix")
    ds["n"][0] = 1
    ds.commit("edit")
    ds.create_index("v")
    ds.checkout("main")
    assert ds.vacuum(spare="0s").bytes == 0
    ds.delete_branch("fix")
    assert ds.vacuum(spare="0s").bytes > 100_000
    assert branches(ds) == []


def test_vacuum_keeps_indexes_of_saved_views(ds):
    ds.create_index("v")
    ds[:10].save("ten")
    ds.restore(ds.log()[1].id)
    ds.commit("empty")
    ds.vacuum(older_than="0s", spare="0s")
    view = ds.views()["ten"]
    assert len(view) == 10
    assert len(branches(ds)) == 1


def test_dropped_index_is_vacuumed(ds):
    ds.create_index("v")
    ds.drop_index("v")
    assert ds.vacuum(spare="0s").bytes > 100_000


KILLED = """
import os, sys
import deeplake_lite as dl
from deeplake_lite.index import {module} as module
old = module.{name}
def stop(*args, **options):
    if {after}:
        old(*args, **options)
    os._exit(9)
module.{name} = stop
from deeplake_lite.index import api
if hasattr(api, "{name}"):
    api.{name} = stop
dl.open(sys.argv[1]).create_index("v", progress=False)
"""


@pytest.mark.parametrize(
    ("module", "name", "after"),
    [("stored", "publish", False), ("build_vectors", "find_centres", True),
     ("stored", "add_digest", False)],
    ids=["before-publishing", "while-training", "after-creating-the-branch"],
)  # fmt: skip
def test_killed_build_leaves_an_intact_lake(ds, module, name, after):
    code = KILLED.format(module=module, name=name, after=after)
    done = subprocess.run([sys.executable, "-c", code, ds.url], capture_output=True, check=False)
    assert done.returncode == 9, done.stderr.decode()
    assert ds.indexes == []
    assert not is_used(ds)
    ds["n"][0] = 3
    ds.commit("edit")
    ds.vacuum(spare="0s")
    assert branches(ds) == []
    assert not ds.verify().damaged
    ds.create_index("v")
    assert is_used(ds)


def test_failed_build_leaves_nothing(ds, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    from deeplake_lite.index import build_vectors

    monkeypatch.setattr(build_vectors, "find_centres", fail)
    with pytest.raises(MemoryError):
        ds.create_index("v")
    monkeypatch.undo()
    assert branches(ds) == []
    assert not list((ds.handle.repository.writers_folder()).glob("*.json"))


def test_vacuum_during_a_build_spares_it(ds, monkeypatch):
    publish = stored.publish
    from deeplake_lite.index import api

    def vacuum_first(*args, **options):
        dl.open(ds.url).vacuum(older_than="0s", spare="0s")
        return publish(*args, **options)

    ds["n"][0] = 3
    ds.commit("edit")
    monkeypatch.setattr(api, "publish", vacuum_first)
    ds.create_index("v")
    assert is_used(ds)


def test_commits_during_a_build_are_kept(ds, monkeypatch):
    publish = stored.publish
    from deeplake_lite.index import api

    def commit_first(*args, **options):
        other = dl.open(ds.url)
        other["n"][0] = 77
        other.commit("meanwhile")
        return publish(*args, **options)

    monkeypatch.setattr(api, "publish", commit_first)
    ds.create_index("v")
    ds.refresh()
    assert ds["n"][0] == 77
    assert is_used(ds)


def test_two_builders_leave_one_index(ds):
    handles, errors = [dl.open(ds.url) for _ in range(2)], []

    def build(handle):
        try:
            handle.create_index("v", progress=False)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=build, args=[handle]) for handle in handles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(ds.indexes) == 1
    assert is_used(ds)


def chunk_files(ds):
    return {p.name for p in Path(ds.url, "chunks").iterdir()}


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "changed"])
def test_damaged_vector_index_is_not_used(ds, lost):
    kept = chunk_files(ds)
    exact = ds.query(TEXT.replace(" USING INDEX", ""), [ds["v"][5]])["n"][:].tolist()
    ds.create_index("v")
    CACHE.clear()
    for name in chunk_files(ds) - kept:
        path = Path(ds.url, "chunks", name)
        if lost:
            path.unlink()
        else:
            path.write_bytes(bytes(255 - byte for byte in path.read_bytes()))
    fresh = dl.open(ds.url)
    with pytest.warns(dl.IndexWarning, match="The query compared all rows instead"):
        result = fresh.query(TEXT, [ds["v"][5]])
    assert result["n"][:].tolist() == exact
    assert "it is damaged" in result.explain()
    fresh.drop_index("v")
    fresh.create_index("v")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_used(fresh)


def test_damaged_text_index_is_not_used(ds):
    text = "SELECT n ORDER BY BM25_SIMILARITY(t, 'word3') DESC LIMIT 5"
    exact = ds.query(text)["n"][:].tolist()
    kept = chunk_files(ds)
    ds.create_index("t")
    CACHE.clear()
    for name in chunk_files(ds) - kept:
        path = Path(ds.url, "chunks", name)
        path.write_bytes(bytes(255 - byte for byte in path.read_bytes()))
    fresh = dl.open(ds.url)
    with pytest.warns(dl.IndexWarning, match="The query read all strings instead"):
        assert fresh.query(text)["n"][:].tolist() == exact


def rewrite(ds, kind, change):
    """Change the document of an index, and keep its digest right."""
    repository = ds.handle.repository
    [branch] = [name for name in branches(ds) if kind in name]
    session = repository.writer(branch)
    document = run(session.attributes())[stored.KEY]
    change(document)
    run(session.set_attributes({stored.KEY: add_digest(document)}))
    session.commit("changed")
    CACHE.clear()


STRANGE = {
    "no probes": lambda d: d.update(probes=0),
    "another metric": lambda d: d.update(metric="dot"),
    "no parts": lambda d: d.update(parts={}),
    "parts of another type": lambda d: d.update(parts=[]),
    "a part is missing": lambda d: d["parts"].pop("starts"),
    "a part has another shape": lambda d: d["parts"]["slots"].update(shape=[7]),
    "a part has another dtype": lambda d: d["parts"]["slots"].update(dtype="float16"),
    "another part": lambda d: d["parts"].update(starts=d["parts"]["slots"]),
    "longer vectors": lambda d: d.update(dim=d["dim"] + 1),
    "no number of rows": lambda d: d.pop("rows"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_vector_index_of_a_stranger_is_not_used(ds, name):
    exact = ds.query(TEXT.replace(" USING INDEX", ""), [ds["v"][5]])["n"][:].tolist()
    ds.create_index("v")
    rewrite(ds, "vector", STRANGE[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.IndexWarning)
        result = dl.open(ds.url).query(TEXT, [ds["v"][5]])
    assert result["n"][:].tolist() == exact
    assert "no index used" in result.explain()


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["parts"].pop("words"),
        lambda d: d["parts"].update(counts=d["parts"]["starts"]),
        lambda d: d["parts"].update(lengths=d["parts"]["word_ends"]),
        lambda d: d.pop("words"),
    ],
    ids=["no words", "other counts", "other lengths", "no number of words"],
)
def test_text_index_of_a_stranger_is_not_used(ds, change):
    text = "SELECT n ORDER BY BM25_SIMILARITY(t, 'word3') DESC LIMIT 5"
    exact = ds.query(text)["n"][:].tolist()
    ds.create_index("t")
    rewrite(ds, "text", change)
    with pytest.warns(dl.IndexWarning):
        assert dl.open(ds.url).query(text)["n"][:].tolist() == exact


def test_index_whose_version_is_gone_is_not_used(ds, monkeypatch):
    ds.create_index("v")
    ds.create_index("t")
    indexed = ds.version
    ds["n"][0] = 1
    ds.commit("edit")
    CACHE.clear()
    reader = type(ds.handle.repository).reader

    def refuse(self, version):
        if version == indexed:
            raise dl.VersionNotFoundError("it is gone")
        return reader(self, version)

    monkeypatch.setattr(type(ds.handle.repository), "reader", refuse)
    result = ds.query(TEXT, [ds["v"][5]])
    assert "a vacuum has deleted the version" in result.explain()
    assert len(ds.query("SELECT n ORDER BY BM25_SIMILARITY(t, 'word3') DESC LIMIT 5")) == 5


def test_index_of_another_format_is_not_used(ds, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(stored, "FORMAT", 2)
        ds.create_index("v")
    CACHE.clear()
    assert ds.indexes == []
    assert not is_used(ds)


def test_lake_without_permission_to_write_is_searched(ds):
    ds.create_index("v")
    folder = Path(ds.url)
    modes = {path: path.stat().st_mode for path in [folder, *folder.rglob("*")]}
    try:
        for path in sorted(modes, reverse=True):
            path.chmod(0o555 if path.is_dir() else 0o444)
        assert is_used(dl.open(ds.url, version=ds.version))
    finally:
        for path in sorted(modes):
            path.chmod(modes[path])


def test_copy_of_a_lake_has_no_index(ds, tmp_path):
    ds.create_index("v")
    copied = ds.materialize(str(tmp_path / "copy"))
    assert copied.indexes == []
    assert not is_used(copied)
    published = ds.publish(str(tmp_path / "published"))
    assert published.left_out[-1] == "1 index (build them in the copy: ds.create_index)"
    assert dl.open(published.url).indexes == []
