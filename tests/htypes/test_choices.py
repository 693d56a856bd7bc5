"""Enumerated options accept several spellings and are stored as one."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import SchemaError


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (lambda: dl.Image("jpg"), dl.Image("jpeg")),
        (lambda: dl.Image("JPEG", quality=80), dl.Image("jpeg", quality=80)),
        (lambda: dl.Image("tif", mode="rgb"), dl.Image("tiff", mode="RGB")),
        (lambda: dl.Image("raw", dtype=np.float32), dl.Image("raw", dtype="float32")),
        (lambda: dl.Array("Float", (3,), "ZSTD"), dl.Array("float64", (3,), "zstd")),
        (lambda: dl.Boxes("XYWH", "Pixels", dtype=int), dl.Boxes("xywh", dtype="int64")),
        (lambda: dl.Mask("Instance"), dl.Mask("instance")),
        (lambda: dl.Embedding(4, np.float16), dl.Embedding(4, "float16")),
    ],
)
def test_alternative_spellings_of_an_option_are_equal(given, kept):
    assert given() == kept
    assert given().get_config() == kept.get_config()


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (lambda: dl.Image("jpegg"), r"codec of an image must be .* Did you mean 'jpeg'\?"),
        (
            lambda: dl.Image("png", mode=""),
            "mode of an image must be 'L', 'RGB' or 'RGBA', but it is ''",
        ),
        (lambda: dl.Image(7), "codec of an image must be .*, but it is 7"),
        (lambda: dl.Array("int8", (2,), "jpg"), "codec of an array .* Images have the type Image"),
        (lambda: dl.Boxes("xyyx"), r"format of boxes .* but it is 'xyyx'\. Did you mean 'xyxy'\?"),
        (lambda: dl.Boxes("xyxy", "pixel"), r"units of boxes .* Did you mean 'pixels'\?"),
        (lambda: dl.Mask("instances"), r"kind of a mask .* Did you mean 'instance'\?"),
        (lambda: dl.Embedding(4, "float23"), r"dtype of an embedding .* Did you mean 'float32'\?"),
        (lambda: dl.Scalar("string"), "'string' is not a dtype. Declare the column as 'text'"),
        (lambda: dl.Scalar("floaty32"), r"but it is 'floaty32'\. Did you mean 'float32'\?"),
    ],
)
def test_unknown_option_is_refused_with_the_nearest(given, match):
    with pytest.raises(SchemaError, match=match):
        given()
