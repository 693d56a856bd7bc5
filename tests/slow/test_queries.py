"""100,000 generated and mutated queries give answers or our errors, in bounded memory."""

from __future__ import annotations

import random
import re
import resource
import sys
import time
import warnings

import duckdb

from deeplake_lite.errors import LakeError
from deeplake_lite.query.database.duckdb_errors import reason_of
from tests.query import data
from tests.query.case_files import values_of
from tests.query.language.test_fuzz import QUERIES, WORDS, mutated
from tests.query.types import test_functions_of_types as table

MAX_GROWTH = 1 << 30
"""Bytes by which the process may grow after the first queries."""

WARM = 200
"""Queries that run before memory is measured."""

CELLS = 20_000
"""Cells to draw from the table of functions and types, which has 119,000."""

REFUSAL = re.compile(
    r"\S[^:]* rejects its arguments: .+\. (Write other arguments|If values of some rows cause "
    r"this, exclude these rows with a condition)\. Line \d+, column \d+:\n(.|\n)*\^"
)
"""The form of messages that quote why a function rejects its arguments."""

SHORT = 20
"""Characters of an engine's message that ours may contain by chance."""


def generated(rng: random.Random) -> str:
    """Return words of the language in any order, usually after SELECT."""
    words = rng.choices(WORDS, k=rng.randint(1, 20))
    return " ".join(words if rng.random() < 0.2 else ["SELECT", *words])


COLUMNS = [name for name in data.SCHEMA if name.isidentifier()]
LITERALS = [
    "0",
    "1",
    "-1",
    "2.5",
    "1e400",
    "9999999999999999999999",
    "NULL",
    "'cat'",
    "'x'",
    "TRUE",
]


def varied(text: str, rng: random.Random) -> str:
    """Return a query of the same grammar with different columns or numbers."""
    for _ in range(rng.randint(1, 2)):
        names = COLUMNS if rng.random() < 0.7 else LITERALS
        pattern = r"\b(" + "|".join(COLUMNS) + r")\b" if names is COLUMNS else r"\b\d+\b"
        if result := list(re.finditer(pattern, text)):
            chosen = rng.choice(result)
            text = text[: chosen.start()] + rng.choice(names) + text[chosen.end() :]
    return text


OPERATORS = (" + ", " - ", " * ", " / ", " || ", " AND ", " OR ", " = ", " < ", ", ")


def chained(rng: random.Random) -> str:
    """Return a query with a chain of operators or calls, up to twice as deep as allowed."""
    length, column = rng.choice([2, 10, 100, 240, 260, 500]), rng.choice(COLUMNS)
    if rng.random() < 0.3:
        name = rng.choice(["NORMALIZE", "ABS", "FLATTEN", "TRANSPOSE", "-", "NOT "])
        return f"SELECT {f'{name}(' * length}{column}{')' * length} AS x"
    terms = [rng.choice([column, column, *LITERALS]) for _ in range(length)]
    chain = rng.choice(OPERATORS).join(terms)
    return rng.choice(["SELECT ", "SELECT id WHERE ", "SELECT id ORDER BY "]) + chain


CHAINS = 0.005
"""The share of queries that are chains, which take longer than others."""


def made(rng: random.Random) -> str:
    """Return a query: random words, a mutated one, one with other columns, or a chain."""
    if rng.random() < CHAINS:
        return chained(rng)
    match rng.randrange(4):
        case 0:
            return generated(rng)
        case 1:
            return mutated(rng.choice(QUERIES), rng)
    return varied(rng.choice(QUERIES), rng)


def peak() -> int:
    """Return the peak memory of the process, bytes."""
    result = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return result if sys.platform == "darwin" else result * 1024


def ask(ds, owners, text: str) -> LakeError | None:
    """Run a query and read its whole answer; return our error, if there is one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            values_of(ds.query(text, sources={"owners": owners}))
    except LakeError as error:
        return error
    return None


def echoes_engine(error: LakeError) -> bool:
    """Tell whether a message repeats DuckDB's, except for a quoted reason.

    Such a message names the function, the alternative and the position, as `REFUSAL` says.
    """
    cause = error.__cause__
    if not isinstance(cause, duckdb.Error | RuntimeError):
        return False
    raw, text = reason_of(cause), str(error)
    if REFUSAL.match(text):
        text = text.replace(raw.rstrip(".! "), "", 1)
    return len(raw) > SHORT and raw in text


def test_only_our_errors_in_bounded_memory(trials):
    ds, owners = data.build()[:8], data.owners()
    count, answered, longest, wrong = trials(100_000), 0, 0, []
    for seed in range(min(count, WARM)):
        ask(ds, owners, random.Random(seed).choice(QUERIES))
    before, started = peak(), time.perf_counter()
    for seed in range(count):
        text = made(random.Random(seed))
        try:
            error = ask(ds, owners, text)
        except BaseException as foreign:
            wrong.append(f"seed {seed}: {text!r} raises {foreign!r:.300}")
            continue
        answered += error is None
        longest = max(longest, 0 if error is None else len(str(error)))
        if error is not None and echoes_engine(error):
            wrong.append(f"seed {seed}: {text!r} says {str(error)!r:.300}")
    grown, seconds = peak() - before, time.perf_counter() - started
    result = f"{count} queries, {answered} answered, {count / seconds:.0f} a second"
    print(f"{result}, {grown >> 20} MiB more than before")  # noqa: T201 - the figures to publish
    assert wrong[:20] == []
    assert longest < 5_000
    assert grown < MAX_GROWTH
    assert answered > count / 10


def test_every_function_with_every_type_gives_an_answer_or_our_error(trials):
    cells = list(table.whole_table())
    chosen = random.Random(0).sample(cells, min(len(cells), trials(CELLS)))
    answered = sum(table.check(query, name) for query, name in chosen)
    print(f"{len(chosen)} cells, {answered} answered")  # noqa: T201 - the figures to publish
    assert answered >= len(chosen) // 100  # most functions are meaningless for most types
