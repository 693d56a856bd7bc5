"""Messages that are answered in a thread, while cells of the notebook use the same dataset."""

from __future__ import annotations

import threading

import numpy as np

import deeplake_lite as dl


def test_messages_are_answered_while_a_cell_reads_edits_and_commits(make_lake, page):
    ds = make_lake(
        {"image": "image", "label": dl.ClassLabel(["a", "b"]), "x": "int32"},
        image=[np.full((80, 90, 3), i, "uint8") for i in range(40)],
        label=[0, 1] * 20,
        x=range(40),
    )
    p, stop, wrong, answered = page(ds), threading.Event(), [], []

    def ask(kind, **fields):
        """Ask, and pass over that something else is shown by now."""
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
