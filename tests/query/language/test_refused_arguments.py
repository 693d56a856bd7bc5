"""Errors of DuckDB functions name the function, the reason and an alternative that works."""

from __future__ import annotations

import re

import numpy as np
import pytest

import deeplake_lite as dl


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    ds = dl.create(
        "memory://refused", {"s": "datetime64[s]", "t": "text", "id": "int64"}, overwrite=True
    )
    ds.append({"s": [np.datetime64("2020-01-01", "s")] * 2, "t": ["ab", "xy"], "id": [1, 2]})
    return ds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CHR(1114112)", "CHR rejects its arguments: Invalid UTF8 Codepoint 1114112"),
        ("NTILE(0) OVER (ORDER BY id)", "NTILE .* must be greater than zero"),
        ("TO_BASE(5, 1)", "TO_BASE .* between 2 and 36"),
        ("TIMEZONE('Nope', TIMESTAMP '2020-01-01')", "(TIMEZONE|AT TIME ZONE) .*Nope"),
        ("JSON('{')", "JSON .*unexpected end of data"),
        ("UNHEX('zz')", "UNHEX .* hex digit: z"),
        ("MAKE_DATE(2024, 2, 30)", "MAKE_DATE .*2024-2-30"),
        ("FROM_BASE64('a')", "FROM_BASE64 .* multiple of 4"),
        ("FACTORIAL(100)", "FACTORIAL .*out of range"),
        ("MAP([1, 1], [2, 3])", "MAP .* must be unique"),
        ("'ab' LIKE 'a\\' ESCAPE '\\'", "LIKE … ESCAPE rejects .*[Ee]scape"),
        ("TIMEZONE('Nope', CAST('2020-01-0' || '1' AS TIMESTAMP))", "AT TIME ZONE .*Nope"),
        ("LIST_TRANSFORM(['zz'], x -> UNHEX(x))", "LIST_TRANSFORM .* hex digit: z"),
    ],
)
def test_constants_are_not_blamed_on_rows(ds: dl.Dataset, text: str, message: str) -> None:
    with pytest.raises(dl.QueryTypeError, match=rf"{message}(.|\n)*\^") as caught:
        ds.query(f"SELECT {text} AS y")
    assert "Write other arguments." in str(caught.value)
    assert "rows" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TO_BASE(id, 1)", "TO_BASE .* between 2 and 36"),
        ("UNHEX(t)", "UNHEX .* hex digit: "),
        ("TIMEZONE('Nope', s)", "(TIMEZONE|AT TIME ZONE) .*Nope"),
        ("t LIKE 'a\\' ESCAPE '\\'", "LIKE … ESCAPE rejects .*[Ee]scape"),
        ("JSON(t)", "JSON .*unexpected character"),
        ("LIST_TRANSFORM([id], x -> TO_BASE(x, 1))", "LIST_TRANSFORM .* between 2 and 36"),
        ("TIMEZONE('Nope', CAST(CONCAT('2020-01-0', id) AS TIMESTAMP))", "AT TIME ZONE .*Nope"),
    ],
)
def test_columns_may_be_blamed(ds: dl.Dataset, text: str, message: str) -> None:
    with pytest.raises(dl.QueryTypeError, match=rf"{message}(.|\n)*\^") as caught:
        ds.query(f"SELECT {text} AS y")
    assert "If values of some rows cause this, exclude these rows" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PRINTF('%s%s', t)", "A format string must refer only to values in the call.* value 1"),
        ("FORMAT('{} {}', t)", "A format string must refer only to values in the call.* value 1"),
        (
            "SUM(id) OVER (ORDER BY id ROWS -1 PRECEDING)",
            "frame must be at a distance .* such as 2 PRECEDING",
        ),
        (
            "SUM(id) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND NULL FOLLOWING)",
            "frame must be at a distance .* such as 2 FOLLOWING",
        ),
    ],
)
def test_reasons_use_the_words_of_the_language(ds: dl.Dataset, text: str, message: str) -> None:
    with pytest.raises(dl.QueryTypeError, match=rf"{message}(.|\n)*\^"):
        ds.query(f"SELECT {text} AS y")


@pytest.mark.parametrize("text", ["2024-02-30", "2023-02-29", "2024-02-28 25:00", "2024-13-01"])
@pytest.mark.parametrize("condition", ["s = {}", "s < {}", "s IN ({})", "s BETWEEN {} AND {}"])
def test_nonexistent_day_is_not_a_time(ds: dl.Dataset, text: str, condition: str) -> None:
    shown = f"A string compared with times must be a time.*it is {re.escape(repr(text))}"
    with pytest.raises(dl.QueryTypeError, match=shown):
        ds.query(f"SELECT id WHERE {condition.format(*[repr(text)] * 2)}")
    for other in (text.replace("-", "/"), text.replace("-0", "-")):
        with pytest.raises(dl.QueryTypeError, match=f"'{other}' is not a time|it is '{other}'"):
            ds.query(f"SELECT id WHERE {condition.format(*[repr(other)] * 2)}")


def test_row_id_of_an_outer_query(ds: dl.Dataset) -> None:
    inner = "(SELECT 1 FROM ds b WHERE ROW_ID(a) = ROW_ID(b) AND b.id = 2)"
    assert ds.query(f"SELECT id FROM ds a WHERE EXISTS {inner}")["id"][:].tolist() == [2]
    hidden = "(SELECT 1 FROM (SELECT id FROM ds) a WHERE ROW_ID(a) = 1)"
    with pytest.raises(dl.QueryTypeError, match="rows of a subquery have no ids"):
        ds.query(f"SELECT id FROM ds a WHERE EXISTS {hidden}")
