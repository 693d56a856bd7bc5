"""Labels, tags, strings and boxes are edited on the page and committed."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.widget.edits import parsing, writing

CLASSES = ["ant", "bee", "cat"]


@pytest.fixture
def lake(make_lake):
    schema = {
        "image": "image",
        "label": dl.ClassLabel(CLASSES),
        "text": dl.Text(nullable=True),
        "x": dl.Scalar("int32", nullable=True),
        "ok": "bool",
        "boxes": dl.Boxes("xywh"),
        "kinds": dl.ClassLabel(CLASSES, multiple=True),
    }
    pixels = np.random.default_rng(0).integers(0, 255, (6, 20, 40, 3), np.uint8)
    return make_lake(
        schema,
        image=list(pixels),
        label=[0, 1, 2, 0, 1, 2],
        text=["a", "b", "c", "d", "e", None],
        x=range(6),
        ok=[True] * 6,
        boxes=[[[4, 2, 10.3, 5]]] * 6,
        kinds=[[1]] * 6,
    )


def stage(page, positions, column, value, op="set"):
    expected = {"positions": positions, "column": column, "op": op, "value": value}
    return page.asks("stage", edits=[expected])


def test_corrected_label_is_read_by_a_new_handle(lake, page):
    shown = page(lake)
    reply = stage(shown, [0, 3], "label", 2)
    assert reply["staged_count"] == 1
    assert reply["positions"] == [0, 3]
    assert reply["can_undo"]
    assert not reply["can_redo"]
    assert lake["label"][0] == 0
    assert lake.status().updated == {}
    done = shown.asks("commit", message="two cats")
    assert done["rows"] == 2
    assert done["staged_count"] == 0
    fresh = dl.open(lake.url)
    assert fresh.version == done["version"] == lake.version
    assert fresh.log()[0].message == "two cats"
    assert fresh["label"][:].tolist() == [2, 1, 2, 2, 1, 2]
    assert shown.w.view["label"][:].tolist() == [2, 1, 2, 2, 1, 2]


def test_values_of_all_kinds_are_accepted(lake, page):
    shown = page(lake)
    stage(shown, [0], "text", "new")
    stage(shown, [1], "text", None)
    stage(shown, [2], "x", "17")
    stage(shown, [3], "x", None)
    stage(shown, [4], "ok", False)
    assert shown.w.commit("values") == lake.version
    assert lake["text"][:][:2] == ["new", None]
    assert lake["x"][:].tolist() == [0, 1, 17, None, 4, 5]
    assert lake["ok"][:].tolist() == [True] * 4 + [False, True]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("label", 7, "a class number must be 0 to 2, but it is 7"),
        ("label", None, "must not be null"),
        ("label", "  ", "a class must not be empty"),
        ("x", "many", "must be int32, but it is 'many'"),
        ("x", 1.5, "1.5"),
        ("image", 1, "cannot be edited in the page"),
        ("suspicion", 1, "no column 'suspicion'"),
    ],
)
def test_refused_value_is_reported_before_it_is_staged(lake, page, column, value, message):
    shown = page(lake)
    error = shown.fails(
        "stage", edits=[{"positions": [0], "column": column, "op": "set", "value": value}]
    )
    assert message in error["message"]
    assert shown.w.staged_count == 0


def test_new_typed_class_is_added_at_the_commit(lake, page):
    shown = page(lake)
    stage(shown, [1], "label", "dgo")
    stage(shown, [1], "label", "dog")
    assert shown.w.staged[-1]["what"] == "→ dog (new class)"
    cell = shown.asks("cells", start=1, stop=2, size=64, columns=["label"])["cells"][0]
    assert cell["caption"]["label"]["t"] == "dog"
    assert cell["caption"]["label"]["c"] >= 3
    assert lake["label"].names == tuple(CLASSES)
    shown.asks("commit", message="a dog")
    assert lake["label"].names == (*CLASSES, "dog")  # the mistyped one is not
    assert lake["label"][1] == 3


def test_first_tag_adds_a_column(lake, page):
    shown = page(lake)
    stage(shown, "all", None, "seen", "add_tag")
    stage(shown, [0], None, "blurry", "add_tag")
    stage(shown, [1], None, "seen", "remove_tag")
    cells = shown.asks("cells", start=0, stop=2, size=64, columns=["label"])["cells"]
    assert [cell["caption"]["tags"]["t"] for cell in cells] == ["seen, blurry", ""]
    shown.asks("commit", message="tags")
    assert lake["tags"][:] == [["seen", "blurry"], [], *[["seen"]] * 4]
    assert len(lake.query("SELECT * WHERE CONTAINS(tags, 'blurry')")) == 1
    stage(shown, [1], None, "late", "add_tag")
    shown.asks("commit", message="one more")
    assert lake["tags"][1] == ["late"]
    assert lake.columns.count("tags") == 1


def test_boxes_are_moved_and_drawn_and_the_others_stay_exact(lake, page):
    shown = page(lake)
    before = lake["boxes"][0][0].tolist()
    [cell] = shown.asks("cells", start=0, stop=1, size=64, columns=[], overlays=["boxes"])["cells"]
    there = cell["marks"]["boxes"]["boxes"]
    value = {"boxes": [*there, [0.75, 0.5, 0.5, 1.0]], "c": [1, 2]}
    shown.asks(
        "stage", edits=[{"positions": [0], "column": "boxes", "op": "set_boxes", "value": value}]
    )
    [cell] = shown.asks("cells", start=0, stop=1, size=64, columns=[], overlays=["boxes"])["cells"]
    assert cell["marks"]["boxes"]["boxes"][1] == [0.5, 0.5, 0.75, 1.0]
    assert cell["marks"]["boxes"]["c"] == [1, 2]
    assert sorted(cell["staged"]) == ["boxes", "kinds"]
    shown.asks("commit", message="a box")
    assert lake["boxes"][0].tolist() == [before, [20, 10, 10, 10]]
    assert lake["kinds"][0].tolist() == [1, 2]
    shown.asks("undo")  # nothing is left to undo
    assert shown.w.staged_count == 0


def test_edits_staged_together_are_undone_together(lake, page):
    shown = page(lake)
    both = [
        {"positions": [0], "column": "label", "op": "set", "value": 1},
        {"positions": [0], "column": "text", "op": "set", "value": "z"},
    ]
    assert shown.asks("stage", edits=both)["staged_count"] == 2
    assert shown.asks("undo")["staged_count"] == 0
    assert shown.asks("redo")["staged_count"] == 2
    bad = [both[0], {"positions": [0], "column": "label", "op": "set", "value": 9}]
    shown.fails("stage", edits=bad)
    assert shown.w.staged_count == 2
    assert "no edit 77" in shown.fails("drop", id=77)["message"]
    shown.w.discard()
    assert shown.w.staged == []
    assert not shown.asks("undo")["can_redo"]


def test_same_cells_edited_by_another_writer_are_a_conflict(lake, page):
    shown = page(lake)
    stage(shown, [0, 1, 4], "label", 2)
    other = dl.open(lake.url)
    other.update([0, 1, 2, 4], {"label": [1, 2, 0, 0]})
    other.commit("meanwhile")
    reply, _ = shown.ask("commit", message="mine")
    assert not reply["ok"]
    assert reply["error"]["kind"] == "ConflictError"
    listed = [(c["p"], c["column"], c["ours"], c["theirs"]) for c in reply["error"]["conflicts"]]
    assert listed == [(0, "label", "'cat'", "'bee'"), (4, "label", "'cat'", "'ant'")]
    assert shown.w.staged_count == 1
    assert not lake.status()
    with pytest.raises(dl.ConflictError, match="on_conflict='ours'"):
        shown.w.commit("mine")
    assert shown.asks("resolve", choice="ours")["rows"] == 2  # one row already had it
    assert lake["label"][:].tolist() == [2, 2, 0, 0, 2, 2]
    assert lake.log()[0].message == "mine"


def test_conflict_is_resolved_their_way(lake, page):
    shown = page(lake)
    stage(shown, [0, 3], "text", "ours")
    other = dl.open(lake.url)
    other["text"][0] = "theirs"
    other.commit("meanwhile")
    shown.ask("commit", message="")
    shown.asks("resolve", choice="theirs")
    assert lake["text"][:][:4] == ["theirs", "b", "c", "ours"]
    assert lake.log()[0].message == "Edited text of 2 rows in the browser"


def test_conflict_is_found_if_the_handle_itself_has_moved_on(lake, page):
    shown = page(lake)
    stage(shown, [0], "label", 2)
    lake["label"][0] = 1
    lake.commit("beside the browser")
    with pytest.raises(dl.ConflictError, match=r"ours 'cat', theirs 'bee'"):
        shown.w.commit()
    shown.w.commit(on_conflict="ours")
    assert lake["label"][0] == 2


def test_tags_and_new_classes_of_two_writers_are_both_kept(lake, page):
    lake.add_column("tags", dl.Sequence("text"), values=[[] for _ in range(6)])
    lake.commit("tags")
    shown, other = page(lake), page(dl.open(lake.url))
    stage(shown, [0], None, "mine", "add_tag")
    stage(shown, [1], "label", "dog")
    stage(other, [0], None, "theirs", "add_tag")
    stage(other, [2], "label", "elk")
    other.asks("commit", message="theirs")
    shown.asks("commit", message="mine")
    assert lake["tags"][0] == ["theirs", "mine"]
    assert lake["label"].names == (*CLASSES, "elk", "dog")
    assert lake["label"][:3].tolist() == [0, 4, 3]


def test_two_writers_can_add_the_column_of_tags(lake, page):
    shown, other = page(lake), page(dl.open(lake.url))
    stage(shown, [0], None, "mine", "add_tag")
    stage(other, [1], None, "theirs", "add_tag")
    other.asks("commit", message="theirs")
    shown.asks("commit", message="mine")
    assert lake["tags"][:][:2] == [["mine"], ["theirs"]]


def test_deleted_row_or_column_is_a_conflict_and_skipped(lake, page):
    shown = page(lake)
    stage(shown, [0, 5], "label", 1)
    stage(shown, [1], "text", "new")
    other = dl.open(lake.url)
    other.delete(0)
    other.drop_column("text")
    other.commit("gone")
    reply, _ = shown.ask("commit", message="mine")
    assert [(c["kind"], c["theirs"]) for c in reply["error"]["conflicts"]] == [
        ("row", "removed"),
        ("column", "column dropped"),
    ]
    shown.asks("resolve", choice="ours")
    assert lake["label"][:].tolist() == [1, 2, 0, 1, 1]


def test_users_own_edits_are_not_committed(lake, page):
    shown = page(lake)
    stage(shown, [0], "label", 2)
    lake["x"][0] = 99
    error = shown.fails("commit", message="mine")
    assert error["kind"] == "UncommittedError"
    assert "ds.commit('…')" in error["message"]
    lake.commit("the user's")
    shown.asks("commit", message="mine")
    assert lake["label"][0] == 2


def test_read_only_version_accepts_no_edits(lake, page):
    lake.tag("v1")
    shown = page(dl.open(lake.url, version="v1"))
    expected = [{"positions": [0], "column": "label", "op": "set", "value": 1}]
    error = shown.fails("stage", edits=expected)
    assert error["kind"] == "ReadOnlyError"
    assert "Open a branch to write" in error["message"]


def test_rows_of_a_query_and_of_a_view_are_edited_on_their_branch(lake, page):
    for view in (lake.query("SELECT * WHERE label = 'ant'"), lake[[0, 3]]):
        shown = page(view)
        stage(shown, [1], "x", 55)
        shown.asks("commit", message="by a view")
        assert shown.w.view["x"][:].tolist() == [0, 55]
        assert dl.open(lake.url)["x"][3] == 55
        lake.refresh()
        lake["x"][3] = 3
        lake.commit("back")


def test_rows_of_a_query_in_the_browser_can_be_edited(lake, page):
    shown = page(lake)
    shown.w.query = "SELECT label, x WHERE label = 'cat'"
    stage(shown, "all", "label", 0)
    shown.w.selected = [1]
    stage(shown, "selected", "x", -1)
    shown.asks("commit", message="no cats")
    assert lake["label"][:].tolist() == [0, 1, 0, 0, 1, 0]
    assert lake["x"][5] == -1
    assert len(shown.w.view) == 0


def test_grouped_rows_accept_no_edits(lake, page):
    shown = page(lake)
    shown.w.query = "SELECT label, COUNT(*) AS n GROUP BY label"
    expected = [{"positions": [0], "column": "label", "op": "set", "value": 1}]
    assert (
        "Only rows of the dataset can be edited" in shown.fails("stage", edits=expected)["message"]
    )


def test_commit_without_edits_does_nothing(lake, page):
    before = lake.version
    assert page(lake).w.commit("nothing") == before


def test_many_rows_are_relabelled_at_once(make_lake, page):
    lake = make_lake({"label": dl.ClassLabel(CLASSES)}, label=np.arange(200_000) % 3)
    shown = page(lake)
    shown.w.query = "SELECT * WHERE label = 'bee'"
    assert stage(shown, "all", "label", 0)["positions"] is None
    assert shown.asks("commit", message="no bees")["rows"] == 66_667
    assert (lake["label"][:] == np.array([0, 0, 2])[np.arange(200_000) % 3]).all()


def test_failed_write_leaves_the_dataset_unchanged(lake, page, monkeypatch):
    shown = page(lake)
    stage(shown, [0], "label", 1)
    stage(shown, [0], "text", "z")

    def refuse(*_):
        raise dl.StorageError("The disk is full. Free some space.")

    monkeypatch.setattr("deeplake_lite.dataset.versions.commit.commit", refuse)
    assert "disk is full" in shown.fails("commit", message="mine")["message"]
    assert not lake.status()
    assert shown.w.staged_count == 2


def test_row_details_show_staged_edits_and_editable_columns(lake, page):
    shown = page(lake)
    stage(shown, [0], "label", "dog")
    stage(shown, [0], None, "late", "add_tag")
    result = {c["name"]: c for c in shown.asks("detail", p=0, size=64)["columns"]}
    assert result["label"]["text"] == "dog"
    assert result["label"]["staged"]
    assert result["label"]["editable"]
    assert result["label"]["value"] == 3
    assert result["tags"]["value"] == ["late"]
    assert not result["text"]["staged"]
    assert (result["text"]["value"], result["x"]["value"], result["ok"]["value"]) == ("a", 0, True)
    assert result["kinds"]["value"] == [1]
    assert "tags" not in {c["name"] for c in shown.asks("detail", p=1, size=64)["columns"]}


def test_another_version_is_shown_once_nothing_is_staged(lake, page):
    lake.tag("v1")
    shown = page(lake)
    stage(shown, [0], "label", 1)
    error = shown.fails("show_version", version="v1")
    assert "w.commit('…')" in error["message"]
    shown.w.discard()
    assert not shown.asks("show_version", version="v1")["writable"]
    result = {c["name"]: c for c in shown.asks("detail", p=0, size=64)["columns"]}
    assert not result["label"]["editable"]


def test_selected_rows_are_edited_from_python(lake, page):
    shown = page(lake)
    shown.w.selected = [1, 4]
    assert shown.w.edit("label", "cat") == 2
    assert shown.sent[-1][0] == {"type": "changed", "positions": [1, 4]}
    with pytest.raises(dl.LakeError, match="There is no column 'lable'"):
        shown.w.edit("lable", "cat")
    shown.w.commit("two cats")
    assert lake["label"][:].tolist() == [0, 2, 2, 0, 2, 2]


def test_column_omitted_by_the_query_is_shown_once_it_is_staged(lake, page):
    shown = page(lake)
    shown.w.query = "SELECT label WHERE label = 'bee'"
    stage(shown, [1], "text", "new")
    cells = shown.asks("cells", start=0, stop=2, size=64, columns=["label"])["cells"]
    assert cells[1]["caption"]["text"]["t"] == "new"
    assert "text" not in cells[0]["caption"]
    stage(shown, [0], "text", "x")
    shown.asks("undo")
    shown.asks("commit", message="unseen")
    assert lake["text"][:][4] == "new"


@pytest.mark.parametrize(
    "htype",
    [
        dl.ClassLabel(["far", "near"], multiple=True),
        dl.Sequence(dl.ClassLabel(["far", "near"])),
        dl.Sequence("text", nullable=True),
    ],
)
def test_tags_are_strings_or_classes(make_lake, page, htype):
    lake = make_lake({"marks": htype}, marks=[["near"], ["far", "near"], []])
    shown = page(lake)
    stage(shown, [0, 2], None, "far", "add_tag")
    stage(shown, [1], "marks", "near", "remove_tag")
    cells = shown.asks("cells", start=0, stop=3, size=64, columns=["marks"])["cells"]
    assert [cell["caption"]["marks"]["t"] for cell in cells] == ["near, far", "far", "far"]
    shown.asks("commit", message="marks")
    result = lake["marks"][:]
    if not isinstance(result[0][0], str):
        result = [[["far", "near"][n] for n in row] for row in result]
    assert result == [["near", "far"], ["far"], ["far"]]


@pytest.mark.parametrize("column", ["a", "b"])
def test_new_tag_class_is_added(make_lake, page, column):
    schema = {"a": dl.ClassLabel(["x"], multiple=True), "b": dl.Sequence(dl.ClassLabel(["x"]))}
    lake = make_lake(schema, a=[[0]], b=[[0]])
    shown = page(lake)
    stage(shown, [0], column, "y", "add_tag")
    shown.asks("commit", message="y")
    assert lake[column].names == ("x", "y")
    assert [*lake[column][0]] == [0, 1]


def test_class_numbers_without_names_are_numbers(make_lake, page):
    lake = make_lake({"label": dl.ClassLabel()}, label=[3, 4])
    shown = page(lake)
    stage(shown, [1], "label", 9)
    [_, cell] = shown.asks("cells", start=0, stop=2, size=64, columns=["label"])["cells"]
    assert cell["caption"]["label"] == {"t": "9", "c": 9}
    shown.asks("commit", message="nine")
    assert lake["label"][:].tolist() == [3, 9]


def test_times_can_be_typed(make_lake, page):
    lake = make_lake({"t": "datetime64[s]", "ok": "bool"}, t=["2026-01-31"], ok=[False])
    shown = page(lake)
    stage(shown, [0], "t", "2026-02-01T12:30")
    assert shown.w.staged[0]["what"] == "→ 2026-02-01T12:30:00"
    stage(shown, [0], "ok", "true")
    [cell] = shown.asks("detail", p=0, size=64)["columns"][:1]
    assert cell["value"] == "2026-02-01T12:30:00"
    shown.asks("commit", message="later")
    assert str(lake["t"][0]) == "2026-02-01T12:30:00"
    assert lake["ok"][0]


def test_views_of_open_edits_and_of_a_deleted_branch_accept_no_edits(lake, page):
    expected = [{"positions": [0], "column": "x", "op": "set", "value": 1}]
    lake["x"][0] = 5
    error = page(lake[:3]).fails("stage", edits=expected)
    assert "Browse the dataset with ds.browse()" in error["message"]
    lake.discard()
    lake.branch("lost")
    lost = dl.open(lake.url, branch="lost")
    lost["x"][0] = 6
    lost.commit("on its own")
    view = lost[:3]
    lake.delete_branch("lost")
    error = page(view).fails("stage", edits=expected)
    assert error["kind"] == "VersionNotFoundError"
    assert "'lost'" in error["message"]


def test_view_of_an_older_version_is_edited_on_the_branch_that_went_on(lake, page):
    old = lake[[1]]
    lake["text"][0] = "meanwhile"
    lake.commit("went on")
    shown = page(old)
    stage(shown, [0], "label", "cat")
    shown.asks("commit", message="mended")
    fresh = dl.open(lake.url)
    assert (fresh["text"][0], fresh["label"][1]) == ("meanwhile", 2)


def test_invalid_edit_is_reported(lake, page):
    shown = page(lake)
    for expected, message in [
        ({"positions": [9], "column": "x", "op": "set", "value": 1}, "less than 6, but one is 9"),
        ({"positions": [], "column": "x", "op": "set", "value": 1}, "No row is selected"),
        ({"positions": [0], "column": "x", "op": "sing", "value": 1}, "but it is 'sing'"),
        ({"positions": [0], "column": "x", "op": "add_tag", "value": "a"}, "several strings"),
        (
            {"positions": [0], "column": None, "op": "add_tag", "value": " "},
            "a tag must not be empty",
        ),
        ({"positions": [0], "column": "x", "op": "set_boxes", "value": {"boxes": []}}, "boxes"),
    ]:
        assert message in shown.fails("stage", edits=[expected])["message"]


def test_commit_succeeds_even_if_the_query_cannot_run_on_the_new_version(lake, page):
    shown = page(lake)
    shown.w.query = "SELECT * WHERE x > 1"
    stage(shown, [0], "label", 0)
    other = dl.open(lake.url)
    other.rename_column("x", "y")
    other.commit("renamed")
    version = shown.w.commit("mended")
    assert dl.open(lake.url).version == version
    assert dl.open(lake.url)["label"][2] == 0
    assert (shown.w.query, len(shown.w.view)) == ("", 6)
    assert "'x'" in shown.w.problem["message"]


def test_concurrent_edits_of_a_notebook_cell_are_neither_committed_nor_lost(
    lake, page, monkeypatch
):
    shown = page(lake)
    stage(shown, [0], "label", 2)
    apply = writing._apply

    def meanwhile(ds, staged):
        lake["x"][5] = 50
        return apply(ds, staged)

    monkeypatch.setattr(writing, "_apply", meanwhile)
    version = shown.w.commit("mended")
    fresh = dl.open(lake.url)
    assert fresh.version == version
    assert (fresh["label"][0], fresh["x"][5]) == (2, 5)
    assert lake["x"][5] == 50
    lake.commit("mine")
    fresh = dl.open(lake.url)
    assert (fresh["label"][0], fresh["x"][5]) == (2, 50)


def test_values_of_any_kind_are_copied_from_another_column(make_lake, page):
    boxes = {"boxes": dl.Boxes("xywh"), "found": dl.Boxes("xywh"), "corners": dl.Boxes("xyxy")}
    tags = {"tags": dl.Sequence("text"), "new": dl.Sequence("text")}
    lake = make_lake(
        {**boxes, **tags, "number": "int32"},
        boxes=[[[0, 0, 1, 1]]] * 2,
        found=[[[0, 0, 2, 2]], [[0, 0, 2, 2], [1, 1, 2, 2]]],
        corners=[[[0, 0, 2, 2]]] * 2,
        tags=[["a"], []],
        new=[["b", "c"], ["b", "c"]],
        number=[1, 2],
    )
    shown = page(lake)
    stage(shown, [0, 1], "boxes", "found", "take")
    stage(shown, [0, 1], "tags", "new", "take")
    for source in ("corners", "number"):
        expected = {"positions": [0], "column": "boxes", "op": "take", "value": source}
        assert "does not accept the values of" in shown.fails("stage", edits=[expected])["message"]
    shown.w.commit("taken over")
    assert [len(result) for result in lake["boxes"][:]] == [1, 2]
    assert lake["boxes"][0].tolist() == [[0, 0, 2, 2]]
    assert lake["tags"][:] == [["b", "c"], ["b", "c"]]


def test_unreadable_value_is_not_copied_as_null(make_lake, page, monkeypatch):
    text = dl.Text(nullable=True)
    lake = make_lake({"a": text, "b": text}, a=["one"], b=["two"])
    shown = page(lake)
    monkeypatch.setattr(parsing, "values_of", lambda *_: [ValueError("row 0 is cut")])
    expected = {"positions": [0], "column": "a", "op": "take", "value": "b"}
    assert "row 0 is cut" in shown.fails("stage", edits=[expected])["message"]
    assert shown.w.staged_count == 0


def test_computed_column_with_a_stored_name_accepts_no_edits(lake, page):
    shown = page(lake)
    shown.w.query = "SELECT label, x + 1 AS x"
    expected = {"positions": [0], "column": "x", "op": "set", "value": 3}
    assert "the query computes it" in shown.fails("stage", edits=[expected])["message"]
    stage(shown, [0], "label", 2)


def test_rows_of_another_lake_accept_no_edits(lake, make_lake, page):
    other = make_lake({"label": dl.ClassLabel(CLASSES)}, label=[0, 1])
    shown = page(lake)
    shown.w.view = other[:2]
    assert not shown.w.about["has_ids"]
    expected = {"positions": [0], "column": "label", "op": "set", "value": 2}
    assert (
        "Only rows of the dataset can be edited"
        in shown.fails("stage", edits=[expected])["message"]
    )


def test_unknown_class_is_refused_unless_it_is_to_be_added(lake, page):
    w = page(lake).w
    w.selected = [0]
    with pytest.raises(
        dl.InvalidValueError, match=r"no class 'bea'. Did you mean 'bee'\?.*new_class"
    ):
        w.edit("label", "bea")
    with pytest.raises(dl.InvalidValueError, match="no class 'wasp'"):
        w.edit("kinds", ["ant", "wasp"])
    assert w.staged_count == 0
    w.edit("label", "wasp", new_class=True)
    w.commit()
    assert list(lake["label"].names) == [*CLASSES, "wasp"]


def test_edit_without_a_value_is_not_null(lake, page):
    w = page(lake).w
    w.selected = [0]
    with pytest.raises(dl.InvalidValueError, match="needs a value, but there is none"):
        w.edit("text")
    assert w.edit("text", None) == 1


def test_unknown_column_suggests_the_nearest(lake, page):
    w = page(lake).w
    w.selected = [0]
    with pytest.raises(dl.ColumnNotFoundError, match="Did you mean 'label'"):
        w.edit("lable", "bee")


def test_nothing_is_selected_after_a_commit(lake, page):
    shown = page(lake)
    for commit in (shown.w.commit, lambda: shown.asks("commit", message="")):
        shown.w.selected = [0, 3]
        shown.w.edit("x", shown.w.generation + 100)
        commit()
        assert shown.w.selected.tolist() == []
        assert shown.w._selected == b""


def test_empty_commit_says_so_in_the_page_and_returns_the_current_version(lake, page):
    shown = page(lake)
    shown.w.selected = [1]
    assert shown.w.commit() == lake.version
    assert shown.sent[-1][0] == {"type": "note", "text": "Nothing to commit."}
    assert shown.w.selected.tolist() == [1]


def test_staged_rows_are_counted_once_however_many_edits_they_have(lake, page):
    shown = page(lake)
    stage(shown, [0, 3], "label", 2)
    stage(shown, [3, 4], "x", 9)
    assert (shown.w.staged_count, shown.w.staged_rows) == (2, 3)
    assert shown.asks("commit", message="")["rows"] == 3
    assert shown.w.staged_rows == 0


SPACED = [" cat", "cat ", " ", "dog", " dog"]


@pytest.mark.parametrize("name", SPACED)
@pytest.mark.parametrize("kind", ["one", "several", "texts"])
def test_existing_name_with_surrounding_spaces_is_matched(make_lake, page, name, kind):
    htype = {
        "one": dl.ClassLabel(SPACED),
        "several": dl.ClassLabel(SPACED, multiple=True),
        "texts": dl.Sequence("text"),
    }[kind]
    blank, there = ("dog", name) if kind == "one" else ([], [name])
    lake = make_lake({"v": htype, "other": htype}, v=[blank] * 2, other=[there] * 2)
    shown = page(lake)
    shown.w.selected = [0]
    shown.w.edit("v", there)
    shown.w.selected = [1]
    shown.w.edit("v", take="other")
    assert not any("new class" in edit["what"] for edit in shown.w.staged)
    shown.w.commit()
    expected = repr([lake["other"][i] for i in (0, 1)])
    assert repr([lake["v"][i] for i in (0, 1)]) == expected
    if kind == "one":
        return
    stage(shown, [0], "v", name, "remove_tag")
    number = name if kind == "texts" else SPACED.index(name)
    stage(shown, [1], "v", number, "remove_tag")
    shown.w.commit()
    assert [len(tags) for tags in lake["v"][:]] == [0, 0]
    if kind == "several":
        stage(shown, [0], "v", name, "add_tag")
        shown.w.commit()
        assert repr(lake["v"][0]) == repr(lake["other"][0])


def test_spaces_around_a_new_typed_name_are_dropped(make_lake, page):
    schema = {"label": dl.ClassLabel(["dog"]), "tags": dl.Sequence("text")}
    lake = make_lake(schema, label=[0], tags=[[]])
    shown = page(lake)
    stage(shown, [0], "label", " cat ")
    stage(shown, [0], "tags", " x ", "add_tag")
    shown.w.commit()
    assert lake["label"].names == ("dog", "cat")
    assert lake["tags"][0] == ["x"]


@pytest.mark.parametrize("several", [False, True])
def test_copying_adds_no_class_unless_requested(make_lake, page, several):
    schema = {
        "label": dl.ClassLabel(["ant", "bee"], multiple=several),
        "other": dl.ClassLabel(["zebra", "bee"], multiple=several),
        "text": "text",
    }
    values = [[0], [1]] if several else [0, 1]
    lake = make_lake(schema, label=values, other=values, text=["yak", "ant"])
    shown = page(lake)
    w = shown.w
    w.selected = [0, 1]
    expected = {"positions": [0], "column": "label", "op": "take", "value": "other"}
    assert "no class 'zebra'" in shown.fails("stage", edits=[expected])["message"]
    for source in ["other"] if several else ["other", "text"]:
        with pytest.raises(dl.InvalidValueError, match=r"no class '(zebra|yak)'.*new_class=True"):
            w.edit("label", take=source)
    w.selected = [1]
    w.edit("label", take="other")
    w.selected = [0]
    w.edit("label", take="other", new_class=True)
    w.commit()
    assert lake["label"].names == ("ant", "bee", "zebra")
    assert np.ravel(np.array(list(lake["label"][:]))).tolist() == [2, 1]
