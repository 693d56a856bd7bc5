"""Names of scalar and aggregate functions, grouped by their arguments and results."""

from __future__ import annotations

NAMES = {
    "MEAN": "AVG", "STD": "STDDEV_SAMP", "STDDEV": "STDDEV_SAMP", "VAR": "VAR_SAMP",
    "VARIANCE": "VAR_SAMP", "PROD": "PRODUCT", "LOG": "LN",
}  # fmt: skip
"""Maps names in the query language to DuckDB's names of the same functions, where the two
differ."""

AGGREGATES = {
    "COUNT", "SUM", "AVG", "MEAN", "MIN", "MAX", "STD", "STDDEV", "VAR", "VARIANCE", "MEDIAN",
    "PROD", "PRODUCT", "FIRST", "LAST", "ANY_VALUE", "LIST", "ARRAY_AGG", "QUANTILE",
    "QUANTILE_CONT", "QUANTILE_DISC", "MODE", "STRING_AGG", "ARG_MIN", "ARG_MAX", "MIN_BY",
    "MAX_BY", "BOOL_AND", "BOOL_OR", "APPROX_COUNT_DISTINCT", "STDDEV_POP", "STDDEV_SAMP",
    "VAR_POP", "VAR_SAMP", "CORR", "COVAR_POP", "COVAR_SAMP", "HISTOGRAM", "ENTROPY", "KURTOSIS",
    "SKEWNESS", "COUNT_IF", "SUM_IF", "BIT_AND", "BIT_OR", "BIT_XOR", "GROUP_CONCAT", "LISTAGG",
    "APPROX_QUANTILE", "FAVG", "FSUM", "MAD", "GROUPING", "APPROX_TOP_K", "ARBITRARY", "ARGMAX",
    "ARGMIN", "ARG_MAX_NULL", "ARG_MAX_NULLS_LAST", "ARG_MIN_NULL", "ARG_MIN_NULLS_LAST", "COUNTIF",
    "GEOMEAN", "GEOMETRIC_MEAN", "HISTOGRAM_EXACT", "KAHAN_SUM", "KURTOSIS_POP", "REGR_AVGX",
    "REGR_AVGY", "REGR_COUNT", "REGR_INTERCEPT", "REGR_R2", "REGR_SLOPE", "REGR_SXX", "REGR_SXY",
    "REGR_SYY", "SEM", "SUMKAHAN", "WAVG", "WEIGHTED_AVG",
}  # fmt: skip
"""Functions that aggregate rows."""

ROWWISE = {
    "SUM", "AVG", "MEAN", "MIN", "MAX", "STD", "STDDEV", "VAR", "VARIANCE", "MEDIAN", "PROD",
}  # fmt: skip
"""Functions that, applied to tensors, reduce the tensor of each row to one value. With GROUP BY,
they aggregate the tensors of a group element by element."""

ELEMENTWISE = {"AVG": "MEAN", "STDDEV": "STD", "VARIANCE": "VAR"}
"""Maps synonyms of elementwise aggregates to the names that are used internally."""

LISTS = {"LIST", "ARRAY_AGG"}
"""Aggregates that return all values of a group."""

BY_ANOTHER = {"ARG_MIN", "ARG_MAX", "MIN_BY", "MAX_BY"}
"""Aggregates that return the value in the row where another value is smallest or largest."""

WINDOWS = {"LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"}
"""Functions that are only used with OVER."""

PICKS = {"FIRST", "LAST", "ANY_VALUE"} | BY_ANOTHER | WINDOWS
"""Functions that pick one of many rows and return the value of this row unchanged."""

PASSES_NULLS = {"ANY_VALUE"} | BY_ANOTHER
"""Functions of `PICKS` that pass over rows whose value is null."""

PICKS_SCALARS = {
    "ARBITRARY", "ARGMAX", "ARGMIN", "ARG_MAX_NULL", "ARG_MAX_NULLS_LAST", "ARG_MIN_NULL",
    "ARG_MIN_NULLS_LAST",
}  # fmt: skip
"""Functions that pick a row, like the functions in `PICKS`, but that only accept scalars."""

