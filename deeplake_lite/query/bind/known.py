"""Names of functions of scalars: which are aggregates, what they give, which DuckDB has."""

from __future__ import annotations

from functools import cache

import duckdb

NAMES = {
    "MEAN": "AVG", "STD": "STDDEV_SAMP", "STDDEV": "STDDEV_SAMP", "VAR": "VAR_SAMP",
    "VARIANCE": "VAR_SAMP", "PROD": "PRODUCT", "LOG": "LN",
}  # fmt: skip
"""Names that differ from DuckDB's, of functions of scalars."""

AGGREGATES = {
    "COUNT", "SUM", "AVG", "MEAN", "MIN", "MAX", "STD", "STDDEV", "VAR", "VARIANCE", "MEDIAN",
    "PROD", "PRODUCT", "FIRST", "LAST", "ANY_VALUE", "LIST", "ARRAY_AGG", "QUANTILE",
    "QUANTILE_CONT", "QUANTILE_DISC", "MODE", "STRING_AGG", "ARG_MIN", "ARG_MAX", "MIN_BY",
    "MAX_BY", "BOOL_AND", "BOOL_OR", "APPROX_COUNT_DISTINCT", "STDDEV_POP", "STDDEV_SAMP",
    "VAR_POP", "VAR_SAMP", "CORR", "COVAR_POP", "COVAR_SAMP", "HISTOGRAM", "ENTROPY", "KURTOSIS",
    "SKEWNESS", "COUNT_IF", "SUM_IF", "BIT_AND", "BIT_OR", "BIT_XOR", "GROUP_CONCAT", "LISTAGG",
    "APPROX_QUANTILE", "FAVG", "FSUM", "MAD", "GROUPING",
}  # fmt: skip
"""Functions of many rows."""

ROWWISE = {
    "SUM", "AVG", "MEAN", "MIN", "MAX", "STD", "STDDEV", "VAR", "VARIANCE", "MEDIAN", "PROD",
}  # fmt: skip
"""Aggregates that reduce a row's tensor, and go elementwise where there is GROUP BY."""

ELEMENTWISE = {"AVG": "MEAN", "STDDEV": "STD", "VARIANCE": "VAR"}

LISTS = {"LIST", "ARRAY_AGG"}
"""Aggregates that give all values of a group."""

BY_ANOTHER = {"ARG_MIN", "ARG_MAX", "MIN_BY", "MAX_BY"}
"""Aggregates that take one row's value, by another value."""

WINDOWS = {"LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"}
"""Functions that OVER alone makes sense of."""

PICKS = {"FIRST", "LAST", "ANY_VALUE"} | BY_ANOTHER | WINDOWS
"""Functions that take the value of one of many rows, as it is."""

SORTED = {"PERCENTILE_CONT": "QUANTILE_CONT", "PERCENTILE_DISC": "QUANTILE_DISC", "MODE": "MODE"}
"""Functions that take WITHIN GROUP (ORDER BY x), and those that take x."""

REAL = {
    "SQRT", "LN", "LOG", "LOG2", "LOG10", "EXP", "POW", "POWER", "SIN", "COS", "TAN", "ASIN",
    "ACOS", "ATAN", "ATAN2", "AVG", "MEAN", "STD", "STDDEV", "VAR", "VARIANCE", "MEDIAN", "PROD",
    "CBRT", "CORR",
}  # fmt: skip
"""Functions that may give NaN whatever they take."""

SAME = PICKS | {
    "ABS", "ROUND", "FLOOR", "CEIL", "CEILING", "MIN", "MAX", "SUM", "COALESCE", "GREATEST",
    "LEAST", "MODE", "NULLIF", "IFNULL", "QUANTILE_DISC",
}  # fmt: skip
"""Functions whose result is of the kind of their first argument."""

UNIFIES = {"COALESCE", "IFNULL", "NULLIF", "GREATEST", "LEAST"}
"""Functions whose arguments one column is to hold."""

KEEPS_CLASS = {"MIN", "MAX", "MODE"} | PICKS
"""Functions of which one gives a class for classes."""

JOINS = {"STRING_AGG", "LISTAGG", "GROUP_CONCAT"}
"""Aggregates that join texts."""

COUNTS = {"COUNT", "LENGTH", "LEN", "SIGN", "COUNT_IF", "ROW_NUMBER", "RANK", "DENSE_RANK"}
"""Functions that give a number that is never NaN."""

OF_SCALARS = AGGREGATES | NAMES.keys() | REAL | SAME | COUNTS | {
    "CONTAINS", "LOWER", "UPPER", "ISNAN",
}  # fmt: skip
"""Functions that are DuckDB's for scalars, whatever they are for tensors."""


@cache
def scalar_functions() -> frozenset[str]:
    """Return the names of DuckDB's functions."""
    with duckdb.connect() as connection:
        rows = connection.sql("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
    return frozenset(row[0] for row in rows)
