"""The commands `map` and `jobs`."""

import json

import pytest
from typer.testing import CliRunner

import deeplake_lite as dl
from deeplake_lite.cli import app
from deeplake_lite.cli.mapping import parse_type
from deeplake_lite.errors import InvalidValueError

from ..map import lakes

runner = CliRunner()
FUNCTIONS = "tests.map.functions"


@pytest.fixture
def ds(tmp_path):
    return lakes.make(tmp_path / "a.lake", 20)


def run(*args, code=0):
    done = runner.invoke(app, [str(a) for a in args])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def test_a_column_is_filled_and_the_job_listed(ds):
    done = run("map", ds.url, f"{FUNCTIONS}:double", "--into", "y=int64", "--where", "x < 3")
    assert done.stdout.startswith("3 rows in ")
    assert ds.refresh()["y"][:5].tolist() == [0, 2, 4, None, None]
    assert run("jobs", ds.url).stdout == (
        f"double-y: finished, 3 of 3 rows, {FUNCTIONS}.double on main\n"
    )
    assert json.loads(run("jobs", ds.url, "--json").stdout)[0]["phase"] == "finished"


def test_a_job_that_stopped_is_resumed_by_the_same_command(ds):
    args = [
        "map", ds.url, f"{FUNCTIONS}:double_except_odd_tens", "--into", "y=int64", "--batch", 1,
        "--column", "x", "--name", "job",
    ]  # fmt: skip
    error = run(*args, code=2).stderr
    assert "ValueError: no 5" in error
    assert "--on-error skip" in error
    assert "To compute the others, run the job again." in error
    [job] = dl.jobs(ds.url)
    assert job.phase == "stopped"
    changed = run(*args, "--on-error", "skip", code=2).stderr
    assert "began with another on_error" in changed
    assert "pass --restart to start over, or pass another --name" in changed
    result = json.loads(run(*args, "--on-error", "skip", "--restart", "--json").stdout)
    assert result["rows"] == 18
    assert list(result["skipped"]) == [str(i) for i in ds.row_ids[[5, 15]].tolist()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int32", "int32"),
        ("Embedding(4)", dl.Embedding(4)),
        ("Sequence(ClassLabel(['a', 'b']))", dl.Sequence(dl.ClassLabel(["a", "b"]))),
        ("Text(nullable=True)", dl.Text(nullable=True)),
    ],
)
def test_types_are_names_or_calls(text, expected):
    assert parse_type(text) == expected


@pytest.mark.parametrize(
    "text", ["Embedding(", "open('x')", "create('x')", "Embedding(x)", "a.b()", "Text(1, 2, 3)"]
)
def test_other_types_are_rejected(text):
    with pytest.raises(InvalidValueError, match="A type must be a name such as int32 or a call"):
        parse_type(text)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("double", "must be MODULE:FUNCTION"),
        ("no_such_module:f", "cannot be imported: No module named"),
        (f"{FUNCTIONS}:none", "cannot be imported: module"),
        (f"{FUNCTIONS}:__name__", "must be a function"),
    ],
)
def test_functions_must_exist(ds, function, message):
    assert message in run("map", ds.url, function, "--into", "y=int64", code=2).stderr
    both = ["--processes", 2, "--scheduler", "tcp://a:1"]
    error = run("map", ds.url, function, "--into", "y=int64", *both, code=2).stderr
    assert "--processes and --scheduler cannot be combined" in error
