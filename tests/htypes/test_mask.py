from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image as Pillow

from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes import Link, Mask, class_colour
from deeplake_lite.testing.htypes import check_config, check_encode_decode, check_refuses

CLASSES = np.array([[0, 1, 2], [2, 255, 0]], "uint8")
NAMED = Mask(names=["background", "cat", "dog"])
INSTANCE = Mask("instance")


def file_of(image, kind="PNG", **options):
    image = image if isinstance(image, Pillow.Image) else Pillow.fromarray(image)
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def palette(classes):
    image = Pillow.fromarray(classes).convert("P")
    image.putdata(classes.reshape(-1).tolist())
    image.putpalette([value for number in range(256) for value in class_colour(number)])
    return image


def test_configurations_round_trip():
    for htype in (
        Mask(),
        NAMED,
        INSTANCE,
        Mask(dtype="uint16"),
        Mask(dtype="int32", nullable=True),
        Link(NAMED),
    ):
        check_config(htype)
    check_config(Mask(default=CLASSES))
    check_config(Mask(default=file_of(CLASSES)))
    check_config(Mask("instance", default=np.zeros((1, 2, 2), bool)))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32"])
@given(data=st.data())
def test_class_numbers_round_trip(dtype, data):
    shapes = hnp.array_shapes(min_dims=2, max_dims=2, max_side=5)
    values = data.draw(st.lists(hnp.arrays(dtype, shapes), min_size=1, max_size=3))
    decoded = check_encode_decode(Mask(dtype=dtype), values)
    assert {value.dtype for value in decoded} == {np.dtype(dtype)}


@given(
    st.lists(
        hnp.arrays(bool, hnp.array_shapes(min_dims=3, max_dims=3, min_side=0, max_side=5)),
        min_size=1,
        max_size=3,
    )
)
def test_instance_masks_round_trip(values):
    decoded = check_encode_decode(INSTANCE, values)
    assert [value.shape for value in decoded] == [value.shape for value in values]


def test_instance_masks_may_be_lists_of_zeros_and_ones():
    values = [[np.eye(3, dtype=bool), np.zeros((3, 3), bool)], np.ones((1, 2, 2), "uint8"), []]
    check_encode_decode(INSTANCE, values, [values[0], values[1] == 1, np.zeros((0, 0, 0), bool)])


def test_png_files_are_stored_unchanged(tmp_path):
    path = tmp_path / "mask.png"
    for data in (file_of(CLASSES), file_of(palette(CLASSES))):
        path.write_bytes(data)
        for value in (data, bytearray(data), path, str(path)):
            cells = NAMED.encode([value])
            assert bytes(cells.buffers[0]) == data
            check_encode_decode(NAMED, [value], [CLASSES])
    sixteen = CLASSES.astype("uint16") * 100
    data = file_of(sixteen)
    assert bytes(Mask(dtype="uint16").encode([data]).buffers[0]) == data
    check_encode_decode(Mask(dtype="uint16"), [data], [sixteen])


def test_other_files_and_images_are_re_encoded():
    values = [
        palette(CLASSES),
        Pillow.fromarray(CLASSES),
        file_of(CLASSES, "TIFF"),
        file_of(CLASSES, "BMP"),
        CLASSES.astype(int),
    ]
    check_encode_decode(NAMED, values, [CLASSES] * 5)
    check_encode_decode(Mask(dtype="uint16"), [file_of(CLASSES)], [CLASSES])
    check_encode_decode(Mask(dtype="int32"), [file_of(palette(CLASSES))], [CLASSES])


