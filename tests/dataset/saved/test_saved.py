"""Saved views, and copies of views."""

import contextlib
import copy
import json
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.saved import named_views
from deeplake_lite.dataset.versions import viewed
from deeplake_lite.storage import chunks
from deeplake_lite.storage.repo import Repository, Session, run
from deeplake_lite.storage.state import add_digest
from deeplake_lite.storage.table import Table


@pytest.fixture
def ds(make_lake):
    return make_lake({"x": "int32", "t": "text"}, x=range(6), t=list("abcdef"))


def test_saved_view_keeps_rows_order_columns_and_version(ds):
    ds[[4, 0, 2]][["t"]].save("three")
    ds["t"][0] = "changed"
    ds.delete([2])
    ds.commit("later")
    view = dl.open(ds.url).views()["three"]
    assert view["t"][:] == ["e", "a", "c"]
    assert view.columns == ("t",)


def test_duplicate_rows_are_saved_twice(ds):
    ds[[1, 1, 0]].save("twice")
    assert ds.views()["twice"]["x"][:].tolist() == [1, 1, 0]


def test_empty_view_is_saved(ds):
    ds[:0].save("none")
    assert len(ds.views()["none"]) == 0


def test_saving_a_view_creates_no_version(ds):
    log, version = ds.log(), ds.version
    ds[:3].save("a")
    assert ds.refresh().version == version
    assert ds.log() == log
    assert set(ds.branches) == {"main"}
    assert ds.tags == {}


def test_views_are_listed_replaced_and_deleted(ds):
    ds[:3].save("a")
    ds[3:].save("b")
    with pytest.raises(dl.ExistsError, match="A saved view 'a' already exists"):
        ds[:1].save("a")
    ds[:1].save("a", overwrite=True)
    views = ds.views()
    assert list(views) == ["a", "b"]
    assert len(views["a"]) == 1
    assert views.info("b").origin == "[3:]"
    views.delete("a")
    assert list(ds.views()) == ["b"]
    with pytest.raises(dl.NotFoundError, match="no saved view 'a'"):
        views["a"]
    with pytest.raises(dl.NotFoundError, match="no saved view 'a'"):
        views.delete("a")


def test_uncommitted_rows_are_not_saved(ds):
    ds["x"][0] = 9
    with pytest.raises(dl.UncommittedError, match=r"Commit first: ds\.commit"):
        ds[:3].save("dirty")


@pytest.mark.parametrize("name", ["", "a/b"])
def test_invalid_name_is_refused(ds, name):
    with pytest.raises(dl.LakeError, match="must be a non-empty string without slashes"):
        ds[:1].save(name)


def test_two_handles_can_save_at_the_same_time(ds):
    other = dl.open(ds.url)
    ds[:1].save("a")
    other[:2].save("b")
    assert set(ds.views()) == {"a", "b"}


def test_copied_view_has_its_rows_contiguously(ds, new_url):
    ds.metadata["licence"] = "CC-BY"
    ds["x"].metadata["unit"] = "m"
    ds.delete([0])
    ds.commit("fewer")
    view = ds[[3, 1]][["t", "x"]]
    copy = view.materialize(new_url())
    again = dl.open(copy.url)
    assert again.columns == ("t", "x")
    assert again[0] == {"t": "e", "x": 4}
    assert again["x"][:].tolist() == [4, 2]
    assert again.row_ids.tolist() == view.row_ids.tolist()
    assert dict(again.metadata) == {"licence": "CC-BY"}
    assert dict(again["x"].metadata) == {"unit": "m"}
    assert again.log()[0].message == "materialized"
    assert again.verify()


def test_duplicate_row_is_copied_as_two_rows(ds, new_url):
    copy = ds[[1, 1]].materialize(new_url())
    assert copy["x"][:].tolist() == [1, 1]
    assert len(set(copy.row_ids.tolist())) == 2


def test_copy_over_an_existing_lake_is_refused(ds):
    with pytest.raises(dl.ExistsError, match=r"A lake at .* already exists"):
        ds[:1].materialize(ds.url)


