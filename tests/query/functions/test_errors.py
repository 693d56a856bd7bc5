"""Arguments that functions refuse, at binding if the types suffice and at run time otherwise."""

import numpy as np
import pytest

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.htypes import Boxes, ClassLabel, Mask
from deeplake_lite.query.functions import REGISTRY, Arg, Type

from .harness import Const, bind

FLOATS = Type("float32", (None, 3))
VARIES = Type("float32", (None,))
BOXES = Type("float32", (None, 4), Boxes())
AT_BINDING = [
    (
        "SUM",
        [[]],
        [FLOATS],
        {"axis": 2},
        r"SUM\(a.*axis 2 is out of range for 2 axes.*float32 \(\?, 3\)",
    ),
    ("MAX", [[]], [FLOATS], {"axis": -3}, "axis -3 is out of range"),
    ("SORT", [[]], [Type("int8")], {}, "axis -1 is out of range for 0 axes"),
    ("SUM", [[]], [FLOATS], {"axis": 0.5}, "an axis must be an integer, but it is 0.5"),
    ("SUM", [[]], [FLOATS], {"axis": [0, 0]}, "an axis occurs twice"),
    ("SUM", [[]], [FLOATS], {"axes": 0}, r"form SUM\(x, axis=None\), but it is SUM\(a, axes=0\)"),
    ("SUM", [[]], [Type("str")], {}, "SUM takes numbers, but a is str"),
    ("ARGMAX", [[]], [FLOATS], {"axis": [0]}, "axis must be an integer"),
    ("+", [[], []], [Type("int8", (3,)), Type("int8", (2,))], {}, r"^a \+ b: .*\(3,\).*\(2,\)"),
    ("=", [[], Const("a")], [FLOATS, None], {}, "compares numbers with numbers and strings with"),
    (
        "=",
        [[], Const("tulpi")],
        [Type("int32", (), ClassLabel(["tulip"])), None],
        {},
        "Did you mean 'tulip'",
    ),
    ("AND", [[], []], [Type("str"), FLOATS], {}, "AND takes numbers"),
    (
        "DOT",
        [[], Const([1, 2])],
        [FLOATS, None],
        {},
        r"DOT\(a, \[1, 2\]\): vectors must have the same length, but their lengths are 3 and 2",
    ),
    ("L2_DISTANCE", [[], Const(1)], [FLOATS, None], {}, "must be vectors"),
    ("MAXSIM", [[], Const([1, 2, 3])], [FLOATS, None], {}, r"query \(m, d\)"),
    (
        "IOU",
        [[], []],
        [BOXES, FLOATS],
        {},
        r"IOU\(a, b\): boxes must have shape \(n, 4\), but b is float32 \(\?, 3\)",
    ),
    (
        "IOU",
        [[], []],
        [BOXES, Type("float32", (None, 4), Boxes("xyxy", "fraction"))],
        {},
        "fractions",
    ),
    ("AREA", [[]], [Type("uint8", (None, None), Mask())], {}, "a has classes"),
    ("MASK_TO_BOXES", [[]], [Type("uint8", (None, None))], {}, "a mask must be booleans"),
    ("BOX_CONVERT", [[]], [BOXES], {"format": "yolo"}, "format must be 'xyxy', 'xywh' or 'cxcywh'"),
    ("NORMALIZE", [[]], [BOXES], {}, "boxes need a window"),
    ("NORMALIZE", [[], Const([1, 2])], [BOXES, None], {}, "boxes need a window of four numbers"),
    ("NORMALIZE", [[], Const([1, 2, 3])], [FLOATS, None], {}, r"range must be \[low, high\]"),
    ("CROP", [[], Const([1, 2])], [FLOATS, None], {}, "a window must be"),
    ("CROP", [[], Const([1, 2, 3, 4])], [VARIES, None], {}, "an image must have shape"),
    ("RESIZE", [[], Const(0), Const(3)], [FLOATS, None, None], {}, "must be at least 1"),
    ("ROUND", [[]], [FLOATS], {"decimals": 0.5}, "decimals must be an integer"),
    ("TRANSPOSE", [[]], [FLOATS], {"axes": [0, 0]}, "must list every axis from 0 to 1 once"),
    ("TRANSPOSE", [[]], [FLOATS], {"axes": ["x", 0]}, "axes must be integers"),
    ("RESHAPE", [[]], [Type("int8", (3,))], {"shape": [2, 2]}, "cannot reshape"),
    ("RESHAPE", [[]], [FLOATS], {"shape": [-1, -1]}, "a shape must consist of lengths"),
    ("CONTAINS", [[], Const(3)], [Type("str"), None], {}, "searches a string for a string"),
    ("CONTAINS", [[], Const([3])], [FLOATS, None], {}, "value must be one number"),
    (
        "CONTAINS",
        [[], Const("x")],
        [Type("int32", (), ClassLabel(["tulip"])), None],
        {},
        "Known: 'tulip'",
    ),
    ("KEYS", [[]], [Type("str")], {}, "KEYS takes JSON"),
]
AT_COMPUTING = [
    (
        "+",
        [np.zeros(3), np.zeros(2)],
        [VARIES, VARIES],
        {},
        r"^a \+ b: .*The arguments are float32 \(3,\), float32 \(2,\)",
    ),
    ("DOT", [np.zeros(3), np.zeros(2)], [VARIES, VARIES], {}, "vectors must have the same length"),
    (
        "HAMMING_DISTANCE",
        [np.zeros(3), np.zeros(2)],
        [VARIES, VARIES],
        {},
        "vectors must have the same length",
    ),
    (
        "MAXSIM",
        [np.zeros((1, 3)), np.zeros((1, 2))],
        [Type("float64", (None, None))] * 2,
        {},
        "must have the same length",
    ),
    (
        "IOU",
        [np.zeros((2, 5)), np.zeros((1, 4))],
        [Type("float64", (None, None))] * 2,
        {},
        r"boxes must have shape \(n, 4\)",
    ),
    ("AREA", [np.zeros((2, 5))], [Type("float64", (None, None))], {}, "boxes must have shape"),
    (
        "MEAN",
        [np.zeros((2, 5))],
        [Type("float64", None)],
        {"axis": 2},
        "axis 2 is out of range for 2",
    ),
    (
        "CROP",
        [np.zeros((2, 5)), np.full(4, np.nan)],
        [Type("float64", None), Type("float64", (4,))],
        {},
        "four finite numbers",
    ),
    (
        "RESIZE",
        [np.zeros((0, 5)), 2, 2],
        [Type("float64", None), Type("int8"), Type("int8")],
        {},
        "at least one pixel",
    ),
    (
        "RESIZE",
        [np.zeros((2, 5)), 0, 2],
        [Type("float64", None), Type("int8"), Type("int8")],
        {},
        "must be at least 1",
    ),
    ("RESHAPE", [np.zeros(5)], [VARIES], {"shape": [2, -1]}, "cannot reshape"),
    ("NORMALIZE", [np.zeros((1, 4)), np.zeros(4)], [BOXES, Type("float64", (4,))], {}, "x0 < x1"),
    ("**", [np.int64(2), np.int64(-1)], [Type("int64")] * 2, {}, "negative integer powers"),
]