@pytest.mark.parametrize(
    ("htype", "bad", "match"),
    [
        (Mask(), np.zeros((2, 2, 3), "uint8"), r"must have shape \(…, …\), but it has \(2, 2, 3\)"),
        (Mask(), np.full((2, 2), 300), "uint8 holds 0 to 255, but the value is 300"),
        (Mask(), np.zeros((2, 2)), "must be uint8, but it is float64"),
        (Mask(), np.zeros((0, 2), "uint8"), r"a mask must have pixels, but its shape is \(0, 2\)"),
        (
            NAMED,
            np.full((2, 2), 3),
            "a mask with 3 classes must contain 0 to 2, or 255 for no class, but it contains 3",
        ),
        (
            Mask(),
            file_of(np.zeros((4, 4, 3), "uint8")),
            r"one number per pixel, but the image has shape \(4, 4, 3\)",
        ),
        (
            Mask(),
            file_of(np.zeros((4, 4), "uint8"), "JPEG"),
            "lossless format, but JPEG is lossy",
        ),
        (Mask(), file_of(CLASSES)[:-5], "."),
        (Mask(), b"", "."),
        (Mask(), "nowhere.png", "there is no file 'nowhere.png'"),
        (Mask(), file_of(CLASSES.astype("uint16") * 100), "uint8 holds 0 to 255"),
        (INSTANCE, np.zeros((2, 2), bool), r"must have shape \(…, …, …\), but it has \(2, 2\)"),
        (
            INSTANCE,
            np.full((1, 2, 2), 255, "uint8"),
            r"must be bool, or consist of 0 and 1, but it contains 255. Convert it",
        ),
        (INSTANCE, np.zeros((1, 2, 2)), "must be int64, but it is float64"),
    ],
)
def test_bad_masks_are_refused(htype, bad, match):
    check_refuses(htype, bad, match)


def test_bad_file_is_reported_with_its_path(tmp_path):
    path = tmp_path / "cut.png"
    path.write_bytes(file_of(CLASSES)[:-5])
    with pytest.raises(InvalidValueError, match=r"^row 1: '.*cut.png': must be a complete PNG"):
        Mask().encode([CLASSES, path])


def test_damage_inside_a_file_is_only_found_by_a_full_check():
    data = bytearray(file_of(np.arange(4096, dtype="uint8").reshape(64, 64)))
    data[len(data) // 2] ^= 0xFF
    Mask().encode([bytes(data)])
    with pytest.raises(InvalidValueError, match="row 0: the PNG cannot be decoded"):
        Mask().encode([bytes(data)], check="full")


def test_numbers_in_a_file_are_only_compared_with_names_by_a_full_check():
    data = file_of(np.full((4, 4), 9, "uint8"))
    NAMED.encode([data])
    with pytest.raises(
        InvalidValueError,
        match=r"row 0: a mask with 3 classes must contain 0 to 2.* but it contains 9",
    ):
        NAMED.encode([data], check="full")


@pytest.mark.parametrize(
    "arguments",
    [
        {"kind": "panoptic"},
        {"dtype": "float32"},
        {"names": ["a", "a"]},
        {"kind": "instance", "names": ["a"]},
        {"kind": "instance", "dtype": "int32"},
    ],
)
def test_invalid_configurations_are_schema_errors(arguments):
    with pytest.raises(SchemaError):
        Mask(**arguments)


def test_previews_colour_each_class():
    preview = NAMED.preview(CLASSES)
    with Pillow.open(BytesIO(preview.data)) as image:
        assert image.getpixel((1, 0)) == class_colour(1)
        assert image.getpixel((0, 1)) == class_colour(2)
    assert NAMED.preview(np.zeros((2000, 10), "uint8")).height <= 96
    assert INSTANCE.preview(np.zeros((0, 5, 5), bool)) == "0 objects"
    with Pillow.open(BytesIO(INSTANCE.preview(np.eye(4, dtype=bool)[None]).data)) as image:
        assert image.getpixel((0, 0)) == class_colour(1)
    assert len({class_colour(number) for number in range(64)}) == 64


def scientific(array, **options):
    file = BytesIO()
    tifffile.imwrite(file, array, **options)
    return file.getvalue()


BITS, NUMBERS = np.array([[0, 1], [1, 0]], bool), np.array([[0, 3], [1, 2]], "uint8")


@pytest.mark.parametrize(
    ("data", "numbers"),
    [
        (file_of(BITS, "PNG"), BITS),
        (file_of(BITS, "TIFF"), None),
        (file_of(BITS, "BMP"), None),
        (file_of(NUMBERS, "TIFF"), NUMBERS),
        (file_of(NUMBERS, "BMP"), NUMBERS),
        (scientific(NUMBERS, photometric="miniswhite"), None),
        (scientific(NUMBERS.astype("uint16"), photometric="minisblack"), NUMBERS),
    ],
)
def test_files_give_their_stored_numbers_or_are_refused(data, numbers):
    mask = Mask()
    if numbers is None:
        with pytest.raises(
            InvalidValueError, match="must decode to exactly the numbers in the file"
        ):
            mask.encode([data])
    else:
        [result] = mask.decode_cells(mask.encode([data]))
        np.testing.assert_array_equal(result, numbers)
