"""User-defined functions."""

import re

import numpy as np
import pytest

from deeplake_lite.errors import ExistsError, NotFoundError, QueryError, QueryTypeError
from deeplake_lite.htypes import Boxes
from deeplake_lite.query.functions import Arg, Type
from deeplake_lite.query.functions.user import OWN
from deeplake_lite.query.registering import function, unregister

pytestmark = pytest.mark.usefixtures("registry")
IMAGE = Type("uint8", (None, None))
ROWS = np.arange(12, dtype="uint8").reshape(3, 2, 2)


def call(name, *types, **named):
    return OWN[name].bind(*(Arg("abc"[i], t) for i, t in enumerate(types)), **named)


def test_function_of_a_row_returns_its_result():
    @function(returns="float32")
    def spread(image, scale=1):
        """Spread of the values.

        More words.
        """
        return float(np.ptp(image)) * scale

    bound = call("SPREAD", IMAGE)
    assert bound.type == Type("float32")
    assert bound.compute(ROWS[0], lead=0).dtype == np.float32
    stacked = bound.compute(ROWS, lead=1)
    assert (stacked.dtype, stacked.tolist()) == (np.float32, [3, 3, 3])
    assert call("SPREAD", IMAGE, scale=2).compute(ROWS, lead=1).tolist() == [6, 6, 6]
    assert spread(ROWS) == 11


def test_function_of_a_block_gets_arrays_or_lists():
    seen = []

    @function(returns=("float64", (None,)), per="block", name="halves")
    def half(values, divisor):
        seen.append((type(values), np.shape(divisor)))
        return [np.ravel(v) / divisor for v in values]

    bound = call("HALVES", IMAGE, Type("int64"))
    bound = OWN["HALVES"].bind(Arg("a", IMAGE), Arg.constant(2))
    assert bound.lists
    assert bound.compute(ROWS, None, lead=1)[0].tolist() == [0, 0.5, 1, 1.5]
    ragged = bound.compute([ROWS[0], None, ROWS[1, :1]], None, lead=1)
    assert [None if r is None else r.tolist() for r in ragged] == [[0, 0.5, 1, 1.5], None, [2, 2.5]]
    assert bound.compute(ROWS[0], None, lead=0).tolist() == [0, 0.5, 1, 1.5]
    assert seen == [(np.ndarray, ()), (list, ()), (list, ())]


def test_nulls_are_not_passed_on_and_none_is_null():
    @function(returns="int32")
    def positive(x):
        return x if x > 0 else None

    bound = call("POSITIVE", Type("int64"))
    assert bound.compute(None, lead=0) is None
    assert bound.compute(np.int64(-1), lead=0) is None
    assert bound.compute(np.array([1, -1]), lead=1).tolist() == [1, None]
    masked = np.ma.masked_array([1, 2, 3], [False, True, False])
    assert bound.compute(masked, lead=1).tolist() == [1, None, 3]


@pytest.mark.parametrize(
    ("returns", "value", "match"),
    [
        ("int32", 0.5, r"ODD must return int32, but it returned float64 \(\) for row 0 of"),
        ("int8", 300, r"must return int8, but it returned int64 out of its range for row 0"),
        ("uint8", -1, "out of its range"),
        ("float32", "a", "must return float32, but it returned <U1"),
        ("bool", 1, "must return bool, but it returned int64"),
        (("float32", (2,)), [1, 2, 3], r"it returned int64 \(3,\) for row 0"),
        (("float32", (2,)), 1, r"must return float32 \(2,\), but it returned int64 \(\)"),
        ("str", 1, "must return str, but it returned int for row 0"),
        (Boxes(), [[1, 2]], r"must return float32 \(\?, 4\), but it returned int64 \(1, 2\)"),
    ],
)
def test_result_of_another_type_is_an_error(returns, value, match):
    function(returns=returns, name="odd")(lambda x: value)  # noqa: ARG005
    with pytest.raises(QueryTypeError, match=match):
        call("ODD", Type("int64")).compute(np.array([1, 2]), lead=1)
    with pytest.raises(QueryTypeError, match=r"^((?!row).)*$"):
        call("ODD", Type("int64")).compute(np.int64(1), lead=0)