OF_JSON = {
    "JSON", "JSON_ARRAY", "JSON_ARRAY_LENGTH", "JSON_CONTAINS", "JSON_EXISTS", "JSON_EXTRACT",
    "JSON_EXTRACT_PATH", "JSON_EXTRACT_PATH_TEXT", "JSON_EXTRACT_STRING", "JSON_KEYS",
    "JSON_MERGE_PATCH", "JSON_OBJECT", "JSON_PRETTY", "JSON_QUOTE", "JSON_STRUCTURE",
    "JSON_TRANSFORM", "JSON_TRANSFORM_STRICT", "JSON_TYPE", "JSON_VALID", "JSON_VALUE",
    "ROW_TO_JSON", "TO_JSON",
}  # fmt: skip
"""Functions that must receive JSON values as JSON, not as strings."""

TAKES_PATHS = {
    "JSON_ARRAY_LENGTH", "JSON_EXISTS", "JSON_EXTRACT", "JSON_EXTRACT_PATH",
    "JSON_EXTRACT_PATH_TEXT", "JSON_EXTRACT_STRING", "JSON_KEYS", "JSON_TYPE", "JSON_VALUE",
}  # fmt: skip
"""Functions that take a JSON value and a path within it."""

GIVES_JSON = {
    "JSON", "JSON_ARRAY", "JSON_MERGE_PATCH", "JSON_OBJECT", "JSON_QUOTE", "JSON_STRUCTURE",
    "ROW_TO_JSON", "TO_JSON",
}  # fmt: skip
"""Functions that return JSON."""

GIVES_TEXT = {"ARRAY_TO_STRING", "LIST_STRING_AGG", "SPLIT_PART"}
"""DuckDB macros that return strings. They are listed here because the catalog does not give the
types that macros return."""

ELEMENTS = {"ARRAY_EXTRACT", "LIST_ELEMENT", "LIST_EXTRACT"}
"""Functions that return one item of a list or one character of a string."""

LIKE_ARGUMENT = {
    "ARRAY_DISTINCT": 0, "ARRAY_INTERSECT": 0, "ARRAY_REVERSE": 0, "ARRAY_REVERSE_SORT": 0,
    "ARRAY_SELECT": 0, "ARRAY_SLICE": 0, "ARRAY_SORT": 0, "ARRAY_WHERE": 0, "LIST_DISTINCT": 0,
    "LIST_INTERSECT": 0, "LIST_REVERSE": 0, "LIST_REVERSE_SORT": 0, "LIST_SELECT": 0,
    "LIST_SLICE": 0, "LIST_SORT": 0, "LIST_WHERE": 0, "REPEAT": 0,
    "DATETRUNC": 1, "DATE_TRUNC": 1, "TIME_BUCKET": 1,
} | dict.fromkeys(ELEMENTS, 0)  # fmt: skip
"""Maps functions whose result has the same kind as one of the arguments to the position of this
argument."""

TAKES_NOTHING = {"CUME_DIST", "DENSE_RANK", "PERCENT_RANK", "RANK", "ROW_NUMBER"}
"""Window functions without arguments."""

OF_CONDITIONS = {"BOOL_AND", "BOOL_OR", "COUNTIF", "COUNT_IF"}
"""Functions whose argument is a condition."""

HOLDS_PARTS = {
    "MAP", "ROW", "STRUCT_INSERT", "STRUCT_PACK", "STRUCT_UPDATE",
}  # fmt: skip
"""Functions that build structs and maps."""

ORDERS = {
    "ARG_MAX", "ARG_MIN", "ARRAY_REVERSE_SORT", "ARRAY_SORT", "GREATEST", "LEAST", "LIST_GRADE_UP",
    "LIST_MAX", "LIST_MIN", "LIST_REVERSE_SORT", "LIST_SORT", "MAX", "MAX_BY", "MIN",
    "MIN_BY", "QUANTILE_DISC",
}  # fmt: skip
"""Functions that compare values by size or order."""

SEEKS = {
    "ARRAY_APPEND", "ARRAY_CONTAINS", "ARRAY_HAS", "ARRAY_INDEXOF", "ARRAY_POSITION",
    "ARRAY_PREPEND", "ARRAY_PUSH_BACK", "ARRAY_PUSH_FRONT", "CONTAINS", "LIST_APPEND",
    "LIST_CONTAINS", "LIST_HAS", "LIST_INDEXOF", "LIST_POSITION", "LIST_PREPEND",
}  # fmt: skip
"""Functions that take a list and a value of the same kind as its items."""

