"""Imports accept a folder for its main file where that is clear, and otherwise name the way out."""

import pytest

import deeplake_lite as dl
from tests.ingest.every_format import FORMATS


@pytest.mark.parametrize("name", ["mds", "litdata"])
def test_an_index_stands_for_its_folder(name, tmp_path, new_url):
    form = FORMATS[name]
    folder = form.write(tmp_path / "data", 3)
    for ingest in (form.ingest, dl.ingest):
        ds = ingest(folder / "index.json", new_url(), progress=False)
        assert form.numbers(ds) == [0, 1, 2]


@pytest.mark.parametrize("name", ["mds", "litdata"])
def test_a_shard_does_not_stand_for_its_folder(name, tmp_path, new_url):
    folder = FORMATS[name].write(tmp_path / "data", 3)
    shard = next(path for path in folder.iterdir() if path.suffix in (".mds", ".bin"))
    with pytest.raises(dl.NotFoundError, match=r"but it is a file\. Pass its folder"):
        FORMATS[name].ingest(shard, new_url(), progress=False)


@pytest.mark.parametrize("name", ["coco", "labelstudio"])
def test_a_folder_does_not_stand_for_a_json_file(name, tmp_path, new_url):
    path = FORMATS[name].write(tmp_path / "data", 2)
    with pytest.raises(dl.NotFoundError, match=r"is a folder\. Pass the file, .*dl\.ingest"):
        FORMATS[name].ingest(path.parent, new_url(), progress=False)
    assert len(dl.ingest(path.parent, new_url(), progress=False)) == 2


@pytest.mark.parametrize("name", FORMATS)
def test_a_path_that_does_not_exist_is_named(name, tmp_path, new_url):
    with pytest.raises(dl.NotFoundError, match="missing"):
        FORMATS[name].ingest(tmp_path / "missing", new_url(), progress=False)