def test_views_saved_and_deleted_by_two_handles_do_not_undo_each_other(ds):
    other = dl.open(ds.url)
    before = ds.views()
    ds[[0]].save("mine")
    other[[1]].save("theirs")
    assert {"mine", "theirs"} <= set(ds.views())
    stale = other.views()
    ds[[0]].save("later")
    stale.delete("mine")
    assert set(ds.views()) - set(before) == {"theirs", "later"}


def test_second_of_two_concurrent_saves_under_one_name_is_refused(ds):
    begin = Barrier(4)

    def save(n):
        begin.wait()
        try:
            ds[:n].save("mine")
        except dl.ExistsError:
            return None
        return n

    with ThreadPoolExecutor(4) as pool:
        [kept] = [n for n in pool.map(save, range(1, 5)) if n]
    assert len(ds.views()["mine"]) == kept


@pytest.mark.parametrize("where", ["folder", "memory"])
def test_failed_copy_leaves_no_lake(ds, tmp_path, new_url, monkeypatch, where):
    url = str(tmp_path / "copy") if where == "folder" else new_url()
    with monkeypatch.context() as patch:
        patch.setattr(chunks, "COPY_ROWS", 2)
        read = Table.read

        def damaged(self, columns, slots):
            if slots[0] > 2:
                raise dl.DamagedError("A chunk is missing.")
            return read(self, columns, slots)

        patch.setattr(Table, "read", damaged)
        with pytest.raises(dl.DamagedError):
            ds.materialize(url)
    assert not dl.exists(url)
    assert not list(tmp_path.iterdir())
    assert ds.materialize(url)["x"][:].tolist() == list(range(6))


def rewrite(ds, change):
    """Replace the list of saved views by a different attribute."""
    session = Repository.open(ds.url).writer("_aux")
    attributes = run(session.attributes())
    run(session.set_attributes(change(attributes)))
    session.commit("rewritten")


@pytest.mark.parametrize(
    "change",
    [
        lambda _: {viewed.KEY: None},
        lambda _: {viewed.KEY: 3},
        lambda _: {viewed.KEY: {}},
        lambda attributes: {viewed.KEY: {**attributes[viewed.KEY], "views": {}}},
        lambda attributes: {viewed.KEY: {**attributes[viewed.KEY], "digest": None}},
    ],
)
def test_invalid_list_of_views_is_damage(ds, change):
    ds[:2].save("two")
    rewrite(ds, change)
    with pytest.raises(dl.DamagedError, match="list of saved views"):
        dl.open(ds.url).views()


def test_rows_of_another_view_are_detected(ds):
    ds[:2].save("two")
    ds[2:4].save("others")

    def exchange(attributes):
        views = attributes[viewed.KEY]["views"]
        pair = views["two"], views["others"]
        pair[0]["array"], pair[1]["array"] = pair[1]["array"], pair[0]["array"]
        return {viewed.KEY: add_digest(attributes[viewed.KEY])}

    rewrite(ds, exchange)
    with pytest.raises(dl.DamagedError, match="do not match their hash"):
        dl.open(ds.url).views()["two"]


def test_views_branch_without_views_lists_none(ds):
    repository = Repository.open(ds.url)
    repository.create_branch("_aux", viewed.first_version(repository))
    assert list(ds.views()) == []
    ds[:2].save("two")
    assert list(ds.views()) == ["two"]


@pytest.mark.parametrize("kind", [ValueError, KeyError, FileNotFoundError, MemoryError])
def test_view_whose_row_array_is_damaged_raises_our_error(ds, kind, monkeypatch):
    ds[:2].save("two")

    async def refuse(*_):
        raise kind("as Zarr does for an array whose metadata is damaged")

    monkeypatch.setattr(Session, "length", refuse)
    with pytest.raises(dl.DamagedError, match=r"rows of the saved view .* cannot be read"):
        dl.open(ds.url).views()["two"]


WRONG = [None, True, -1, 2**200, 1.5, "", "x" * 10_000, [], {}, [[[]]], {"a": {}}, [1, None]]


