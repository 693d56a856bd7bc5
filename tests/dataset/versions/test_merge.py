"""Merging two lines of edits."""

import io

import numpy as np
import pytest
from PIL import Image

import deeplake_lite as dl
from deeplake_lite.storage.repo import Session
from deeplake_lite.testing.invariants import check_consistent


@pytest.fixture
def ours(make_lake):
    ds = make_lake({"x": "int32", "t": "text"}, x=[1, 2, 3], t=["a", "b", "c"])
    ds.branch("fix")
    return ds


@pytest.fixture
def theirs(ours):
    return dl.open(ours.url, branch="fix")


def commit_both(ours, theirs):
    ours.commit("ours")
    theirs.commit("theirs")


def test_edits_of_different_rows_cells_and_columns_all_survive(ours, theirs):
    ours["x"][0] = 10
    ours.append({"x": [4], "t": ["o"]})
    ours.metadata["o"] = 1
    theirs["t"][0] = "z"
    theirs.delete([1])
    theirs.append({"x": [5], "t": ["t"]})
    theirs.metadata["t"] = 2
    theirs.rename_column("t", "text")
    theirs.add_column("n", dl.Scalar("int8", default=9), values=[1, 2, 3])
    commit_both(ours, theirs)
    ours.merge("fix")
    assert ours["x"][:].tolist() == [10, 3, 4, 5]
    assert ours["text"][:] == ["z", "c", "o", "t"]
    assert ours["n"][:].tolist() == [1, 2, 9, 3]
    assert dict(ours.metadata) == {"o": 1, "t": 2}
    check_consistent(ours)


def test_merge_commit_names_the_merged_version(ours, theirs):
    theirs["x"][0] = 10
    tip = theirs.commit("theirs")
    done = ours.merge("fix")
    assert ours.log()[0].id == done
    assert ours.log()[0].metadata == {"merge": tip, "merged": "fix"}
    assert ours.log()[0].message == "merge fix"


def test_merging_an_already_merged_or_older_version_writes_nothing(ours, theirs):
    version = ours.version
    assert ours.merge("fix") == version
    theirs["x"][0] = 10
    theirs.commit("theirs")
    done = ours.merge("fix")
    assert ours.merge("fix") == done


def test_equal_edits_on_both_sides_do_not_conflict(ours, theirs):
    for side in (ours, theirs):
        side["x"][0] = 10
        side.delete([2])
        side.metadata["k"] = 1
        side.rename_column("t", "text")
    commit_both(ours, theirs)
    ours.merge("fix")
    assert ours["x"][:].tolist() == [10, 2]


def cell(side, value):
    side["x"][0] = value


def note(side, value):
    side.metadata["k"] = value


def column_note(side, value):
    side["x"].metadata["k"] = value


def name(side, value):
    side.rename_column("x", f"x{value}")


def default(side, value):
    side.set_default("x", value)


@pytest.mark.parametrize(
    ("edit", "kind", "read"),
    [
        (cell, "cell", lambda ds: ds["x"][0]),
        (note, "metadata", lambda ds: ds.metadata["k"]),
        (column_note, "metadata", lambda ds: ds["x"].metadata["k"]),
        (name, "column", lambda ds: int(ds.columns[0][1:])),
        (default, "column", lambda ds: ds["x"].htype.default),
    ],
)
def test_different_edits_of_the_same_thing_conflict(ours, theirs, edit, kind, read):
    edit(ours, 10)
    edit(theirs, 20)
    commit_both(ours, theirs)
    version = ours.version
    with pytest.raises(dl.ConflictError, match=r"same data \(1 conflict\).*nothing was") as error:
        ours.merge("fix")
    assert [c.kind for c in error.value.conflicts] == [kind]
    assert ours.version == version
    assert not ours.status()
    assert read(ours) == 10
    theirs_copy = dl.open(ours.url, branch="main")
    theirs_copy.merge("fix", on_conflict="ours")
    assert read(theirs_copy) == 10


