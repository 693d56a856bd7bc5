"""Types of values that are known before the values are computed."""

import numpy as np
import pytest

from deeplake_lite import htypes
from deeplake_lite.query.functions import REGISTRY, Arg, Type
from deeplake_lite.query.functions.value_type import ImageNumbers

ANY_PICTURE = Arg("image", Type("uint8", None, htypes.Image()))
ANY_ARRAY = Arg("x", Type("uint8", None, htypes.Array("uint8", None)))


@pytest.mark.parametrize(
    ("htype", "expected"),
    [
        (htypes.Scalar("float32"), "float32"),
        (htypes.Array("int16", (None, 3)), "int16 (?, 3)"),
        (htypes.Text(), "str"),
        (htypes.Json(), "object"),
        (htypes.ClassLabel(["a"]), "int32"),
        (htypes.ClassLabel(["a"], multiple=True), "int32 (?,)"),
        (htypes.Mask(), "uint8 (?, ?)"),
        (htypes.Mask("instance"), "bool (?, ?, ?)"),
        (htypes.Image(), "uint8 (…)"),
    ],
)
def test_htype_determines_the_value_type(htype, expected):
    result = Type.of(htype)
    assert str(result) == expected
    assert result.meaning == htype


def test_sequence_is_an_array_if_its_items_have_one_shape_and_a_list_otherwise():
    numbers, boxes = htypes.Sequence("int32"), htypes.Sequence(htypes.Boxes())
    assert Type.of(numbers) == Type("int32", (None,), numbers)
    assert Type.of(boxes).items.of == Type.of(htypes.Boxes())
    assert str(Type.of(boxes)) == "Sequence(Boxes())"
    for of in (htypes.Scalar("int32", nullable=True), htypes.ClassLabel(["a"]), htypes.Text()):
        assert Type.of(htypes.Sequence(of)).items.of == Type.of(of)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("MEAN", {}, Type("float64")),
        ("MEAN", {"axis": 2}, Type("float64", (None, None))),
        ("MEAN", {"axis": 0}, Type("float64", None)),
        ("NEG", {}, Type("int64", None, ImageNumbers())),
        ("FLATTEN", {}, Type("uint8", (None,))),
        ("NDIM", {}, Type("int64")),
    ],
)
def test_grey_and_colour_images_are_distinguished_at_run_time(name, options, expected):
    assert REGISTRY[name].bind(ANY_PICTURE, **options).type == expected


def test_arrays_of_any_rank_are_not_taken_for_images():
    assert REGISTRY["MEAN"].bind(ANY_ARRAY).type == Type("float64")
    assert REGISTRY["MEAN"].bind(ANY_ARRAY, axis=2).type == Type("float64", None)
    for others in ([ANY_PICTURE], [[1.0]], [Arg("y", Type("float32", (None, 4)))]):
        assert REGISTRY["+"].bind(ANY_ARRAY, *others).type.shape is None
        assert not REGISTRY["+"].bind(ANY_ARRAY, *others).type.is_like_image


def test_common_properties_of_grey_and_colour_images_are_known():
    picture = Arg("image", Type("uint8", None))
    sized = REGISTRY["RESIZE"].bind(picture, 4, 4)
    assert sized.type == Type("uint8", None)
    assert sized.compute(np.zeros((2, 2, 3), "uint8"), lead=0).shape == (4, 4, 3)
    assert sized.compute(np.zeros((2, 2), "uint8"), lead=0).shape == (4, 4)
    assert REGISTRY["SHAPE"].bind(picture).type == Type("int64", (None,))
