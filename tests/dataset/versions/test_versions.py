"""Commits, branches, tags, timestamps and checkouts."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

import deeplake_lite as dl


@pytest.fixture
def ds(make_lake):
    return make_lake({"x": "int32"}, x=[1, 2])


def test_log_lists_every_commit_newest_first(ds):
    ds["x"][0] = 5
    done = ds.commit("edit")
    log = ds.log()
    assert [c.message for c in log] == ["edit", "rows", "created"]
    assert log[0].id == done == ds.version
    assert log[0].parent == log[1].id
    assert log[0].time > log[1].time
    assert datetime.now(UTC) - log[0].time < timedelta(minutes=5)


def test_commit_without_edits_writes_nothing(ds):
    version = ds.version
    assert ds.commit("nothing") == version
    assert len(ds.log()) == 2


def test_commit_that_reverts_a_change_is_still_a_commit(ds):
    ds.metadata["k"] = 1
    del ds.metadata["k"]
    version = ds.version
    assert ds.commit("no difference") != version
    assert not ds.diff(version)


def test_every_name_of_a_version_opens_it(ds):
    first = ds.version
    ds.tag("v1.0")
    ds["x"][0] = 5
    ds.commit("edit")
    for name in ("v1.0", first, first[:6], ds.log()[1].time):
        old = dl.open(ds.url, version=name)
        assert old["x"][:].tolist() == [1, 2]
        assert old.read_only
    assert dl.open(ds.url, version="main")["x"][:].tolist() == [5, 2]


def test_commit_of_the_log_can_be_opened_as_a_version(ds):
    ds["x"][0] = 5
    ds.commit("edit")
    before = ds.log()[1]
    old = dl.open(ds.url, version=before)
    assert old["x"][:].tolist() == [1, 2]
    with pytest.raises(dl.ReadOnlyError, match=before.id):
        old["x"][0] = 7
    assert ds.diff(before).changed.keys() == {"x"}
    assert before.id in repr(ds.diff(before, ds.log()[0]))
    ds.restore(before)
    assert ds["x"][:].tolist() == [1, 2]


def test_day_means_its_first_moment(ds):
    tomorrow = (datetime.now() + timedelta(days=1)).date()
    assert dl.open(ds.url, version=tomorrow).version == ds.version
    assert dl.open(ds.url, version=tomorrow.isoformat()).version == ds.version
    with pytest.raises(dl.VersionNotFoundError, match="oldest version"):
        dl.open(ds.url, version=tomorrow - timedelta(days=1000))


@pytest.mark.parametrize("version", [-1, 0, True, {"id": "x"}, ["v1"]])
def test_invalid_version_is_refused(ds, version):
    with pytest.raises(
        dl.VersionNotFoundError,
        match=r"a commit from ds\.log\(\), but .*\[1\] is the commit",
    ):
        dl.open(ds.url, version=version)
    with pytest.raises(dl.VersionNotFoundError, match=r"a commit from ds\.log\(\), but"):
        ds.restore(version)


def test_names_of_branches_and_tags_may_have_slashes(make_lake, tmp_path):
    ds = make_lake({"x": "int32"}, x=[1, 2])[:].materialize(str(tmp_path / "lake"))
    ds.branch("feature/x.1/y")
    ds.tag("release/v1")
    work = dl.open(ds.url, branch="feature/x.1/y")
    work["x"][0] = 5
    work.commit("on a branch")
    assert set(ds.branches) == {"main", "feature/x.1/y"}
    assert list(ds.tags) == ["release/v1"]
    assert dl.open(ds.url, version="release/v1")["x"][:].tolist() == [1, 2]
    assert ds.checkout("feature/x.1/y")["x"][0] == 5
    assert ds.checkout("main").diff("main", "feature/x.1/y").changed
    ds.merge("feature/x.1/y")
    assert ds["x"][0] == 5
    ds.vacuum(older_than="0s")
    with pytest.raises(dl.ExistsError, match="A tag 'release/v1' already exists"):
        ds.branch("release/v1")
    ds.delete_branch("feature/x.1/y")
    assert list(ds.branches) == ["main"]


@pytest.mark.parametrize("zone", [None, UTC, timezone(timedelta(hours=14))])
def test_earliest_time_is_before_all_versions(ds, zone):
    with pytest.raises(dl.VersionNotFoundError, match="oldest version"):
        dl.open(ds.url, version=datetime.min.replace(tzinfo=zone))


def test_time_between_two_commits_opens_the_earlier(ds):
    between = datetime.now(UTC)
    ds["x"][0] = 5
    ds.commit("edit")
    assert dl.open(ds.url, version=between)["x"][:].tolist() == [1, 2]
    assert dl.open(ds.url, version=between.isoformat())["x"][:].tolist() == [1, 2]
    assert dl.open(ds.url, version=datetime.now())["x"][:].tolist() == [5, 2]
    with pytest.raises(dl.VersionNotFoundError, match="oldest version on 'main' is from"):
        dl.open(ds.url, version=datetime(2001, 1, 1, tzinfo=UTC))


def test_missing_version_error_names_the_existing_ones(ds):
    ds.tag("v1.0")
    with pytest.raises(dl.VersionNotFoundError, match=r"no version 'v1.1'. Did you mean 'v1.0'"):
        dl.open(ds.url, version="v1.1")
    with pytest.raises(dl.VersionNotFoundError, match="no branch 'fix'"):
        dl.open(ds.url, branch="fix")


def test_error_lists_only_the_ten_nearest_of_many_names(ds):
    for n in range(8):
        ds["x"][0] = n
        ds.commit(f"{n}")
        ds.branch(f"fix-{n}")
        ds.tag(f"v{n}.0")
    with pytest.raises(dl.VersionNotFoundError) as error:
        dl.open(ds.url, version="v3.1")
    message = str(error.value)
    assert message.startswith("There is no version 'v3.1'. Did you mean 'v3.0'? Branches: 'fix-0'")
    assert message.count("'") == 2 + 2 * 10
    assert "'main'. Tags: 7 more. ds.log() lists the commits." in message
    assert not any(c.id in message for c in ds.log())


@pytest.mark.parametrize(
    "write",
    [
        lambda ds: ds.append({"x": [1]}),
        lambda ds: ds.update([0], {"x": [1]}),
        lambda ds: ds.delete([0]),
        lambda ds: ds.upsert({"x": [1]}, on="x"),
        lambda ds: ds["x"].__setitem__(0, 1),
        lambda ds: ds.add_column("y", dl.Scalar("int8", default=1)),
        lambda ds: ds.rename_column("x", "y"),
        lambda ds: ds.drop_column("x"),
        lambda ds: ds.metadata.__setitem__("k", 1),
        lambda ds: ds["x"].metadata.__setitem__("k", 1),
        lambda ds: ds.commit("never"),
        lambda ds: ds.restore("main"),
        lambda ds: ds.merge("main"),
        lambda ds: ds.rebase(),
        lambda ds: ds.optimize(),
    ],
)
def test_read_only_version_refuses_writes(ds, write):
    old = dl.open(ds.url, version=ds.version)
    ds["x"][0] = 5
    ds.commit("edit")
    with pytest.raises(dl.ReadOnlyError, match=r"is read-only.*Open a branch to write"):
        write(old)
    assert old["x"][:].tolist() == [1, 2]


def test_new_branch_is_not_checked_out(ds):
    ds.branch("fix")
    assert ds.current_branch == "main"
    assert ds.branches == {"main": ds.version, "fix": ds.version}
    fix = dl.open(ds.url, branch="fix")
    fix["x"][0] = 5
    fix.commit("on fix")
    assert ds.refresh()["x"][:].tolist() == [1, 2]
    assert ds.checkout("fix")["x"][:].tolist() == [5, 2]
    assert ds.current_branch == "fix"


def test_names_are_unique_across_branches_and_tags(ds):
    ds.branch("a")
    ds.tag("b")
    for make in (ds.branch, ds.tag):
        for name in ("a", "b", "main"):
            with pytest.raises(dl.ExistsError, match=f"A (branch|tag) '{name}' already exists"):
                make(name)


@pytest.mark.parametrize("name", ["", "_own", "a b", "-x", "a//b", "a/", "ü", "../x"])
def test_invalid_name_is_refused(ds, name):
    with pytest.raises(
        dl.SchemaError, match="at most 200 characters, which may be letters, digits"
    ):
        ds.branch(name)


def test_internal_branches_are_hidden(ds):
    ds[:1].save("first")
    assert set(ds.branches) == {"main"}
    with pytest.raises(dl.VersionNotFoundError):
        dl.open(ds.url, branch="_aux")


def test_checkout_merge_restore_and_tag_refuse_a_dirty_dataset(ds):
    ds.branch("fix")
    ds["x"][0] = 5
    for go in (
        lambda: ds.checkout("fix"),
        lambda: ds.merge("fix"),
        lambda: ds.restore(ds.version),
        lambda: ds.tag("v1"),
        lambda: ds.refresh(),
        lambda: ds.optimize(),
    ):
        with pytest.raises(dl.UncommittedError, match=r"1 cell updated.*ds\.discard\(\)"):
            go()
    assert ds["x"][0] == 5


def test_main_and_the_current_branch_cannot_be_deleted(ds):
    ds.branch("fix")
    ds.delete_branch("fix")
    assert set(ds.branches) == {"main"}
    with pytest.raises(dl.ReadOnlyError, match="'main' cannot be deleted"):
        ds.delete_branch("main")
    with pytest.raises(dl.VersionNotFoundError, match="no branch 'fix'"):
        ds.delete_branch("fix")


def test_status_counts_the_edits_of_the_transaction(ds):
    assert repr(ds.status()) == "clean"
    ds["x"][0] = 5
    ds["x"][0] = 6
    ds.append({"x": [3, 4]})
    ds["x"][2] = 7
    ds.delete([1, 3])
    ds.metadata["k"] = 1
    status = ds.status()
    assert (status.added, status.removed, dict(status.updated)) == (1, 1, {"x": 1})
    assert status.metadata
    ds.discard()
    assert not ds.status()
    assert ds["x"][:].tolist() == [1, 2]


def test_restore_applies_an_older_version_as_an_edit(ds):
    first = ds.version
    ids = ds.row_ids.tolist()
    ds.delete([0])
    ds.append({"x": [3]})
    ds.add_column("y", "int8", values=[1, 2])
    ds.metadata["k"] = 1
    ds.commit("other")
    ds.restore(first)
    assert ds.status()
    assert dl.open(ds.url)["x"][:].tolist() == [2, 3]
    ds.commit("as it was")
    assert ds["x"][:].tolist() == [1, 2]
    assert ds.row_ids.tolist() == ids
    assert ds.columns == ("x",)
    assert not ds.diff(first)


def test_restore_and_discard_without_changes_do_nothing(ds):
    first = ds.version
    ds["x"][0] = 5
    ds.commit("edit")
    ds.restore(first)
    ds.discard()
    assert ds["x"][:].tolist() == [5, 2]
    assert not ds.status()


def test_restore_swaps_exchanged_names(make_lake):
    ds = make_lake({"a": "int8", "b": "int8"}, a=[1], b=[2])
    first = ds.version
    ds.drop_column("a")
    ds.rename_column("b", "a")
    ds.append({"a": [3]})
    ds.commit("b is a")
    ds.restore(first)
    ds.commit("back")
    assert ds[0] == {"a": 1, "b": 2}
    assert len(ds) == 1


def test_diff_names_rows_cells_and_columns(ds):
    first, ids = ds.version, ds.row_ids.tolist()
    ds["x"][0] = 5
    ds.delete([1])
    ds.append({"x": [3]})
    ds.add_column("y", "int8", values=[1, 2])
    diff = ds.diff(first)
    assert diff.removed.tolist() == [ids[1]]
    assert diff.added.tolist() == ds.row_ids[1:].tolist()
    assert {k: v.tolist() for k, v in diff.changed.items()} == {"x": [ids[0]]}
    assert diff.before("x").tolist() == [1]
    assert diff.after("x").tolist() == [5]
    assert [c.name for c in diff.schema.added] == ["y"]
    ds.commit("edits")
    back = ds.diff("main", first)
    assert back.added.tolist() == [ids[1]]
    assert not ds.diff("main", "main")


def test_diff_treats_nan_and_null_as_equal_to_themselves(make_lake):
    ds = make_lake({"x": dl.Scalar("float32", nullable=True)}, x=[float("nan"), None, 1.0])
    first = ds.version
    ds["x"][:] = [float("nan"), None, 1.0]
    assert not ds.diff(first).changed
    ds["x"][:] = [None, float("nan"), 1.0]
    assert len(ds.diff(first).changed["x"]) == 2


def test_checking_out_a_tag_is_refused_with_a_suggestion(make_lake):
    ds = make_lake({"x": "int32"}, x=[1])
    ds.tag("v1")
    with pytest.raises(dl.VersionNotFoundError, match=r"'v1' is a tag.*ds\.restore"):
        ds.checkout("v1")
    with pytest.raises(dl.VersionNotFoundError, match="'v1' is a tag"):
        dl.open(ds.url, branch="v1")


def test_folder_of_other_files_is_not_a_lake_and_is_not_turned_into_one(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(dl.LakeNotFoundError, match="there are other files"):
        dl.open(str(tmp_path))
    with pytest.raises(dl.ExistsError, match=r"contains files. Choose another"):
        dl.create(str(tmp_path), {"x": "int32"})


def test_tags_are_deleted(make_lake):
    ds = make_lake({"x": "int32"}, x=[1])
    ds.tag("v1")
    ds.tag("v2")
    ds.delete_tag("v1")
    assert list(ds.tags) == ["v2"]
    with pytest.raises(dl.VersionNotFoundError, match=r"no version 'v1'"):
        dl.open(ds.url, version="v1")
    with pytest.raises(dl.VersionNotFoundError, match=r"There is no tag 'v1'.*'v2'"):
        ds.delete_tag("v1")
    with pytest.raises(dl.VersionNotFoundError, match="There is no tag 'main'"):
        ds.delete_tag("main")
    with pytest.raises(dl.ExistsError, match="cannot be reused"):
        ds.tag("v1")


@pytest.mark.parametrize("name", ["tag", "branch", "view"])
def test_vacuumed_version_cannot_be_named(make_lake, name):
    ds = make_lake({"x": "int32"}, x=[1])
    old = dl.open(ds.url, version=ds.version)
    for n in range(3):
        ds["x"][0] = n
        ds.commit("others go on")
    ds.vacuum(older_than="0s", spare="0s")
    acknowledge = {"tag": old.tag, "branch": old.branch, "view": old[[0]].save}[name]
    with pytest.raises(dl.VersionNotFoundError, match="a vacuum deleted"):
        acknowledge("kept")
    assert not ds.tags
    assert list(ds.branches) == ["main"]
    assert not list(ds.views())


def test_column_can_be_made_nullable_in_the_transaction_that_restored_it(make_lake):
    ds = make_lake({"n": "int32"}, n=[1, 2])
    first = ds.version
    ds.set_nullable("n")
    ds.commit("with nulls")
    ds.restore(first)
    ds.set_nullable("n")
    ds.append({"n": [None]})
    ds.commit("restored, with nulls again")
    assert dl.open(ds.url)["n"][:].tolist() == [1, 2, None]


def test_handle_does_not_commit_to_a_new_branch_with_its_branchs_name(tmp_path):
    ds = dl.create(tmp_path / "lake", {"t": "text"})
    ds.append({"t": ["a"]})
    ds.commit("one")
    ds.branch("q")
    q = dl.open(tmp_path / "lake", branch="q")
    q.append({"t": ["committed"]})
    q.commit("to the first q")
    q.append({"t": ["pending"]})
    ds.delete_branch("q")
    ds.branch("q")
    with pytest.raises(dl.ConflictError, match="Branch 'q' was deleted and recreated"):
        q.commit("to the second q")
    assert q["t"][:] == ["a", "committed", "pending"]
    q.rebase()
    q.commit("to the second q")
    assert dl.open(tmp_path / "lake", branch="q")["t"][:] == ["a", "pending"]
