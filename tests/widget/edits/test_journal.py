"""Staged edits survive the end of a kernel: stored, offered again, never committed on their own."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import ConflictError
from deeplake_lite.widget import Browser
from deeplake_lite.widget.edits import journal
from deeplake_lite.widget.edits.editing import Editing


@pytest.fixture
def url(tmp_path, monkeypatch):
    """Return a lake in a folder, whose drafts are in a folder next to it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    url = str(tmp_path / "x.lake")
    ds = dl.create(
        url,
        {
            "label": dl.ClassLabel(["cat", "dog"]),
            "x": dl.Scalar("float64", nullable=True),
            "note": "text",
            "meta": dl.Json(),
            "t": "datetime64[s]",
            "image": "image",
            "boxes": dl.Boxes(),
            "kinds": dl.ClassLabel(["cat", "dog"], multiple=True),
        },
    )
    ds.append(
        {
            "label": ["cat"] * 4,
            "x": [1.0, 2.0, None, 4.0],
            "note": list("abcd"),
            "meta": [{}, {"array": "AA"}, None or {}, {}],
            "t": ["2026-01-01"] * 4,
            "image": [np.zeros((8, 8, 3), "uint8")] * 4,
            "boxes": [np.zeros((0, 4))] * 4,
            "kinds": [[]] * 4,
        }
    )
    ds.commit("rows")
    return url


PIXELS = [np.zeros((8, 8, 3), "uint8")]

EDITS = [
    ([0], "label", "dog"), ([1], "label", "bird"), ([0, 3], "x", float("inf")), ([2], "x", None),
    ([3], "note", "é\n'\""), ([1], "meta", {"array": [1, None, {"number": 2}]}),
    ([2], "t", "2026-01-31T12:00:00"), ([0], "kinds", ["cat", "fish"]),
]  # fmt: skip


def edit(p, positions, column, value):
    p.asks("stage", edits=[{"positions": positions, "column": column, "op": "set", "value": value}])


def drafts(url):
    return sorted((journal.folder_of(url)).glob("*.jsonl"))


def work_and_end(url, edits):
    """Stage edits in a browser whose process then ends: its lock is released, its file stays."""
    w = Browser(dl.open(url))
    for positions, column, value in edits:
        w.selected = positions
        w.edit(column, value, new_class=True)
    ended = w.part(Editing)._journal
    journal._LIVE.pop(ended.path)
    ended._lock.release()


AT_WORK = """
import sys, deeplake_lite as dl
w = dl.open(sys.argv[1]).browse()
w.selected = [0]
w.edit("label", "dog")
print("staged", flush=True)
sys.stdin.read()
"""


def content(ds):
    return {name: list(map(repr, ds[name][:])) for name in ds.columns if name != "image"}


def test_edits_of_all_kinds_survive_the_end_of_a_kernel(url, page):
    box = {"boxes": [[0, 0, 0.5, 1]], "c": [1]}
    work_and_end(url, EDITS)
    ds = dl.open(url)
    before = content(ds)
    p = page(ds)
    [offered] = p.w.drafts
    assert (offered["edits"], offered["rows"], offered["complete"]) == (len(EDITS), 4, True)
    assert p.w.staged_count == 0
    assert p.w.commit() == ds.version  # only the one who restores a draft can commit it
    assert content(dl.open(url)) == before
    reply = p.asks("restore", id=offered["id"])
    assert (reply["rows"], reply["gone"], reply["staged_count"]) == (4, 0, len(EDITS))
    assert p.w.drafts == []
    p.asks("stage", edits=[{"positions": [3], "column": "boxes", "op": "set_boxes", "value": box}])
    p.w.commit("restored")
    result = dl.open(url)
    names = result["label"].names
    assert [names[i] for i in result["label"][:]] == ["dog", "bird", "cat", "cat"]
    assert result["x"][:].tolist() == [np.inf, 2.0, None, np.inf]
    assert result["note"][3] == "é\n'\""
    assert result["meta"][1] == {"array": [1, None, {"number": 2}]}
    assert str(result["t"][2]) == "2026-01-31T12:00:00"
    assert list(result["boxes"][3][0]) == [0, 0, 4, 8]
    assert drafts(url) == []


