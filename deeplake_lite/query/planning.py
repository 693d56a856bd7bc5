"""Planning a query: parse the text, and bind its names to sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite.errors import QuerySyntaxError
from deeplake_lite.query.bind import Binder, Params
from deeplake_lite.query.parse.grammar import check_parts
from deeplake_lite.query.parse.parsing import TOO_DEEP, parse
from deeplake_lite.query.run.nested import only_value
from deeplake_lite.query.values import depth

if TYPE_CHECKING:
    from deeplake_lite.dataset.saved.question import Question
    from deeplake_lite.query.plan import Plan
    from deeplake_lite.query.run.opening import Sources

MAX_DEPTH = 250
"""Maximum nesting depth of function calls. Each level takes up to three of Python's 1,000 stack
frames, and the caller has already used some of them."""


def plan_question(question: Question, sources: Sources) -> Plan:
    """Return the plan of a query. Subqueries that return a tensor are run."""
    tree = parse(question.text)
    check_parts(tree, question.text)
    params = Params(question.params, tree)
    try:
        binder = Binder(
            question.text,
            sources,
            params,
            sources.default,
            question.seed,
            question.moment,
            run_subquery=only_value,
        )
        plan = binder.plan(tree)
    except RecursionError:
        raise QuerySyntaxError.at(question.text, 1, 1, TOO_DEEP) from None
    if any(depth(of) > MAX_DEPTH for of in plan.trees()):
        raise QuerySyntaxError.at(question.text, 1, 1, TOO_DEEP)
    return plan
