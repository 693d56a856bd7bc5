"""Every query in cases/, compared with DuckDB on a plain table and with NumPy."""

from __future__ import annotations

import pytest

from ..case_files import FOLDER, check, load

CASES = [(path.stem, case) for path in sorted(FOLDER.glob("*.sql")) for case in load(path)]


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{f}: {c.name}") for f, c in CASES])
def test_query_gives_the_answer_of_its_file(case):
    check(case)


def test_there_are_300_queries_with_unique_names():
    assert len(CASES) >= 300
    assert len({(file, case.name) for file, case in CASES}) == len(CASES)
