"""Pickling datasets and views for another process."""

import copy
import multiprocessing
import pickle
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo import local_folder


@pytest.fixture
def ds(make_lake):
    return make_lake({"x": "int32", "t": "text"}, x=range(6), t=list("abcdef"))


def there_and_back(thing):
    return pickle.loads(pickle.dumps(thing))


def values(view):
    return [int(x) for x in view["x"][:]]


def test_dataset_is_unpickled_at_its_version_and_branch(ds):
    kept = pickle.dumps(ds)
    ds.append({"x": [6], "t": ["g"]})
    ds.commit("later")
    again = pickle.loads(kept)
    assert type(again) is dl.Dataset
    assert (again.url, again.current_branch, len(again)) == (ds.url, "main", 6)
    again["x"][0] = 10
    again.commit("both survive")
    assert values(dl.open(ds.url)) == [10, 1, 2, 3, 4, 5, 6]


def test_read_only_version_is_unpickled_as_such(ds):
    ds.tag("v1")
    again = there_and_back(dl.open(ds.url, version="v1"))
    assert again.read_only
    with pytest.raises(dl.ReadOnlyError, match="Version 'v1' is read-only"):
        again.append({"x": [1]})


@pytest.mark.parametrize("index", [slice(1, 4), [4, 0, 0], slice(0, 0), slice(None, None, -1)])
def test_view_is_unpickled_with_its_rows_columns_and_origin(ds, index):
    ds.delete([2])
    ds.commit("fewer")
    view = ds[index]
    again = there_and_back(view)
    assert type(again) is dl.View
    assert (values(again), again.origin) == (values(view), view.origin)
    assert again.row_ids.tolist() == view.row_ids.tolist()
    assert there_and_back(view[["x"]]).columns == ("x",)


def test_link_roots_are_pickled(make_lake, tmp_path):
    (tmp_path / "a.txt").write_text("linked")
    ds = make_lake({"l": dl.Link("text")}, l=[str(tmp_path / "a.txt")])
    allowed = dl.open(ds.url, allow=[str(tmp_path)])
    assert there_and_back(allowed)["l"][0] == there_and_back(allowed[:])["l"][0] == "linked"


def test_contiguous_rows_take_a_few_bytes(make_lake):
    ds = make_lake({"x": "int32"}, x=np.arange(100_000))
    assert len(pickle.dumps(ds[10:90_000])) < 1_000


def test_uncommitted_edits_are_not_pickled(ds):
    ds["x"][0] = 9
    for thing in (ds, ds[:2]):
        with pytest.raises(dl.UncommittedError, match=r"Pickling needs.*Commit first"):
            pickle.dumps(thing)
    ds.discard()
    assert values(there_and_back(ds)) == list(range(6))


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_child_processes_read_lakes_in_memory_and_on_disk(ds, tmp_path, method):
    copy = ds[[4, 2]].materialize(str(tmp_path / "copy.lake"))
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert list(pool.map(values, [ds, ds[[3, 1]], copy])) == [list(range(6)), [3, 1], [4, 2]]
    assert values(ds) == list(range(6))


SHARED = []


def values_of_shared(_):
    return values(SHARED[0])


def rows_of(url):
    return len(dl.open(url))


def make(url):
    return len(dl.create(url, {"x": "int32"}))


@pytest.mark.parametrize(
    "use", ["global", "global with edits", "pickled", "view", "open", "create"]
)
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_forked_process_says_at_once_that_it_cannot_use_lakes(ds, tmp_path, monkeypatch, use):
    copy = ds[:].materialize(str(tmp_path / "copy.lake"))
    monkeypatch.setattr(f"{__name__}.SHARED", [copy])
    if use == "global with edits":
        copy.append({"x": [6], "t": ["g"]})
    work, given = {
        "pickled": (len, copy),
        "view": (values, ds[:2]),
        "open": (rows_of, copy.url),
        "create": (make, str(tmp_path / "new.lake")),
    }.get(use, (values_of_shared, None))
    refused = pytest.raises(dl.ForkedError, match=r'forked.*Start processes with.*"forkserver"')
    with multiprocessing.get_context("fork").Pool(2) as pool, refused:
        pool.map_async(work, [given, given]).get(timeout=1_800)
    assert len(copy) in (6, 7)


def test_missing_in_memory_lake_says_so(ds, monkeypatch):
    kept = pickle.dumps(ds[:2])
    with monkeypatch.context() as patch:
        patch.setattr("deeplake_lite.storage.repo.places._memory", {})
        assert values(pickle.loads(kept)) == [0, 1]
        patch.setattr("deeplake_lite.storage.repo.places._foreign", {})
        folder = Path(pickle.loads(kept).rows.lake.repository.writers_folder()).parent
        patch.setattr("deeplake_lite.storage.repo.places._foreign", {})
        moved = folder.rename(folder.with_name(f"{folder.name}-moved"))
        with pytest.raises(
            dl.LakeNotFoundError, match=r"was deleted when the process.*Use a folder"
        ):
            pickle.loads(kept)
        moved.rename(folder)
        patch.setattr("deeplake_lite.storage.repo.places._foreign", {ds.url: "/elsewhere"})
        with pytest.raises(
            dl.LakeNotFoundError, match="refers to a different lake in this process"
        ):
            pickle.loads(kept)


def test_missing_lake_on_disk_says_so(ds, tmp_path):
    copy = ds[:].materialize(str(tmp_path / "copy.lake"))
    kept = pickle.dumps(copy)
    shutil.rmtree(local_folder(copy.url))
    with pytest.raises(dl.LakeNotFoundError, match="no lake at"):
        pickle.loads(kept)


@pytest.mark.parametrize("part", ["diff", "views"])
@pytest.mark.parametrize("use", [pickle.dumps, copy.copy, copy.deepcopy])
def test_objects_that_read_a_lake_in_place_cannot_be_pickled(ds, part, use):
    made = getattr(ds, part)()
    with pytest.raises(dl.OptionError, match=r"cannot be pickled or copied, .* Pickle"):
        use(made)
