"""Random queries only ever raise our own errors."""

from __future__ import annotations

import random
import warnings
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from deeplake_lite.errors import LakeError, QuerySyntaxError
from deeplake_lite.query.bind.clauses import sets
from deeplake_lite.query.parse.parsing import parse

from .. import data
from ..case_files import FOLDER, load, values_of

QUERIES = [case.query for path in sorted(FOLDER.glob("*.sql")) for case in load(path)]
WORDS = """
    SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET ARRANGE SAMPLE EXPAND UNION ALL
    INTERSECT EXCEPT DISTINCT AS AND OR NOT IN LIKE BETWEEN IS NULL CASE WHEN THEN ELSE END
    CAST JOIN LEFT ON USING WITH OVER PARTITION VERSION REPLACE PERCENT SEED EXCLUDE ANY
    EXISTS ASC DESC NULLS FIRST dataset d owners id n text label image grid boxes emb meta vec
    tags "training/boxes" MEAN SUM COUNT IOU SHAPE NORMALIZE 0 1 -1 2.5 'cat' 'x' ? $a ( ) [ ]
    , . .. ... : :: ; * + - / // % ** ^ || = <> < <= > >= == ! @ # ~ & | { } -- /* */ \\ ` é 😀
    1e400 9999999999999999999999 0x1F ' "
""".split()  # noqa: SIM905 one per line is too many lines


def ask(text: str) -> None:
    """Run a query and read its results, if any."""
    ds = data.build()[:8]
    with suppress(LakeError), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # hints, such as the one at GLOB
        values_of(ds.query(text, sources={"owners": data.owners()}))


@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))
def test_random_words_raise_only_our_errors(text):
    ask(text)


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(lambda w: " ".join(["SELECT", *w])))
def test_random_words_after_select_raise_only_our_errors(text):
    ask(text)


@given(st.text(max_size=40))
def test_random_letters_raise_only_our_errors(text):
    ask(text)
    ask(f"SELECT {text}")


def mutated(text: str, rng: random.Random) -> str:
    """Return a query with words dropped, doubled, swapped, or replaced."""
    words = text.split()
    for _ in range(rng.randint(1, 3)):
        i = rng.randrange(len(words))
        match rng.randrange(5):
            case 0:
                del words[i]
            case 1:
                words.insert(i, rng.choice(words))
            case 2:
                j = rng.randrange(len(words))
                words[i], words[j] = words[j], words[i]
            case 3:
                words[i] = rng.choice(WORDS)
            case _:
                word = words[i]
                at = rng.randrange(len(word))
                words[i] = (
                    word[:at] + rng.choice("()[],.'\":;*0a ") + word[at + rng.randint(0, 1) :]
                )
        if not words:
            return ""
    return " ".join(words)


@pytest.mark.parametrize("seed", range(20))
def test_mutated_queries_raise_only_our_errors(seed):
    rng = random.Random(seed)
    for _ in range(15):
        ask(mutated(rng.choice(QUERIES), rng))


NESTED = {
    "parentheses": "SELECT " + "(" * 2_000 + "id" + ")" * 2_000,
    "a sum": "SELECT " + " + ".join(["id"] * 3_000) + " AS x LIMIT 1",
    "negations": "SELECT " + "NOT " * 2_000 + "flag",
    "alternatives": "SELECT id WHERE " + " OR ".join(f"id = {i}" for i in range(1_000)),
    "subscripts": "SELECT id" + "[0]" * 2_000,
    "subqueries": "SELECT * FROM " + "(SELECT * FROM " * 200 + "dataset" + ")" * 200,
    "a list": "SELECT id WHERE id IN (" + ", ".join(map(str, range(20_000))) + ")",
    "columns": "SELECT " + ", ".join(f"id + {i} AS x{i}" for i in range(500)),
}


@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED)
def test_deep_nesting_is_an_error_or_an_answer(text):
    ask(text)


def test_long_chains_are_answered():
    ds = data.build()[:8]
    for text in (
        " UNION ALL ".join(["SELECT id, grid"] * 60),
        " UNION ".join(["SELECT id, label"] * 60),
        "SELECT id WHERE " + " || ".join(["text"] * 200) + " = ''",
    ):
        values_of(ds.query(text))
    result = ds.query(" UNION ALL ".join(f"SELECT {n} AS n" for n in range(100)) + " ORDER BY n")
    assert len(result) == 100 * 8


@pytest.mark.parametrize("column", ["grid", "ragged", "image", "emb"])
@pytest.mark.parametrize("terms", [249, 251, 360, 700])
def test_expression_is_refused_where_python_could_not_compute_it(column, terms):
    ds = data.build()[:4]
    text = " + ".join([column] * terms)
    query = f"SELECT {text} AS x WHERE SUM({text}) <> 1"
    if terms < 250:
        values_of(ds.query(query))
        return
    with pytest.raises(QuerySyntaxError, match="nested more deeply"):
        ds.query(query)


def depth(tree: exp.Expr) -> int:
    """Return how deep set operations nest once chains are split."""
    if not isinstance(tree, exp.SetOperation):
        return 1
    return 1 + max(map(depth, sets._halves(tree)))


@pytest.mark.parametrize(
    "operation", ["UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"]
)
def test_chains_of_one_operation_do_not_nest(operation):
    assert depth(parse(f" {operation} ".join(["SELECT id"] * 200))) < 12
    ds = data.build()[:8]
    sign = "<>" if operation.startswith("INTERSECT") else "="
    parts = [f"SELECT id, grid FROM dataset WHERE id {sign} {n}" for n in range(2, 9)]
    result = ds.query(f" {operation} ".join(["SELECT id, grid", *parts]))
    expected = range(9) if operation == "UNION" else [0, 1]
    assert {*result["id"][:].tolist()} == {*expected} - {8}
