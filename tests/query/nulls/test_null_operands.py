"""AND and OR of tensors are entirely null in rows in which an operand is null."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.tensors import spans

COLUMNS = {
    "fixed": dl.Array("int32", (2,), nullable=True),
    "varying": dl.Array("int32", (None,), nullable=True),
    "listed": dl.Sequence(dl.Scalar("int32"), nullable=True),
    "nulls": dl.Sequence(dl.Scalar("int32", nullable=True), nullable=True),
}
SCALARS = [1, 2, None]


@pytest.fixture(scope="module", params=[spans.SMALL_BYTES, -1], ids=["many", "one by one"])
def ds(request) -> Any:
    patch = pytest.MonkeyPatch()
    patch.setattr(spans, "SMALL_BYTES", request.param)
    schema = {"id": "int64", "k": dl.Scalar("int32", nullable=True), **COLUMNS}
    ds = dl.create("memory://null-operands", schema, overwrite=True)
    cells = [cell for cell in ([1, 2], None, [1, 1]) for _ in SCALARS]
    ds.append({"id": range(9), "k": SCALARS * 3, **dict.fromkeys(COLUMNS, cells)})
    ds.commit("rows")
    yield ds
    patch.undo()


def expected(apply: Any, *, constant: Any = "k") -> list[Any]:
    out = []
    for cell in ([1, 2], None, [1, 1]):
        for scalar in SCALARS:
            side = scalar == 1 if constant == "k" else constant
            is_null = cell is None or (scalar if constant == "k" else constant) is None
            out.append(None if is_null else apply(np.equal(cell, 1), side).tolist())
    return out


def plain(values: Any) -> list[Any]:
    rows = values if isinstance(values, list) else list(values)
    return [None if v is None or np.ma.is_masked(v) else np.asarray(v).tolist() for v in rows]


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(
    ("word", "apply"), [("AND", np.logical_and), ("OR", np.logical_or)], ids=["and", "or"]
)
def test_null_operand_makes_the_result_null(ds, name, word, apply):
    for text, constant in ((f"k = 1 {word} {name} = 1", "k"), (f"({name} = 1) {word} k = 1", "k"),
                           (f"{name} = 1 {word} NULL", None), (f"NULL {word} {name} = 1", None),
                           (f"{name} = 1 {word} FALSE", False)):  # fmt: skip
        wanted = expected(apply, constant=constant)
        view = ds.query(f"SELECT {text} AS r, ANY({text}) AS any, ALL({text}) AS all, "
                        f"HASH({text}) AS hash")  # fmt: skip
        assert plain(view["r"][:]) == wanted, text
        for column, reduce in (("any", any), ("all", all)):
            truths = [None if row is None else reduce(row) for row in wanted]
            assert view[column][:].tolist() == truths, text
        assert [h is None for h in view["hash"][:].tolist()] == [row is None for row in wanted]


@pytest.mark.parametrize("name", COLUMNS)
def test_null_rows_are_one_group(ds, name):
    view = ds.query(f"SELECT DISTINCT {name} = 1 AND k = 1 AS r")
    rows = plain(view["r"][:])
    assert len(rows) == 4
    assert rows.count(None) == 1
