"""Translate DuckDB's error messages into messages that fit the query and suggest a fix."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.parse.duckdb_nodes import OUR_ERROR
from deeplake_lite.query.parse.parsing import TOO_DEEP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LONGEST = 2_000
"""Maximum length of a message, in characters. Of longer messages, the middle is left out."""

_DATE = (
    "A date must have the form 'YYYY-MM-DD', and a time the form 'YYYY-MM-DD HH:MM:SS', but the "
    "string is '{0}'."
)

_RULES: tuple[tuple[str, str], ...] = (
    (r"(?:timestamp|date|time) field value out of range: \"(.*?)\"", _DATE),
    (r"invalid (?:timestamp|date|time) field format: \"(.*?)\"", _DATE),
    (
        r"Could not parse string \"(.*?)\" according to format specifier \"(.*?)\"",
        (
            "The string '{0}' does not have the date format '{1}'. TRY_STRPTIME returns null for "
            "such strings."
        ),
    ),
    (
        r"JSON path error near '(.*?)'$",
        (
            'A JSON path must consist of keys and positions, such as $.key or $."a key"[0], but a '
            "path is invalid from '{0}' on. Subscripts support any key: meta['a key'][0]."
        ),
    ),
    (
        r"specifier \"(.*?)\" not recognized",
        (
            "There is no unit of time '{0}'. Use 'year', 'quarter', 'month', 'week', 'day', "
            "'hour', 'minute', 'second', 'millisecond' or 'microsecond'."
        ),
    ),
    (
        (
            r"(?:Failed to parse format specifier|Unrecognized format for strftime/strptime:?) "
            r"([^\s:]+)"
        ),
        ("A time format must consist of codes such as %Y, %m, %d, %H, %M and %S, but it is '{0}'."),
    ),
    (
        r"(?i)invalid type specifier \"(.*?)\"|invalid (?:format specifier|format string)",
        (
            "A format string does not match the type of a value. Use {{}} or %s for strings, %d "
            "for integers and %f for floats."
        ),
    ),
    (
        (
            r"^(missing [)\]].*|no argument for repetition operator.*|invalid escape sequence.*"
            r"|bad repetition operator.*|invalid perl operator.*|invalid character class.*"
            r"|unexpected \).*|invalid (?:repetition|named capture).*|trailing \\.*)"
        ),
        (
            "A pattern is not a valid regular expression: {0}. To match the characters of a "
            "string literally, use REGEXP_ESCAPE('…')."
        ),
    ),
    (
        r"Type with name (\S+) does not exist",
        (
            "There is no type {0}. Use a type of SQL or NumPy, such as INT, DOUBLE, TEXT, DATE, "
            "uint8 or float32."
        ),
    ),
    (
        (
            r"Could not convert Timestamp(?: to higher precision|\(\w+\) to Timestamp\(NS\))"
            r"|Type INT32 with value \d+-\d\d-\d\d(?: \(BC\))? can't be cast to .* INT64"
        ),
        (
            "Timestamps in nanoseconds cover the years 1677 to 2262, but a timestamp that is "
            "combined with them or converted to them is outside this range. CAST the nanoseconds "
            "AS TIMESTAMP, which has microseconds."
        ),
    ),
    (
        (
            r"Could not convert string '([+-]?\d+[-/ ]\d+[-/ ]\d+(?:[T ].*?)?)' to "
            r"(?:INT64|INT32|BIGINT|INTEGER)"
        ),
        (
            "The string '{0}' is not a time, or it is out of range for its unit. A date must be "
            "'YYYY-MM-DD', and a time 'YYYY-MM-DD HH:MM:SS'; nanoseconds cover the years 1677 to "
            "2262."
        ),
    ),
    (
        r"Could not convert string '(.*?)' to (\w+)",
        (
            "The string '{0}' cannot be converted to {1}. TRY_CAST(x AS {1}) returns null for such "
            "strings."
        ),
    ),
    (
        r"Type (\w+) with value (.*?) can't be cast",
        (
            "A value is out of range or cannot be converted: {1}, which is {0}. Use TRY_CAST or a "
            "wider type."
        ),
    ),
    (
        r"Unimplemented type for cast \((.*?) -> BOOLEAN\)",
        (
            "A condition must be true or false, but this condition has type {0}. Compare it with "
            "a value, or write x IS NOT NULL."
        ),
    ),
    (
        r"Unimplemented type for cast \((.*?) -> (.*?)\)",
        (
            "Values of type {0} cannot be converted to {1}. Use values of the same type, or a "
            "function that converts them."
        ),
    ),
    (
        r"'\+\((?:VARCHAR|STRING_LITERAL)\b.*?\)'|'\+\(.*?, (?:VARCHAR|STRING_LITERAL)\)'",
        "+ adds numbers. Write || to join strings, or CAST a string to a number.",
    ),
    (
        r"Window (?:ROWS|RANGE|GROUPS) (\w+) expression cannot be (?:NULL|negative)",
        (
            "The ends of a window's frame must be at a distance that is not null or negative, such "
            "as 2 {0}."
        ),
    ),
    (
        r"Argument index \"(\d+)\" out of range",
        (
            "A format string must refer only to values in the call, which are numbered from 0, "
            "but it refers to value {0}."
        ),
    ),
    (
        r"window expressions cannot be volatile",
        (
            "PARTITION BY and ORDER BY within OVER cannot call a function that checks the length "
            "of its result, such as REPEAT, REPLACE or RANGE. Call the function in a subquery: "
            "FROM (SELECT *, REPEAT(…) AS x FROM …)."
        ),
    ),
    (
        r"'(?:array_extract|struct_extract)\(MAP\(",
        "A map does not support this subscript. Use MAP_EXTRACT_VALUE(m, key).",
    ),
    (
        r"(?:given name and argument types|function call) ['\"](.*?)\((.*?)\)['\"]",
        "{0} does not take values of types {1}. CAST the values, or use another function.",
    ),
    (
        r"Cannot (?:compare|combine) (?:values|types) of types? (\S+) and (?:of )?(?:type )?(\S+)",
        "Values of types {0} and {1} cannot be compared. CAST one of the two values.",
    ),
    (
        r"Cannot (?:mix|combine) (?:values|types) of type (\S+) and (\S+)",
        "Values of types {0} and {1} cannot be in the same column or list. CAST one of the two.",
    ),
    (
        r"Cannot concatenate lists of types (\S+)\[\] and (\S+)\[\]",
        "Values of types {0} and {1} cannot be in the same column or list. CAST one of the two.",
    ),
    (
        r"inferred to be: - '(.*?)', from .*?- '(.*?)', which is incompatible",
        "Values of types {0} and {1} cannot be in the same column or list. CAST one of the two.",
    ),
    (
        r"(?i)collations are only supported for type",
        "COLLATE takes strings. CAST the value AS TEXT.",
    ),
    (
        r"(?i)max expression depth|maximum recursion depth|stack overflow",
        f"{TOO_DEEP}.",
    ),
    (
        r"(?i)out of memory|failed to allocate|could not allocate|failed to offload",
        "A query needs more memory than the limit. Select fewer rows or columns, or aggregate.",
    ),
    (
        r"(?i)more than one row returned by a subquery",
        (
            "A subquery that is used as a value must return one row, but it returns more. Add "
            "LIMIT 1, an aggregate or a condition, or use IN to compare with any of the rows."
        ),
    ),
    (
        r"(?i)overflow in ([\w ]+?)(?: of (\w+))?\b.*",
        "A number does not fit in 64 bits: overflow in {0}. CAST an operand AS DOUBLE.",
    ),
    (
        r"must appear in the GROUP BY clause",
        (
            "A column of a grouped query must be in GROUP BY or within an aggregate. Write "
            "LIST(x), FIRST(x) or another aggregate."
        ),
    ),
    (
        r"(?i)clause cannot contain (?:aggregate|window)|aggregate function calls cannot",
        (
            "GROUP BY, ON and WHERE are evaluated row by row, so they cannot contain aggregates or "
            "windows. Compute the aggregate or window in a subquery, FROM (SELECT …), or use "
            "HAVING."
        ),
    ),
    (
        r"window \"(.*?)\" does not exist",
        "There is no window {0}. Define the window with WINDOW {0} AS (…), or write OVER (…).",
    ),
    (
        r"(?i)UNNEST.*not supported here|nested UNNEST",
        (
            "UNNEST must be in the select list, at most once in each item. To use the values of "
            "UNNEST elsewhere, name them in a subquery: FROM (SELECT UNNEST(x) AS item FROM …) "
            "WHERE item > 0."
        ),
    ),
)
"""Pairs of a pattern that DuckDB's message matches, and the message that replaces it. In the
latter, {0} and {1} stand for the groups of the pattern."""

_OTHERWISE = {
    "Binder": "The operands have the wrong types. CAST the operands, or use another function.",
    "Parser": "This is not a valid SQL expression. Write it in another way.",
    "Out of Range": "A number is out of range here. Use smaller numbers, or TRY_CAST.",
    "Invalid Input": "A value is not valid here. Exclude rows with invalid values by a condition.",
    "Conversion": "A value cannot be converted. TRY_CAST(x AS …) returns null for such values.",
}
"""Maps the kinds of DuckDB's errors to the message for an error that matches no pattern."""