@pytest.mark.parametrize(("side", "expected"), [("ours", 10), ("theirs", 20)])
@pytest.mark.parametrize("edit", [cell, note, name, default])
def test_chosen_side_wins(ours, theirs, edit, side, expected):
    edit(ours, 10)
    edit(theirs, 20)
    commit_both(ours, theirs)
    ours.merge("fix", on_conflict=side)
    result = {
        cell: lambda: ours[0][ours.columns[0]],
        note: lambda: ours.metadata["k"],
        name: lambda: int(ours.columns[0][1:]),
        default: lambda: ours["x"].htype.default,
    }
    assert result[edit]() == expected


@pytest.mark.parametrize("who", ["ours", "theirs"])
@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_row_removed_on_one_side_and_changed_on_the_other(ours, theirs, who, side):
    remover, changer = (ours, theirs) if who == "ours" else (theirs, ours)
    remover.delete([0])
    changer["x"][0] = 10
    commit_both(ours, theirs)
    with pytest.raises(dl.ConflictError, match=f"{who} removed it") as error:
        ours.merge("fix")
    assert [c.kind for c in error.value.conflicts] == ["row"]
    ours.merge("fix", on_conflict=side)
    gone = who == side
    assert sorted(ours["x"][:].tolist()) == ([2, 3] if gone else [2, 3, 10])
    check_consistent(ours)


@pytest.mark.parametrize("who", ["ours", "theirs"])
@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_column_dropped_on_one_side_and_changed_on_the_other(ours, theirs, who, side):
    dropper, changer = (ours, theirs) if who == "ours" else (theirs, ours)
    dropper.drop_column("x")
    changer["x"][0] = 10
    commit_both(ours, theirs)
    with pytest.raises(
        dl.ConflictError, match="dropped it, but the other side changed it"
    ) as error:
        ours.merge("fix")
    assert [(c.kind, c.name) for c in error.value.conflicts] == [("column", "x")]
    ours.merge("fix", on_conflict=side)
    assert ("x" in ours.columns) == (who != side)
    if "x" in ours.columns:
        assert ours["x"][:].tolist() == [10, 2, 3]
    check_consistent(ours)


@pytest.mark.parametrize("who", ["ours", "theirs"])
@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_column_dropped_on_one_side_and_rows_added_on_the_other(ours, theirs, who, side):
    dropper, adder = (ours, theirs) if who == "ours" else (theirs, ours)
    dropper.drop_column("x")
    adder.append([{"x": 40, "t": "d"}])
    commit_both(ours, theirs)
    with pytest.raises(
        dl.ConflictError, match="dropped it, but the other side added 1 row with values in it"
    ):
        ours.merge("fix")
    ours.merge("fix", on_conflict=side)
    assert ("x" in ours.columns) == (who != side)
    if "x" in ours.columns:
        assert ours["x"][:].tolist() == [1, 2, 3, 40]
    assert ours["t"][:] == ["a", "b", "c", "d"]
    check_consistent(ours)


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_two_new_columns_with_one_name(ours, theirs, side):
    ours.add_column("n", "int8", values=[1, 1, 1])
    theirs.add_column("n", "int8", values=[2, 2, 2])
    commit_both(ours, theirs)
    with pytest.raises(
        dl.ConflictError, match="both sides have a column or group of this"
    ) as error:
        ours.merge("fix")
    assert str(error.value).startswith("Both sides changed the same data (1 conflict)")
    assert str(error.value).count("column 'n'") == 1
    ours.merge("fix", on_conflict=side)
    assert ours["n"][:].tolist() == [1 if side == "ours" else 2] * 3


@pytest.mark.parametrize(("side", "columns"), [("ours", ("same", "t")), ("theirs", ("x", "same"))])
def test_two_columns_renamed_to_one_name_are_both_kept(ours, theirs, side, columns):
    ours.rename_column("x", "same")
    theirs.rename_column("t", "same")
    commit_both(ours, theirs)
    with pytest.raises(dl.ConflictError, match="of this name"):
        ours.merge("fix")
    ours.merge("fix", on_conflict=side)
    assert ours.columns == columns
    assert ours[0] == dict(zip(columns, (1, "a"), strict=True))


