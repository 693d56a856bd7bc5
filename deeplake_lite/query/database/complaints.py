"""What DuckDB says of a query, in words of the language, with the way out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deeplake_lite.query.parse.parsing import TOO_DEEP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LONGEST = 2_000
"""Characters of an error's message, beyond which its middle is left out."""

_DATE = "A date is written 'YYYY-MM-DD' and a time 'YYYY-MM-DD HH:MM:SS', but it is '{0}'."


_RULES: tuple[tuple[str, str], ...] = (
    (r"(?:timestamp|date|time) field value out of range: \"(.*?)\"", _DATE),
    (r"invalid (?:timestamp|date|time) field format: \"(.*?)\"", _DATE),
    (
        r"Could not parse string \"(.*?)\" according to format specifier \"(.*?)\"",
        ("The text '{0}' is no date in the format '{1}'. TRY_STRPTIME gives null for such texts."),
    ),
    (
        r"specifier \"(.*?)\" not recognized",
        (
            "There is no unit of time '{0}'. Units are 'year', 'quarter', 'month', 'week', 'day', "
            "'hour', 'minute', 'second', 'millisecond' and 'microsecond'."
        ),
    ),
    (
        (
            r"(?:Failed to parse format specifier|Unrecognized format for strftime/strptime:?) "
            r"([^\s:]+)"
        ),
        "A format of times has codes such as %Y, %m, %d, %H, %M and %S, but it is '{0}'.",
    ),
    (
        r"(?i)invalid type specifier \"(.*?)\"|invalid (?:format specifier|format string)",
        (
            "A format does not go with a value that it takes: write {{}} or %s for texts, %d for "
            "whole numbers and %f for fractions."
        ),
    ),
    (
        (
            r"^(missing [)\]].*|no argument for repetition operator.*|invalid escape sequence.*"
            r"|bad repetition operator.*|invalid perl operator.*|invalid character class.*"
            r"|unexpected \).*|invalid (?:repetition|named capture).*|trailing \\.*)"
        ),
        "A pattern is no regular expression: {0}. REGEXP_ESCAPE('…') takes its signs as they are.",
    ),
    (
        r"Type with name (\S+) does not exist",
        (
            "There is no type {0}. Types are those of SQL and of NumPy, such as INT, DOUBLE, TEXT, "
            "DATE, uint8 or float32."
        ),
    ),
    (
        r"Could not convert string '(.*?)' to (\w+)",
        "The text '{0}' cannot be converted to {1}. TRY_CAST(x AS {1}) gives null for such texts.",
    ),
    (
        r"Type (\w+) with value (.*?) can't be cast",
        "A value is out of range, or does not convert: {1} is {0}. Use TRY_CAST, or a wider type.",
    ),
    (
        r"Unimplemented type for cast \((.*?) -> BOOLEAN\)",
        (
            "A condition is true or false, but this is of type {0}. Compare it with a value, or "
            "write x IS NOT NULL."
        ),
    ),
    (
        r"Unimplemented type for cast \((.*?) -> (.*?)\)",
        (
            "Values of type {0} cannot be converted to {1}. Use values of one type, or a function "
            "that makes one of the other."
        ),
    ),
    (
        r"'\+\((?:VARCHAR|STRING_LITERAL)\b.*?\)'|'\+\(.*?, (?:VARCHAR|STRING_LITERAL)\)'",
        "+ adds numbers. Write || to join texts, or CAST a text that is a number.",
    ),
    (
        r"window expressions cannot be volatile",
        (
            "PARTITION BY and ORDER BY within OVER take no function that checks the length of its "
            "result, such as REPEAT, REPLACE or RANGE. Compute it in a query within: FROM (SELECT "
            "*, REPEAT(…) AS x FROM …)."
        ),
    ),
    (
        r"'(?:array_extract|struct_extract)\(MAP\(",
        "A map has values by their keys in a function: MAP_EXTRACT_VALUE(m, key).",
    ),
    (
        r"(?:given name and argument types|function call) ['\"](.*?)\((.*?)\)['\"]",
        "{0} does not take values of types {1}. CAST them, or use another function.",
    ),
    (
        r"Cannot (?:compare|combine) (?:values|types) of types? (\S+) and (?:of )?(?:type )?(\S+)",
        "Values of types {0} and {1} do not compare. CAST one of them.",
    ),
    (
        r"Cannot (?:mix|combine) (?:values|types) of type (\S+) and (\S+)",
        "Values of types {0} and {1} do not go into one column or list. CAST one of them.",
    ),
    (
        r"inferred to be: - '(.*?)', from .*?- '(.*?)', which is incompatible",
        "Values of types {0} and {1} do not go into one column or list. CAST one of them.",
    ),
    (
        r"(?i)collations are only supported for type",
        "COLLATE takes texts. CAST the value AS TEXT.",
    ),
    (
        r"(?i)max expression depth|maximum recursion depth|stack overflow",
        f"{TOO_DEEP}.",
    ),
    (
        r"(?i)out of memory|failed to allocate|could not allocate|failed to offload",
        "A query needs more memory than it may take. Select fewer rows or columns, or aggregate.",
    ),
    (
        r"(?i)more than one row returned by a subquery",
        (
            "A query in place of a value gives one row. More than one row was returned: add LIMIT "
            "1, an aggregate or a condition, or write IN for any of them."
        ),
    ),
    (
        r"(?i)overflow in ([\w ]+?)(?: of (\w+))?\b.*",
        "A number is beyond 64 bits: overflow in {0}. CAST an operand AS DOUBLE.",
    ),
    (
        r"must appear in the GROUP BY clause",
        (
            "A column of a grouped query is grouped, or within an aggregate: write LIST(x), "
            "FIRST(x) or another one."
        ),
    ),
    (
        r"(?i)clause cannot contain (?:aggregate|window)|aggregate function calls cannot",
        (
            "GROUP BY, ON and WHERE look at one row, and aggregates and windows at many. Compute "
            "those in a query within: FROM (SELECT …), or write HAVING."
        ),
    ),
    (
        r"window \"(.*?)\" does not exist",
        "There is no window {0}. Name it: WINDOW {0} AS (…), or write OVER (…).",
    ),
    (
        r"(?i)UNNEST.*not supported here|nested UNNEST",
        (
            "UNNEST stands in the select list, once within an item. Name it in a query within to "
            "use its values elsewhere: FROM (SELECT UNNEST(x) AS item FROM …) WHERE item > 0."
        ),
    ),
    (
        (
            r"A query (?:makes values of at most|computes values of 2,048) .*"
            r"|A column of integers and floats holds .*"
            r"|SQL computes with (?:durations in whole|JSON in) .*"
        ),
        "{0}",
    ),
)
"""What DuckDB says, and what is said instead of it; groups are what it names."""

