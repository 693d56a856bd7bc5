"""Check that a query uses only syntax that is part of the query language.

The parser accepts the SQL of many databases. Without this check, syntax that the binder does not
handle would be silently ignored, such as ASOF in a join, or WITH TIES in LIMIT.
"""

from __future__ import annotations

from sqlglot import exp

from deeplake_lite.errors import QueryError
from deeplake_lite.query.bind.places import locate_errors
from deeplake_lite.query.parse.added_nodes import CLAUSES, UNGROUP, USING_INDEX
from deeplake_lite.query.parse.dialect import text_of

_OPERANDS = frozenset({"this", "expression", "expressions"})
"""Parts that a node may have if `PARTS` does not list the node."""

_SET = frozenset(
    {"this", "expression", "distinct", "with_", "order", "limit", "offset", UNGROUP, CLAUSES}
)

PARTS: dict[str, frozenset[str]] = {
    "alias": frozenset({"this", "alias"}),
    "array": frozenset({"expressions", "value_constructor"}),  # ARRAY(SELECT …)
    "attimezone": frozenset({"this", "zone"}),
    "between": frozenset({"this", "low", "high"}),
    "case": frozenset({"this", "ifs", "default"}),
    "cast": frozenset({"this", "to"}),
    "column": frozenset({"this", "table", "db", "catalog"}),
    "concat": frozenset({"expressions", "coalesce", "safe"}),
    "cte": frozenset({"this", "alias", "materialized"}),  # MATERIALIZED does not change results
    "datatype": frozenset({"this", "kind", "expressions", "nested", "values"}),
    "distinct": frozenset({"expressions", "on"}),
    "dpipe": frozenset({"this", "expression", "safe"}),
    "except": _SET,
    "expand": frozenset({"before", "after"}),
    "fetch": frozenset({"count", "direction", "limit_options"}),
    "group": frozenset({"expressions", "all"}),
    "identifier": frozenset({"this", "quoted"}),
    "if": frozenset({"this", "true", "false"}),
    "ilike": frozenset({"this", "expression", "negate"}),
    "in": frozenset({"this", "expressions", "query", "field"}),
    "intersect": _SET,
    "interval": frozenset({"this", "unit", "fraction_in_string"}),
    "join": frozenset({"this", "kind", "method", "side", "on", "using"}),
    "like": frozenset({"this", "expression", "negate"}),
    "limit": frozenset({"expression", "limit_options"}),
    "limitoptions": frozenset({"percent", "rows"}),
    "literal": frozenset({"this", "is_string"}),
    "offset": frozenset({"expression"}),
    "ordered": frozenset({"this", "desc", "nulls_first"}),
    "sample": frozenset({"this", "limit", "percent", "replace", "seed"}),
    "select": frozenset(
        {
            "with_", "expressions", "distinct", "from_", "joins", "where", "group", "having",
            "qualify", "windows", "order", "limit", "offset", UNGROUP, USING_INDEX, CLAUSES,
        }
    ),
    "slice": frozenset({"this", "expression", "step"}),
    "star": frozenset({"except_", "replace", "rename"}),
    "strposition": frozenset({"this", "substr", "position"}),
    "subquery": frozenset(
        {"this", "alias", "with_", "order", "limit", "offset", "joins", UNGROUP, CLAUSES}
    ),
    "substring": frozenset({"this", "start", "length"}),
    "table": frozenset({"this", "alias", "db", "catalog", "version", "joins"}),
    "tablealias": frozenset({"this", "columns"}),
    "trim": frozenset({"this", "expression", "position"}),
    "trycast": frozenset({"this", "to", "safe"}),
    "union": _SET,
    "unnest": frozenset({"expressions", "alias"}),
    "window": frozenset({"this", "alias", "over", "order", "partition_by", "spec"}),
    "windowspec": frozenset(
        {"kind", "start", "start_side", "end", "end_side", "exclude"}
    ),
    "with": frozenset({"expressions", "recursive"}),
}  # fmt: skip
"""Maps the keys of nodes that may have more parts than operands to the parts that they may have."""

_WORDS = {
    ("limit", "expressions"): "LIMIT BY", ("limit", "this"): "LIMIT within a call",
    ("select", "locks"): "FOR UPDATE", ("select", "laterals"): "LATERAL VIEW",
    ("subquery", "pivots"): "PIVOT", ("table", "pivots"): "PIVOT",
}  # fmt: skip
"""Maps a node and a part of the node, as the parser names them, to the SQL keyword."""


def check_parts(tree: exp.Query, text: str) -> None:
    """Check that a query uses only syntax that is part of the query language.

    Raises
    ------
    QueryError
        If the query uses other syntax. The error has the position of this syntax in the text.
    """
    for node in tree.walk():
        allowed = PARTS.get(node.key, _OPERANDS)
        for name, part in node.args.items():
            if part and name not in allowed:
                first = part[0] if isinstance(part, list) else part
                with (
                    locate_errors(text, node),
                    locate_errors(text, first if isinstance(first, exp.Expr) else None),
                ):
                    raise _unsupported(name, node)
        with locate_errors(text, node):
            if isinstance(node, exp.Join):
                _check_join(node)


def _check_join(join: exp.Join) -> None:
    method, kind, side = (str(join.args.get(k) or "").upper() for k in ("method", "kind", "side"))
    if method not in ("", "NATURAL"):
        raise _unsupported(f"{method} JOIN", join)
    if kind not in ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI"):
        raise _unsupported(f"{kind} JOIN", join)
    is_tested = any(join.args.get(name) for name in ("on", "using")) or method == "NATURAL"
    if not is_tested and (side or kind in ("INNER", "OUTER", "SEMI", "ANTI")):
        raise QueryError(
            "A join must have a condition, ON … or USING (…), but the query contains "
            f"{text_of(join).strip()}. Use CROSS JOIN for all pairs of rows."
        )


def _unsupported(name: str, node: exp.Expr) -> QueryError:
    if name == "sample":
        return QueryError(
            "USING SAMPLE and TABLESAMPLE are not part of the language. Write SAMPLE BY 1 LIMIT "
            "10, or SAMPLE BY 1 LIMIT 50 PERCENT, at the end of the query."
        )
    if isinstance(node, exp.ColumnDef):
        return QueryError(
            "The type in CAST must be a simple type or a list type, such as TIMESTAMP or INT[], "
            f"but it contains {text_of(node).strip()}. CAST each part of the struct: "
            "{'a': CAST(x.a AS TIMESTAMP)}."
        )
    words = _WORDS.get((node.key, name)) or name.strip("_").replace("_", " ").upper()
    return QueryError(f"{words} is not part of the language: {text_of(node).strip()}.")
