"""Errors of queries say what is wrong, where, and what would be right."""

from __future__ import annotations

import re

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import (
    ColumnNotFoundError,
    LakeError,
    NotFoundError,
    QueryError,
    QuerySyntaxError,
    QueryTypeError,
)

from .. import data
from ..case_files import values_of

SYNTAX = {
    "": "Expected one SELECT, got nothing",
    "SELEC id": "Expected a SELECT",
    "SELECT": r"Expected a select list, such as \*",
    "SELECT id FROM": "Expected table name",
    "SELECT id WHERE": "Expected an expression in WHERE",
    "SELECT id FROM dataset WHERE (id > 3": r"Expected \)",
    "SELECT id FROM dataset WHERE id >": "Expected an expression in >",
    "SELECT id FROM dataset ORDER id": "Expected an operator, a clause or the end, got id",
    "SELECT id FROM dataset GROUP label": "Expected an operator, a clause or the end, got label",
    "SELECT id id id": "Expected an operator, a clause or the end, got id",
    "SELECT grid[0:1:2:3]": "Expected a slice start:stop:step",
    "SELECT grid[": r"Expected \]",
    "SELECT CASE WHEN flag THEN 1": "Expected END",
    "SELECT id SAMPLE BY": "Expected a weight after SAMPLE BY",
    "SELECT id EXPAND BY": "Expected EXPAND BY before, after",
    "SELECT id ARRANGE BY label LIMIT 3": "LIMIT must come before ARRANGE BY",
    "SELECT id LIMIT 3 ORDER BY score": "ORDER BY must come before LIMIT",
    "SELECT id LIMIT 3 OFFSET 2 ORDER BY score": "ORDER BY must come before OFFSET",
    "SELECT id ORDER BY id WHERE id > 3": "WHERE must come before ORDER BY",
    "SELECT id FROM (SELECT id LIMIT 3 WHERE flag)": "WHERE must come before LIMIT",
    "SELECT label GROUP BY label WHERE flag": "WHERE must come before GROUP BY",
    "SELECT id; SELECT id": "2 statements",
    "SELECT id; VACUUM x": "2 statements",
    ";; -- nothing": "got nothing",
    "SELECT 'open": "Expected a closing ': line 1, column 8",
    'SELECT "open': 'Expected a closing ": line 1, column 8',
    "SELECT /* open": "Expected only words, numbers and operators",
    "SELECT id FROM dataset LIMIT": "Expected an expression in LIMIT",
    "SELECT CAST(id TEXT)": "Expected AS",
    "SELECT id WHERE id IN": "Expected a list or a query after IN",
    "SELECT id WHERE id BETWEEN 1": "Expected an expression in BETWEEN",
    "SELECT id FROM dataset AS": "Expected a name after AS",
    "SELECT id FROM dataset JOIN": "Expected table name",
    "SELECT id,, n": "Expected an expression before the comma",
    "(SELECT id": r"Expected \)",
    "SELECT id UNION": "Expected an expression in UNION",
}


@pytest.mark.parametrize("text", SYNTAX)
def test_syntax_error_shows_the_line_and_a_caret(ds, text):
    with pytest.raises(QuerySyntaxError, match=SYNTAX[text]) as caught:
        ds.query(text)
    reason, line, caret = str(caught.value).split("\n")
    assert f"line {caught.value.line}, column {caught.value.column}" in reason
    assert line.strip() == text.strip()
    assert caret.strip() == "^"
    assert len(caret) - 2 == caught.value.column


def test_caret_is_below_the_wrong_word(ds):
    with pytest.raises(QuerySyntaxError) as caught:
        ds.query("SELECT id\nFROM dataset\nWHERE id > < 3")
    assert (caught.value.line, caught.value.column) == (3, 12)
    assert str(caught.value).endswith("  WHERE id > < 3\n             ^")


