"""``%%tql`` in an IPython shell, and how the shell displays errors."""

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import deeplake_lite as dl
from deeplake_lite.query.registering import unregister


@pytest.fixture
def shell(make_lake):
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(history_load_length=0)
    shell.history_manager.enabled = False
    shell.run_line_magic("load_ext", "deeplake_lite")
    shell.user_ns["ds"] = make_lake(
        {"x": "int32", "v": dl.Embedding(2)}, x=[1, 2, 3], v=[[0, 0], [1, 1], [2, 2]]
    )
    shell.user_ns["other"] = make_lake({"x": "int32", "t": "text"}, x=[2, 3], t=["b", "c"])
    yield shell
    InteractiveShell.clear_instance()


def run(shell, line, cell):
    """Run a cell and return its value."""
    done = shell.run_cell(f"%%tql {line}\n{cell}")
    done.raise_error()
    return done.result


def message(shell, capsys, code):
    """Run a failing cell and return the printed message."""
    capsys.readouterr()
    assert not shell.run_cell(code).success
    return capsys.readouterr().out.strip()


def test_cell_queries_a_variable_and_shows_the_view(shell, capsys):
    result = run(shell, "ds", "SELECT x\nWHERE SUM(v) > 1")
    assert result["x"][:].tolist() == [2, 3]
    assert "2 rows" in capsys.readouterr().out


def test_result_is_assigned_to_a_variable(shell):
    assert run(shell, "ds -o result", "SELECT x WHERE x < 2") is None
    assert shell.user_ns["result"]["x"][:].tolist() == [1]


def test_parameters_come_from_variables(shell):
    shell.user_ns.update(least=2, q=np.array([1, 1]))
    result = run(shell, "ds", "SELECT x, '$no' AS t WHERE x >= $least ORDER BY DOT(v, $q) DESC")
    assert result["x"][:].tolist() == [3, 2]


def test_other_views_are_sources_by_their_variable_names(shell):
    shell.user_ns["few"] = shell.user_ns["other"][:1]
    result = run(shell, "ds", "SELECT ds.x, t FROM ds JOIN few USING (x)")
    assert result["t"][:] == ["b"]
    assert run(shell, "", "SELECT t FROM other ORDER BY t DESC")["t"][:] == ["c", "b"]
    assert run(shell, "other", "SELECT COUNT(*) AS n FROM ds")["n"][0] == 3


@pytest.mark.parametrize(
    ("line", "cell", "expected"),
    [
        ("ds", "SELECT x\nWHERE", "QuerySyntaxError: "),
        ("ds", "SELECT y", "ColumnNotFoundError: There is no column 'y'. "),
        ("dss", "SELECT x", "NotFoundError: There is no view named 'dss'. Did you mean"),
        ("ds", "SELECT x WHERE x > $lest", "QueryError: $lest stands for the variable 'lest'"),
        ("ds", "SELECT x WHERE x > ?", "QueryError: Parameters in a cell are variables"),
        ("ds -p 3", "SELECT x", "QueryError: The first line must be %%tql [VIEW] [-o NAME]"),
        (
            "ds -o 3",
            "SELECT x",
            "QueryError: In %%tql, -o must be followed by the name of a variable, but it is",
        ),
    ],
)
def test_error_is_one_message(shell, capsys, line, cell, expected):
    text = message(shell, capsys, f"%%tql {line}\n{cell}")
    assert text.startswith(expected)
    assert "Traceback" not in text


def test_syntax_error_has_its_caret(shell, capsys):
    lines = message(shell, capsys, "%%tql ds\nSELECT x\nWHERE x >").splitlines()
    assert lines[-2].strip() == "WHERE x >"
    assert lines[-1].rstrip().endswith("^")
    assert lines[-1].index("^") == lines[-2].index(">")


def test_query_in_a_python_cell_shows_the_calling_line(shell, capsys):
    text = message(shell, capsys, "a = 1\nds.query('SELECT y')\nb = 2")
    assert text.splitlines()[0] == "line 2: ds.query('SELECT y')"
    text = message(shell, capsys, "a = 1\nds.query('SELECT x WHERE v > 1')\nb = 2")
    assert text.splitlines()[0] == "line 2: ds.query('SELECT x WHERE v > 1')"
    assert text.splitlines()[1].startswith(
        "QueryTypeError: A condition must have one value per row"
    )


def test_failing_function_shows_its_own_lines(shell, capsys):
    code = "@dl.function(returns='float32')\ndef broken(v):\n    return v.nothing\n"
    shell.user_ns["dl"] = dl
    try:
        text = message(shell, capsys, f"{code}\nds.query('SELECT x WHERE BROKEN(v) > 1')")
    finally:
        unregister("broken")
    assert "return v.nothing" in text
    assert "has no attribute 'nothing'" in text.splitlines()[-1]