def places(document, path=()):
    """Yield the path of every part of a document."""
    yield path
    parts = document.items() if isinstance(document, dict) else enumerate(document)
    for key, part in parts if isinstance(document, dict | list) else ():
        yield from places(part, (*path, key)) if isinstance(part, dict | list) else [(*path, key)]


def put(document, path, value):
    *above, last = path
    for key in above:
        document = document[key]
    if value is ...:
        del document[last]
    else:
        document[last] = value


@pytest.fixture
def documents(ds, make_lake):
    """Return a lake with saved views of each kind, and their list."""
    other = make_lake({"x": "int32"}, x=[1, 2])
    ds[:2].save("rows")
    inner = ds.query("SELECT x * 10 AS y WHERE x > ?", [np.float32(0)])
    inner.query("SELECT y + 1 AS z").save("nested")
    ds.query("SELECT x, o.x + 1 AS y FROM ds JOIN o USING (x)", sources={"o": other}).save("join")
    session = Repository.open(ds.url).reader(Repository.open(ds.url).tip("_aux"))
    return run(session.attributes())[viewed.KEY]["views"]


def outcome(lake, documents):
    """Run everything that reads the documents of saved views; only our errors may be raised."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(named_views, "view_documents", lambda *_: documents)
        views = lake.views()
        for do in (
            lambda: repr(views),
            lambda: named_views.versions_needed(lake.handle.repository),
        ):
            with contextlib.suppress(dl.LakeError):
                do()
        for name in views:
            with contextlib.suppress(dl.LakeError):
                view = views[name]
                for column in view.columns:
                    view[column][:]


def test_mutated_document_of_a_saved_view_gives_rows_or_our_error(ds, documents):
    paths = [path for path in places(documents) if len(path) > 1]
    draws = np.random.default_rng(0)
    for path in paths:
        for value in [..., *(WRONG[i] for i in draws.permutation(len(WRONG))[:2])]:
            mutated = copy.deepcopy(documents)
            put(mutated, path, value)
            chosen = {path[0]: mutated[path[0]]}
            outcome(ds, chosen)


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("key", ["version", "rows", "saved", "array", "hash", "columns", "query"])
def test_document_with_wrong_types_is_damage(documents, key, value):
    if (key, value) == ("columns", []):
        return
    document = {**documents["nested"], key: value}
    with pytest.raises(dl.DamagedError, match=r"saved view 'v' is damaged: .*Delete the view"):
        named_views.SavedView.from_json("v", document)


def test_crafted_view_opens_no_other_lake_and_no_deeper_query(documents, make_lake):
    secret = make_lake({"x": "int32"}, x=[42, 43])
    document = {**documents["rows"], "url": secret.url, "version": secret.version}
    with pytest.raises(dl.DamagedError, match="it belongs to another lake"):
        named_views.SavedView.from_json("v", document)
    deep = documents["nested"]
    for _ in range(2_000):
        deep = {**deep, "query": {**deep["query"], "asked": deep}}
    with pytest.raises(dl.DamagedError, match="more than 32 levels"):
        named_views.SavedView.from_json("v", deep)


def test_query_too_deep_to_be_read_again_is_not_saved(ds):
    view = ds.query("SELECT x + 1 AS x")
    for _ in range(33):
        view = view.query("SELECT x + 1 AS x")
    with pytest.raises(dl.InvalidValueError, match="Materialize"):
        view.save("deep")
    assert not list(ds.views())


@pytest.mark.parametrize(
    ("rows", "message"),
    [(2**30, r"chunk \d is missing\. Restore"), (2**46, r"needs too many chunks\. Restore")],
)
def test_rows_of_a_view_take_no_more_memory_than_their_chunks(ds, rows, message):
    ds[:2].save("two")
    session = Repository.open(ds.url).writer("_aux")
    path = run(session.attributes())[viewed.KEY]["views"]["two"]["array"]
    metadata = json.loads(bytes(run(session.get(f"{path}/zarr.json"))))
    metadata["shape"] = [rows]
    run(session.put(f"{path}/zarr.json", json.dumps(metadata).encode()))
    session.commit("crafted")
    tracemalloc.start()
    with pytest.raises(dl.DamagedError, match=message):
        dl.open(ds.url).views()["two"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000
