"""A query that stands for one tensor: it is run first, and its value is a constant of the rest."""

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
    """Return the first column's value in the one row of a plan's result, None for no row.

    Raises
    ------
    QueryError
        For several rows.
    """
    table = execute.run(plan).table
    if len(table) > 1:
        raise QueryError(
            f"A query in place of a value gives one row, got {len(table)} from ({plan.text}). "
            "Choose one by WHERE, or by ORDER BY … LIMIT 1."
        )
    output, plain = plan.outputs[0], plan.outputs[0].plain
    if not len(table):
        return None
    if plain is not None:
        rows = {"row": from_arrow(table[plain.row.name])}
        tree = Cell("row", plain.source, plain.field, plain.source.type_of(plain.field))
        found = evaluate(tree, rows, 1)[0]
    else:
        assert output.tensor is not None
        env = {key: from_arrow(table[node.name]) for key, node in output.tensor.env.items()}
        found = evaluate(output.tensor.tree, env, 1)[0]
    return None if np.ma.is_masked(found) else found