def test_column_and_group_with_one_name(ours, theirs):
    ours.add_column("g", "int8", values=[1, 2, 3])
    theirs.add_column("g/h", "int8", values=[4, 5, 6])
    commit_both(ours, theirs)
    with pytest.raises(dl.ConflictError, match="of this name"):
        ours.merge("fix")
    ours.merge("fix", on_conflict="theirs")
    assert ours.columns == ("x", "t", "g/h")


def test_new_rows_need_a_default_for_a_new_column_of_the_other_side(ours, theirs):
    ours.append({"x": [4], "t": ["d"]})
    theirs.add_column("n", "int8", values=[1, 2, 3])
    commit_both(ours, theirs)
    with pytest.raises(dl.InvalidValueError, match=r"column 'n'.*1 such row.*\.set_default\('n'"):
        ours.merge("fix")
    assert ours.columns == ("x", "t")
    assert not ours.status()
    theirs.set_default("n", 0)
    theirs.commit("default")
    ours.merge("fix")
    assert ours["n"][:].tolist() == [1, 2, 3, 0]


def test_second_merge_starts_from_the_first(ours, theirs):
    ours["x"][0] = 10
    theirs["x"][1] = 20
    commit_both(ours, theirs)
    ours.merge("fix")
    ours["x"][1] = 21
    ours.commit("on top")
    theirs["x"][2] = 30
    theirs.commit("more")
    ours.merge("fix")
    assert ours["x"][:].tolist() == [10, 21, 30]


def test_merging_back_duplicates_nothing(ours, theirs):
    ours.append({"x": [4], "t": ["d"]})
    theirs.append({"x": [5], "t": ["e"]})
    commit_both(ours, theirs)
    ours.merge("fix")
    theirs.merge("main")
    assert sorted(theirs["x"][:].tolist()) == [1, 2, 3, 4, 5]
    assert set(theirs.row_ids.tolist()) == set(ours.row_ids.tolist())


def test_row_merged_from_a_third_branch_into_both_sides_is_one_row(ours, theirs):
    ours.branch("third")
    third = dl.open(ours.url, branch="third")
    third.append({"x": [4], "t": ["d"]})
    third.commit("third")
    ours.merge("third")
    theirs.merge("third")
    theirs["t"][3] = "D"
    theirs.commit("changed there")
    ours.merge("fix")
    assert ours["t"][:] == ["a", "b", "c", "D"]


def test_criss_cross_merges_keep_what_neither_side_has_changed_since(ours, theirs):
    ours["x"][0] = 10
    theirs["x"][1] = 20
    commit_both(ours, theirs)
    ours.tag("o")
    theirs.tag("t")
    ours.merge("t")
    theirs.merge("o")
    ours["x"][2] = 30
    theirs["t"][2] = "z"
    commit_both(ours, theirs)
    ours.merge("fix")
    assert ours["x"][:].tolist() == [10, 20, 30]
    assert ours["t"][:] == ["a", "b", "z"]


def test_criss_cross_merges_recognise_reverted_values(ours, theirs):
    ours["x"][0] = 10
    ours.commit("ours")
    theirs["x"][1] = 20
    theirs.commit("theirs")
    ours.tag("o")
    theirs.tag("t")
    ours.merge("t")
    theirs.merge("o")
    ours["x"][0] = 1
    ours.commit("taken back")
    ours.merge("fix")
    assert ours["x"][:].tolist() == [1, 20, 3]


def cross(ours, theirs, side="ours"):
    """Merge each branch into what the other was before; `side` wins in ours, and ours in theirs."""
    commit_both(ours, theirs)
    tips = ours.version, theirs.version
    ours.merge(tips[1], on_conflict=side)
    theirs.merge(tips[0], on_conflict="ours")


