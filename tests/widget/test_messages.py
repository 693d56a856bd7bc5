"""Messages get one reply each, including errors, with bytes as the host passes them."""

from __future__ import annotations

import base64

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.widget.fields import MessageError, text


@pytest.fixture
def ds(make_lake):
    return make_lake({"x": "int32"}, x=range(10))


def test_greeting_is_answered_with_bytes(ds, page):
    assert page(ds).ask("hello")[1] == b"\x01\x02\x03\x04"


def test_bytes_are_sent_as_text_once_the_page_has_requested_it(ds, page):
    p = page(ds)
    for fields in ({"base64": True}, {}):
        reply, data = p.ask("hello", **fields)
        assert data == b""
        assert base64.b64decode(reply["b64"]) == b"\x01\x02\x03\x04"


def test_query_is_answered_with_rows_and_time(ds, page):
    reply = page(ds).asks("query", text="SELECT * WHERE x > 3")
    assert (reply["rows"], reply["query"]) == (6, "SELECT * WHERE x > 3")
    assert reply["ms"] > 0


def test_mistake_has_its_position(ds, page):
    p = page(ds)
    error = p.fails("query", text="SELECT *\nWHERE x >")
    assert (error["kind"], error["line"]) == ("QuerySyntaxError", 2)
    assert "\n" not in error["message"]
    error = p.fails("query", text="SELECT x,\n  yy")
    assert (error["kind"], error["line"], error["column"]) == ("ColumnNotFoundError", 2, 3)
    assert p.w.query == ""


def test_unexpected_error_is_answered_and_logged(ds, page, caplog, monkeypatch):
    def fail(_request, _pack):
        raise KeyError("name")

    p = page(ds)
    monkeypatch.setattr(p.w._dispatcher, "_handlers", {"views": fail})
    error = p.fails("views")
    assert (error["kind"], "see the log" in error["message"]) == ("KeyError", True)
    assert "Traceback" in caplog.text
    assert "no message type 'nonsense'" in p.fails("nonsense")["message"]


def test_missing_field_is_named(ds, page, caplog):
    p = page(ds)
    error = p.fails("complete", text="SELECT")
    assert error["kind"] == MessageError.__name__
    assert error["message"] == "The page's message has no field 'cursor'. Reload the page."
    assert "must be a whole number, but it is 'x'" in p.fails("detail", p="x")["message"]
    assert caplog.text == ""


def test_field_without_a_default_is_required():
    with pytest.raises(MessageError, match="has no field 'op'"):
        text({"op": None}, "op")


