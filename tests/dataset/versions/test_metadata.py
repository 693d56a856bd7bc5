"""Metadata of a dataset and of its columns."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

import deeplake_lite as dl


@pytest.fixture
def ds(make_lake):
    return make_lake({"x": "int32"}, x=[1, 2])


@pytest.fixture(params=["dataset", "column"])
def holder(request, ds):
    return ds if request.param == "dataset" else ds["x"]


def test_metadata_objects_keep_later_changes_of_others(holder):
    mine, yours = holder.metadata, holder.metadata
    mine["a"] = 1
    yours["b"] = 2
    assert dict(holder.metadata) == dict(mine) == {"a": 1, "b": 2}


def test_two_threads_can_set_different_metadata(holder):
    begin = Barrier(8)

    def note(worker):
        begin.wait()
        for i in range(20):
            holder.metadata[f"{worker}-{i}"] = i

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(note, range(8)))
    assert len(holder.metadata) == 160


def test_value_read_from_metadata_is_a_copy(ds, holder):
    given = [1]
    holder.metadata["list"] = given
    ds.commit("noted")
    given.append(2)
    holder.metadata["list"].append(3)
    assert holder.metadata["list"] == [1]
    assert not ds.status()


def test_missing_metadata_key_cannot_be_removed(ds, holder):
    with pytest.raises(KeyError, match="nothing"):
        del holder.metadata["nothing"]
    assert not ds.status()


def test_refused_metadata_changes_nothing(ds, holder):
    with pytest.raises(dl.SchemaError, match="JSON"):
        holder.metadata["a"] = object()
    assert dict(holder.metadata) == {}
    assert not ds.status()


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda notes: pickle.loads(pickle.dumps(notes))]
)
@pytest.mark.parametrize("of", [lambda ds: ds.metadata, lambda ds: ds["x"].metadata])
def test_copy_of_metadata_is_a_plain_dict(make_lake, copied, of):
    ds = make_lake({"x": "int32"}, x=[1])
    of(ds)["of"] = {"a": [1]}
    ds.commit("noted")
    own = copied(of(ds))
    assert own == {"of": {"a": [1]}}
    assert type(own) is dict
    own["of"]["a"].append(2)
    own["more"] = 1
    assert dict(of(ds)) == {"of": {"a": [1]}}


@pytest.mark.parametrize("change", ["rename", "drop"])
def test_metadata_of_a_dropped_column_has_a_repr(make_lake, change):
    ds = make_lake({"a": "int32", "c": "int32"}, a=[1], c=[2])
    held = ds["a"].metadata
    held["unit"] = "m"
    assert repr(held) == "{'unit': 'm'}"
    ds.rename_column("a", "b") if change == "rename" else ds.drop_column("a")
    assert repr(held).startswith("<no metadata: There is no column 'a'.")
