"""Binding errors and DuckDB errors show the line and a caret, in the words of the language."""

from __future__ import annotations

import re

import pytest

from deeplake_lite.errors import LakeError, QueryError
from deeplake_lite.query.parse.bare import as_typed, whole

from ..case_files import values_of
from .test_bad_input import TYPES, UNKNOWN

PLACES = {
    "SELECT id, ^labl": "no column 'labl'",
    "SELECT id, ^MEEN(grid)": "no function MEEN",
    "SELECT id\nFROM dataset\nWHERE ^labl = 3": "no column 'labl'",
    "SELECT id WHERE ^time > '2024-13-45'": "must be a time, such as .* but it is '2024-13-45'",
    "SELECT id, DATE ^'hello'": "A date must have the form 'YYYY-MM-DD'.*'hello'",
    "SELECT id, ^CAST(id AS foo)": "no type foo",
    "SELECT id, ^text + 'x'": r"Write \|\| to join strings",
    "SELECT id, ^'x' + text": r"Write \|\| to join strings",
    "SELECT id WHERE id > 3 AND ^CAST(text AS INT) > 3": "cannot be converted to INTEGER",
    "SELECT id WHERE MEAN(image) > 3 AND ^CAST(text AS INT) > 3": "cannot be converted",
    "SELECT id WHERE id = ^(SELECT id FROM dataset)": "must return one row, but it returns more",
    "SELECT id WHERE ^text > 3": "can be compared only with strings",
    "SELECT ^ABS(text)": "does not take values of types TEXT",
    "SELECT MAX(^id + 9223372036854775807)": "does not fit in 64 bits",
    "SELECT * EXCLUDE (id, ^foo)": "no column 'foo'",
    "SELECT id, dataset.* EXCLUDE (^foo)": "no column 'dataset.foo'",
    "SELECT * RENAME (^foo AS f)": "no column 'foo'",
    "SELECT id, text UNION ALL SELECT id, text, ^n": "same number of columns",
    "SELECT id, text UNION ALL SELECT ^id": "same number of columns",
    "SELECT id, time UNION SELECT id, ^n FROM dataset": "'time' is a time in one query",
    "SELECT a.id FROM ds AS a JOIN ds AS b ON ^a.text = b.id": "can be compared only with strings",
    "SELECT a.id FROM ds AS a, ds AS b WHERE ^a.text + b.text = 'x'": r"Write \|\| to join strings",
    "SELECT ^UPPER(c) FROM (SELECT score AS c FROM dataset)": "UPPER does not take values of types",
    "WITH q AS (SELECT id, text FROM dataset) SELECT id, ^q.text + 1 FROM q": r"Write \|\| to join",
    "SELECT n FROM (SELECT id, ^CAST(text AS INT) AS n FROM dataset) WHERE n > 3": "be converted",
    "SELECT ^ABS(x) FROM (SELECT text AS x UNION SELECT note FROM dataset)": "ABS does not take",
    "SELECT id WHERE ^time NOT IN (SELECT n FROM dataset)": "INTEGER cannot be compared",
    "SELECT id WHERE ^text < ANY (SELECT value FROM dataset)": "can be compared only with strings",
    "SELECT ^LEAD(boxes, 2.5) OVER (ORDER BY id)": "LEAD does not take values",
    "SELECT id WHERE id > 3 AND ^time": "A condition must be true or false, but it is a time",
    "SELECT id, ^o.grid FROM owners AS o": "no column 'o.grid'",
    "SELECT MEAN(flag) > 0 AS k GROUP BY ^1": "A key of GROUP BY must depend on a single row",
    "SELECT a.id FROM ds AS a JOIN ds AS b ON ^MAX(a.n) = 3": "ON is evaluated for each row",
    "SELECT id, ^AREA(tags)": r"boxes must have shape \(n, 4\)",
    "SELECT id, MAX(^grid + boxes)": "could not be broadcast",
    "SELECT label, MAX(^mask) AS m GROUP BY label": "tensors of equal shape",
    "SELECT id ORDER BY ^7": "refers to an item of the select list",
    "SELECT id LIMIT ^'a'": "LIMIT must be a whole number",
    "SELECT id EXPAND BY ^'a', 2": "EXPAND BY must be a whole number",
    "SELECT id FROM ^nowhere": "FROM must name the URL",
    "SELECT ^grid + bytes": "could not be broadcast",
    "SELECT id GROUP BY ^7": "refers to an item of the select list",
    "SELECT id WHERE L2_NORM(emb - (SELECT ^emv FROM dataset LIMIT 1)) > 0": "no column 'emv'",
    "SELECT id WHERE ^current_setting('threads') = 2": "no function CURRENT_SETTING",
    "SELECT text HAVING ^id > 1": "in GROUP BY or within an aggregate",
    "SELECT ^18446744073709551615 + id + 1 AS x": "must fit in int64 or uint64",
    "SELECT id, ^RESIZE(image, 100000, 100000)": "must take at most 2 GiB",
    "SELECT MEAN(^RESIZE(image, 100000, 100000))": "must take at most 2 GiB",
    "SELECT text, COUNT(*) ^GROUP BY ROLLUP(text)": "GROUP BY must be followed by expressions",
    "SELECT text, COUNT(*) ^GROUP BY GROUPING SETS ((text), ())": "followed by expressions",
    "SELECT text ^LIMIT NULL": "LIMIT must be a whole number",
    "SELECT text LIMIT 1 ^OFFSET NULL": "OFFSET must be a whole number",
    "SELECT text ^USING SAMPLE 10%": "Write SAMPLE BY 1 LIMIT 10",
    "SELECT text ^FOR UPDATE": "FOR UPDATE is not part",
    "SELECT * UNGROUP BY ^nope": "UNGROUP BY must be followed by columns",
    "SELECT a.id FROM ds AS a JOIN ds AS b USING (^nope)": "no column 'nope'",
    "SELECT id, ^current_user AS x": "not part of the language",
    "SELECT id WHERE id = 1 OR ^repeat('x', 1000000000) = text": "must not exceed 67,108,864",
}


