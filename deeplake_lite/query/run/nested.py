"""Run a subquery that returns one tensor, which becomes a constant in the outer query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import QueryError
from deeplake_lite.query.database.convert import from_arrow
from deeplake_lite.query.run import execute
from deeplake_lite.query.tensors.evaluate import evaluate
from deeplake_lite.query.values import Cell

if TYPE_CHECKING:
    from deeplake_lite.query.plan import Plan


def only_value(plan: Plan) -> Any:
    """Run a plan, and return the value of the only row in the first column.

    Returns None if the result has no row.

    Raises
    ------
    QueryError
        If the result has several rows.
    """
    table = execute.run(plan).table
    if len(table) > 1:
        raise QueryError(
            f"A subquery that is used as a value must return one row, but ({plan.text}) returns "
            f"{len(table)} rows. Select one row with WHERE, or with ORDER BY … LIMIT 1."
        )
    output, plain = plan.outputs[0], plan.outputs[0].plain
    if not len(table):
        return None
    if plain is not None:
        rows = {"row": from_arrow(table[plain.row.name])}
        tree = Cell("row", plain.source, plain.field, plain.source.type_of(plain.field))
        value = evaluate(tree, rows, 1)[0]
    else:
        assert output.tensor is not None
        env = {key: from_arrow(table[node.name]) for key, node in output.tensor.env.items()}
        value = evaluate(output.tensor.tree, env, 1)[0]
    return None if np.ma.is_masked(value) else value
