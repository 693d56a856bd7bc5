"""Lakes whose schema was changed by other tools raise our errors, and `verify` names the cells."""

import json
import shutil
import tempfile

import icechunk
import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo import Session, run
from deeplake_lite.storage.state import KEY, add_digest

from .. import everything

FORGED = {
    "label": ({"names": ["rose"]}, "A class number must be 0 to 0"),
    "tags": ({"names": ["a", "b"]}, "A class number must be 0 to 1"),
    "points": ({"names": ["nose"]}, "Keypoints must have shape"),
    "points of three": ({"dims": 3}, "Keypoints must have shape"),
    "ragged": ({"shape": [None, 3]}, "An array must have shape"),
    "ragged of one": ({"shape": [None, 1]}, "An array must have shape"),
    "ragged float64": ({"dtype": "float64"}, "has"),
    "packed": ({"shape": [2, None, None]}, "must have the shape (3, 3)"),
    "boxes": ({"dtype": "float64"}, "has"),
    "counts": (
        {"of": {"htype": "class_label", "names": ["a"], "nullable": True}},
        "A class number must",
    ),
}
"""Changes of a column's type, and a part of the reason that `verify` reports."""

COLUMNS = {name: name.split()[0] for name in FORGED}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound") / "a.lake"
    names = sorted({*COLUMNS.values(), "image"})
    ds = dl.create(str(folder), {name: everything.SCHEMA[name] for name in names})
    ds.append({name: everything.VALUES[name] for name in names})
    ds.commit("rows")
    return folder


def forge(url, column, changes):
    """Commit a different type for a column, with a matching digest."""
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(url))
    session = Session(repository.writable_session("main")._session)
    document = json.loads(bytes(run(session.get("zarr.json"))))
    state = document["attributes"][KEY]
    [result] = [c for c in state["schema"]["columns"] if c["name"] == column]
    result["htype"] |= changes
    document["attributes"][KEY] = add_digest(state)
    run(session.put("zarr.json", json.dumps(document).encode()))
    session.commit("forged")


READS = {
    "read": lambda ds, name: ds[name][:],
    "row": lambda ds, name: [ds[i][name] for i in range(len(ds))],
    "arrow": lambda ds, _: ds.to_arrow(),
    "pandas": lambda ds, _: ds.to_pandas(),
    "folder": lambda ds, _: ds.to_folder(tempfile.mkdtemp() + "/out", image="image"),
    "batches": lambda ds, name: list(ds.batches(2, columns=[name])),
}


@pytest.mark.parametrize("forged", FORGED)
def test_cells_that_contradict_their_type_are_errors_listed_by_verify(sound, tmp_path, forged):
    changes, reason = FORGED[forged]
    name, url = COLUMNS[forged], str(shutil.copytree(sound, tmp_path / "a.lake"))
    forge(url, name, changes)
    report = dl.open(url).verify()
    assert {damage.column for damage in report.damaged} == {name}
    whole_column = {None} if forged == "packed" else set()  # its array of shapes differs
    assert {damage.row for damage in report.damaged} <= {0, 1, 2} | whole_column
    assert [d.reason for d in report.damaged if reason not in d.reason] == []
    for title, read in READS.items():
        try:
            read(dl.open(url), name)
        except dl.LakeError:
            continue
        pytest.fail(f"{title} raises nothing")