def drop(side, value):
    if value == 10:
        side.drop_column("x")
    else:
        side["x"][1] = value


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        (cell, "cell"),
        (note, "metadata"),
        (column_note, "metadata"),
        (name, "column"),
        (default, "column"),
        (drop, "column"),
        (lambda side, value: side.delete([0]) if value == 10 else cell(side, value), "row"),
    ],
)
def test_different_resolutions_in_criss_cross_merges_conflict(ours, theirs, edit, kind):
    edit(ours, 10)
    edit(theirs, 20)
    cross(ours, theirs)
    with pytest.raises(dl.ConflictError, match=r"changed the same data \(1 conflict\)") as error:
        ours.merge("fix")
    assert [c.kind for c in error.value.conflicts] == [kind]


@pytest.mark.parametrize("edit", [cell, note, column_note, name, default, drop])
def test_equal_resolutions_in_criss_cross_merges_do_not_conflict(ours, theirs, edit):
    edit(ours, 10)
    edit(theirs, 20)
    cross(ours, theirs, "theirs")
    before = ours.columns, dict(ours.metadata), ours["t"][:]
    ours.merge("fix")
    assert (ours.columns, dict(ours.metadata), ours["t"][:]) == before


def test_criss_cross_merges_of_three_branches_find_their_common_base(ours, theirs):
    ours.branch("third")
    third = dl.open(ours.url, branch="third")
    for ds, value in ((ours, 10), (theirs, 20), (third, 30)):
        ds["x"][0] = value
        ds.commit("own value")
    tips = [ds.version for ds in (ours, theirs, third)]
    for ds in (ours, theirs):
        for tip in tips:
            ds.merge(tip, on_conflict="ours")
    with pytest.raises(dl.ConflictError, match="ours 10, theirs 20"):
        ours.merge("fix")


@pytest.mark.parametrize("change", ["set", "drop"])
def test_null_is_a_metadata_value(ours, theirs, change):
    ours.metadata["k"] = None
    ours["x"].metadata["k"] = None
    ours.commit("null")
    assert ours.diff("fix").metadata == {"k": (None, None)}
    if change == "set":
        theirs.metadata["other"] = None
        theirs.commit("theirs")
        ours.merge("fix")
        assert dict(ours.metadata) == {"k": None, "other": None}
        assert dict(ours["x"].metadata) == {"k": None}
        return
    theirs.merge("main")
    del theirs.metadata["k"]
    theirs.commit("gone")
    ours.merge("fix")
    assert dict(ours.metadata) == {}


def test_null_metadata_conflicts_with_removed_metadata(ours, theirs):
    ours.metadata["k"] = 1
    ours.commit("k")
    theirs.merge("main")
    ours.metadata["k"] = None
    del theirs.metadata["k"]
    commit_both(ours, theirs)
    with pytest.raises(dl.ConflictError, match="ours null, theirs nothing"):
        ours.merge("fix")
    ours.merge("fix", on_conflict="ours")
    assert dict(ours.metadata) == {"k": None}


def test_conflict_shows_the_first_row_with_both_values_and_counts_the_rest(make_lake):
    schema = {"x": "int32", "t": "text", "c": dl.ClassLabel(["rose", "tulip"])}
    ours = make_lake(schema, x=range(30), t=["a"] * 30, c=[0] * 30)
    ours.branch("fix")
    theirs = dl.open(ours.url, branch="fix")
    ours.delete([0])
    ours["t"][4] = "b" * 200
    ours["c"][2] = "tulip"
    theirs["t"][5] = "c"
    commit_both(ours, theirs)
    theirs.merge("main", on_conflict="theirs")
    ours["x"][:] = 100 + np.arange(29)
    ours["t"][3] = "ours"
    theirs["x"][:] = 200 + np.arange(29)
    theirs["t"][3] = "it's theirs"
    commit_both(ours, theirs)
    with pytest.raises(dl.ConflictError) as error:
        ours.merge("fix")
    lines = str(error.value).splitlines()
    changed = "Both sides changed the same data (30 conflicts), so nothing was written:"
    assert lines[0] == changed
    assert "  cell 'x' of row 0: ours 100, theirs 200" in lines
    assert len(lines) == 13
    assert lines[-2] == "  … and 20 more"
    assert lines[-1] == (
        "Keep this branch's values with ds.merge(…, on_conflict='ours'), or the merged "
        "version's with ds.merge(…, on_conflict='theirs')."
    )


