"""Updates of rows that are selected by id or by a view."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.storage import rows as stored_rows

ROWS = 40


@pytest.fixture
def ds(make_lake):
    ds = make_lake(
        {"x": "int32", "t": dl.Text(nullable=True), "v": dl.Array("float32", (None,))},
        x=range(ROWS),
        t=[str(i) for i in range(ROWS)],
        v=[[i] * (i % 3) for i in range(ROWS)],
    )
    ds.commit("rows")
    return ds


def by_x(ds, column):
    return dict(zip(ds["x"][:].tolist(), ds[column][:], strict=True))


@pytest.mark.parametrize("state", ["committed", "moved", "deleted", "added", "reopened"])
def test_rows_are_found_by_id_wherever_they_are(ds, state):
    ids = ds.row_ids.copy()
    if state == "moved":
        ds.optimize(shuffle=True)
    if state == "deleted":
        ds.delete(range(5))
    if state == "added":
        ds.append({"x": [100], "t": ["new"], "v": [[]]})
        ids = np.append(ids, ds.row_ids[-1])
    if state == "reopened":
        ds = dl.open(ds.url)
    chosen = np.random.default_rng(0).permutation(ids[5:])[:20]
    where = {int(i): int(x) for i, x in zip(ds.row_ids, ds["x"][:], strict=True)}
    texts = [f"new {where[int(i)]}" for i in chosen]
    ds.update(ids=chosen, data={"t": texts, "v": [[7, int(i % 9)] for i in chosen]})
    changed = {where[int(i)] for i in chosen}
    for x, text in by_x(ds, "t").items():
        assert text == (f"new {x}" if x in changed else str(x) if x < ROWS else "new")
    assert sum(len(v) == 2 and v[0] == 7 for v in ds["v"][:]) == 20
    ds.commit("changed")
    assert by_x(dl.open(ds.url), "t") == by_x(ds, "t")


def test_id_is_valid_on_every_branch_and_in_every_version(ds):
    old = dl.open(ds.url, version=ds.version)
    ds.branch("review")
    ds.checkout("review")
    ds.delete([0])
    ds.update(old[10:20], {"t": "of the old view"})
    ds.update(ids=old.row_ids[[3]], data={"t": [None]})
    assert [x for x, t in by_x(ds, "t").items() if t == "of the old view"] == [*range(10, 20)]
    assert by_x(ds, "t")[3] is None


VIEWS = {
    "slice": (lambda ds: ds[5:9], [5, 6, 7, 8]),
    "backwards": (lambda ds: ds[[9, 2]], [9, 2]),
    "mask": (lambda ds: ds[ds["x"] > 37], [38, 39]),
    "query": (lambda ds: ds.query("SELECT x WHERE x < 3 ORDER BY x DESC"), [2, 1, 0]),
    "computed": (lambda ds: ds.query("SELECT x * 2 AS y, t WHERE x > 37"), [38, 39]),
    "split": (lambda ds: ds[:10].split([0.5, 0.5])[0], None),
    "all": (lambda ds: ds, [*range(ROWS)]),
    "none": (lambda ds: ds[:0], []),
}


@pytest.mark.parametrize("kind", VIEWS)
def test_view_selects_rows_and_their_order(ds, kind):
    make, expected = VIEWS[kind]
    view = make(ds)
    if expected is None:
        expected = view["x"][:].tolist()
    ds.update(view, {"t": [f"row {i}" for i in range(len(view))]})
    assert {x: t for x, t in by_x(ds, "t").items() if t.startswith("row")} == {
        x: f"row {i}" for i, x in enumerate(expected)
    }
    ds.update(view, {"t": "one for all"})
    assert list(by_x(ds, "t").values()).count("one for all") == len(expected)


def test_view_of_a_stale_handle_still_selects_its_rows(ds):
    view = ds[5:7]
    ds.delete([0, 1])
    ds.update(view, {"t": "here"})
    assert [x for x, t in by_x(ds, "t").items() if t == "here"] == [5, 6]


def refused(ds, error, match, *args, **keywords):
    before = [ds[name][:] for name in ds.columns]
    with pytest.raises(error, match=match):
        ds.update(*args, **keywords)
    for old, name in zip(before, ds.columns, strict=True):
        assert all(map(np.array_equal, old, ds[name][:]))


def test_unknown_ids_are_refused_without_changes(ds):
    gone = ds.row_ids[:2].copy()
    ds.delete([0, 1])
    message = rf"no row with the id {gone[0]} \(unknown ids: 2 of 3\)\. Such rows were deleted"
    refused(ds, dl.InvalidValueError, message, ids=[*gone, ds.row_ids[0]], data={"x": 1})
    message = "unknown ids: 1 of 1"
    for ids in ([-1], [2**62], [0], np.array([5], np.uint8)):
        refused(ds, dl.InvalidValueError, message, ids=ids, data={"x": 1})


def test_duplicate_id_is_refused(ds):
    ids = ds.row_ids[[3, 4, 3]]
    match = rf"id {ids[0]} is repeated.*~batch\['_padding'\]"
    refused(ds, dl.InvalidValueError, match, ids=ids, data={"x": [1, 2, 3]})
    refused(ds, dl.InvalidValueError, match, ds[[3, 3]], {"x": [1, 2]})


@pytest.mark.parametrize(
    "ids", [[1.5], ["a"], [None], [[1]], np.zeros((2, 2), int), [True], 2**70, {1: 2}, object()]
)
def test_invalid_id_is_refused(ds, ids):
    refused(ds, dl.InvalidValueError, "ids must be integers", ids=ids, data={"x": 1})


def test_values_that_do_not_match_the_ids_are_refused(ds):
    ids = ds.row_ids[[7, 3]]
    refused(ds, dl.InvalidValueError, "for 2 rows it got 3 values", ids=ids, data={"x": [1, 2, 3]})
    match = r"column 'x', row 3"
    refused(ds, dl.InvalidValueError, match, ids=ids, data={"x": [1, "two"]})
    ds.delete([0])
    match = r"column 'x', row 2"
    refused(ds, dl.InvalidValueError, match, ids=ids, data={"x": [1, "two"]})
    refused(ds, dl.ColumnNotFoundError, "no column 'y'", ids=ids, data={"y": 1})


def test_rows_or_ids_and_data_are_required(ds):
    refused(ds, TypeError, "but neither is given", data={"x": 1})
    refused(ds, TypeError, "but both are given", [0], {"x": 1}, ids=[1])
    refused(ds, TypeError, "update needs a dict", [0])


def test_rows_of_another_lake_are_refused_unless_ids_are_given(ds, new_url):
    copy = ds[:3].materialize(new_url())
    refused(ds, dl.InvalidValueError, "a view of this lake", copy[:2], {"t": "x"})
    ds.update(ids=copy.row_ids, data={"t": "from the copy"})
    assert ds["t"][:4] == ["from the copy"] * 3 + ["3"]


def test_rows_combined_from_several_are_refused(ds):
    groups = ds.query("SELECT COUNT(*) AS n, MAX(ROW_ID()) AS id GROUP BY x % 2")
    refused(ds, dl.InvalidValueError, "computed from several", groups, {"t": "x"})
    ds.update(ids=groups["id"][:], data={"t": "last"})
    assert [x for x, t in by_x(ds, "t").items() if t == "last"] == [38, 39]


def test_empty_list_of_ids_changes_nothing(ds):
    status = ds.status()
    ds.update(ids=[], data={"x": []})
    assert str(ds.status()) == str(status)


def test_read_only_version_is_not_updated(ds):
    old = dl.open(ds.url, version=ds.version)
    with pytest.raises(dl.ReadOnlyError):
        old.update(ids=old.row_ids[:1], data={"x": 1})


def test_ids_are_looked_up_without_scanning_all_rows_each_time(ds, monkeypatch):
    ds.delete([0])
    ids, calls = ds.row_ids.copy(), []
    of = stored_rows.IdRuns.of
    monkeypatch.setattr(
        stored_rows.IdRuns, "of", lambda slots, ids: calls.append(len(ids)) or of(slots, ids)
    )
    for batch in ids.reshape(-1, 13):
        ds.update(ids=batch, data={"t": "done"})
    assert len(calls) <= 2  # the stored rows, and the remaining ones
    assert set(ds["t"][:]) == {"done"}


SEVERAL = [
    "SELECT DISTINCT k",
    "SELECT DISTINCT k AS y",
    "SELECT DISTINCT k LIMIT 1",
    "SELECT DISTINCT *",
    "SELECT DISTINCT k, t WHERE x > 3",
    "SELECT DISTINCT v, k ORDER BY k",
    "SELECT * FROM (SELECT DISTINCT k, t FROM ds) AS q",
    "WITH q AS (SELECT DISTINCT k FROM ds) SELECT k FROM q WHERE k > 0",
    "SELECT k GROUP BY k",
    "SELECT FIRST(t) AS t GROUP BY k",
    "SELECT k FROM ds UNION SELECT k FROM ds",
]


@pytest.fixture
def equals(make_lake):
    return make_lake(
        {"x": "int32", "k": "int32", "t": "text", "v": dl.Array("int8", (None,))},
        x=range(8),
        k=np.arange(8) % 2,
        t=list("abababab"),
        v=[[i % 2] for i in range(8)],
    )


@pytest.mark.parametrize("query", SEVERAL)
def test_rows_that_represent_several_are_not_updated(equals, query):
    view = equals.query(query)
    with pytest.raises(dl.InvalidValueError, match="row of this query is computed from several"):
        equals.update(view, {"t": "z"})
    assert equals["t"][:] == list("abababab")
    view.save("kept")
    again = equals.views()["kept"]
    assert [str(row) for row in again] == [str(row) for row in view]
    with pytest.raises(dl.InvalidValueError, match="row of this query is computed from several"):
        equals.update(again, {"t": "z"})


@pytest.mark.parametrize(
    "query",
    ["SELECT DISTINCT ON (k) *", "SELECT * WHERE k IN (SELECT DISTINCT k FROM ds) AND x < 2"],
)
def test_rows_selected_next_to_distinct_are_updated(equals, query):
    equals.update(equals.query(query), {"t": "z"})
    assert equals["t"][:] == list("zzababab")


def test_distinct_columns_keep_their_types(equals):
    view = equals.query("SELECT DISTINCT k, t, v")
    assert [f.htype for f in view.schema] == [equals.schema[f.name].htype for f in view.schema]