_KINDS = (
    "Binder", "Conversion", "Invalid Input", "Parser", "Catalog", "Out of Range", "INTERNAL",
    "Not implemented", "Mismatch Type", "Syntax",
)  # fmt: skip

_TYPES = {
    "VARCHAR": "TEXT", "STRING_LITERAL": "TEXT", "INTEGER_LITERAL": "INTEGER", "INT8": "TINYINT",
    "INT16": "SMALLINT", "INT32": "INTEGER", "INT64": "BIGINT", "INT128": "HUGEINT",
    "BOOL": "BOOLEAN",
}  # fmt: skip
"""Maps internal names of types in DuckDB's messages to their usual names."""

_FUNCTIONS = {
    "~~": "LIKE", "!~~": "NOT LIKE", "~~~": "GLOB", "~~*": "ILIKE", "!~~*": "NOT ILIKE",
    "like_escape": "LIKE … ESCAPE", "timezone": "AT TIME ZONE", "date_part": "EXTRACT",
    "list_value": "[…]", "array_extract": "A subscript", "array_slice": "A slice",
    "struct_extract": "A key",
}  # fmt: skip
"""Maps internal names of functions in DuckDB's messages to their usual names."""


def explain_error(error: BaseException) -> str:
    """Return a message that explains a DuckDB error to the user.

    >>> explain_error(RuntimeError("Catalog Error: Type with name foo does not exist!"))[:22]
    'There is no type foo. '
    >>> explain_error(RuntimeError("Conversion Error: something new"))[:28]
    'A value cannot be converted.'
    """
    text = reason_of(error)
    if text.startswith(OUR_ERROR):
        return shorten(text.removeprefix(OUR_ERROR))
    for pattern, meaning in _RULES:
        if match := re.search(pattern, text, re.DOTALL):
            groups = _with_usual_types(match.groups() or [match[0]])
            if meaning.startswith("{0} does not take"):
                groups[0] = _FUNCTIONS.get(match[1], match[1].upper())
            return shorten(meaning.format(*groups))
    kind = str(error).split(" Error: ")[0]
    return _OTHERWISE.get(kind, _OTHERWISE["Invalid Input"])