WRITES = [
    "INSERT INTO dataset VALUES (1)", "UPDATE dataset SET id = 1", "DELETE FROM dataset",
    "CREATE TABLE t AS SELECT 1", "DROP TABLE dataset", "ALTER TABLE dataset ADD COLUMN x INT",
    "COPY dataset TO '/tmp/x.csv'", "COPY (SELECT 1) TO '/tmp/x.csv'", "ATTACH 'x.db'",
    "DETACH x", "INSTALL httpfs", "LOAD httpfs", "PRAGMA database_list", "SET threads = 1",
    "EXPORT DATABASE '/tmp/x'", "CALL pragma_version()", "VACUUM", "CHECKPOINT", "BEGIN",
    "TRUNCATE dataset", "MERGE INTO dataset USING x ON 1 = 1 WHEN MATCHED THEN DELETE",
    "USE x", "DESCRIBE dataset", "SHOW TABLES", "EXPLAIN SELECT 1", "SUMMARIZE dataset",
]  # fmt: skip


@pytest.mark.parametrize("text", WRITES)
def test_only_a_select_is_a_query(ds, text):
    with pytest.raises(QuerySyntaxError, match=f"Expected a SELECT, got {text.split()[0]}"):
        ds.query(text)


@pytest.mark.parametrize("text", WRITES)
def test_only_one_query_is_allowed_and_nothing_is_logged(ds, text, caplog):
    with pytest.raises(QuerySyntaxError, match="Expected one SELECT, got 2 statements"):
        ds.query(f"SELECT id; {text}")
    assert not caplog.records


@pytest.mark.parametrize(
    "text", ["SELECT id; -- end", ";;SELECT id;;", "/* a */ ; SELECT id; /**/ ;"]
)
def test_semicolons_and_comments_are_not_statements(ds, text):
    assert len(ds.query(text)) == len(ds)


