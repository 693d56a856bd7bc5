"""Messages: one reply each, errors too, bytes as the host takes them."""

from __future__ import annotations

import base64

import pytest

import deeplake_lite as dl


@pytest.fixture
def ds(make_lake):
    return make_lake({"x": "int32"}, x=range(10))


def test_a_greeting_is_answered_with_bytes(ds, page):
    assert page(ds).ask("hello")[1] == b"\x01\x02\x03\x04"


def test_bytes_go_as_text_once_the_page_has_asked_for_it(ds, page):
    p = page(ds)
    for fields in ({"base64": True}, {}):
        reply, data = p.ask("hello", **fields)
        assert data == b""
        assert base64.b64decode(reply["b64"]) == b"\x01\x02\x03\x04"


def test_a_query_is_answered_with_rows_and_time(ds, page):
    reply = page(ds).asks("query", text="SELECT * WHERE x > 3")
    assert (reply["rows"], reply["query"]) == (6, "SELECT * WHERE x > 3")
    assert reply["ms"] > 0


def test_a_mistake_has_its_place(ds, page):
    p = page(ds)
    error = p.fails("query", text="SELECT *\nWHERE x >")
    assert (error["kind"], error["line"]) == ("QuerySyntaxError", 2)
    assert "\n" not in error["message"]
    error = p.fails("query", text="SELECT x,\n  yy")
    assert (error["kind"], error["line"], error["column"]) == ("ColumnNotFoundError", 2, 3)
    assert p.w.query == ""


def test_an_unforeseen_error_is_answered_and_logged(ds, page, caplog):
    p = page(ds)
    error = p.fails("complete", text="SELECT")
    assert (error["kind"], "see the log" in error["message"]) == ("KeyError", True)
    assert "Traceback" in caplog.text
    assert "no message 'nonsense'" in p.fails("nonsense")["message"]


def test_rows_of_an_older_answer_are_refused(ds, page):
    p = page(ds)
    p.asks("query", text="SELECT * WHERE x > 3")
    assert p.fails("select", what="all", gen=1)["kind"] == "Stale"


def test_completion_tells_which_word_is_replaced(ds, page):
    reply = page(ds).asks("complete", text="SELECT * WHERE x = 1 ORD", cursor=24)
    assert (reply["items"][0], reply["word"]) == (["ORDER BY", "keyword"], 21)


def test_what_fails_in_the_page_is_logged(ds, page, caplog):
    page(ds).asks("failed", message="TypeError: x is undefined")
    assert "x is undefined" in caplog.text


def test_a_browser_loads_only_when_it_is_asked_for():
    import subprocess
    import sys

    code = "import deeplake_lite as dl; dl.create; import sys; print('anywidget' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert dl.Browser.__name__ == "Browser"


def test_what_cannot_be_sent_or_brought_up_to_date_is_answered_with_the_error(ds, page):
    p = page(ds)
    sent = p.w.send

    def refuse(reply, buffers=None):
        if reply.get("ok"):
            raise ValueError("no JSON")
        sent(reply, buffers)

    p.w.send = refuse
    assert "no JSON" in p.fails("query", text="")["message"]
    p.w.send = sent
    p.w._desk._ready = lambda: 1 / 0
    assert "ZeroDivisionError" in p.fails("query", text="")["message"]
