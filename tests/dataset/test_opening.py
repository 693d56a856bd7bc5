"""Creating and opening lakes where there is nothing, a lake or something else."""

import shutil

import pytest

import deeplake_lite as dl
from deeplake_lite.storage.table import Table


@pytest.fixture
def old(tmp_path):
    ds = dl.create(str(tmp_path / "some.lake"), {"x": "int32"})
    ds.append({"x": [1]})
    ds.commit("old")
    return ds


def test_lake_at_a_relative_path_survives_a_change_of_directory(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    made = dl.create("../x.lake", {"x": "int32"})
    opened = dl.open("../x.lake")
    assert made.url == opened.url == str(tmp_path / "x.lake")
    monkeypatch.chdir(tmp_path.parent)
    for ds in (made, opened):
        ds.append({"x": [1]})
        ds.commit("elsewhere")
    assert len(dl.open(str(tmp_path / "x.lake"))) == 2
    assert opened.verify()


def test_lake_is_replaced_only_with_overwrite(old, tmp_path):
    with pytest.raises(dl.ExistsError, match=r"contains a lake.*overwrite=True"):
        dl.create(old.url, {"y": "text"})
    assert len(dl.open(old.url)) == 1
    ds = dl.create(old.url, {"y": "text"}, overwrite=True)
    assert (ds.columns, len(ds), len(ds.log())) == (("y",), 0, 1)
    assert [p.name for p in tmp_path.iterdir()] == ["some.lake"]
    ds.append({"y": ["a"]})
    ds.commit("new")
    assert dl.open(old.url).verify()


def test_in_memory_lake_is_replaced(make_lake):
    old = make_lake({"x": "int32"}, x=[1])
    with pytest.raises(dl.ExistsError, match=r"A lake at .* already exists"):
        dl.create(old.url, {"y": "text"})
    dl.create(old.url, {"y": "text"}, overwrite=True).append({"y": ["a"]})
    assert dl.open(old.url).columns == ("y",)


@pytest.mark.parametrize("there", ["nothing", "empty folder"])
def test_overwriting_nothing_creates_a_lake(tmp_path, there):
    if there == "empty folder":
        (tmp_path / "new.lake").mkdir()
    assert dl.create(str(tmp_path / "new.lake"), {"x": "int32"}, overwrite=True).columns == ("x",)


def test_failed_replacement_keeps_the_lake(old, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Table, "create", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            dl.create(old.url, {"y": "text"}, overwrite=True)
    with pytest.raises(dl.SchemaError):
        dl.create(old.url, {"": "text"}, overwrite=True)
    assert dl.open(old.url)["x"][:].tolist() == [1]
    assert [p.name for p in tmp_path.iterdir()] == ["some.lake"]


def test_other_files_are_never_deleted(tmp_path):
    (tmp_path / "file").write_text("a")
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "snapshots").mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("a")
    before = sorted(tmp_path.rglob("*"))
    for name in ("file", "git", "folder"):
        with pytest.raises(dl.ExistsError, match=r"contains files\. Choose another"):
            dl.create(str(tmp_path / name), {"x": "int32"}, overwrite=True)
    assert sorted(tmp_path.rglob("*")) == before


def test_lake_with_other_files_in_its_folder_is_not_replaced(old, tmp_path):
    (tmp_path / "some.lake" / "notes.txt").write_text("mine")
    with pytest.raises(
        dl.ExistsError, match=r"also contains 'notes\.txt'\. Move those files elsewhere"
    ):
        dl.create(old.url, {"y": "text"}, overwrite=True)
    assert dl.open(old.url)["x"][:].tolist() == [1]


def test_link_to_a_lakes_folder_stays_a_link(old, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "some.lake")
    dl.create(str(link), {"y": "text"}, overwrite=True)
    assert link.is_symlink()
    assert dl.open(old.url).columns == ("y",)


def test_name_of_a_deleted_lake_can_be_used_again(old):
    shutil.rmtree(old.url)
    assert not dl.exists(old.url)
    assert dl.create(old.url, {"y": "text"}).columns == ("y",)