FILES = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_csv_auto('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM read_parquet('/tmp/*.parquet')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM '/etc/passwd'",
    'SELECT * FROM "/etc/passwd"',
    "SELECT * FROM 'data.csv'",
    "SELECT * FROM dataset WHERE EXISTS (SELECT * FROM read_text('/etc/passwd'))",
    "SELECT (SELECT content FROM read_text('/etc/passwd'))",
    "WITH q AS (SELECT * FROM read_text('/etc/passwd')) SELECT * FROM q",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM parquet_metadata('/tmp/x.parquet')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('t1')",
    "SELECT getenv('HOME')",
]


@pytest.mark.parametrize("text", FILES)
def test_query_reads_only_lakes(ds, text):
    with pytest.raises(LakeError, match=r"^FROM |not part of the language|no function"):
        ds.query(text)


def test_python_variables_are_not_sources(ds):
    import pandas as pd

    frame = pd.DataFrame({"a": [1]})
    assert len(frame) == 1
    with pytest.raises(QueryError, match="FROM must name the URL of a lake"):
        ds.query("SELECT * FROM frame")


def test_query_writes_nothing(ds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values_of(ds.query("SELECT id, MEAN(image) AS m ORDER BY m"))
    assert not list(tmp_path.iterdir())


UNKNOWN = {
    "SELECT labl": (ColumnNotFoundError, "no column 'labl'.*Did you mean 'label'"),
    "SELECT d.txt FROM dataset AS d": (ColumnNotFoundError, "'d.txt'.*Did you mean 'd.text'"),
    "SELECT id WHERE lable = 'cat'": (ColumnNotFoundError, "Did you mean 'label'"),
    "SELECT id ORDER BY scor": (ColumnNotFoundError, "Did you mean 'score'"),
    "SELECT label GROUP BY labell": (ColumnNotFoundError, "Did you mean 'label'"),
    "SELECT * EXCLUDE (imag)": (ColumnNotFoundError, "Did you mean 'image'"),
    "SELECT x.id FROM dataset AS d": (QueryError, "no source 'x' in FROM.*Known: 'd'"),
    "SELECT dd.id FROM dataset AS d, dataset AS de": (QueryError, "Did you mean 'd'"),
    "SELECT x.* FROM dataset AS d": (QueryError, "no source 'x' in FROM. Known: 'd'"),
    "SELECT COSINE_SIMILARTY(emb, [1, 2, 3, 4])": (NotFoundError, "COSINE_SIMILARITY"),
    "SELECT MEEN(grid)": (NotFoundError, "no function MEEN. Did you mean MEAN"),
    "SELECT UPER(text)": (NotFoundError, "no function UPER. Did you mean UPPER"),
    "SELECT FLOOOR(id)": (NotFoundError, "mean FLOOR.*deeplake_lite.query.reference"),
    "SELECT NORM(emb)": (NotFoundError, "L2_NORM"),
    "SELECT np.mean(image)": (NotFoundError, r"without a module.* np.mean.*MEAN\(image\)"),
    "SELECT np.linalg.norm(emb)": (NotFoundError, r"L2_NORM\(emb\)"),
    "SELECT torch.relu(emb)": (NotFoundError, "no function RELU"),
    "SELECT id FROM ds@v1": (QuerySyntaxError, "a clause or the end, got v1"),
    "SELECT id FROM 'memory://x'@v1": (QuerySyntaxError, "a clause or the end, got v1"),
    "SELECT id@v1": (QuerySyntaxError, "a clause or the end, got v1"),
    "SELECT STRUCT_PACK(id)": (QueryError, "needs a name for every field"),
    "SELECT image.shape": (QueryTypeError, r"image.shape. Write SHAPE\(image\)"),
    "SELECT grid.T": (QueryTypeError, r"TRANSPOSE\(grid\)"),
    'SELECT id WHERE label = "cat"': (ColumnNotFoundError, "to write a string, use 'cat'"),
    "SELECT no_such_function(id)": (NotFoundError, "(?i)no function.*no_such_function"),
    "SELECT id FROM nowhere": (QueryError, "FROM must name the URL of a lake.*'nowhere'"),
    "SELECT id FROM 'memory://no-such-lake'": (QueryError, "There is no lake at 'memory://no-such-lake'"),
    "SELECT id FROM dataset VERSION 'v9'": (NotFoundError, "no version 'v9'"),
    "SELECT id WHERE label = 'catt'": (QueryTypeError, "Did you mean 'cat'"),
    "SELECT id WHERE label IN ('cat', 'dgo')": (QueryTypeError, "Did you mean 'dog'"),
    "SELECT id WHERE CONTAINS(tags, 'skyy')": (QueryTypeError, "Did you mean 'sky'"),
    "SELECT id WHERE ANY(mask = 'kar')": (QueryTypeError, "Did you mean 'car'"),
    "SELECT id FROM dataset AS a JOIN dataset AS b ON a.id = b.id": (QueryError, "'a' and 'b'"),
    "SELECT a.id FROM dataset AS a JOIN owners AS a ON a.id = a.id": (QueryError, "occurs twice"),
}  # fmt: skip


@pytest.mark.parametrize("text", UNKNOWN)
def test_unknown_name_is_reported_with_the_nearest(ds, owners, text):
    kind, message = UNKNOWN[text]
    with pytest.raises(kind, match=re.compile(message, re.DOTALL)):
        ds.query(text, sources={"owners": owners})


TYPES = {
    "SELECT id WHERE grid": r"grid.*float32 \(3, 4\).*ANY\(…\) or ALL\(…\)",
    "SELECT id WHERE grid > 0": r"grid > 0.*bool \(3, 4\).*ANY\(…\) or ALL\(…\)",
    "SELECT id WHERE boxes > 0 AND flag": r"ANY\(…\) or ALL\(…\)",
    "SELECT id WHERE NOT grid > 0": r"ANY\(…\) or ALL\(…\)",
    "SELECT id ORDER BY grid": r"grid is a tensor, float32 \(3, 4\)",
    "SELECT id WHERE grid IN (1, 2)": r"CONTAINS\(x, value\)",
    "SELECT grid + bytes": r"grid \+ bytes.*\(3, 4\).*\(2, 3\)",
    "SELECT id WHERE ANY(grid = bytes)": r"grid = bytes.*\(3, 4\).*\(2, 3\)",
    "SELECT id WHERE ANY(grid = [1, 2, 3])": r"\(3, 4\).*\(3,\)",
    "SELECT DOT(emb, [1, 2, 3])": r"DOT\(emb.*\(4,\).*\(3,\)",
    "SELECT COSINE_SIMILARITY(emb, vec)": r"COSINE_SIMILARITY\(emb, vec\).*\(4,\).*\(3,\)",
    "SELECT COSINE_SIMILARITY(emb, text)": r"text.*str",
    "SELECT IOU(boxes, grid[:, :3])": r"boxes must have shape \(n, 4\)",
    "SELECT grid[0, 0, 0]": r"grid\[0, 0, 0\] has 3, and grid is float32 \(3, 4\)",
    "SELECT grid[3]": r"grid\[3\].*index 3.*axis of length 3",
    "SELECT MEAN(text)": r"AVG does not take values of types TEXT",
    "SELECT SUM(grid, axis = 2)": r"axis 2 is out of range",
    "SELECT SUM(grid, axis = id)": "An option must be a constant, but it is id",
    "SELECT RESHAPE(grid, [5, 5])": r"RESHAPE\(grid.*\(3, 4\)",
    "SELECT CAST(grid AS TEXT)": r"can be CAST only to numbers.*grid, which is float32.*TEXT",
    "SELECT UPPER(grid)": r"(?i)upper.*grid",
    "SELECT text + 1": r"\+ adds numbers. Write \|\| to join strings",
    "SELECT BOX_CONVERT(boxes, 'abcd')": r"xyxy.*xywh.*cxcywh",
    "SELECT MEAN()": "MEAN needs a value to aggregate",
    "SELECT MEAN(grid, 0, 1, 2)": r"MEAN\(x, axis=None\)",
    "SELECT CROP(image)": r"CROP\(image, window\)",
    "SELECT id WHERE COUNT(*) > 3": r"COUNT\(\*\) > 3 aggregates rows. Use HAVING",
    "SELECT id WHERE text[0, 1] = 'a'": "text is not a tensor, so it takes one index",
    "SELECT id LIMIT -1": "LIMIT must be a whole number.* from 0 to 2..62 - 1, but it is -1",
    "SELECT id LIMIT 'a'": "LIMIT must be a whole number.* from 0 to 2..62 - 1, but it is 'a'",
    "SELECT id LIMIT 1e400": "LIMIT must be a whole number of rows",
    "SELECT id OFFSET 1e400": "OFFSET must be a whole number of rows",
    "SELECT id LIMIT 9999999999999999999999": "LIMIT must be a whole number of rows",
    "SELECT id LIMIT 1e400 PERCENT": "LIMIT must be a finite percentage",
    "SELECT id SAMPLE BY 1 LIMIT 1e400": "SAMPLE BY LIMIT must be a whole number of rows",
    "SELECT id SAMPLE BY 1 LIMIT 1e400 PERCENT": "SAMPLE BY LIMIT must be a finite percentage",
    "SELECT id SAMPLE BY 1 SEED 1e400": "SEED must be a whole number from 0",
    "SELECT id EXPAND BY 1e400, 1": "EXPAND BY must be a whole number of rows",
    "SELECT id EXPAND BY 1, 9999999999999999999999": "EXPAND BY must be a whole number of rows",
    "SELECT id SAMPLE BY -1": "must be finite and at least 0, but one is -1",
    "SELECT id SAMPLE BY 'inf'": "must be finite and at least 0, but one is inf",
    "SELECT id SAMPLE BY 'nan'": "must be finite and at least 0, but one is nan.* IF.ISNAN",
    "SELECT id SAMPLE BY 0 * CAST('inf' AS DOUBLE)": "finite and at least 0, but one is nan",
    "SELECT id SAMPLE BY text": "SAMPLE BY needs a number for each row",
    "SELECT id EXPAND BY -1, 2": "Expected EXPAND BY before, after: two numbers",
    "SELECT id FROM (SELECT id ARRANGE BY id)": r"ARRANGE BY must end the outermost query",
    "SELECT COUNT(*) AS c GROUP BY label EXPAND BY 1, 1": "EXPAND BY adds neighbouring rows",
    "SELECT id GROUP BY 7": r"in GROUP BY refers to an item .* from 1 to 1, but it is 7",
    "SELECT id GROUP BY 2.5": r"in GROUP BY .*, but it is 2.5",
    "SELECT id GROUP BY -1": r"in GROUP BY .*, but it is -1",
    "SELECT id ORDER BY 7": r"in ORDER BY refers to an item .* from 1 to 1, but it is 7",
    "SELECT id ORDER BY 2.5": r"in ORDER BY .*, but it is 2.5",
    "SELECT id ORDER BY -1": r"in ORDER BY .*, but it is -1",
    "SELECT RANK() WITHIN GROUP (ORDER BY id)": r"WITHIN GROUP.*PERCENTILE_CONT.*follows RANK",
    "SELECT MODE() WITHIN GROUP (ORDER BY emb)": r"emb is a tensor",
    "SELECT SORT(emb ORDER BY id)": r"Only aggregates take ORDER BY within a call",
    "SELECT id, n FROM dataset UNION SELECT id FROM dataset": "but they have 2 and 1",
    "SELECT image FROM dataset UNION SELECT id FROM dataset": "'image' is a tensor in only one",
    "WITH RECURSIVE q AS (SELECT 1) SELECT * FROM q": r"RECURSIVE",
}


@pytest.mark.parametrize("text", TYPES)
def test_type_error_names_the_expression_and_the_shapes(ds, text):
    with pytest.raises(QueryError, match=TYPES[text]):
        values_of(ds.query(text))


PARAMETERS = [
    ("SELECT id WHERE id = ?", [], r"\? number 1 has no value"),
    ("SELECT id WHERE id = ?", [1, 2], r"has 1 placeholder \(\?\), but it was given 2 values"),
    ("SELECT id WHERE id = $a", {}, r"\$a has no value"),
    ("SELECT id WHERE id = $a", [1], r"\$a has no value"),
    ("SELECT id WHERE id = ?", {"a": 1}, r"\? number 1 has no value"),
    ("SELECT id WHERE id = ?", [object()], r"object"),
    ("SELECT id WHERE id = ?", [b"abc"], r"b'abc' contains bytes.*a number"),
    ("SELECT id WHERE id = ?", [{1: 2}], r"can be compared only with JSON.*a number"),
    ("SELECT id WHERE id < ?", [1j], r"complex"),
    ("SELECT id WHERE id = ?", [np.array([1j])], r"one value per row"),
    ("SELECT id WHERE id = ?", [np.array([(1, 2)], "i4, i4")], r"dtype \[\('f0'"),
    ("SELECT DOT(emb, ?) AS d", [[1, 2]], r"\(4,\).*\(2,\)"),
]


@pytest.mark.parametrize(("text", "params", "message"), PARAMETERS)
def test_parameters_must_match_the_query(ds, text, params, message):
    with pytest.raises(QueryError, match=message):
        ds.query(text, params)


def test_parameter_is_not_part_of_the_query_string(ds):
    assert len(ds.query("SELECT id WHERE text = ?", ["' OR 1 = 1 --"])) == 0
    assert len(ds.query("SELECT id WHERE text = $a", {"a": '" OR TRUE'})) == 0


def test_query_of_an_empty_lake_is_answered(make_lake):
    ds = make_lake(
        {name: data.SCHEMA[name] for name in ("id", "text", "label", "image", "boxes", "grid")}
    )
    assert len(ds.query("SELECT * WHERE MEAN(image) > 3 ORDER BY id")) == 0
    assert values_of(ds.query("SELECT COUNT(*) AS c, MAX(id) AS m")) == {"c": [0], "m": [None]}
    assert len(ds.query("SELECT label, COUNT(*) AS c, MEAN(grid) AS m GROUP BY label")) == 0
    assert (
        len(
            ds.query(
                "SELECT id, IOU(boxes, boxes) AS i ARRANGE BY label SAMPLE BY 1 EXPAND BY 1, 1"
            )
        )
        == 0
    )
    assert values_of(ds.query("SELECT image[:3] AS i, grid * 2 AS g")) == {"i": [], "g": []}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT *",
        "SELECT id, MEAN(image) AS m, image[:2] AS i ORDER BY MEAN(image)",
        "SELECT DISTINCT label ORDER BY label",
        "SELECT id SAMPLE BY score REPLACE",
        "SELECT id ARRANGE BY MEAN(grid) > 0 EXPAND BY 1, 1",
        "SELECT a.id, b.grid FROM dataset AS a JOIN dataset AS b USING (id)",
        "SELECT id UNION SELECT n",
        "SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS r",
    ],
)
def test_query_of_an_empty_view_is_answered(ds, text):
    assert len(ds[0:0].query(text)) == 0


def test_query_without_matches_still_has_columns(ds):
    result = ds.query("SELECT id, grid, MEAN(grid) AS m, label WHERE id > 1000")
    assert result.columns == ("id", "grid", "m", "label")
    assert [len(result[name][:]) for name in result.columns] == [0, 0, 0, 0]
    assert result.to_pandas().empty


def test_mask_that_does_not_fit_a_row_is_reported(ds):
    with pytest.raises(QueryError, match=r"boxes\[.*boolean index did not match.*row"):
        values_of(ds.query("SELECT boxes[$m] AS b", params={"m": np.array([True, False])}))


def test_two_rows_for_one_value_are_an_error(ds):
    with pytest.raises(QueryError, match="must return one row, but it returns more"):
        ds.query("SELECT id WHERE id = (SELECT id FROM dataset)")


def test_non_numeric_string_raises_our_error(ds):
    with pytest.raises(QueryError, match=r"(?i)convert|cast"):
        ds.query("SELECT CAST(text AS INT) AS x")


def test_type_error_contains_no_words_of_the_engine(ds):
    with pytest.raises(QueryError) as caught:
        ds.query("SELECT ABS(text) AS x")
    assert not re.search(r"t1\.|x\d+\b|__row|Binder|Candidate", str(caught.value))


def test_numbers_that_are_too_large_are_an_error(ds):
    with pytest.raises(QueryError):
        values_of(ds.query("SELECT CAST(id + 9223372036854775807 AS BIGINT) AS x WHERE id > 0"))


def test_null_weights_are_never_drawn_and_nan_is_refused(ds):
    result = ds.query("SELECT value, score SAMPLE BY score REPLACE LIMIT 200 SEED 0")
    assert None not in values_of(result)["score"]
    weight = (
        "CASE WHEN id > 20 AND id < 40 AND id <> 21 THEN ABS(value) ELSE value * 0 + SQRT(-1) END"
    )
    with pytest.raises(QueryError, match="must be finite and at least 0"):
        ds.query(f"SELECT id, value SAMPLE BY {weight} REPLACE LIMIT 200 SEED 0")


def test_zero_weights_draw_nothing(ds):
    assert len(ds.query("SELECT id SAMPLE BY 0 LIMIT 5")) == 0


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT id FROM dataset TABLESAMPLE 50%", "Write SAMPLE BY 1 LIMIT 10"),
        ("SELECT id FROM dataset USING SAMPLE 3", "Write SAMPLE BY 1 LIMIT 10"),
        ("SELECT id::INT", r"CAST\(x AS type\): `::` is a slice"),
        (
            "SELECT id GROUP BY ROLLUP (id)",
            "GROUP BY must be followed by expressions, but it is followed by ROLLUP",
        ),
    ],
)
def test_unsupported_syntax_is_refused(ds, query, message):
    with pytest.raises(dl.QueryError, match=message):
        ds.query(query)


MESSAGES = {
    "SELECT meta -> 'a'": r"Write a subscript: meta\['key'\]",
    "SELECT meta ->> 'a'": r"CAST\(meta\['key'\] AS TEXT\)",
    "SELECT id, COUNT(*)": r"COUNT\(\*\) has one value for all rows, and id has one per row",
    "SELECT label, grid * 2 GROUP BY label": r"grid \* 2 has one per row. Write LIST",
    "SELECT MEAN(image, dim=1)": r"MEAN has no option dim.* Write MEAN\(x, axis=None\)",
    "SELECT MAX(MEAN(score))": "cannot be nested, but MEAN.score. is inside another",
    "SELECT id WHERE id > (SELECT id FROM dataset)": "must return one row, but it returns more",
    "SELECT id GROUP BY": "GROUP BY must be followed by expressions",
    "SELECT id GROUP BY (id, n)": "must not be in parentheses",
    "SELECT id LIMIT 1.5": "LIMIT must be a whole number of rows",
    "SELECT id FROM dataset VERSION LIMIT 1": "Expected a version in quotes",
    "SELECT COLUMNS('.*')": "COLUMNS is not part of the language",
    "SELECT EQUALS(id)": "EQUALS takes 2 arguments",
    "SELECT LOGICAL_NOT()": "LOGICAL_NOT takes 1 argument",
    "SELECT RANDOM('a')": "The seed of RANDOM",
    "SELECT RANDOM(1, 2)": "The seed of RANDOM",
    "SELECT RANDOM(-1)": "The seed of RANDOM",
    "SELECT RANDOM(18446744073709551616)": "The seed of RANDOM",
    "SELECT id WHERE (label, id) IN label": "IN must be followed by a query or a list of rows",
    "SELECT id WHERE () = ()": "Tuples can be compared only if they have the same",
    "SELECT id WHERE tags = NULL": "one value per row",
    "SELECT id WHERE NULL <> tags": "one value per row",
    "SELECT grid[:, :tags % 4]": "start and stop of a slice must be single whole numbers",
    "SELECT grid[..., 0, ...]": r"at most one `\.\.\.`",
    "SELECT grid[::0]": "step of a slice must not be 0",
    "SELECT ragged[::-0]": "step of a slice must not be 0",
    "SELECT image[1:2:0]": "step of a slice must not be 0",
    "SELECT grid['a':]": r"An index must be a whole number",
    "SELECT grid[:2.5]": r"An index must be a whole number",
    "SELECT id FROM main.dataset": "Schemas are not part of the language",
}


@pytest.mark.parametrize("text", MESSAGES)
def test_error_says_what_is_wrong(ds, text):
    with pytest.raises(QueryError, match=MESSAGES[text]):
        ds.query(text)


@pytest.mark.parametrize("text", [None, 3, b"SELECT id"])
def test_query_must_be_a_string(ds, text):
    with pytest.raises(QueryTypeError, match="A query must be a string"):
        ds.query(text)


@pytest.mark.parametrize(
    ("query", "at"),
    [
        ("SELECT {'a': x} AS y FROM ds", "x}"),
        ("SELECT 1 AS one, [{'a': x}] AS y FROM ds", "x}"),
        ("SELECT s.y FROM (SELECT {'a': x} AS y FROM ds) AS s", "s.y"),
        ("SELECT MAX({'a': x}) AS y FROM ds", "MAX("),
    ],
)
def test_nan_in_a_struct_is_refused_with_its_position(query, at):
    ds = dl.create("memory://nan-in-a-struct", {"x": "float64"}, overwrite=True)
    ds.append({"x": [float("nan"), 1.0]})
    with pytest.raises(dl.InvalidValueError, match="must be a JSON value, but it is dict") as error:
        ds.query(query, sources={"ds": ds})["y"][:]
    assert error.value.place.column == query.index(at) + 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT CAST(by AS UUID) AS x FROM ds",
        "SELECT CAST(unhex('ff') AS UUID) AS x FROM ds",
        "SELECT MAX(CAST(by AS UUID)) AS x FROM ds",
        "SELECT 1 AS x FROM ds WHERE CAST(by AS UUID) IS NULL",
        "SELECT 1 AS x FROM ds ORDER BY CAST(by AS UUID)",
        "SELECT COUNT(*) AS x FROM ds GROUP BY CAST(by AS UUID)",
    ],
)
def test_message_that_shows_bytes_is_ours(text):
    ds = dl.create("memory://bytes-in-messages", {"by": dl.Bytes()}, overwrite=True)
    ds.append({"by": [b"\xff", b"1"]})
    with pytest.raises(QueryTypeError, match="cannot be converted"):
        ds.query(text, sources={"ds": ds})["x"][:]


@pytest.mark.parametrize(
    "source", ["(SELECT id FROM ds)", "(SELECT id FROM ds LIMIT 2)",
               "(SELECT id FROM ds WHERE id > 1)",
               "(SELECT id, COUNT(*) AS n FROM ds GROUP BY id)"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("ROW_NUMBER()", "position of a row in its dataset, but FROM contains only subqueries"),
        ("RANDOM()", "draws one number per row of a dataset, but FROM contains only subqueries"),
        ("RANDOM(1)", "draws one number per row of a dataset, but FROM contains only subqueries"),
        ("ROW_ID()", "rows of a subquery have no ids"),
        ("ROW_ID(x)", "rows of a subquery have no ids"),
    ],
)  # fmt: skip
def test_rows_of_a_query_have_no_position_in_a_dataset(ds, source, call, message):
    with pytest.raises(QueryTypeError, match=message):
        ds.query(f"SELECT {call} AS r FROM {source} AS x")
    with pytest.raises(QueryTypeError, match=message):
        ds.query(f"WITH x AS {source} SELECT {call} AS r FROM x")