@pytest.mark.parametrize(("name", "values", "types", "options", "match"), AT_BINDING)
def test_wrong_types_are_refused_when_a_function_is_bound(name, values, types, options, match):
    with pytest.raises(QueryTypeError, match=match):
        bind(name, values, types, **options)


@pytest.mark.parametrize(("name", "values", "types", "options", "match"), AT_COMPUTING)
def test_wrong_values_are_refused_at_run_time(name, values, types, options, match):
    bound = bind(name, [[]] * len(values), types, **options)
    with pytest.raises(QueryTypeError, match=match):
        bound.compute(*values, lead=0)


def test_option_that_varies_by_row_is_refused():
    with pytest.raises(QueryTypeError, match=r"must be the same .*, but it is b"):
        REGISTRY["SUM"].bind(Arg("a", FLOATS), Arg("b", Type("int64")))


def test_option_may_be_given_by_position_as_an_argument_or_as_a_value():
    rows = np.ones((2, 4, 3), "float32")
    for option in (0, np.int64(0), Arg("0", Type("int64"), np.asarray(0))):
        for bound in (
            REGISTRY["SUM"].bind(Arg("a", FLOATS), option),
            REGISTRY["SUM"].bind(Arg("a", FLOATS), axis=option),
        ):
            assert bound.type == Type("float32", (3,))
            assert bound.compute(rows, lead=1).tolist() == [[4, 4, 4]] * 2


def test_literal_argument_is_a_constant():
    bound = REGISTRY["NORMALIZE"].bind(Arg("a", VARIES), range=(0, 4))
    assert bound.compute(np.array([2], "float32"), lead=0).tolist() == [0.5]


def test_constants_alone_give_one_row():
    bound = REGISTRY["+"].bind(Arg.constant([1, 2]), Arg.constant(3))
    assert bound.compute(None, None, lead=0).tolist() == [4, 5]
    assert bound.compute(None, None, lead=1).tolist() == [[4, 5]]


def test_null_constant_makes_all_rows_null():
    bound = REGISTRY["CONTAINS"].bind(Arg("a", Type("str")), Arg("NULL", Type("str"), None))
    assert bound.compute("text", None, lead=0) is None


def test_either_side_decides_and_or_even_if_the_other_is_null():
    bound = bind("AND", [[], []], [Type("bool")] * 2)
    left = np.ma.masked_array([True, False, True, False], [False, False, True, True])
    right = np.ma.masked_array([True, True, False, True], [True, True, False, False])
    assert bound.compute(left, right, lead=1).tolist() == [None, False, False, None]
    assert [bound.compute(*v, lead=0) for v in ((None, None), (None, False), (True, None))] == [
        None, False, None,
    ]  # fmt: skip
