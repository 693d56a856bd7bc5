"""Messages answered in a thread while notebook cells use the same dataset."""

from __future__ import annotations

import threading
import time

import numpy as np

import deeplake_lite as dl
from deeplake_lite.widget import browser
from deeplake_lite.widget.filters import facets


def test_messages_are_answered_while_a_cell_reads_edits_and_commits(make_lake, page):
    ds = make_lake(
        {"image": "image", "label": dl.ClassLabel(["a", "b"]), "x": "int32"},
        image=[np.full((80, 90, 3), i, "uint8") for i in range(40)],
        label=[0, 1] * 20,
        x=range(40),
    )
    p, stop, wrong, answered = page(ds), threading.Event(), [], []

    def ask(kind, **fields):
        """Send a request, ignoring that something else may be shown by then."""
        reply, _ = p.ask(kind, **fields)
        if not reply["ok"] and reply["error"]["kind"] != "Stale":
            wrong.append(reply)
        return reply

    def answer():
        while not stop.is_set():
            ask("query", text="SELECT * WHERE label = 'a'")
            cells = ask("cells", start=0, stop=20, size=64, columns=["label", "x"]).get("cells", [])
            wrong.extend(cell for cell in cells if cell["card"])
            ask("facets", columns=None)
            ask("detail", p=3, size=64)
            answered.append(1)

    thread = threading.Thread(target=answer)
    thread.start()
    for i in range(15):
        ds["x"][i] = -i
        assert ds["x"][:].tolist()[i] == -i
        ds.append({"image": [np.zeros((9, 9), "uint8")], "label": ["a"], "x": [i]})
        if i % 3 == 0:
            ds.commit(f"step {i}")
        assert ds[i]["image"].shape == (80, 90, 3)
        p.w.selected = [i]
        p.w.query = "SELECT * WHERE x < 30"
    ds.commit("done")
    stop.set()
    thread.join(60)
    assert not wrong
    assert answered
    p.w.refresh()
    p.w.query = ""
    assert len(p.w.view) == 55


def test_grid_is_answered_while_counting_takes_long(make_lake, page, monkeypatch):
    p = page(make_lake({"x": "int32"}, x=range(9)))
    p.ask("hello", threads=True)
    wait_for(lambda: any(reply["type"] == "thread" for reply, _ in p.sent))
    p.w._handle_custom_msg({"type": "thread"}, [])
    count, started, go_on = facets.range_counts, threading.Event(), threading.Event()

    def slow(*arguments):
        started.set()
        assert go_on.wait(20)
        return count(*arguments)

    monkeypatch.setattr(facets, "range_counts", slow)
    p.w._handle_custom_msg({"type": "facets", "req": 100, "gen": 1}, [])
    assert started.wait(20)
    assert len(p.asks("cells", start=0, stop=9)["cells"]) == 9
    go_on.set()
    wait_for(lambda: any(reply.get("req") == 100 and reply["ok"] for reply, _ in p.sent))


def test_page_without_thread_support_is_answered_synchronously(make_lake, page):
    p = page(make_lake({"x": "int32"}, x=range(9)))
    assert p.asks("facets", columns=None)["facets"]


def test_query_set_during_a_page_request_is_not_lost(make_lake, page, monkeypatch):
    p = page(make_lake({"x": "int32"}, x=range(9)))
    about, within, go_on = browser.about_of, threading.Event(), threading.Event()

    def slow(shown):
        if threading.current_thread() is not threading.main_thread():
            within.set()
            go_on.wait(1)
        return about(shown)

    monkeypatch.setattr(browser, "about_of", slow)
    asking = threading.Thread(target=p.asks, args=("query",), kwargs={"text": "SELECT * LIMIT 3"})
    asking.start()
    assert within.wait(20)
    p.w.query = "SELECT * LIMIT 5"
    asking.join()
    assert (p.w.query, len(p.w.view)) == ("SELECT * LIMIT 5", 5)


def wait_for(there):
    for _ in range(400):
        if there():
            return
        time.sleep(0.05)
    raise AssertionError("it never came")