@pytest.mark.parametrize(
    ("returns", "value"), [("str", "a"), ("json", {"a": 1}), (Boxes(), np.ones((1, 4)))]
)
def test_text_json_and_htypes_may_be_returned(returns, value):
    function(returns=returns, name="odd")(lambda x: value)  # noqa: ARG005
    assert np.array_equal(call("ODD", Type("int64")).compute(np.int64(1), lead=0), value)


def test_error_of_a_function_names_the_row():
    @function(returns="float64")
    def inverse(x):
        return 1 / int(x)

    with pytest.raises(QueryError, match=r"INVERSE failed in row 2 of .*: ZeroDiv") as caught:
        call("INVERSE", Type("int64")).compute(np.array([1, 2, 0]), lead=1)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(QueryError, match="INVERSE failed: ZeroDivisionError: division by zero"):
        call("INVERSE", Type("int64")).compute(np.int64(0), lead=0)


def test_block_function_returns_a_result_for_each_row():
    function(returns="float64", per="block", name="odd")(lambda x: x[:1])
    with pytest.raises(QueryTypeError, match="one result per row, 2 in total, but it returned 1"):
        call("ODD", Type("int64")).compute(np.array([1, 2]), lead=1)
    function(returns="float64", per="block", name="odd")(lambda x: x.sum())
    with pytest.raises(QueryTypeError, match="2 in total, but it returned int64"):
        call("ODD", Type("int64")).compute(np.array([1, 2]), lead=1)


@pytest.mark.parametrize(
    "result", [{1: 10, 2: 20}, {50, 7}, frozenset({1, 2}), "ab", b"ab", bytearray(b"ab"), {}.keys()]
)
def test_block_function_returns_a_sequence_of_results(result):
    function(returns="float64", per="block", name="odd")(lambda _x: result)
    expected = rf"2 in total, but it returned {type(result).__name__}\."
    with pytest.raises(QueryTypeError, match=expected):
        call("ODD", Type("int64")).compute(np.array([1, 2]), lead=1)


def test_arguments_are_counted_at_binding():
    function(returns="float64", name="odd")(lambda x: x)
    with pytest.raises(QueryTypeError, match=re.escape("A call must match ODD(x): too many")):
        call("ODD", IMAGE, IMAGE)


def test_built_in_function_is_overridden_on_request_and_restored():
    with pytest.raises(ExistsError, match="A built-in function MAX already exists"):
        function(returns="int64", name="max")(np.max)
    function(returns="int64", name="max", override=True)(lambda x: 1)  # noqa: ARG005
    with pytest.raises(ExistsError, match="A built-in function MAX already exists"):
        function(returns="int64", name="max")(lambda x: 2)  # noqa: ARG005
    function(returns="int64", name="max", override=True)(lambda x: 2)  # noqa: ARG005
    assert call("MAX", IMAGE).compute(ROWS[0], lead=0) == 2
    unregister("max")
    assert "MAX" not in OWN
    with pytest.raises(NotFoundError, match="no registered function 'max'"):
        unregister("max")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"returns": "flota"}, "returns must be a dtype"),
        ({"returns": "int8", "name": "a b"}, "letters, digits and _, but it is 'A B'"),
        ({"returns": "int8", "name": ""}, "letters, digits and _"),
    ],
)
def test_invalid_declaration_is_refused(options, match):
    with pytest.raises(QueryTypeError, match=match):
        function(**options)(lambda x: x)


def test_per_is_row_or_block():
    with pytest.raises(ValueError, match="per must be 'row' or 'block', but it is 'batch'"):
        function(returns="int8", per="batch")


def test_nulls_among_strings_are_not_passed_on():
    @function(returns="int64")
    def letters(text):
        return len(text)

    texts = np.array(["rose", None, "oak"], object)
    result = call("LETTERS", Type("str")).compute(texts, lead=1)
    assert result.tolist() == [4, None, 3]
