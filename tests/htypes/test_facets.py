"""Every type implements the interface of the layers above, consistently."""

import numpy as np
import pytest

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import (
    Array,
    Boxes,
    Bytes,
    ClassLabel,
    Embedding,
    Image,
    Json,
    Keypoints,
    Link,
    Mask,
    Polygons,
    Scalar,
    Sequence,
    Text,
)
from deeplake_lite.htypes.facets import Browser, BrowserKind, Coordinates, Facets, Pixels, Sql
from deeplake_lite.htypes.layouts import Ragged
from deeplake_lite.htypes.registry import CLASSES, load_class

PLAIN = [
    *map(Scalar, ["bool", "int8", "uint64", "float16", "complex64", "datetime64[us]"]),
    Array("uint8", (8, 8)),
    Array("datetime64[s]", (2,)),
    Array("float32", (None, 3)),
    Array("float32", None),
    Array("float32", (None,), "zstd"),
    Image(),
    Image("jpeg"),
    Image("png", mode="RGB"),
    Image("zstd", dtype="uint16"),
    Mask(names=["void", "cat"]),
    Mask("instance"),
    Mask(dtype="int32"),
    Boxes("xywh", "fraction"),
    ClassLabel(),
    ClassLabel(["ant", "bee"]),
    ClassLabel(["ant", "bee"], multiple=True),
    Text(),
    Json(),
    Bytes(),
    Embedding(4),
    Keypoints(),
    Keypoints(["nose", "tail"], [(0, 1)], dims=2),
    Polygons(),
    Link("image"),
    Link("text"),
]
TYPES = [*PLAIN, *map(Sequence, PLAIN), *(Sequence(Sequence(of)) for of in PLAIN)]


def value_of(htype):
    """Return a non-empty value."""
    fixed = {
        "text": "a, b",
        "json": {"a": [1, None]},
        "bytes": b"ab",
        "polygons": [[[0, 0], [4, 0], [0, 3]]],
        "link": "a.png",
    }
    made = {
        "array": lambda h: np.ones([n or 2 for n in h.shape or ()], h.dtype),
        "image": lambda h: np.ones((3, 4, 3), h.dtype),
        "mask": lambda h: (
            np.ones((2, 3, 4), bool) if h.kind == "instance" else np.ones((3, 4), h.dtype)
        ),
        "boxes": lambda h: np.full((1, 4), 0.25, h.dtype),
        "class_label": lambda h: [1, 0] if h.multiple else 1,
        "keypoints": lambda h: np.ones((1, len(h.names) or 2, h.dims), "float32"),
        "sequence": lambda h: [value_of(h.of), value_of(h.of)],
    }
    if htype.name in fixed:
        return fixed[htype.name]
    return made[htype.name](htype) if htype.name in made else htype.blank


def decoded(htype):
    return htype.decode_cells(htype.encode([value_of(htype)]))[0]


def test_every_registered_type_is_tested():
    assert {type(htype) for htype in TYPES} == {load_class(name) for name in CLASSES}


@pytest.mark.parametrize("htype", TYPES, ids=str)
def test_each_method_returns_its_kind_of_value(htype):
    questions = [name for name in vars(Facets) if not name.startswith("_")]
    assert len(questions) >= 15
    asked = {"details", "to_words", "continues", "united", "widened", "describes"}
    for name in {*questions} - asked:
        getattr(htype, name)
    assert all(isinstance(word, str) and word for word in htype.details())
    assert isinstance(htype.browser, Browser)
    assert htype.browser.kind in BrowserKind.__value__.__args__
    assert htype.sql in (None, *Sql.__value__.__args__)
    assert htype.pixels is None or isinstance(htype.pixels, Pixels)
    assert htype.coordinates is None or isinstance(htype.coordinates, Coordinates)
    meanings = (htype.classes, htype.pixels, htype.coordinates, htype.target, htype.scalar)
    assert sum(meaning is not None for meaning in meanings) <= 1


@pytest.mark.parametrize("htype", TYPES, ids=str)
def test_axes_and_dtype_agree_with_the_values(htype):
    value = decoded(htype)
    if isinstance(value, np.ndarray | np.generic):
        assert htype.value_dtype in ("", str(value.dtype))
        axes = htype.axes
        assert axes is None or len(axes) == value.ndim
        sizes = zip(axes or (), value.shape, strict=False)
        assert all(size in (None, length) for size, length in sizes)
    if htype.sql is not None:
        assert htype.axes == ()


@pytest.mark.parametrize(
    "htype", [h for h in TYPES if h.is_plain and isinstance(h.layout, Ragged)], ids=str
)
def test_plain_cells_are_the_numbers_of_their_value(htype):
    cells = htype.encode([value_of(htype)])
    stored = np.frombuffer(cells.buffers[0], htype.layout.dtype)
    value = decoded(htype)
    assert stored.view(value.dtype).tolist() == value.reshape(-1).tolist()


@pytest.mark.parametrize("htype", TYPES, ids=str)
def test_only_drawn_values_have_no_words(htype):
    innermost = htype
    while isinstance(innermost, Sequence):
        innermost = innermost.of
    words = htype.to_words(decoded(htype))
    if htype is innermost or isinstance(htype.of, type(innermost)):
        assert (words is None) == (innermost.pixels is not None)
    else:
        assert words is not None


@pytest.mark.parametrize("htype", TYPES, ids=str)
def test_only_links_lead_to_another_value(htype):
    value = decoded(htype)
    if htype.target is None:
        assert htype.load(value, ()) is value
    else:
        with pytest.raises(InvalidValueError, match="outside the allowed roots"):
            htype.load(value, ())


