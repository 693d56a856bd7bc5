"""Queries with their answers, in files: how they are read, and how an answer is compared.

A case is a paragraph: ``-- its name``, the query, then lines with the expected answer:

- ``=> duckdb SELECT …``: the result of DuckDB on a plain table, with classes as strings; without
  any line, the result of the query itself;
- ``=> where …``, ``=> order …``, ``=> rows …``, ``=> NAME: …``: Python expressions per row ``r``,
  for which rows are returned, their order (or all of them, as a list), and each column's value;
- ``=> error Type: part of its message``;
- ``=> params …``: the values of ``?`` and ``$name``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite import errors

from . import data, oracle

FOLDER = Path(__file__).parent / "cases"
NAMES = {
    "np": np, "math": math, "nan": math.nan, "inf": math.inf, "datetime": datetime, "date": date,
    "timedelta": timedelta, "CLASSES": data.CLASSES, "SIZES": data.SIZES, "TAGS": data.TAGS,
    **{name: value for name, value in vars(oracle).items() if not name.startswith("_")},
}  # fmt: skip
"""Names that expressions in answers may use."""
WORDS = ("duckdb", "where", "order", "rows", "error", "params")


@dataclass
class Case:
    """A query and its answer."""

    name: str
    query: str = ""
    answer: dict[str, str] = field(default_factory=dict)
    columns: list[tuple[str, str]] = field(default_factory=list)


def load(path: Path) -> list[Case]:
    """Return the cases of a file."""
    cases: list[Case] = []
    for line in path.read_text().splitlines():
        if line.startswith("-- "):
            cases.append(Case(line[3:].strip()))
        elif line.startswith("=> "):
            key, _, text = line[3:].partition(" ")
            if key not in WORDS:
                key, _, text = line[3:].partition(": ")
                cases[-1].columns.append((key, text))
            else:
                cases[-1].answer[key] = text.strip()
        elif line.strip():
            cases[-1].query += f"{line}\n"
    return cases


def check(case: Case) -> None:
    """Run a query, and compare the result with the expected answer."""
    params = eval(case.answer.get("params") or "()", NAMES)
    if (error := case.answer.get("error")) is not None:
        check_error(case, params, error)
        return
    view = ask(case.query, params)
    if not case.columns:
        check_against_duckdb(view, case, params)
    else:
        check_against_python(view, case)


def ask(query: str, params: Any = ()) -> dl.View:
    """Query the dataset; ``owners`` and ``old`` can be joined."""
    ds = data.build()
    old = dl.open(ds.url, version="v1")
    return ds.query(query, params, sources={"owners": data.owners(), "old": old})


def check_error(case: Case, params: Any, expected: str) -> None:
    """Compare the error of a query, whether it is raised at once or when a row is read."""
    kind, _, message = expected.partition(":")
    with pytest.raises(getattr(errors, kind)) as caught:
        values_of(ask(case.query, params))
    for part in message.split(" | "):
        assert part.strip() in str(caught.value)


def check_against_duckdb(view: dl.View, case: Case, params: Any) -> None:
    """Compare rows with DuckDB's, in order if the query has one."""
    text = case.answer.get("duckdb") or case.query
    given = None if "duckdb" in case.answer else params or None
    result = data.oracle().execute(text, given)
    names = [column[0] for column in result.description]
    expected = [tuple(map(plain, r)) for r in result.fetchall()]
    values = values_of(view)
    assert list(values) == _unique(names)
    got = list(zip(*values.values(), strict=True))
    if "ORDER BY" not in text.rsplit(")", 1)[-1].upper():
        got, expected = sorted(got, key=repr), sorted(expected, key=repr)
    assert len(got) == len(expected), f"{len(got)} rows, not {len(expected)}: {got[:5]}"
    for a, b in zip(got, expected, strict=True):
        assert all(map(same, a, b)), f"{a} is not {b}"


def check_against_python(view: dl.View, case: Case) -> None:
    """Compare rows with those selected, sorted and computed in Python."""
    rows = data.rows()
    if (text := case.answer.get("rows")) is not None:
        rows = eval(text, NAMES | {"rows": rows, "old": data.old_rows()})
    if (text := case.answer.get("where")) is not None:
        rows = [r for r in rows if _value(text, r)]
    if (text := case.answer.get("order")) is not None:
        rows = sorted(rows, key=lambda r: _value(text, r))
    values = values_of(view)
    assert list(values) == [name for name, _ in case.columns]
    for name, text in case.columns:
        expected = [plain(_value(text, r)) for r in rows]
        got = values[name]
        assert len(got) == len(expected), f"{len(got)} rows, not {len(expected)}: {got[:5]}"
        for at, (a, b) in enumerate(zip(got, expected, strict=True)):
            assert same(a, b), f"{name}, row {at}: {a!r} is not {b!r}"


def _value(text: str, r: Any) -> Any:
    with np.errstate(all="ignore"):
        return eval(text, NAMES | {"r": r, "rows": data.rows})


def _unique(names: list[str]) -> list[str]:
    """Return names as DuckDB shows them in a table: repeated ones are numbered."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, -1) + 1
        out.append(f"{name}_{seen[name]}" if seen[name] else name)
    return out


def values_of(view: dl.View) -> dict[str, list[Any]]:
    """Return all values of a view by column, in plain types: classes by name, None for null."""
    result = {}
    for name in view.columns:
        column = view[name]
        result[name] = [_named(column.htype, v) for v in column]
    return result


def _named(htype: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(htype, dl.Sequence):
        return [_named(htype.of, v) for v in value]
    if isinstance(htype, dl.ClassLabel):
        names = np.array(htype.names, object)
        return plain([names[v] for v in value] if htype.multiple else names[int(value)])
    return plain(value)


def plain(value: Any) -> Any:
    """Return a value in Python types, with arrays unchanged."""
    if isinstance(value, np.ndarray):
        return value if value.ndim else plain(value[()])
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else value.astype("datetime64[us]").item()
    if isinstance(value, np.timedelta64):
        return value.astype("timedelta64[us]").item()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Decimal):
        return float(value)
    if type(value) is date:
        return datetime(value.year, value.month, value.day)
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def same(a: Any, b: Any) -> bool:
    """Tell whether values are equal: NaN equals itself, and floats are compared up to rounding."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if a is None or b is None or np.shape(a) != np.shape(b):
            return False
        x, y = np.asarray(a), np.asarray(b)
        if "f" in (x.dtype.kind, y.dtype.kind):
            return bool(np.allclose(x, y, rtol=1e-5, atol=1e-6, equal_nan=True))
        return bool((x == y).all())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, int | float) and not isinstance(b, bool):
        return (a != a and b != b) or math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)
    if isinstance(b, float):
        return isinstance(a, int) and same(float(a), b)
    return type(a) is type(b) and a == b
