"""Taking a source in again: what people changed stays, what the source changed comes."""

import numpy as np
import pytest

import deeplake_lite as dl

from .conftest import JPEG, picture

CLASSES = ("rose/b.jpg", "rose/a.jpg", "lily/c.jpg")


def labels(ds):
    """Return the label of each file."""
    names = ds["label"].htype.to_names(ds["label"][:])
    return dict(zip(ds["path"][:], names, strict=True))


def commit_label(ds, row, name):
    ds["label"][row] = name
    return ds.commit("a label corrected")


def test_a_label_that_was_corrected_in_the_lake_stays_and_is_listed(photos, url):
    folder = photos(*CLASSES)
    ds = dl.from_folder(folder, url)
    version = commit_label(ds, 0, "rose")
    again = dl.from_folder(folder, url, progress=False)
    assert again.version == version
    assert labels(again)["lily/c.jpg"] == "rose"
    assert list(map(str, again.ingested.kept)) == ["lily/c.jpg: 'label' was changed in the lake"]
    assert repr(again.ingested).startswith("0 rows added, 3 unchanged, 1 kept as in the lake in ")


def test_a_corrected_label_stays_after_ingests_that_brought_other_rows(photos, url):
    commit_label(dl.from_folder(photos(*CLASSES), url), 0, "rose")
    for name in ("rose/d.jpg", "rose/e.jpg"):
        ds = dl.from_folder(photos(*CLASSES, name), url, progress=False)
        assert labels(ds)["lily/c.jpg"] == "rose"
        assert ds.ingested.added == 1


def test_a_file_that_changed_on_disk_is_updated_beside_a_corrected_label(photos, url):
    folder = photos(*CLASSES)
    commit_label(dl.from_folder(folder, url), 0, "rose")
    (folder / "lily/c.jpg").write_bytes(picture(77, JPEG))
    ds = dl.from_folder(folder, url, progress=False)
    assert ds.ingested.changed == 1
    assert bytes(ds["image"].encoded()[0]) == picture(77, JPEG)
    assert labels(ds)["lily/c.jpg"] == "rose"


def test_a_table_of_labels_that_changed_counts_where_nobody_corrected(photos, url):
    folder = photos("1.png", "2.png", "3.png")
    table = folder / "t.csv"
    table.write_text("file,label\n1.png,rose\n2.png,rose\n3.png,lily\n")
    commit_label(dl.from_folder(folder, url, labels=table), 0, "lily")
    table.write_text("file,label\n1.png,aster\n2.png,lily\n3.png,lily\n")
    ds = dl.from_folder(folder, url, labels=table, progress=False)
    assert list(labels(ds).values()) == ["lily", "lily", "lily"]
    assert [k.path for k in ds.ingested.kept] == ["1.png"]
    assert ds.ingested.changed == 1


def test_by_force_the_source_counts_and_the_cell_is_its_own_again(photos, url):
    folder = photos(*CLASSES)
    commit_label(dl.from_folder(folder, url), 0, "rose")
    ds = dl.from_folder(folder, url, update="force")
    assert labels(ds)["lily/c.jpg"] == "lily"
    assert (ds.ingested.changed, ds.ingested.kept) == (1, ())


def test_a_cell_that_was_forced_follows_the_source_again(url):
    ds = dl.from_arrays({"k": ["a"], "x": [1]}, url, on="k")
    ds["x"][0] = 7
    ds.commit("corrected")
    dl.from_arrays({"k": ["a"], "x": [2]}, url, on="k", update="force")
    ds = dl.from_arrays({"k": ["a"], "x": [3]}, url, on="k")
    assert (ds["x"][0], ds.ingested.kept) == (3, ())


def test_a_row_that_was_deleted_in_the_lake_stays_away(photos, url):
    folder = photos(*CLASSES)
    ds = dl.from_folder(folder, url)
    ds.delete([1])
    ds.commit("blurred")
    for name in ("rose/d.jpg", "rose/e.jpg"):
        ds = dl.from_folder(photos(*CLASSES, name), url, progress=False)
        assert list(map(str, ds.ingested.kept)) == ["rose/a.jpg: deleted in the lake"]
        assert "rose/a.jpg" not in labels(ds)
    ds.optimize()
    assert len(dl.from_folder(folder, url, progress=False).ingested.kept) == 1
    assert dl.from_folder(folder, url, update="force").ingested.added == 1
    assert dl.from_folder(folder, url).ingested.kept == ()


def test_a_correction_on_a_branch_stays_after_the_merge_and_its_ingests_do_not_count(photos, url):
    folder = photos(*CLASSES)
    ds = dl.from_folder(folder, url)
    ds.branch("more")
    (folder / "rose/a.jpg").write_bytes(picture(5, JPEG))
    photos_on_branch = dl.from_folder(folder, url, branch="more")
    assert photos_on_branch.ingested.changed == 1
    commit_label(photos_on_branch, 0, "rose")
    ds.merge("more")
    (folder / "rose/a.jpg").write_bytes(picture(6, JPEG))
    again = dl.from_folder(folder, url, progress=False)
    assert again.ingested.changed == 1
    assert bytes(again["image"].encoded()[1]) == picture(6, JPEG)
    assert [(k.path, k.columns) for k in again.ingested.kept] == [("lily/c.jpg", ("label",))]


def test_rows_that_no_ingest_wrote_follow_the_source(url):
    ds = dl.create(url, {"k": "text", "x": "int64"})
    ds.append({"k": ["a", "b"], "x": [1, 2]})
    ds.commit("by hand")
    ds["x"][0] = 5
    ds.commit("corrected")
    again = dl.from_arrays({"k": ["a", "b"], "x": [10, 20]}, url, on="k")
    assert again["x"][:].tolist() == [10, 20]


def test_corrections_that_come_in_as_rows_are_the_sources(url):
    dl.from_arrays({"k": ["a", "b"], "x": [1, 2]}, url, on="k")
    dl.from_arrays({"k": ["b"], "x": [20]}, url, on="k")
    ds = dl.from_arrays({"k": ["b"], "x": [200]}, url, on="k")
    assert ds["x"][:].tolist() == [1, 200]


def test_what_was_kept_is_said_in_one_line(url, capsys):
    ds = dl.from_arrays({"k": np.arange(3), "x": np.arange(3)}, url, on="k")
    ds["x"][:2] = [7, 8]
    ds.commit("two")
    dl.from_arrays({"k": np.arange(3), "x": np.arange(3)}, url, on="k")
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert text.startswith("2 kept as they are in the lake")
    assert 'update="force"' in text


def test_an_update_that_is_none_is_refused(url):
    with pytest.raises(ValueError, match="update must be True, False or 'force', but it is 'yes'"):
        dl.from_arrays({"x": [1]}, url, update="yes")
