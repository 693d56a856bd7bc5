"""Ingesting rows without a key again, as in a notebook cell that is run twice, adds them once."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl
from deeplake_lite.ingest.tables import tabular

from .conftest import fill


def frame():
    return pd.DataFrame({"name": ["rose", "lily"], "vector": [np.zeros(2), np.ones(3)]})


def test_same_dataframe_is_ingested_once(url, capsys):
    first = dl.from_dataframe(frame(), url)
    again = dl.from_dataframe(frame(), url)
    assert again.version == first.version
    assert (again.ingested.added, again.ingested.unchanged) == (0, 2)
    assert again.ingested.repeated == first.version
    assert (
        f"No rows were added, because version {first.version} already has them"
        in capsys.readouterr().err
    )


def test_same_arrays_are_recognised_after_others_in_between(url):
    dl.from_arrays({"x": np.arange(10)}, url)
    dl.from_arrays({"x": np.arange(20)}, url)
    ds = dl.from_arrays({"x": np.arange(10)}, url, progress=False)
    assert len(ds) == 30


def test_different_rows_are_appended(url):
    dl.from_dataframe(frame(), url)
    assert len(dl.from_dataframe(frame().iloc[::-1], url)) == 4


def test_force_adds_rows_once_more(url):
    dl.from_dataframe(frame(), url)
    assert len(dl.from_dataframe(frame(), url, update="force")) == 4


def test_unchanged_file_is_not_read_again_and_a_file_with_the_same_rows_adds_nothing(tmp_path, url):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,a\n2,b\n")
    dl.from_csv(path, url)
    assert dl.from_csv(path, url, progress=False).ingested.unchanged == 2
    os.utime(path, (1, 1))
    assert len(dl.from_csv(path, url, progress=False)) == 2
    pq.write_table(pa.table({"x": [1, 2], "y": ["a", "b"]}), tmp_path / "a.parquet")
    assert len(dl.from_parquet(tmp_path / "a.parquet", url, progress=False)) == 2
    path.write_text("x,y\n1,a\n2,c\n")
    assert len(dl.from_csv(path, url)) == 4


@pytest.mark.parametrize("own", [False, True], ids=["forward", "merge"])
def test_rows_ingested_on_a_merged_branch_are_not_ingested_again(tmp_path, own):
    (tmp_path / "s.csv").write_text("v\n" + "\n".join(map(str, range(100))) + "\n")
    url = tmp_path / "x.lake"
    ds = dl.create(url, {"v": "int64"})
    ds.append({"v": [-1]})
    ds.commit("one row")
    ds.branch("other")
    dl.from_csv(tmp_path / "s.csv", url, branch="other")
    ds = dl.open(url)
    if own:
        ds.append({"v": [-2]})
        ds.commit("another")
    ds.merge("other")
    again = dl.from_csv(tmp_path / "s.csv", url)
    assert len(again) == 101 + own
    assert again.ingested.added == 0


def _csv(path, values):
    path.write_text("v\n" + "\n".join(map(str, values)) + "\n")


@pytest.mark.parametrize("how", ["keyed", "force", "restored"])
def test_file_that_changes_after_an_interruption_is_not_ingested_twice(tmp_path, how):
    rows = 60_000
    file, url = tmp_path / "s.csv", tmp_path / "x.lake"
    _csv(file, [*range(50_000), "bad", *range(50_001, rows)])
    schema = {"v": "int64"}
    before = dl.create(url, schema).version
    with pytest.raises(dl.InvalidValueError, match="bad"):
        dl.from_csv(file, url, schema=schema, commit_every=10_000)
    taken = len(dl.open(url))
    assert 0 < taken < rows
    _csv(file, range(rows))
    with pytest.raises(dl.InvalidValueError, match=r"changed since .* read its first [\d,]+ rows"):
        dl.from_csv(file, url, schema=schema, commit_every=10_000)
    if how == "keyed":
        assert len(dl.from_csv(file, url, schema=schema, on="v")) == rows
    if how == "force":
        assert len(dl.from_csv(file, url, schema=schema, update="force")) == rows + taken
    if how == "restored":
        ds = dl.open(url)
        ds.restore(before)
        ds.commit("empty again")
        assert len(dl.from_csv(file, url, schema=schema, update="force")) == rows


def test_different_file_with_the_same_name_is_a_different_source(tmp_path):
    url = tmp_path / "x.lake"
    for folder, values in (("a", [*range(60_000), "bad"]), ("b", [1, 2])):
        (tmp_path / folder).mkdir()
        _csv(tmp_path / folder / "s.csv", values)
    schema = {"v": "int64"}
    with pytest.raises(dl.InvalidValueError):
        dl.from_csv(tmp_path / "a" / "s.csv", url, schema=schema, commit_every=10_000)
    taken = len(dl.open(url))
    assert len(dl.from_csv(tmp_path / "b" / "s.csv", url, schema=schema)) == taken + 2


# ---- rows that are missing, although a run has read them


def table_of_pictures(folder, names):
    """Write a CSV of images without a key, and all images that are not missing."""
    fill(folder, names)
    rows = "".join(f"{i},{name}\n" for i, name in enumerate(names))
    (folder / "rows.csv").write_text(f"x,image\n{rows}")
    return folder / "rows.csv"


def take_pictures(path, url, **options):
    types = {"image": dl.Image()}
    return dl.from_csv(path, url, schema=types, progress=False, **options)


@pytest.fixture
def interrupted(tmp_path, url, monkeypatch):
    """Return a table of twenty images, ten of which are committed, and the version before."""
    monkeypatch.setattr(tabular, "BATCH_ROWS", 5)
    path = table_of_pictures(tmp_path / "photos", [f"{i}.png" for i in range(20)])
    (path.parent / "12.png").unlink()
    ds = dl.create(url, {"x": "int64", "image": dl.Image()})
    with pytest.raises(dl.InvalidValueError, match=r"12\.png"):
        take_pictures(path, url, commit_every=5)
    assert len(dl.open(url)) == 10
    return path, ds.version


@pytest.mark.parametrize("update", [True, "force"])
@pytest.mark.parametrize("back", [0, 1, 2], ids=["whole", "half", "not restored"])
@pytest.mark.parametrize("change", ["nothing", "the file"])
def test_rows_removed_by_a_restore_are_ingested_again(interrupted, url, update, back, change):
    path, before = interrupted
    ds = dl.open(url)
    log = [commit.id for commit in ds.log()][::-1]
    there = 5 * back if back < 2 else 10
    if back < 2:
        ds.restore(log[log.index(before) + back])
        ds.commit("back")
    fill(path.parent, [f"{i}.png" for i in range(20)])
    if change == "the file":
        os.utime(path, (1, 1))
        if there:
            return  # it is unknown which of its rows are there
    ds = take_pictures(path, url, update=update)
    assert sorted(ds["x"][:].tolist()) == list(range(20))
    assert ds.ingested.added == 20 - there


@pytest.mark.parametrize("source", ["frame", "csv"])
def test_completely_ingested_source_is_ingested_again_after_a_restore(tmp_path, url, source):
    path = tmp_path / "rows.csv"
    frame().drop(columns="vector").to_csv(path, index=False)
    take = {"frame": lambda: dl.from_dataframe(frame(), url), "csv": lambda: dl.from_csv(path, url)}
    first = take[source]()
    before = first.log()[-1].id
    first.restore(before)
    first.commit("empty")
    again = take[source]()
    assert (len(again), again.ingested.added, again.ingested.repeated) == (2, 2, "")
    assert take[source]().ingested.added == 0


def test_rows_deleted_by_people_stay_deleted_while_others_remain(url):
    ds = dl.from_dataframe(frame(), url)
    ds.delete([0])
    ds.commit("one less")
    assert len(dl.from_dataframe(frame(), url)) == 1


@pytest.mark.parametrize("bad", [{1}, {0, 3}, {0, 1, 2}])
@pytest.mark.parametrize("mended", [True, False])
@pytest.mark.parametrize("commit_every", [None, 2])
def test_skipped_row_is_ingested_once_it_is_fixed(
    tmp_path, url, bad, mended, commit_every, monkeypatch
):
    monkeypatch.setattr(tabular, "BATCH_ROWS", 2)
    names = [f"{i}.png" for i in range(4)]
    path = table_of_pictures(tmp_path / "photos", names)
    for i in bad:
        (path.parent / names[i]).unlink()
    options = {"on_error": "skip", "commit_every": commit_every}
    first = take_pictures(path, url, **options)
    assert (first.ingested.added, len(first.ingested.skipped)) == (4 - len(bad), len(bad))
    first["x"][0] = 100
    first.commit("corrected")
    again = take_pictures(path, url, **options)
    assert (again.ingested.added, again.ingested.unchanged) == (0, 4 - len(bad))
    assert len(again.ingested.skipped) == len(bad)
    if mended:
        fill(path.parent, names)
        ds = take_pictures(path, url, **options)
        assert (ds.ingested.added, ds.ingested.unchanged) == (len(bad), 4 - len(bad))
        assert set(ds["x"][-len(bad) :].tolist()) == bad
        assert take_pictures(path, url, **options).ingested.unchanged == len(ds) == 4


def test_other_columns_of_a_file_are_other_rows(tmp_path, url):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n1,3\n2,4\n")
    columns = {"x": dl.Scalar("int64", nullable=True), "y": dl.Scalar("int64", nullable=True)}
    dl.create(url, columns)
    for names, rows in ((["x"], 2), (["y"], 4), (["y"], 4), (["y", "x"], 6), (["x", "y"], 6)):
        ds = dl.from_csv(path, url, columns=names, progress=False)
        assert len(ds) == rows
        assert ds.ingested.added + ds.ingested.unchanged == 2
    assert ds["y"][:].tolist() == [None, None, 3, 4, 3, 4]


# ---- rows deleted by people, from a run with several commits

PARTS = [range(5), range(5, 10), range(10, 15), range(15, 20), range(19), range(1, 20)]


def take_csv(path, url):
    return dl.from_csv(path, url, progress=False, commit_every=5)


@pytest.mark.parametrize("gone", PARTS, ids=str)
def test_deleted_rows_stay_deleted_whichever_commit_added_them(tmp_path, url, gone, monkeypatch):
    monkeypatch.setattr(tabular, "BATCH_ROWS", 5)
    _csv(tmp_path / "s.csv", range(20))
    ds = take_csv(tmp_path / "s.csv", url)
    assert len(ds.log()) > 4
    ds.delete(list(gone))
    ds.commit("deleted")
    again = take_csv(tmp_path / "s.csv", url)
    assert again.ingested.added == 0
    assert set(again["v"][:].tolist()) == set(range(20)) - set(gone)


def test_completely_deleted_rows_are_ingested_again(tmp_path, url, monkeypatch):
    monkeypatch.setattr(tabular, "BATCH_ROWS", 5)
    _csv(tmp_path / "s.csv", range(20))
    ds = take_csv(tmp_path / "s.csv", url)
    ds.delete(list(range(20)))
    ds.commit("deleted")
    assert take_csv(tmp_path / "s.csv", url).ingested.added == 20


@pytest.mark.parametrize("gone", [[1], [0], [0, 2]])
def test_row_ingested_later_and_deleted_stays_deleted(tmp_path, url, gone):
    names = ["0.png", "1.png", "2.png"]
    path = table_of_pictures(tmp_path / "photos", names)
    (path.parent / "1.png").unlink()
    take_pictures(path, url, on_error="skip")
    fill(path.parent, names)
    ds = take_pictures(path, url, on_error="skip")
    assert ds["x"][:].tolist() == [0, 2, 1]
    ds.delete([ds["x"][:].tolist().index(x) for x in gone])
    ds.commit("deleted")
    again = take_pictures(path, url, on_error="skip")
    assert again.ingested.added == 0
    assert sorted(again["x"][:].tolist()) == sorted({0, 1, 2} - {*gone})


def test_deleted_rows_of_an_interrupted_run_stay_deleted_when_it_resumes(interrupted, url):
    path, _ = interrupted
    ds = dl.open(url)
    ds.delete(list(range(5, 10)))
    ds.commit("deleted")
    fill(path.parent, [f"{i}.png" for i in range(20)])
    assert take_pictures(path, url)["x"][:].tolist() == [*range(5), *range(10, 20)]


@pytest.mark.parametrize("moved", [False, True])
def test_restore_followed_by_other_commits_is_still_a_restore(interrupted, url, moved):
    path, before = interrupted
    ds, other = dl.open(url), dl.open(url)
    log = [commit.id for commit in ds.log()][::-1]
    ds.restore(log[log.index(before) + 1])
    if moved:
        other.append({"x": [100], "image": [ds["image"].encoded()[0]]})
        other.commit("another row")
    ds.commit("back")
    fill(path.parent, [f"{i}.png" for i in range(20)])
    ds = take_pictures(path, url)
    assert sorted(ds["x"][:].tolist()) == [*range(20), *([100] if moved else [])]


def test_version_of_another_branch_may_be_restored(interrupted, url):
    path, before = interrupted
    fill(path.parent, [f"{i}.png" for i in range(20)])
    ds = dl.open(url)
    ds.branch("other")
    whole = take_pictures(path, url, branch="other").version
    ds.restore(before)
    ds.commit("empty")
    ds.restore(whole)
    ds.commit("all of the other")
    assert take_pictures(path, url).ingested.added == 0
    assert len(dl.open(url)) == 20


# ---- folders and patterns whose files change


CHANGES = {
    "added": {"c.parquet": [7]},
    "added before": {"A.parquet": [7]},
    "removed": {"b.parquet": None},
    "renamed": {"b.parquet": None, "c.parquet": range(60, 65)},
    "renamed first": {"a.parquet": None, "c.parquet": range(50)},
    "another in its place": {"b.parquet": range(70, 80)},
}


@pytest.fixture(params=["", "*.parquet", "**/*.parquet"])
def interrupted_folder(request, tmp_path, url, monkeypatch):
    """Return a folder, and the path by which an interrupted run read it."""
    monkeypatch.setattr(tabular, "BATCH_ROWS", 10)
    folder = tmp_path / "rows"
    folder.mkdir()
    pq.write_table(pa.table({"v": [*range(50), None]}), folder / "a.parquet")
    pq.write_table(pa.table({"v": range(60, 65)}), folder / "b.parquet")
    asked = folder / request.param
    dl.create(url, {"v": "int64"})
    with pytest.raises(dl.InvalidValueError, match="must not be null"):
        dl.from_parquet(asked, url, commit_every=10)
    assert len(dl.open(url)) == 50
    return folder, asked


def write_files(folder, change):
    pq.write_table(pa.table({"v": range(50)}), folder / "a.parquet")
    for name, values in change.items():
        if values is None:
            (folder / name).unlink()
        else:
            pq.write_table(pa.table({"v": values}), folder / name)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changed_files_after_an_interruption_are_refused(interrupted_folder, url, change):
    folder, asked = interrupted_folder
    write_files(folder, change)
    for again in (asked, folder / "*.p*"):
        with pytest.raises(dl.InvalidValueError, match="changed since an interrupted ingest"):
            dl.from_parquet(again, url)
    assert len(dl.open(url)) == 50


def test_many_new_files_after_an_interruption_are_refused(interrupted_folder, url):
    folder, asked = interrupted_folder
    write_files(folder, {f"{i}.parquet": [i] for i in range(200)})
    with pytest.raises(dl.InvalidValueError, match="changed since an interrupted ingest"):
        dl.from_parquet(asked, url)


def test_other_files_of_a_folder_are_ingested_after_an_interruption(interrupted_folder, url):
    folder, _ = interrupted_folder
    write_files(folder, {"c.parquet": [7]})
    assert dl.from_parquet(folder / "c.parquet", url).ingested.added == 1


# ---- columns that were replaced


@pytest.mark.parametrize("source", ["arrays", "csv", "frame"])
@pytest.mark.parametrize("how", ["dropped", "renamed"])
def test_rows_are_recognised_after_a_column_was_replaced(tmp_path, url, source, how):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n1,3\n2,4\n")
    rows = {"x": [1, 2], "y": [3, 4]}
    take = {
        "arrays": lambda: dl.from_arrays(rows, url),
        "csv": lambda: dl.from_csv(path, url),
        "frame": lambda: dl.from_dataframe(pd.DataFrame(rows), url),
    }[source]
    ds = take()
    if how == "dropped":
        ds.drop_column("y")
    else:
        ds.rename_column("y", "old")
        ds.set_default("old", 0)
    ds.add_column("y", dl.Scalar("int64", default=0))
    ds.commit("another y")
    os.utime(path, (1, 1))
    assert take().ingested.added == 0