def explain_call(error: BaseException, node: exp.Expr) -> str | None:
    """Return a message that names the call that caused a DuckDB error, and gives DuckDB's reason.

    `node` is the SQL in which the error occurred. Returns None if it is not a call, or if
    `explain_error` has a specific message for the error.

    >>> node = exp.Anonymous(this="UNHEX", expressions=[exp.Literal.string("zz")])
    >>> explain_call(RuntimeError("Invalid Input Error: Invalid input for hex digit: z"), node)
    'UNHEX rejects its arguments: Invalid input for hex digit: z. Write other arguments.'
    """
    text, kind = reason_of(error), str(error).split(" Error: ")[0]
    call = node.this if isinstance(node, exp.Window | exp.Filter) else node
    while isinstance(call, exp.Paren | exp.Not):
        call = call.this
    is_call = isinstance(call, exp.Func | exp.Escape | exp.AtTimeZone)
    is_call = is_call and not isinstance(call, exp.Cast | exp.Case | exp.And | exp.Or)
    is_explained = any(re.search(pattern, text, re.DOTALL) for pattern, _ in _RULES)
    if text.startswith(OUR_ERROR) or is_explained or not is_call or kind not in _OF_VALUES:
        return None
    name = call.name if isinstance(call, exp.Anonymous) else _CALLS.get(call.key, call.key)
    way = "Write other arguments."
    # Parameters of lambdas have no table.
    if any(column.table for column in call.find_all(exp.Column)):
        way = "If values of some rows cause this, exclude these rows with a condition."
    reason = shorten(text).rstrip(".! ")
    return f"{_FUNCTIONS.get(name.lower(), name.upper())} rejects its arguments: {reason}. {way}"


_OF_VALUES = {"Conversion", "Invalid Input", "Not implemented", "Out of Range", "Syntax"}
"""The kinds of DuckDB errors that mean that a function does not accept a value."""

_CALLS = {"escape": "LIKE … ESCAPE", "attimezone": "AT TIME ZONE"}
"""Maps syntax nodes that are not written as calls to the words for them in messages."""


def shorten(message: str) -> str:
    """Return a message without its middle if it is long, since it may quote a long query or value.

    >>> len(shorten("x" * 100_000)) < 3_000
    True
    """
    half = LONGEST // 2
    return message if len(message) <= LONGEST else f"{message[:half]} … {message[-half:]}"


def reason_of(error: BaseException) -> str:
    """Return the message of a DuckDB error without the kind, the advice and the SQL in it."""
    text = re.split(r"\n+LINE|\n\t?Candidate|\n+Possible solutions|\n\* SET", str(error))[0]
    text = " ".join(text.split()).split(' Use "SET ')[0].split(" You might need to add")[0]
    for kind in _KINDS:
        text = text.removeprefix(f"{kind} Error: ")
    return text


def gist(complaint: str) -> str:
    """Return a message up to the first value in it.

    As a result, messages with the same cause but different values are equal.

    >>> gist("Could not convert string 'a' to INT32")
    'Could not convert string '
    """
    return re.split(r"['\"\d(]", complaint)[0]


def _with_usual_types(groups: Sequence[str | None]) -> list[str]:
    rename: Callable[[re.Match[str]], str] = lambda m: _TYPES.get(m[0], m[0])  # noqa: E731
    return [re.sub(r"\w+", rename, group or "") for group in groups]