@pytest.mark.parametrize("text", PLACES)
def test_caret_is_below_the_wrong_expression(ds, owners, text):
    at, query = text.index("^"), text.replace("^", "")
    with pytest.raises(LakeError, match=re.compile(PLACES[text], re.DOTALL)) as caught:
        values_of(ds.query(query, sources={"owners": owners}))
    before = query[:at]
    place = caught.value.place
    assert (place.line, place.column) == (before.count("\n") + 1, at - before.rfind("\n"))
    *_, line, caret = str(caught.value).split("\n")
    assert line == "  " + query.split("\n")[place.line - 1]
    assert caret == " " * (place.column + 1) + "^"


@pytest.mark.parametrize("text", [*TYPES, *UNKNOWN])
def test_every_error_has_a_line_and_a_caret(ds, owners, text):
    with pytest.raises(LakeError) as caught:
        values_of(ds.query(text, sources={"owners": owners}))
    assert re.search(r"(?i)line \d+, column \d+[.:]\n.*\n +\^$", str(caught.value))


def test_long_query_is_not_echoed(ds):
    for text in (
        "SELECT " + "(" * 50_000 + "id" + ")" * 50_000,
        "SELECT " + " + ".join(["grid"] * 400) + " + labl",
        f"SELECT UPPER(grid, '{'x' * 100_000}')",
        f"SELECT '{'x' * 100_000}' + id",
        "SELECT id WHERE id IN (" + ", ".join(map(str, range(50_000))) + ", labl)",
        f"SELECT {'x' * 100_000}",
    ):
        with pytest.raises(LakeError) as caught:
            ds.query(text)
        assert len(str(caught.value)) < 5_000


def test_position_refers_to_the_typed_query(ds):
    with pytest.raises(QueryError) as caught:
        ds.query(whole("id > 3 AND text > 3"))
    error = as_typed(caught.value, "id > 3 AND text > 3")
    assert error.place.column == 12
    assert error.place.text == "id > 3 AND text > 3"