_OTHERWISE = {
    "Binder": "This does not take what it is given. CAST its operands, or use another function.",
    "Parser": "This is no expression that SQL knows. Write it in another way.",
    "Out of Range": "A number is out of the range that this takes. Use smaller ones, or TRY_CAST.",
    "Invalid Input": "A value is none that this takes. Leave such rows out by a condition.",
    "Conversion": "A value does not convert. TRY_CAST(x AS …) gives null for such values.",
}
"""What is said of anything else, by the kind of DuckDB's error."""

_KINDS = (
    "Binder", "Conversion", "Invalid Input", "Parser", "Catalog", "Out of Range", "INTERNAL",
    "Not implemented", "Mismatch Type", "Syntax",
)  # fmt: skip

_TYPES = {
    "VARCHAR": "TEXT", "STRING_LITERAL": "TEXT", "INTEGER_LITERAL": "INTEGER", "INT8": "TINYINT",
    "INT16": "SMALLINT", "INT32": "INTEGER", "INT64": "BIGINT", "INT128": "HUGEINT",
    "BOOL": "BOOLEAN",
}  # fmt: skip
"""Names of types that users do not write."""

_FUNCTIONS = {
    "~~": "LIKE", "!~~": "NOT LIKE", "~~~": "GLOB", "~~*": "ILIKE", "!~~*": "NOT ILIKE",
    "like_escape": "LIKE … ESCAPE", "timezone": "AT TIME ZONE", "date_part": "EXTRACT",
    "list_value": "[…]", "array_extract": "A subscript", "array_slice": "A slice",
    "struct_extract": "A key",
}  # fmt: skip
"""Names of functions that users do not write."""


def explained(error: BaseException) -> str:
    """Return what an error of DuckDB's means.

    >>> explained(RuntimeError("Catalog Error: Type with name foo does not exist!"))[:22]
    'There is no type foo. '
    >>> explained(RuntimeError("Conversion Error: something new"))[:26]
    'A value does not convert. '
    """
    text = bare(error)
    for pattern, meaning in _RULES:
        if found := re.search(pattern, text, re.DOTALL):
            groups = _in_words(found.groups() or [found[0]])
            if meaning.startswith("{0} does not take"):
                groups[0] = _FUNCTIONS.get(found[1], found[1].upper())
            return shortened(meaning.format(*groups))
    kind = str(error).split(" Error: ")[0]
    return _OTHERWISE.get(kind, _OTHERWISE["Invalid Input"])


def shortened(message: str) -> str:
    """Return a message without its middle where it echoes much of a query or of a value.

    >>> len(shortened("x" * 100_000)) < 3_000
    True
    """
    half = LONGEST // 2
    return message if len(message) <= LONGEST else f"{message[:half]} … {message[-half:]}"


def bare(error: BaseException) -> str:
    """Return what DuckDB says, without its kind, its advice, and its place in what DuckDB runs."""
    text = re.split(r"\n+LINE|\n\t?Candidate|\n+Possible solutions|\n\* SET", str(error))[0]
    text = " ".join(text.split()).split(' Use "SET ')[0].split(" You might need to add")[0]
    for kind in _KINDS:
        text = text.removeprefix(f"{kind} Error: ")
    return text


def gist(complaint: str) -> str:
    """Return a complaint up to the first value that it names.

    >>> gist("Could not convert string 'a' to INT32")
    'Could not convert string '
    """
    return re.split(r"['\"\d(]", complaint)[0]


def _in_words(groups: Sequence[str | None]) -> list[str]:
    named: Callable[[re.Match[str]], str] = lambda m: _TYPES.get(m[0], m[0])  # noqa: E731
    return [re.sub(r"\w+", named, group or "") for group in groups]
