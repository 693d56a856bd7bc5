"""Messages that fit the case: creating instead of changing, one type instead of several."""

import errno
import uuid

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo import staging


@pytest.fixture
def unwritable(monkeypatch):
    def refuse(path, **_):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(staging, "take_lock", refuse)


@pytest.mark.usefixtures("unwritable")
@pytest.mark.parametrize(
    "call",
    [
        lambda _, url: dl.create(url, {"x": "int32"}),
        lambda ds, url: ds.materialize(url),
        lambda _, url: dl.from_arrays({"x": [1]}, url),
    ],
    ids=["create", "materialize", "from_arrays"],
)
def test_lake_that_cannot_be_created_is_not_called_readable(call, make_lake, tmp_path):
    ds = make_lake({"x": "int32"}, x=[1])
    with pytest.raises(
        dl.StorageError, match=r"No lake was created, .* cannot be written"
    ) as caught:
        call(ds, str(tmp_path / "new.lake"))
    assert "can be read" not in str(caught.value)


ONE = uuid.UUID(int=1)


@pytest.mark.parametrize("values", [[ONE, ONE], [ONE], [[ONE]], np.array([ONE], object)], ids=repr)
def test_values_of_one_type_are_not_called_several(values, new_url):
    with pytest.raises(dl.SchemaError, match=r"can store values of type UUID\.") as caught:
        dl.from_arrays({"u": values}, new_url())
    assert "together" not in str(caught.value)


def test_values_of_several_types_are_listed(new_url):
    with pytest.raises(dl.SchemaError, match="can store UUID, int together"):
        dl.from_arrays({"u": [ONE, 1]}, new_url())


@pytest.mark.parametrize("index", [0, np.int64(-1), np.array(0)], ids=repr)
@pytest.mark.parametrize("method", ["encoded", "urls"])
def test_calls_for_several_rows_say_how_to_select_one(method, index, make_lake):
    ds = make_lake({"f": dl.Link(dl.Image()), "b": "bytes"}, f=["/a.png"], b=[b"x"])
    column = ds["f" if method == "urls" else "b"]
    with pytest.raises(
        dl.RowIndexError, match=rf"is the integer .*Write \[{int(index)}\]"
    ) as caught:
        getattr(column, method)(index)
    assert "with an integer" not in str(caught.value)
    assert len(getattr(column, method)([int(index)])) == 1
