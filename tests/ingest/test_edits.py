"""Ingesting a source again preserves people's edits and applies changes of the source."""

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


def test_label_corrected_in_the_lake_is_kept_and_listed(photos, url):
    folder = photos(*CLASSES)
    ds = dl.from_folder(folder, url)
    version = commit_label(ds, 0, "rose")
    again = dl.from_folder(folder, url, progress=False)
    assert again.version == version
    assert labels(again)["lily/c.jpg"] == "rose"
    assert list(map(str, again.ingested.kept)) == ["lily/c.jpg: 'label' was changed in the lake"]
    assert repr(again.ingested).startswith("0 rows added, 3 unchanged, 1 kept as in the lake in ")


def test_corrected_label_survives_ingests_of_other_rows(photos, url):
    commit_label(dl.from_folder(photos(*CLASSES), url), 0, "rose")
    for name in ("rose/d.jpg", "rose/e.jpg"):
        ds = dl.from_folder(photos(*CLASSES, name), url, progress=False)
        assert labels(ds)["lily/c.jpg"] == "rose"
        assert ds.ingested.added == 1


def test_file_changed_on_disk_is_updated_next_to_a_corrected_label(photos, url):
    folder = photos(*CLASSES)
    commit_label(dl.from_folder(folder, url), 0, "rose")
    (folder / "lily/c.jpg").write_bytes(picture(77, JPEG))
    ds = dl.from_folder(folder, url, progress=False)
    assert ds.ingested.changed == 1
    assert bytes(ds["image"].encoded()[0]) == picture(77, JPEG)
    assert labels(ds)["lily/c.jpg"] == "rose"


def test_changed_table_of_labels_applies_where_nobody_corrected(photos, url):
    folder = photos("1.png", "2.png", "3.png")
    table = folder / "t.csv"
    table.write_text("file,label\n1.png,rose\n2.png,rose\n3.png,lily\n")
    commit_label(dl.from_folder(folder, url, labels=table), 0, "lily")
    table.write_text("file,label\n1.png,aster\n2.png,lily\n3.png,lily\n")
    ds = dl.from_folder(folder, url, labels=table, progress=False)
    assert list(labels(ds).values()) == ["lily", "lily", "lily"]
    assert [k.path for k in ds.ingested.kept] == ["1.png"]
    assert ds.ingested.changed == 1


def test_force_applies_the_source_and_returns_the_cell_to_it(photos, url):
    folder = photos(*CLASSES)
    commit_label(dl.from_folder(folder, url), 0, "rose")
    ds = dl.from_folder(folder, url, update="force")
    assert labels(ds)["lily/c.jpg"] == "lily"
    assert (ds.ingested.changed, ds.ingested.kept) == (1, ())


def test_forced_cell_follows_the_source_again(url):
    ds = dl.from_arrays({"k": ["a"], "x": [1]}, url, on="k")
    ds["x"][0] = 7
    ds.commit("corrected")
    dl.from_arrays({"k": ["a"], "x": [2]}, url, on="k", update="force")
    ds = dl.from_arrays({"k": ["a"], "x": [3]}, url, on="k")
    assert (ds["x"][0], ds.ingested.kept) == (3, ())


def test_row_deleted_in_the_lake_stays_deleted(photos, url):
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


def test_correction_on_a_branch_survives_the_merge_and_its_ingests_do_not_count(photos, url):
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


def test_corrections_ingested_as_rows_belong_to_the_source(url):
    dl.from_arrays({"k": ["a", "b"], "x": [1, 2]}, url, on="k")
    dl.from_arrays({"k": ["b"], "x": [20]}, url, on="k")
    ds = dl.from_arrays({"k": ["b"], "x": [200]}, url, on="k")
    assert ds["x"][:].tolist() == [1, 200]


def test_kept_corrections_are_reported_in_one_line(url, capsys):
    ds = dl.from_arrays({"k": np.arange(3), "x": np.arange(3)}, url, on="k")
    ds["x"][:2] = [7, 8]
    ds.commit("two")
    dl.from_arrays({"k": np.arange(3), "x": np.arange(3)}, url, on="k")
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert text.startswith("2 kept as they are in the lake")
    assert 'update="force"' in text


def test_invalid_update_mode_is_refused(url):
    with pytest.raises(ValueError, match="update must be True, False or 'force', but it is 'yes'"):
        dl.from_arrays({"x": [1]}, url, update="yes")


# ---- columns and rows that people have replaced


def keyed(url, keys, **columns):
    """Ingest rows of a source with the key k."""
    rows = {"k": list(keys), **columns}
    return dl.from_arrays(rows, url, on="k", progress=False)


def kept(ds):
    return [(k.path, k.columns) for k in ds.ingested.kept]


def replace_column(ds, name, htype, values):
    ds.drop_column(name)
    ds.add_column(name, htype, values=values)


