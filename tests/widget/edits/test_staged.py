"""Staged edits are ordered, and are undone in reverse."""

import itertools

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import deeplake_lite as dl

ROWS = 6
rows = st.sets(st.integers(0, ROWS - 1), min_size=1)
CLASSES = ["ant", "bee"]
numbers = itertools.count()


class Edits(RuleBasedStateMachine):
    """A browser whose requests are mirrored by a dict of cells, and its staged edits by a list."""

    def __init__(self):
        super().__init__()
        from tests.widget.conftest import Page

        self.ds = dl.create(
            f"memory://edits-{next(numbers)}",
            {"label": dl.ClassLabel(CLASSES), "text": dl.Text(nullable=True), "x": "int32"},
        )
        self.ds.append({"label": [0] * ROWS, "text": ["t"] * ROWS, "x": range(ROWS)})
        self.ds.commit("rows")
        self.page = Page(self.ds)
        self.cells = {
            "label": ["ant"] * ROWS,
            "text": ["t"] * ROWS,
            "x": list(range(ROWS)),
            "tags": [[] for _ in range(ROWS)],
        }
        self.staged = []
        self.done, self.undone = [], []

    def stage(self, some, op, column, value):
        self.page.asks(
            "stage",
            edits=[{"positions": sorted(some), "column": column, "op": op, "value": value}],
        )
        self.done.append(list(self.staged))
        self.staged.append((some, op, column, value))
        self.undone.clear()

    @rule(some=rows, value=st.sampled_from(["ant", "bee", "cat", "dog"]))
    def relabel(self, some, value):
        self.stage(some, "set", "label", value)

    @rule(some=rows, value=st.sampled_from(["a", "b", None]))
    def write(self, some, value):
        self.stage(some, "set", "text", value)

    @rule(some=rows, value=st.integers(0, 9))
    def count(self, some, value):
        self.stage(some, "set", "x", value)

    @rule(some=rows, op=st.sampled_from(["add_tag", "remove_tag"]), tag=st.sampled_from("pq"))
    def tag(self, some, op, tag):
        self.stage(some, op, "tags", tag)

    @rule()
    def undo(self):
        self.page.asks("undo")
        if self.done:
            self.undone.append(list(self.staged))
            self.staged = self.done.pop()

    @rule()
    def redo(self):
        self.page.asks("redo")
        if self.undone:
            self.done.append(list(self.staged))
            self.staged = self.undone.pop()

    @precondition(lambda self: self.staged)
    @rule(data=st.data())
    def drop(self, data):
        at = data.draw(st.integers(0, len(self.staged) - 1))
        self.page.asks("drop", id=self.page.w.staged[at]["id"])
        self.done.append(list(self.staged))
        del self.staged[at]
        self.undone.clear()

    @rule()
    def commit(self):
        self.page.asks("commit", message="edited")
        self.cells = self.expected()
        if self.staged:  # without edits it writes nothing, and undone edits stay undone
            self.staged, self.done, self.undone = [], [], []
        fresh = dl.open(self.ds.url)
        names = fresh["label"].names
        assert [names[n] for n in fresh["label"][:]] == self.cells["label"]
        assert fresh["text"][:] == self.cells["text"]
        assert fresh["x"][:].tolist() == self.cells["x"]
        if "tags" in fresh:
            assert fresh["tags"][:] == self.cells["tags"]
        assert set(names) - set(CLASSES) >= set(self.cells["label"]) - set(CLASSES)

    def expected(self):
        result = {name: list(column) for name, column in self.cells.items()}
        for some, op, column, value in self.staged:
            for row in some:
                before = result[column][row]
                if op == "set":
                    result[column][row] = value
                elif op == "add_tag":
                    result[column][row] = [*before, *([] if value in before else [value])]
                else:
                    result[column][row] = [t for t in before if t != value]
        return result

    @invariant()
    def cells_show_what_is_staged(self):
        columns = ["label", "text", "x"]
        reply = self.page.asks("cells", start=0, stop=ROWS, size=64, columns=columns)
        expected = self.expected()
        for row, cell in enumerate(reply["cells"]):
            assert cell["caption"]["label"]["t"] == expected["label"][row]
            assert cell["caption"]["text"]["t"] == expected["text"][row]
            assert cell["caption"]["x"]["t"] == str(expected["x"][row])
            touched = {column for some, _, column, _ in self.staged if row in some}
            assert set(cell.get("staged", ())) == touched
            if "tags" in touched:
                assert cell["caption"]["tags"]["t"] == ", ".join(expected["tags"][row])

    @invariant()
    def the_list_is_what_is_staged(self):
        assert self.page.w.staged_count == len(self.staged)
        listed = [(e["column"], e["rows"]) for e in self.page.w.staged]
        assert listed == [(column, len(some)) for some, _, column, _ in self.staged]


Edits.TestCase.settings = settings(max_examples=20, stateful_step_count=15, deadline=None)
TestEdits = Edits.TestCase


def test_many_edits_of_one_row_are_found_at_once():
    from deeplake_lite.widget.edits.staged import Staged

    staged = Staged()
    for i in range(2000):
        one = np.array([i % 100])
        staged.add([staged.edit("x", "f", "set", one, i, None, "")])
    assert staged.after("f", np.arange(3), [0, 0, 0]) == [1900, 1901, 1902]
    assert len(staged.rows("f")) == 100