EXTENDS_LISTS = {
    "ARRAY_APPEND", "ARRAY_CAT", "ARRAY_CONCAT", "ARRAY_PREPEND", "ARRAY_PUSH_BACK",
    "ARRAY_PUSH_FRONT", "LIST_APPEND", "LIST_CAT", "LIST_CONCAT", "LIST_PREPEND",
}  # fmt: skip
"""Functions that add items to a list."""

RESIZES = {"ARRAY_RESIZE", "LIST_RESIZE"}
"""Functions that take a list, its new length, and a value for new items."""

OF_ONE_KIND = SEEKS | EXTENDS_LISTS | RESIZES | {
    "ARRAY_HAS_ALL", "ARRAY_HAS_ANY", "ARRAY_INTERSECT", "LIST_HAS_ALL", "LIST_HAS_ANY",
    "LIST_INTERSECT",
}  # fmt: skip
"""Functions that combine values into one list, or compare the items of two lists."""

OF_TIMES = {
    "ADD": 0, "AGE": 0, "DATEDIFF": 1, "DATESUB": 1, "DATE_DIFF": 1, "DATE_SUB": 1, "SUBTRACT": 0,
    "TIME_BUCKET": 1,
}  # fmt: skip
"""Maps functions that combine times to the position of the first argument that is a time."""

HOLDS_VALUES = {"APPROX_TOP_K", "HISTOGRAM", "HISTOGRAM_EXACT"}
"""Aggregates that return a list or a map of values, in which classes appear as names."""

SORTED = {"PERCENTILE_CONT": "QUANTILE_CONT", "PERCENTILE_DISC": "QUANTILE_DISC", "MODE": "MODE"}
"""Maps functions that are used with WITHIN GROUP (ORDER BY x) to the DuckDB functions to which x is
passed as an argument instead."""

REAL = {
    "SQRT", "LN", "LOG", "LOG2", "LOG10", "EXP", "POW", "POWER", "SIN", "COS", "TAN", "ASIN",
    "ACOS", "ATAN", "ATAN2", "AVG", "MEAN", "STD", "STDDEV", "VAR", "VARIANCE", "MEDIAN", "PROD",
    "CBRT", "CORR",
}  # fmt: skip
"""Functions that may return NaN even if their arguments are integers."""

SAME = PICKS | PICKS_SCALARS | {
    "ABS", "ROUND", "FLOOR", "CEIL", "CEILING", "MIN", "MAX", "SUM", "COALESCE", "GREATEST",
    "LEAST", "MODE", "NULLIF", "IFNULL", "QUANTILE_DISC",
}  # fmt: skip
"""Functions whose result has the same kind as their first argument."""

UNIFIES = {"COALESCE", "IFNULL", "GREATEST", "LEAST"}
"""Functions whose arguments must have types that fit in one column."""

WITH_DEFAULT = {"LAG", "LEAD"}
"""Functions with a third argument, which is returned if the row that they look for does not
exist."""

KEEPS_CLASS = {"MIN", "MAX", "MODE"} | PICKS | PICKS_SCALARS
"""Functions that return a class label if their argument is a class label."""

JOINS = {"STRING_AGG", "LISTAGG", "GROUP_CONCAT"}
"""Aggregates that join strings."""

WRITES_TEXTS = JOINS | {"ARRAY_TO_STRING", "CONCAT", "CONCAT_WS", "FORMAT", "PRINTF"}
"""Functions that convert any value to a string."""

COUNTS = {"COUNT", "LENGTH", "LEN", "SIGN", "COUNT_IF", "ROW_NUMBER", "RANK", "DENSE_RANK"}
"""Functions that return integers, and so never NaN."""

OF_SCALARS = AGGREGATES | NAMES.keys() | REAL | SAME | COUNTS | {
    "CONTAINS", "LOWER", "UPPER", "ISNAN",
}  # fmt: skip
"""Functions that DuckDB computes if the arguments are scalars, even if the registry has a function
with the same name for tensors."""
