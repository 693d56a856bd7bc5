"""Grammar details that no other query test covers."""

from __future__ import annotations

import pytest

from deeplake_lite.errors import MissingPackageError
from deeplake_lite.query.parse.added_nodes import Ellipsis, check_extensible
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.parsing import parse


def test_sqlglot_build_that_rejects_our_nodes_is_refused():
    def compiled() -> None:
        raise TypeError("interpreted classes cannot inherit from compiled")

    with pytest.raises(MissingPackageError, match="pip uninstall sqlglotc"):
        check_extensible(compiled)
    check_extensible(Ellipsis)


@pytest.mark.parametrize(
    "text",
    [
        "v[::-1]", "v[0::2]", "v[::2]", "v[1:]", "v[:2]", "v[1:3:2]", "v[:-1:2]", "v[:, ::2]",
        "v[..., ::-1]", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY id)",
        "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY id DESC)",
        "QUANTILE_CONT(0.5) WITHIN GROUP (ORDER BY id)", "MODE() WITHIN GROUP (ORDER BY id)",
        "STRING_AGG(t, ',') WITHIN GROUP (ORDER BY id)", "LIST(id ORDER BY id DESC)",
        "SUM(id) OVER (PARTITION BY t ORDER BY id)", "SUM(id) FILTER(WHERE id > 1)",
        "CASE WHEN id > 1 THEN 2 END", "CAST(id AS DOUBLE)", "id // 2", "id % 2", "NOT id = 1",
        "id IS NULL", "id IN (1, 2)", "id BETWEEN 1 AND 2", "t LIKE 'a%'", "{'a': id}", "[id, 2]",
    ],
)  # fmt: skip
def test_default_name_is_an_expression_that_can_be_written_again(text):
    name = text_of(parse(f"SELECT {text}").selects[0])
    assert name == text
    assert text_of(parse(f"SELECT {name}").selects[0]) == name
