"""Types that are arrays with a meaning: embeddings, boxes and keypoints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes import Boxes, Embedding, Keypoints, convert_boxes
from deeplake_lite.htypes.boxes import FORMATS
from deeplake_lite.testing.htypes import check_config, check_encode_decode, check_refuses


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8"])
def test_embeddings_round_trip(dtype):
    htype = Embedding(4, dtype)
    check_config(htype)
    check_encode_decode(htype, np.arange(12).reshape(3, 4).astype(dtype))


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        ([1, 2], r"must have shape \(3,\), but it has \(2,\)"),
        ([1, np.nan, 3], "an embedding must be finite, but it is nan at index 1. .*nullable=True"),
        ([1, 2, -np.inf], "must be finite, but it is -inf at index 2"),
        ("abc", "must be float32"),
    ],
)
def test_bad_embeddings_are_refused(bad, match):
    check_refuses(Embedding(3), bad, match)


@pytest.mark.parametrize("arguments", [(0,), (-1,), (2.5,), (True,), (3, "int64"), (2**40,)])
def test_invalid_embedding_types_are_schema_errors(arguments):
    with pytest.raises(SchemaError):
        Embedding(*arguments)


COORDINATES = st.floats(0, 1000, width=32)


@given(
    st.lists(
        hnp.arrays("float32", st.tuples(st.integers(0, 4), st.just(4)), elements=COORDINATES),
        min_size=1,
        max_size=4,
    )
)
def test_boxes_round_trip(rows):
    check_encode_decode(Boxes("xywh"), rows)


def test_repr_of_boxes_shows_options_other_than_defaults():
    for htype in (Boxes(), Boxes("xywh"), Boxes("cxcywh", "fraction"), Boxes(dtype="int32")):
        check_config(htype)
    assert repr(Boxes(units="fraction")) == "Boxes(units='fraction')"
    assert Boxes().preview(np.zeros((1, 4))) == "1 box xyxy: (0, 0, 0, 0)"
    check_encode_decode(
        Boxes(dtype="int32"), [[[1, 2, 3, 4]], []], [[[1, 2, 3, 4]], np.zeros((0, 4))]
    )


@pytest.mark.parametrize(
    ("htype", "bad", "match"),
    [
        (Boxes(), [1, 2, 3, 4], r"but it is a single box.*Put it in a list"),
        (Boxes(), np.zeros((2, 5)), r"must have shape \(…, 4\), but it has \(2, 5\)"),
        (Boxes(), [[0, 0, 1, np.nan]], "box 0 must be finite, but it is .*nan"),
        (
            Boxes(),
            [[0, 0, 1, 1], [5, 0, 4, 1]],
            "box 1 has a negative width: x1 is 5.0 and x2 is 4.0",
        ),
        (Boxes(), [[0, 5, 1, 1]], "box 0 has a negative height: y1 is 5.0 and y2 is 1.0. .*xywh"),
        (Boxes("xywh"), [[5, 5, -1, 1]], "box 0 has a negative width: -1.0. Swap"),
        (
            Boxes("cxcywh", "fraction"),
            [[0.5, 0.5, 1.2, 1]],
            "box 0 must consist of fractions, 0 to 1",
        ),
        (
            Boxes(units="fraction"),
            [[-0.1, 0, 1, 1]],
            "Divide the numbers by the image's width and height",
        ),
        (Boxes(), [["a", 0, 1, 1]], "must be float32"),
    ],
)
def test_bad_boxes_are_reported_by_row_and_box(htype, bad, match):
    check_refuses(htype, bad, match)


def test_fractions_may_exceed_their_limits_by_a_rounding_error():
    Boxes(units="fraction").encode([[[0, -0.0005, 1.0005, 1]]])


@pytest.mark.parametrize(
    "arguments", [{"format": "ltrb"}, {"units": "cm"}, {"dtype": "uint8"}, {"format": 5}]
)
def test_invalid_box_types_are_schema_errors(arguments):
    with pytest.raises(SchemaError, match="of boxes must be "):
        Boxes(**arguments)
    with pytest.raises(SchemaError, match="must have a float dtype"):
        Boxes(units="fraction", dtype="int32")


@given(
    hnp.arrays("float64", st.tuples(st.integers(0, 3), st.just(4)), elements=st.integers(0, 100)),
    st.sampled_from(FORMATS),
    st.sampled_from(FORMATS),
)
def test_box_formats_convert_in_both_directions(boxes, source, target):
    there = convert_boxes(boxes, source, target)
    np.testing.assert_array_equal(convert_boxes(there, target, source), boxes)
    np.testing.assert_array_equal(
        convert_boxes(there, target, "xyxy"), convert_boxes(boxes, source, "xyxy")
    )


def test_unknown_box_format_is_an_error():
    with pytest.raises(ValueError, match="must be 'xyxy', 'xywh' or 'cxcywh', but it is 'ltrb'"):
        convert_boxes(np.zeros((1, 4)), "ltrb", "xyxy")


BODY = Keypoints(["nose", "left", "right"], [(0, 1), (0, 2)])


def test_keypoints_round_trip():
    for htype in (BODY, Keypoints(), Keypoints(dims=2), Keypoints(connections=[[0, 5]])):
        check_config(htype)
    points = np.array([[[1, 2, 0], [3, 4, 1], [5, 6, 2]]], "float32")
    check_encode_decode(
        BODY, [points, np.zeros((0, 3, 3)), []], [points, np.zeros((0, 3, 3)), np.zeros((0, 3, 3))]
    )
    check_encode_decode(Keypoints(dims=2), [points[..., :2], points[:, :1, :2]])
    assert BODY.preview(points) == "1 instance of 3 points"


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (
            np.zeros((1, 2, 3)),
            r"must have shape \(n, 3, 3\), but they have \(1, 2, 3\).*Reshape COCO",
        ),
        (np.zeros((1, 9)), r"must have shape \(…, …, …\), but it has \(1, 9\)"),
        (np.full((1, 3, 3), np.nan), r"point 0 of instance 0 must be finite.*\(0, 0, 0\)"),
        (
            [[[0, 0, 0], [0, 0, 3], [0, 0, 0]]],
            r"point 1 of instance 0 must be .*visibility of 0 to 2",
        ),
    ],
)
def test_bad_keypoints_are_reported_by_instance_and_point(bad, match):
    check_refuses(BODY, bad, match)


@pytest.mark.parametrize(
    "arguments",
    [
        {"dims": 4},
        {"dims": True},
        {"names": ["a", "a"]},
        {"names": [""]},
        {"names": "nose"},
        {"names": 5},
        {"connections": [(0,)]},
        {"connections": [(0, -1)]},
        {"connections": 5},
        {"names": ["a"], "connections": [(0, 1)]},
    ],
)
def test_invalid_keypoint_types_are_schema_errors(arguments):
    with pytest.raises(SchemaError):
        Keypoints(**arguments)


def test_invalid_value_is_a_value_error():
    with pytest.raises(ValueError, match="row 0"):
        Embedding(3).encode([[1, 2]])
    assert issubclass(InvalidValueError, ValueError)