def test_boxes_tags_and_undone_edits_are_stored_unchanged(url, page):
    p = page(dl.open(url))
    value = {"boxes": [[0, 0, 0.5, 1]], "c": [1]}
    p.asks(
        "stage", edits=[{"positions": [0], "column": "boxes", "op": "set_boxes", "value": value}]
    )
    p.asks("stage", edits=[{"positions": [1, 2], "column": None, "op": "add_tag", "value": "é"}])
    edit(p, [0], "label", "dog")
    edit(p, [1], "label", "dog")
    p.asks("undo")
    p.asks("redo")
    p.asks("undo")
    p.asks("drop", id=p.w.staged[-1]["id"])
    [draft] = journal.drafts_in(journal.folder_of(url), "main", None)
    mine = list(p.w.part(Editing).staged.edits)
    assert [(e.column, e.op, e.ids.tolist()) for e in draft.edits] == [
        (e.column, e.op, e.ids.tolist()) for e in mine
    ]
    for kept, staged in zip(draft.edits, mine, strict=True):
        np.testing.assert_array_equal(kept.value, staged.value)
        np.testing.assert_array_equal(kept.seen, staged.seen)
    again = page(dl.open(url))
    assert again.w.restore() == len(mine)
    assert p.w.staged_count == 0  # taken over: two browsers never hold the same edits
    again.w.commit("taken over")
    assert dl.open(url)["tags"][:] == [[], ["é"], ["é"], []]
    assert p.w.drafts == again.w.drafts == drafts(url) == []


def test_row_changed_meanwhile_is_a_conflict_and_not_overwritten(url, page):
    work_and_end(url, [([0], "label", "dog"), ([1], "note", "mine"), ([2], "x", 9.0)])
    other = dl.open(url)
    other["note"][1] = "theirs"
    other["label"][0] = "dog"
    ids = other.row_ids
    other.delete([2])
    other.commit("meanwhile")
    p = page(dl.open(url))
    reply = p.asks("restore", id=p.w.drafts[0]["id"])
    assert (reply["rows"], reply["gone"]) == (2, 1)
    with pytest.raises(ConflictError) as caught:
        p.w.commit("mine")
    assert {c.row_id for c in caught.value.conflicts} == {ids[1]}
    assert len(drafts(url)) == 2  # still stored: nothing was committed, and one row was gone
    p.w.commit("mine", on_conflict="theirs")
    assert dl.open(url)["note"][1] == "theirs"
    [left] = p.w.drafts
    assert (left["edits"], left["rows"]) == (1, 1)
    p.asks("forget", id=left["id"])
    assert drafts(url) == []


def test_drafts_are_only_offered_on_their_branch(url, page):
    ds = dl.open(url)
    ds.branch("fix")
    work_and_end(url, [([0], "label", "dog")])
    assert len(page(dl.open(url)).w.drafts) == 1
    assert page(dl.open(url, branch="fix")).w.drafts == []
    assert page(dl.open(url, version=ds.version)).w.drafts == []
    assert len(page(dl.open(url)[:2]).w.drafts) == 1
    p = page(dl.open(url))
    p.asks("show_version", version="fix")
    assert p.w.drafts == []
    p.asks("show_version", version="main")
    assert len(p.w.drafts) == 1


def test_discarded_draft_is_gone_and_an_ignored_one_is_offered_again(url, page):
    work_and_end(url, [([0], "label", "dog")])
    first, second = page(dl.open(url)), page(dl.open(url))
    assert len(first.w.drafts) == len(second.w.drafts) == 1
    number = first.w.drafts[0]["id"]
    first.asks("forget", id=number)
    assert first.w.drafts == drafts(url) == []
    assert "no longer available" in second.fails("restore", id=number)["message"]
    assert second.w.staged_count == 0


def test_committed_and_discarded_edits_leave_no_draft(url, page):
    p = page(dl.open(url))
    for end in (lambda: p.w.commit("done"), p.w.discard):
        edit(p, [0], "note", "new")
        assert len(drafts(url)) == 1
        end()
        assert list(journal.folder_of(url).iterdir()) == []


