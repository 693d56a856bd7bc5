"""The command that queries a lake: tables, JSON, CSV and errors."""

import csv
import io
import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import deeplake_lite as dl
from deeplake_lite.cli import app
from deeplake_lite.cli import query as command

runner = CliRunner()


def run(*args, code=0, stdin=None):
    """Run the command and return its stdout."""
    done = runner.invoke(app, ["query", *[str(a) for a in args]], input=stdin)
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout if code == 0 else done.output


@pytest.fixture
def url(make_lake):
    ds = make_lake(
        {
            "image": dl.Image("png", nullable=True),
            "label": dl.ClassLabel(["rose", "tulip"]),
            "note": dl.Text(nullable=True),
            "v": dl.Embedding(12),
            "x": "float32",
            "raw": dl.Bytes(),
        },
        image=[np.zeros((4, 5, 3), np.uint8), None, np.zeros((2, 2), np.uint8)] * 10,
        label=[0, 1, 0] * 10,
        note=["a\nlong " + "word " * 20, None, "müde, so"] * 10,
        v=np.zeros((30, 12)),
        x=[0.1, np.nan, 2] * 10,
        raw=[b"ab", b"c", b""] * 10,
    )
    ds.tag("v1")
    return ds.url


def test_table_has_short_cells_in_columns(url):
    lines = run(url, "SELECT *").splitlines()
    assert lines[0].split() == ["image", "label", "note", "v", "x", "raw"]
    assert set(lines[1]) == {"─", " "}
    assert lines[2].startswith("4×5×3 uint8  rose   a long word word")
    assert "…" in lines[2]
    assert "  12 float32  0.1  2 bytes" in lines[2]
    assert lines[3].split() == ["tulip", "12", "float32", "nan", "1", "byte"]
    assert lines[-1] == "30 rows, 10 more rows: --limit"
    assert len(lines) == 20 + 3


def test_terminal_shows_as_many_columns_as_fit(url, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "20")
    command.print_table(dl.open(url)[:1], 5)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["image", "label"]
    assert lines[-1] == "1 row, not shown: note, v, x, raw"


def test_computed_values_are_shown(url):
    text = run(url, "SELECT SHAPE(image) AS s, v[:2] + 1 AS w, COUNT(*) OVER () AS n", "-n", 1)
    assert text.splitlines()[2].split("  ") == ["[4, 5, 3]", "[1.0, 1.0]", "30"]


def test_empty_result_is_a_table_too(url):
    assert run(url, "SELECT x WHERE FALSE").splitlines() == ["x", "─", "0 rows"]


def test_json_is_a_list_of_objects(url):
    result = json.loads(run(url, "SELECT * EXCLUDE (v), v[:2] AS v", "--json"))
    assert len(result) == 30
    assert result[1] == {
        "image": None, "label": "tulip", "note": None, "x": None, "raw": "1 byte", "v": [0, 0],
    }  # fmt: skip
    assert result[2]["image"] == "2×2 uint8"
    assert json.loads(run(url, "SELECT x", "--json", "--limit", 2)) == [{"x": 0.1}, {"x": None}]
    assert json.loads(run(url, "SELECT x WHERE FALSE", "--json")) == []


def test_csv_can_be_read_back(url):
    rows = list(csv.DictReader(io.StringIO(run(url, "SELECT note, label, v[:2] AS v", "--csv"))))
    assert len(rows) == 30
    assert rows[2] == {"note": "müde, so", "label": "rose", "v": "[0.0, 0.0]"}


def test_query_is_read_from_stdin(url):
    result = json.loads(run(url, "-", "--json", stdin="SELECT COUNT(*) AS n\nWHERE x > 1"))
    assert result == [{"n": 10}]


def test_version_and_other_lakes_can_be_queried(url):
    ds = dl.open(url)
    ds.delete(range(10))
    ds.commit("fewer")
    text = "SELECT COUNT(*) AS n"
    assert json.loads(run(url, text, "--json")) == [{"n": 20}]
    assert json.loads(run(url, text, "--json", "--version", "v1")) == [{"n": 30}]
    assert json.loads(run(url, f"{text} FROM '{url}' VERSION 'v1'", "--json")) == [{"n": 30}]


def test_explain_prints_the_plan(url):
    assert run(url, "SELECT x WHERE MEAN(v) > 1", "--explain").splitlines()[0].startswith("result")


def test_syntax_error_shows_the_caret(url):
    text = run(url, "SELECT x WHERE", code=2)
    assert text.startswith("error: ")
    lines = text.splitlines()
    assert lines[-2].strip() == "SELECT x WHERE"
    assert lines[-1].strip() == "^"
    done = runner.invoke(app, ["query", url, "SELECT y", "--json"])
    assert "no column 'y'" in json.loads(done.stdout)["error"]


def test_two_formats_are_refused(url):
    assert "cannot be combined" in run(url, "SELECT x", "--json", "--csv", code=2)


def test_query_cannot_write(url):
    assert "Expected a SELECT, got DELETE" in run(url, "DELETE FROM ds", code=2)


def test_parameters_are_json_or_strings(url):
    asked = "SELECT COUNT(*) AS n WHERE label = $name AND x < $most"
    assert json.loads(run(url, asked, "--param", "name=rose", "--param", "most=1", "--json")) == [
        {"n": 10}
    ]
    assert "NAME=VALUE" in run(url, asked, "--param", "rose", code=2)


def test_package_can_be_run_as_the_command_line():
    done = subprocess.run(
        [sys.executable, "-m", "deeplake_lite", "--version"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip()