@pytest.mark.parametrize("htype", TYPES, ids=str)
def test_type_continues_and_unites_with_itself(htype):
    assert htype.united(htype) == htype
    assert htype.continues(htype)
    assert htype.widened(htype) is None
    assert htype.describes(htype)


def test_classes_continue_a_shorter_list_and_unite_by_name():
    short, long = ClassLabel(["ant"]), ClassLabel(["ant", "bee"])
    assert long.continues(short)
    assert not short.continues(long)
    assert not ClassLabel(["bee", "ant"]).continues(short)
    assert not ClassLabel(["ant", "bee"], multiple=True).continues(short)
    assert ClassLabel(["bee", "ant"]).united(ClassLabel(["cat", "ant"])) == ClassLabel(
        ["bee", "ant", "cat"]
    )
    assert long.united(ClassLabel()) is None
    assert long.united(Text()) is None


def test_sequences_of_classes_are_extended_like_classes():
    short, long = Sequence(ClassLabel(["ant"])), Sequence(ClassLabel(["ant", "bee"]), nullable=True)
    assert short.with_classes(["bee"]) == Sequence(ClassLabel(["ant", "bee"]))
    assert short.widened(long) == Sequence(ClassLabel(["ant", "bee"]))
    assert Sequence(short).widened(Sequence(long)) == Sequence(short.widened(long))
    assert long.widened(ClassLabel(["cat"])) is None
    assert long.labels == ClassLabel(["ant", "bee"])
    assert long.bare.continues(short)
    assert not short.continues(long)
    assert not Sequence(ClassLabel(["ant"], nullable=True)).continues(short)
    assert Sequence("int64").with_classes(["ant"]) is None
    assert Sequence("int64").labels is None


@pytest.mark.parametrize(
    ("htype", "expected"),
    [
        (Boxes("xyxy"), True),
        (Keypoints(), True),
        (Polygons(), True),
        (Mask("instance"), True),
        (Sequence("text"), True),
        (Array("float32", (None,)), True),
        (Array("float32", (2, None)), False),
        (Embedding(4), False),
        (Mask(), False),
        (Image(), False),
        (ClassLabel(["ant"], multiple=True), False),
        (Text(), False),
        (Json(), False),
    ],
    ids=str,
)
def test_types_with_an_item_per_object_are_known(htype, expected):
    assert htype.is_per_object is expected


def test_images_of_several_file_formats_unite_to_any():
    assert Image("jpeg").united(Image("png")) == Image()
    assert Image("jpeg", mode="L").united(Image("png", mode="L")) == Image(mode="L")
    assert Image("jpeg").united(Image("jpeg", mode="L")) is None
    assert Image("jpeg").united(Image("raw")) is None
    assert Image().continues(Image("png"))
    assert Image().continues(Image("jpeg", quality=90))
    assert not Image("png").continues(Image())
    assert not Image("png").continues(Image("raw", dtype="uint16"))
    assert not Image().continues(Image("raw"))
    assert not Image().continues(Image(mode="L"))


@pytest.mark.parametrize("htype", TYPES, ids=str)
def test_only_images_have_a_mode(htype):
    is_image = htype.pixels is not None and htype.pixels.is_image
    assert (htype.with_mode(None) is not None) == is_image
    if is_image:
        assert htype.with_mode(None).pixels.mode is None


def test_column_is_widened_by_new_names_and_file_formats():
    there = ClassLabel(["ant"], nullable=True, default="ant")
    wider = there.widened(ClassLabel(["bee", "ant"]))
    assert wider == ClassLabel(["ant", "bee"], nullable=True, default="ant")
    assert ClassLabel(["ant", "bee"]).widened(ClassLabel(["bee"])) is None
    assert ClassLabel().widened(ClassLabel(["ant"])) is None
    assert ClassLabel(["ant"], multiple=True).widened(ClassLabel(["bee"])) is None
    assert ClassLabel(["ant"]).widened(Text()) is None
    assert Image("jpeg", mode="L", nullable=True).widened(Image("png")) == Image(
        mode="L", nullable=True
    )
    assert Image("jpeg", quality=80).widened(Image("png")) == Image()
    assert Image("jpeg", mode="L").widened(Image("png", mode="RGB")) is None
    assert Image().widened(Image("png")) is None
    assert Image("jpeg").widened(Image("raw")) is None
    assert Image("raw").widened(Image("png")) is None


def test_type_describes_one_that_is_more_specific():
    assert ClassLabel().describes(ClassLabel(["ant"]))
    assert ClassLabel(["ant"]).describes(ClassLabel(["ant", "bee"]))
    assert not ClassLabel(["bee"]).describes(ClassLabel(["ant", "bee"]))
    assert not ClassLabel(["ant"]).describes(ClassLabel(["ant"], multiple=True))
    assert not ClassLabel().describes(Scalar("int32"))
    assert Image("png").describes(Image("png", mode="RGB"))
    assert not Image("png", mode="RGB").describes(Image("png"))
    assert not Image().describes(Image("png"))


def test_pixels_are_decoded_at_a_smaller_size_where_supported():
    pixels = np.full((64, 32, 3), 7, np.uint8)
    for htype, height in [(Image("jpeg"), 16), (Image("png"), 64)]:
        cell = htype.encode([pixels]).buffers[0]
        assert htype.decode_small(cell, (64, 32, 3), 16).shape[0] == height
    mask = Mask().encode([pixels[..., 0]]).buffers[0]
    assert Mask().decode_small(mask, (64, 32), 16).shape == (64, 32)
