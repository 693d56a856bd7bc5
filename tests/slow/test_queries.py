"""100,000 generated and mutated queries: answers, or errors of ours, in bounded memory."""

from __future__ import annotations

import random
import re
import resource
import sys
import warnings

from deeplake_lite.errors import LakeError
from tests.query import data
from tests.query.case_files import values_of
from tests.query.test_fuzz import QUERIES, WORDS, mutated

MOST_GROWTH = 2 << 30
"""Bytes by which the process may grow."""


def generated(rng: random.Random) -> str:
    """Return words of the language in any order, most often after SELECT."""
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
    """Return a query of the same grammar about other columns, or with other numbers."""
    for _ in range(rng.randint(1, 2)):
        names = COLUMNS if rng.random() < 0.7 else LITERALS
        pattern = r"\b(" + "|".join(COLUMNS) + r")\b" if names is COLUMNS else r"\b\d+\b"
        if found := list(re.finditer(pattern, text)):
            chosen = rng.choice(found)
            text = text[: chosen.start()] + rng.choice(names) + text[chosen.end() :]
    return text


def made(rng: random.Random) -> str:
    """Return a query: words in any order, one with slips, or one about other columns."""
    match rng.randrange(4):
        case 0:
            return generated(rng)
        case 1:
            return mutated(rng.choice(QUERIES), rng)
    return varied(rng.choice(QUERIES), rng)


def peak() -> int:
    """Return the most memory that the process has held, bytes."""
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found if sys.platform == "darwin" else found * 1024


def test_only_our_errors_in_bounded_memory(trials):
    ds, owners = data.build()[:8], data.owners()
    before, answered, count, longest = peak(), 0, trials(100_000), 0
    for seed in range(count):
        text = made(random.Random(seed))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                values_of(ds.query(text, sources={"owners": owners}))
            answered += 1
        except LakeError as error:
            longest = max(longest, len(str(error)))
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {text!r} raises {error!r}") from error
    assert longest < 5_000
    assert peak() - before < MOST_GROWTH
    assert answered > count / 10