def test_conflict_shortens_long_values_and_names_classes(make_lake):
    ours = make_lake({"t": "text", "c": dl.ClassLabel(["rose", "tulip", "iris"])}, t=["a"], c=[0])
    ours.branch("fix")
    theirs = dl.open(ours.url, branch="fix")
    ours.update([0], {"t": ["b" * 200], "c": ["tulip"]})
    theirs.update([0], {"t": ["c"], "c": ["iris"]})
    commit_both(ours, theirs)
    with pytest.raises(dl.ConflictError) as error:
        ours.merge("fix")
    _, text, label, _ = str(error.value).splitlines()
    assert text.startswith("  cell 't' of row 0: ours 'bbb")
    assert text.endswith("…, theirs 'c'")
    assert len(text) < 120
    assert label == "  cell 'c' of row 0: ours 'tulip', theirs 'iris'"


def test_branches_merge_after_one_was_optimized(ours, theirs):
    ours.delete([1])
    ours["x"][0] = 10
    theirs["t"][2] = "z"
    commit_both(ours, theirs)
    ours.optimize(shuffle=True, seed=1)
    theirs.optimize(shuffle=True, seed=2)
    ours.merge("fix")
    assert sorted(zip(ours["x"][:].tolist(), ours["t"][:], strict=True)) == [(3, "z"), (10, "a")]
    check_consistent(ours)


def test_encoded_bytes_are_copied_unchanged(make_lake):
    ds = make_lake({"i": dl.Image("jpeg")})
    ds.commit()
    ds.branch("fix")
    data = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (16, 16, 3), np.uint8)
    Image.fromarray(noise).save(data, "jpeg", quality=50)
    theirs = dl.open(ds.url, branch="fix")
    theirs.append({"i": [data.getvalue()]})
    theirs.commit("jpeg")
    ds.merge("fix")
    assert bytes(ds["i"].encoded()[0]) == data.getvalue()


def test_merge_that_fails_to_write_leaves_no_edits(ours, theirs, monkeypatch):
    theirs["x"][0] = 10
    theirs.commit("theirs")

    def refuse(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Session, "commit", refuse)
        with pytest.raises(OSError, match="No space left"):
            ours.merge("fix")
    assert not ours.status()
    assert ours["x"][0] == 1
    ours.merge("fix")
    assert ours["x"][0] == 10


def test_column_made_nullable_on_one_side(ours, theirs):
    ours["t"][1] = "B"
    ours.append({"x": [4], "t": ["d"]})
    theirs.set_nullable("t")
    theirs["t"][0] = None
    commit_both(ours, theirs)
    ours.merge("fix")
    assert ours["t"][:] == [None, "B", "c", "d"]
    check_consistent(ours)


def test_unknown_conflict_resolution_is_refused(ours):
    with pytest.raises(ValueError, match="must be 'raise', 'ours' or 'theirs', but it is 'mine'"):
        ours.merge("fix", on_conflict="mine")


def test_merging_a_missing_branch_names_the_existing_ones(ours):
    with pytest.raises(dl.VersionNotFoundError, match=r"no version 'fxi'\. Did you mean 'fix'"):
        ours.merge("fxi")


@pytest.fixture
def labelled(make_lake):
    ds = make_lake({"label": dl.ClassLabel(["cat", "dog"])}, label=["cat", "dog"])
    ds.branch("fix")
    return ds