def test_edits_of_another_process_are_offered_once_it_is_killed(url, page):
    command = [sys.executable, "-c", AT_WORK, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"staged\n"
        assert page(dl.open(url)).w.drafts == []  # it is still working
        process.kill()
    p = page(dl.open(url))
    assert p.w.restore() == 1
    p.w.commit("restored")
    assert dl.open(url)["label"][:].tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("damage", ["torn", "line", "ids", "value", "header", "empty", "future"])
def test_damaged_draft_raises_nothing_and_reports_what_is_missing(url, page, damage):
    work_and_end(url, [([0], "label", "dog"), ([1], "label", "dog")])
    [path] = drafts(url)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    last = json.loads(lines[-1])
    match damage:
        case "torn":
            lines[-1] = lines[-1][:-1]
        case "line":
            lines[-1] = "\0\n"
        case "ids":
            last["edits"][0]["ids"] = "AAAA"
            lines[-1] = json.dumps(last) + "\n"
        case "value":
            last["edits"][0]["value"] = {"array": "AAAA", "dtype": "O", "shape": [1]}
            lines[-1] = json.dumps(last) + "\n"
        case "header":
            lines[0] = "[]\n"
        case "empty":
            lines = []
        case "future":
            lines[0] = json.dumps({"format": 99, "branch": "main"}) + "\n"
    path.write_text("".join(lines), "utf-8")
    p = page(dl.open(url))
    if damage in ("header", "empty", "future"):
        assert p.w.drafts == []
        assert path.exists()
    else:
        assert [(d["edits"], d["complete"]) for d in p.w.drafts] == [(1, False)]
        assert p.w.restore() == 1


HOSTILE = [
    "[" * 100_000, '{"do": "add", "edits": 7}', '{"do": "add", "edits": "x"}',
    {"id": float("inf")}, {"id": float("nan")}, {"ids": None}, {"ids": "eJwDAAAAAAE="}, {"op": []},
    {"seen": "!"}, {"value": {"number": 2**64, "dtype": "M8[s]"}},
    {"value": {"number": float("inf"), "dtype": "M8[s]"}}, {"value": {"number": 1, "dtype": "O"}},
    {"value": {"array": "AAAA", "dtype": "O", "shape": [1]}},
    {"value": {"array": "AAAAAAAAAAA=", "dtype": "f8", "shape": [2**70]}},
    {"value": {"array": "AAAAAAAAAAA=", "dtype": "{'a'", "shape": [1]}},
]  # fmt: skip
"""Lines of a draft, or fields of an edit, that we never write."""


@pytest.mark.parametrize("line", HOSTILE)
def test_foreign_content_in_a_draft_raises_nothing(url, page, line):
    work_and_end(url, EDITS[:1])
    [path] = drafts(url)
    first, added = path.read_text().splitlines()
    if isinstance(line, dict):
        document = json.loads(added)
        document["edits"][0].update(line)
        line = json.dumps(document)
    path.write_text(f"{first}\n{added}\n{line}\n")
    p = page(dl.open(url))
    [draft] = p.w.drafts
    assert (draft["edits"], draft["complete"]) == (1, False)
    assert p.w.restore() == 1
    p.w.commit()
    path.write_text(f"{line}\n")
    assert page(dl.open(url)).w.drafts == []


def test_pipes_and_folders_among_drafts_are_skipped(url, page):
    work_and_end(url, EDITS[:1])
    folder = journal.folder_of(url)
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    assert len(page(dl.open(url)).w.drafts) == 1


def test_fork_leaves_the_drafts_of_its_parent_alone(url, page):
    p = page(dl.open(url))
    edit(p, [0], "note", "new")
    own = p.w.part(Editing)._journal
    [path] = drafts(url)
    before = path.read_bytes()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with pytest.raises(OSError, match="was forked"):
                own.write({"do": "undo"})
            assert list(journal.drafts_in(path.parent, "main", None)) == []  # its parent is at work
            own.remove()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert path.read_bytes() == before
    other = subprocess.run(
        [sys.executable, "-c", OFFERED, url], capture_output=True, text=True, check=True
    )
    assert other.stdout == "[]\n"
    p.w.commit()
    assert drafts(url) == []


OFFERED = "import sys, deeplake_lite as dl; print(dl.open(sys.argv[1]).browse().drafts)"


def test_draft_has_a_size_limit_and_reports_when_it_is_reached(url, page, monkeypatch):
    monkeypatch.setattr(journal, "MAX_BYTES", 2000)
    p = page(dl.open(url))
    for i in range(20):
        edit(p, [i % 4], "note", f"new {i}")
    assert p.w.staged_count == 20
    notes = [content for content, _ in p.sent if content.get("type") == "note"]
    assert len(notes) == 1
    assert "too many" in notes[0]["text"]
    [path] = drafts(url)
    assert path.stat().st_size < 2100
    [draft] = journal.drafts_in(path.parent, "main", None)
    assert not draft.complete
    assert 0 < len(draft.edits) < 20
    p.w.commit("all of them")
    assert drafts(url) == []


def test_editing_continues_where_nothing_can_be_stored(url, page, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    p = page(dl.open(url))
    edit(p, [0], "note", "new")
    edit(p, [1], "note", "new")
    notes = [content for content, _ in p.sent if content.get("type") == "note"]
    assert len(notes) == 1
    assert "Commit them soon" in notes[0]["text"]
    p.w.commit("all the same")
    assert dl.open(url)["note"][:2] == ["new", "new"]


def test_in_memory_lakes_store_no_drafts(make_lake, page, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    p = page(make_lake({"note": "text"}, note=["a"]))
    edit(p, [0], "note", "b")
    assert list(tmp_path.iterdir()) == []


KEPT = {
    "datetime64[ns]": pd.Timestamp("2026-01-01 00:00:00.123456789"),
    "datetime64[us]": dt.datetime(2026, 1, 1, 1, 1, 1, 999999, dt.timezone(dt.timedelta(hours=2))),
    "datetime64[D]": dt.date(1, 1, 1),
    "timedelta64[us]": dt.timedelta(microseconds=3),
    "timedelta64[ms]": pd.Timedelta("5 s"),
    "timedelta64[s]": "5 seconds",
    "int64": 2**63 - 1,
    "uint64": "18446744073709551615",
    "float16": np.float16(0.1),
    "float32": 0.1,
    "float64": -0.0,
    "bool": np.True_,
    "text": "\x00\r\n😀\u2028",
    "json": {"json": (1, [2**70, None]), "array": "AA"},
}


@pytest.mark.parametrize("kind", KEPT)
def test_values_of_all_types_are_restored_as_they_were_staged(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    url = str(tmp_path / "y.lake")
    ds = dl.create(url, {"v": kind})
    ds.append({"v": [ds.schema["v"].htype.blank]})
    ds.commit("a row")
    work_and_end(url, [([0], "v", KEPT[kind])])
    ds.update([0], {"v": [int(v) if kind == "uint64" else v for v in [KEPT[kind]]]})
    expected = ds["v"][0]
    ds.discard()
    w = Browser(dl.open(url))
    assert w.restore() == 1
    w.commit("restored")
    result = dl.open(url)["v"][0]
    assert repr(result) == repr(expected)


def test_value_that_cannot_be_stored_is_reported(url, page, monkeypatch):
    p = page(dl.open(url))
    monkeypatch.setattr(journal, "_value_to_json", lambda _: object())
    edit(p, [0], "note", "new")
    assert [c for c, _ in p.sent if c.get("type") == "note"]
    assert p.w.staged_count == 1


def edits_in(draft):
    return [
        (e.column, e.op, e.ids.tolist(), e.value, None if e.seen is None else e.seen.tolist())
        for e in draft.edits
    ]


def test_draft_with_rows_missing_in_an_older_handle_is_restored(url, page):
    old = dl.open(url)
    new = dl.open(url)
    new.append({name: new[name][:1] for name in new.columns if name != "image"} | {"image": PIXELS})
    new.commit("one more")
    work_and_end(url, [([4], "note", "late"), ([0, 4], "label", "dog")])
    p = page(old)
    reply = p.asks("restore", id=p.w.drafts[0]["id"])
    assert (reply["rows"], reply["gone"], reply["staged_count"]) == (2, 0, 2)
    assert p.w.drafts == []
    p.w.commit("mine")
    result = dl.open(url)
    assert (result["note"][4], result["label"][:].tolist()) == ("late", [1, 0, 0, 0, 1])
    assert drafts(url) == []


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("is_live", [True, False])
def test_edits_that_cannot_be_restored_stay_in_the_draft(url, page, is_live, complete):
    ids = dl.open(url).row_ids.tolist()
    edits = [([0, 1], "label", "dog"), ([1, 2], "note", "new"), ([3], "x", 9.0)]
    if is_live:
        first = page(dl.open(url))
        for positions, column, value in edits:
            edit(first, positions, column, value)
    else:
        work_and_end(url, edits)
    [path] = drafts(url)
    if not complete:
        with path.open("a") as file:
            file.write('{"do": "full"}\n')
    [before] = journal.drafts_in(path.parent, "main", None)
    other = dl.open(url)
    other.delete([1, 3])
    other.commit("two less")
    p = page(dl.open(url))
    [offered] = p.w.drafts
    assert p.w.restore() == 2
    [note] = [content["text"] for content, _ in p.sent if content["type"] == "note"]
    assert "Edits of 2 rows were not restored" in note
    assert "'main'" in note
    if is_live:
        assert first.w.staged_count == 0
    [left] = p.w.drafts
    assert left == {**offered, "edits": 3, "rows": 2, "changed": left["changed"]}
    assert left["complete"] is complete
    p.w.commit("what is there")
    assert dl.open(url)["note"][:] == ["a", "new"]
    assert dl.open(url)["label"][:].tolist() == [1, 0]
    before_rest = [e.of_rows(np.isin(e.ids, [ids[1], ids[3]])) for e in before.edits]
    [draft] = journal.drafts_in(path.parent, "main", None)
    before_rest = journal.Draft(path, url, "main", before_rest, complete, "")
    assert edits_in(draft) == edits_in(before_rest)
    assert (draft.url, draft.branch, path.stat().st_mode & 0o777) == (before.url, "main", 0o600)
    assert p.w.restore() == 0  # again nothing can be
    assert len(p.w.drafts) == 1
    again = dl.open(url)
    again.restore(other.log()[1])  # with the rows
    again.commit("back")
    p = page(again)
    assert p.w.restore() == 3
    p.w.commit("the rest")
    assert dl.open(url)["x"][3] == 9.0
    assert p.w.drafts == drafts(url) == []


def test_draft_stays_complete_if_its_remainder_cannot_be_written(url, page):
    work_and_end(url, [([0, 1], "label", "dog")])
    [path] = drafts(url)
    before = path.read_text("utf-8")
    other = dl.open(url)
    other.delete([1])
    other.commit("one less")
    p = page(dl.open(url))
    path.with_suffix(".part").mkdir()  # in the way
    assert p.w.restore() == 1
    assert path.read_text("utf-8") == before


def test_edit_undone_on_one_branch_is_not_redone_on_another(url, page):
    ds = dl.open(url)
    ds.branch("fix")
    ways = {
        "show_version": lambda p: p.asks("show_version", version="fix"),
        "browse": lambda p: p.w.browse(dl.open(url, branch="fix")),
        "a view": lambda p: p.w.browse(dl.open(url, branch="fix")[:3]),
        "a tag and back": lambda p: (
            p.asks("show_version", version=ds.version),
            p.asks("show_version", version="fix"),
        ),
        "checkout": lambda p: (p.w.shown.handle.checkout("fix"), p.w.refresh()),
    }
    for go in ways.values():
        p = page(dl.open(url))
        edit(p, [0], "note", "for main")
        p.asks("undo")
        assert len(drafts(url)) == 1
        go(p)
        assert drafts(url) == []
        reply = p.asks("redo")
        assert (reply["can_undo"], reply["can_redo"], p.w.staged_count) == (False, False, 0)
        assert p.asks("undo")["can_redo"] is False
        edit(p, [1], "note", "for fix")
        assert [d.branch for d in journal.drafts_in(journal.folder_of(url), "fix", None)] == ["fix"]
        p.w.commit("on fix")
    assert dl.open(url)["note"][:] == list("abcd")
    assert dl.open(url, branch="fix")["note"][:] == ["a", "for fix", "c", "d"]


def test_edit_undone_in_one_lake_is_not_redone_in_another(url, page):
    other = dl.create("memory://undone-elsewhere", {"note": "text"}, overwrite=True)
    other.append({"note": ["a"]})
    other.commit("a row")
    p = page(dl.open(url))
    edit(p, [0], "note", "mine")
    p.asks("undo")
    p.w.browse(other)
    assert p.asks("redo")["staged_count"] == 0
    assert drafts(url) == []


def test_redo_is_refused_while_the_dataset_is_on_another_branch(url, page):
    p = page(ds := dl.open(url))
    ds.branch("elsewhere")
    edit(p, [0], "note", "for main")
    p.asks("undo")
    p.w.shown.handle.checkout("elsewhere")  # and the page has not been told
    assert "elsewhere" in p.fails("redo")["message"]
    assert p.w.staged_count == 0


def test_redo_works_after_showing_other_rows_of_the_branch(url, page):
    p = page(dl.open(url))
    edit(p, [0], "note", "mine")
    p.asks("undo")
    p.w.query = "SELECT * WHERE note = 'a'"
    p.w.browse(dl.open(url)[:2])
    p.w.refresh()
    assert p.asks("redo")["staged_count"] == 1
    p.w.commit("mine")
    assert dl.open(url)["note"][0] == "mine"