ODD = [
    None, True, 3, -1, 2.5, float("inf"), float("nan"), 2**70, "", "x", "all", [], [None], ["x"],
    [1, "a"], [[1, 2], [3]], {}, {"a": 1}, [{}], [2**70], [[1, 2, 3, 4]], [True], [[[]]], "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("odd", [*ODD, b"x"], ids=ascii)
def test_invalid_message_has_a_reply_too(odd, ds, page, caplog):
    p = page(ds)
    shapes = (odd, {"type": odd}, {"type": "hello", "req": odd}, {"type": "cells", "gen": odd})
    for number, shape in enumerate(shapes, 1):
        p.w._handle_custom_msg(shape, [])
        assert len(p.sent) == number
        reply = p.sent[-1][0]
        assert reply["type"] == "reply"
        assert reply["ok"] or "see the log" not in reply["error"]["message"]
    assert caplog.text == ""


MARKS = {"boxes": [[0, 0, 0.5, 0.5]], "c": [0], "picture": "image"}
EDIT = {"positions": [0], "op": "set", "row": None}
MESSAGES = [
    ("query", {"text": "SELECT *"}),
    ("complete", {"text": "SELECT ", "cursor": 7}),
    ("filter", {"expression": "x", "kind": "numbers", "op": "set", "values": [1, 2]}),
    ("filter", {"expression": "label", "kind": "classes", "op": "toggle", "values": ["a"]}),
    ("filter", {"expression": "tags", "kind": "tags", "op": "set", "values": ["a"]}),
    ("filter", {"expression": "when", "kind": "times", "op": "set", "values": ["2020", None]}),
    ("sort", {"expression": "x", "descending": True}),
    ("facets", {"columns": ["x"]}),
    ("cells", {"start": 0, "stop": 3, "size": 64, "picture": "image", "columns": ["x"],
               "overlays": ["boxes"]}),
    ("cells", {"positions": [0, 1]}),
    ("select", {"what": "runs", "runs": [[0, 2]]}),
    ("detail", {"p": 0, "size": 64, "picture": "image"}),
    ("history", {"p": 0}),
    ("show_version", {"version": "main"}),
    ("save_view", {"name": "v", "overwrite": True}),
    ("show_view", {"name": "v"}),
    ("drop", {"id": 1}),
    ("resolve", {"choice": "ours"}),
    ("restore", {"id": "x"}),
    ("forget", {"id": "x"}),
    ("points", {"column": "e", "method": "pca", "colour": "x"}),
    ("suspects", {"label": "label", "by": "embedding", "column": "e", "below": 0.5}),
    ("neighbours", {"p": 0, "column": "e"}),
    ("failed", {"message": "x"}),
    ("stage", {"edits": [{**EDIT, "column": "x", "value": 3}]}),
    ("stage", {"edits": [{**EDIT, "column": "tags", "op": "add_tag", "value": "a"}]}),
    ("stage", {"edits": [{**EDIT, "column": "label", "op": "take", "value": "label"}]}),
    ("stage", {"edits": [{**EDIT, "column": "boxes", "op": "set_boxes", "value": MARKS}]}),
    ("commit", {"message": "m"}),
]  # fmt: skip


def malformed(value):
    """Yield a value with each of its parts left out or replaced."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield {key: other for key, other in value.items() if key != name}
            yield from ({**value, name: other} for other in [*ODD, *malformed(part)])
    elif isinstance(value, list) and value:
        yield from ([other, *value[1:]] for other in [*ODD, *malformed(value[0])])


@pytest.fixture
def all_kinds(make_lake):
    return make_lake(
        {"x": "int32", "label": dl.ClassLabel(["a", "b"]), "tags": dl.Sequence("text"),
         "e": dl.Embedding(2), "when": "datetime64[s]", "boxes": dl.Boxes(), "image": "image",
         "boxes_classes": dl.ClassLabel(["p"], multiple=True)},
        x=range(4), label=[0, 1] * 2, tags=[["a"]] * 4, e=np.eye(2)[[0, 1, 0, 1]],
        when=["2020-01-01"] * 4, boxes=[[[0, 0, 1, 1]]] * 4, boxes_classes=[[0]] * 4,
        image=[np.zeros((4, 4, 3), "uint8")] * 4,
    )  # fmt: skip


@pytest.mark.parametrize(("kind", "fields"), MESSAGES)
def test_malformed_field_is_refused_with_an_explanation(kind, fields, all_kinds, page, caplog):
    p = page(all_kinds)
    for sent in [fields, *malformed(fields)]:
        number = len([m for m, _ in p.sent if m["type"] == "reply"])
        p.w._handle_custom_msg({"type": kind, "req": 1, "gen": p.w.generation, **sent}, [])
        replies = [m for m, _ in p.sent if m["type"] == "reply"][number:]
        assert len(replies) == 1, sent
        assert replies[0]["ok"] or "see the log" not in replies[0]["error"]["message"], sent
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    ("kind", "fields"),
    [("tab", {"tab": "changed", "column": "x"}), ("cells", {"start": 0, "stop": 1, "size": 64}),
     ("detail", {"p": 0, "side": "a", "size": 64, "picture": None})],
)  # fmt: skip
def test_malformed_field_of_a_diff_is_refused_with_an_explanation(kind, fields, ds, caplog):
    ds["x"][0] = 99
    w, sent = dl.browse_diff(ds), []
    w.send = lambda content, _buffers=None: sent.append(content)
    for message in [fields, *malformed(fields)]:
        w._handle_custom_msg({"type": kind, "req": 1, **message}, [])
        assert sent[-1]["ok"] or "see the log" not in sent[-1]["error"]["message"], message
    assert "Traceback" not in caplog.text


def test_rows_of_an_older_answer_are_refused(ds, page):
    p = page(ds)
    p.asks("query", text="SELECT * WHERE x > 3")
    assert p.fails("select", what="all", gen=1)["kind"] == "Stale"


def test_completion_says_which_word_is_replaced(ds, page):
    reply = page(ds).asks("complete", text="SELECT * WHERE x = 1 ORD", cursor=24)
    assert (reply["items"][0], reply["word"]) == (["ORDER BY", "keyword"], 21)


@pytest.mark.parametrize("cursor", [-5, 3, 8, 9, 1000])
def test_cursor_beyond_the_text_is_moved_to_its_end(cursor, ds, page):
    reply = page(ds).asks("complete", text="SELECT x", cursor=cursor)
    assert 0 <= reply["word"] <= 8


def test_failures_in_the_page_are_logged(ds, page, caplog):
    page(ds).asks("failed", message="TypeError: x is undefined")
    assert "x is undefined" in caplog.text


def test_browser_is_imported_lazily():
    import subprocess
    import sys

    code = "import deeplake_lite as dl; dl.create; import sys; print('anywidget' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert dl.Browser.__name__ == "Browser"


def test_failed_sends_and_updates_are_answered_with_the_error(ds, page):
    p = page(ds)
    sent = p.w.send

    def refuse(reply, buffers=None):
        if reply.get("ok"):
            raise ValueError("no JSON")
        sent(reply, buffers)

    p.w.send = refuse
    assert "no JSON" in p.fails("query", text="")["message"]
    p.w.send = sent
    p.w._dispatcher._ready = lambda: 1 / 0
    assert "ZeroDivisionError" in p.fails("query", text="")["message"]