@pytest.mark.parametrize("way", ["dropped", "renamed", "rows"])
def test_replaced_column_or_rows_count_as_corrections(url, way):
    ds = keyed(url, "abc", x=[1, 2, 3])
    if way == "dropped":
        replace_column(ds, "x", "int64", [10, 20, 3])
    if way == "renamed":
        ds.add_column("y", "int64", values=[10, 20, 3])
        ds.drop_column("x")
        ds.rename_column("y", "x")
    if way == "rows":
        ds.delete([0, 1])
        ds.append({"k": ["a", "b"], "x": [10, 20]})
    ds.commit("corrected")
    for _ in range(2):
        ds = keyed(url, "abc", x=[7, 2, 4])
        values = dict(zip(ds["k"][:], ds["x"][:].tolist(), strict=True))
        assert values == {"a": 10, "b": 20, "c": 4 if way == "rows" else 3}
        places = range(2 if way == "rows" else 3)
        assert kept(ds) == [(f"arrays, row {i}", ("x",)) for i in places]
    ds = dl.from_arrays({"k": list("abc"), "x": [7, 2, 4]}, url, on="k", update="force")
    assert sorted(ds["x"][:].tolist()) == [2, 4, 7]
    assert keyed(url, "abc", x=[8, 2, 4]).ingested.changed == 1


@pytest.mark.parametrize("merged", [True, False])
def test_column_filled_by_people_is_kept_where_they_filled_it(url, merged):
    ds = keyed(url, "abc", x=[1, 2, 3])
    if merged:
        ds.branch("more")
        ds.checkout("more")
    ds.add_column("note", dl.Text(nullable=True))
    ds["note"][1] = "mine"
    ds.commit("a column")
    if merged:
        ds.checkout("main")
        ds.merge("more")
    ds = keyed(url, "abcd", x=[1, 2, 3, 4], note=["p", "q", "r", "s"])
    assert ds["note"][:] == ["p", "mine", "r", "s"]
    assert kept(ds) == [("arrays, row 1", ("note",))]


def test_rows_added_by_people_stay_unchanged(url):
    ds = keyed(url, "a", x=[1])
    ds.append({"k": ["b"], "x": [20]})
    ds.commit("by hand")
    ds = keyed(url, "ab", x=[5, 6])
    assert ds["x"][:].tolist() == [5, 20]
    assert kept(ds) == [("arrays, row 1", ("x",))]


@pytest.mark.parametrize("values", [["a", "b"], [7, 8], [0.5, -0.0]], ids=["text", "int", "float"])
@pytest.mark.parametrize("whole", [True, False], ids=["column", "cell"])
def test_row_with_a_corrected_key_stays_one_row(url, values, whole):
    ds = keyed(url, values, x=[1, 2])
    other = "z" if isinstance(values[0], str) else type(values[0])(99)
    if whole:
        replace_column(ds, "k", ds["k"].htype, [other, values[1]])
    else:
        ds["k"][0] = other
    ds.commit("another key")
    for _ in range(2):
        ds = keyed(url, values, x=[1, 5])
        assert list(ds["k"][:]) == [other, values[1]]
        assert ds["x"][:].tolist() == [1, 5]
        assert kept(ds) == [("arrays, row 0", ("k",))]
    assert len(keyed(url, [other, values[1]], x=[1, 5])) == 2
    assert dl.from_arrays({"k": values, "x": [1, 5]}, url, on="k", update="force").ingested.added


def test_deleted_row_stays_deleted_after_the_key_column_was_replaced(url):
    ds = keyed(url, "abc", x=[1, 2, 3])
    ds.delete([1])
    ds.commit("one less")
    ds.add_column("k2", "text", values=["a", "c"])
    ds.drop_column("k")
    ds.rename_column("k2", "k")
    ds.commit("another column")
    ds = keyed(url, "abc", x=[1, 2, 3])
    assert ds["k"][:] == ["a", "c"]
    assert kept(ds) == [("arrays, row 1", ())]


# ---- a different mode


@pytest.mark.parametrize("modes", [("L",), ("L", None), ("RGB",), ("L", "RGB")])
@pytest.mark.parametrize("corrected", [True, False])
def test_changed_mode_is_not_an_edit_of_images(photos, url, modes, corrected):
    folder = photos("a.png", "b.png", "c.png")
    ds = dl.from_folder(folder, url)
    for mode in modes:
        ds.set_mode("image", mode)
        if corrected and mode == modes[-1]:
            ds["image"][2] = np.zeros((2, 2) if mode == "L" else (2, 2, 3), "uint8")
        ds.commit("a mode")
    (folder / "b.png").write_bytes(picture(77))
    (folder / "c.png").write_bytes(picture(78))
    ds = dl.from_folder(folder, url, progress=False)
    assert bytes(ds["image"].encoded()[1]) == picture(77)
    assert (bytes(ds["image"].encoded()[2]) == picture(78)) is not corrected
    assert kept(ds) == ([("c.png", ("image",))] if corrected else [])


@pytest.mark.parametrize("codec", ["png", "zstd"])
@pytest.mark.parametrize("pending", [True, False])
def test_diff_omits_images_whose_mode_alone_changed(make_lake, codec, pending):
    pixels = np.arange(36, dtype="uint8").reshape(3, 4, 3)
    schema = {"image": dl.Image(codec, nullable=True)}
    ds = make_lake(schema, image=[pixels, pixels + 1, None, pixels[..., 0]])
    before = ds.commit("pictures") or ds.version
    ds.set_mode("image", "L")
    ds["image"][1] = np.zeros((2, 2), "uint8")
    if not pending:
        ds.commit("a mode")
    diff = ds.diff(before)
    assert {name: len(ids) for name, ids in diff.changed.items()} == {"image": 1}
    assert [old.htype.mode for old, _ in diff.schema.retyped] == [None]