def test_classes_added_on_one_side_are_merged(labelled):
    fix = dl.open(labelled.url, branch="fix")
    fix.add_classes("label", ["bird"])
    fix["label"][0] = "bird"
    fix.commit("birds")
    labelled.append({"label": ["dog"]})
    labelled.commit("another dog")
    assert "'cat', 'dog', 'bird'" in repr(labelled.diff("main", "fix"))
    labelled.merge("fix")
    assert labelled["label"].names == ("cat", "dog", "bird")
    assert labelled["label"][:].tolist() == [2, 1, 1]
    assert len(dl.open(labelled.url, version="fix")["label"].names) == 3


def test_two_writers_may_add_classes_and_rows_at_the_same_time(labelled):
    other = dl.open(labelled.url)
    labelled.add_classes("label", ["bird"])
    labelled.append({"label": ["bird"]})
    other.append({"label": ["dog"]})
    labelled.commit("birds")
    other.commit("dogs")
    assert other["label"].names == ("cat", "dog", "bird")
    late, later = dl.open(labelled.url), dl.open(labelled.url)
    late.append({"label": ["cat"]})
    late.commit("cats")
    later.add_classes("label", ["fish"])
    later.append({"label": ["fish"]})
    later.commit("fish")
    assert later["label"].names == ("cat", "dog", "bird", "fish")
    assert sorted(later["label"][:].tolist()) == [0, 0, 1, 1, 2, 3]


def test_classes_can_be_added_to_sequences_of_them(make_lake):
    ds = make_lake({"labels": dl.Sequence(dl.ClassLabel(["ant"]))}, labels=[["ant", "ant"]])
    other = dl.open(ds.url)
    ds.add_classes("labels", ["bee"])
    ds.append({"labels": [["bee", "ant"]]})
    ds.commit("bees")
    other.append({"labels": [["ant"], []]})
    other.commit("ants")
    assert other["labels"].names == ("ant", "bee")
    assert sorted(other["labels"][:]) == [[], [0], [0, 0], [1, 0]]
    with pytest.raises(dl.SchemaError, match="already has the class 'bee'"):
        other.add_classes("labels", ["bee"])


def test_conflicting_new_classes_of_two_writers_name_the_column(labelled):
    other = dl.open(labelled.url)
    labelled.add_classes("label", ["bird"])
    labelled.commit("birds")
    other.add_classes("label", ["fish"])
    with pytest.raises(dl.ConflictError, match=r"column 'label'.*'fish'.*add_classes") as error:
        other.commit("fish")
    assert [(c.kind, c.name) for c in error.value.conflicts] == [("column", "label")]


@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["dog"], "already has the class 'dog'"),
        (["a", "a"], "unique"),
        ("bird", "Put it in a list"),
        ([""], "non-empty"),
    ],
)
def test_invalid_new_classes_are_refused(labelled, names, match):
    with pytest.raises(dl.SchemaError, match=match):
        labelled.add_classes("label", names)
    assert not labelled.status()


def test_only_columns_with_named_classes_can_be_extended(make_lake):
    ds = make_lake({"x": "int32", "number": "class_label"})
    with pytest.raises(
        dl.SchemaError,
        match=r"Only a column of type ClassLabel, .* has classes, but column 'x' is",
    ):
        ds.add_classes("x", ["bird"])
    with pytest.raises(dl.SchemaError, match=r"are numbers without names.*add_column"):
        ds.add_classes("number", ["bird"])


def test_unknown_class_error_says_how_to_add_it(labelled):
    with pytest.raises(dl.InvalidValueError, match=r"ds\.add_classes\(column, \['bird'\]\)"):
        labelled.append({"label": ["bird"]})


def test_edits_that_cancel_out_do_not_prevent_a_merge(make_lake):
    ds = make_lake({"x": "int64"}, x=[1])
    ds.branch("other")
    ds.append({"x": [2]})
    ds.delete([1])
    assert not ds.status()
    ds.merge("other")
    assert ds["x"][:].tolist() == [1]
