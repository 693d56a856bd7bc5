"""Datasets use only the interface of a type, so that an unknown type works like built-in ones."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.show import diff_html
from deeplake_lite.htypes import ClassLabel, Text
from deeplake_lite.htypes.base import Htype
from deeplake_lite.htypes.cells import DenseCells, RaggedCells
from deeplake_lite.htypes.facets import Pixels
from deeplake_lite.htypes.layouts import Dense, Ragged
from deeplake_lite.htypes.show import thumbnail

GRADES = ClassLabel(["low", "high"])


@dataclass(frozen=True, repr=False, eq=False)
class Grade(Htype):
    """One of two grades."""

    name = "grade"
    layout = Dense("int32")
    classes = GRADES
    sql = "class"
    blank = 0

    def named(self, values):
        return GRADES.named(values)

    def to_words(self, value):
        return GRADES.to_words(value)

    def _encode(self, values, check):
        return DenseCells(GRADES.encode(values, check=check).values)

    def decode(self, data, shape):
        return GRADES.decode(data, shape)

    def preview(self, value):
        return GRADES.preview(value)


@dataclass(frozen=True, repr=False, eq=False)
class _Arrays(Htype):
    """Arrays of any size, stored unchanged."""

    is_plain = True

    def _encode(self, values, check):  # noqa: ARG002
        arrays = [np.ascontiguousarray(value, self.value_dtype) for value in values]
        shapes = [array.shape for array in arrays]
        return RaggedCells(
            [array.tobytes() for array in arrays],
            np.array(shapes, np.int32).reshape(-1, self.layout.ndim),
        )

    def decode(self, data, shape):
        return np.frombuffer(data, self.layout.dtype).view(self.value_dtype).reshape(shape).copy()


@dataclass(frozen=True, repr=False, eq=False)
class Grey(_Arrays):
    """An image without colours."""

    name = "grey"
    layout = Ragged("uint8", 2)
    pixels = Pixels("image", "raw", "uint8")
    blank = np.zeros((1, 1), np.uint8)

    def to_words(self, value):  # noqa: ARG002
        return None

    def preview(self, value):
        return thumbnail(value)


@dataclass(frozen=True, repr=False, eq=False)
class Visits(_Arrays):
    """Times of visits, any number of them."""

    name = "visits"
    layout = Ragged("int64", 1)
    value_dtype = "datetime64[s]"
    is_array = True
    blank = np.zeros(0, "datetime64[s]")

    def preview(self, value):
        return str(value)


@dataclass(frozen=True, repr=False, eq=False)
class Note(Htype):
    """The number of a note that is stored elsewhere."""

    name = "note"
    layout = Ragged("utf8", compressed=True)
    target = Text()
    blank = "0"

    def load(self, value, allow):  # noqa: ARG002
        return f"note {value}"

    def _encode(self, values, check):
        return Text().encode(values, check=check)

    def decode(self, data, shape):
        return Text().decode(data, shape)

    def preview(self, value):
        return value


SCHEMA = {
    "grade": Grade(nullable=True),
    "grades": dl.Sequence(Grade()),
    "image": Grey(),
    "visits": Visits(),
    "note": Note(),
}
IMAGES = [np.arange(6).reshape(2, 3), np.full((4, 4), 9), np.full((1, 2), 5)]
ROWS = {
    "grade": ["low", None, "high"],
    "grades": [["low"], [], ["high", "low"]],
    "image": IMAGES,
    "visits": [["2026-01-02"], [], ["2026-01-03", "2026-01-04"]],
    "note": ["1", "2", "3"],
}


@pytest.fixture
def ds(install, make_lake):
    install(Grade, Grey, Visits, Note)
    return make_lake(SCHEMA, **ROWS)


def check_same_rows(copy, ds):
    """Check that a lake has the same rows as another."""
    for name in SCHEMA:
        assert (copy[name] == ds[name]).all(), name
    assert copy["note"].urls() == ds["note"].urls()


def test_classes_are_compared_by_name(ds):
    assert ds["grade"].names == ("low", "high")
    assert (ds["grade"] == "high").tolist() == [False, False, True]
    assert (ds["grades"] == ["high", "low"]).tolist() == [False, False, True]
    assert "high" in ds["grade"]._repr_html_()
    with pytest.raises(
        dl.SchemaError, match=r"No class can be added to column 'grade', which is Grade\("
    ):
        ds.add_classes("grade", ["middle"])


def test_links_are_followed_and_keep_their_addresses(ds):
    assert ds["note"][:] == ["note 1", "note 2", "note 3"]
    assert ds["note"].urls() == ["1", "2", "3"]
    assert "Note to Text" in repr(ds)


def test_rows_round_trip_through_arrow_and_pandas(ds, make_lake):
    table, frame = ds.to_arrow(), ds.to_pandas()
    assert table.column("grade").to_pylist() == ["low", None, "high"]
    assert frame["grade"].cat.categories.tolist() == ["low", "high"]
    assert table.column("visits").type.value_type == "timestamp[s]"
    for rows in (table, frame, ds):
        copy = make_lake(SCHEMA)
        copy.append(rows)
        check_same_rows(copy, ds)


def test_xarray_names_the_classes(ds):
    assert ds.to_xarray()["grade"].attrs["flag_meanings"] == "low high"
    assert ds.to_xarray()["grade"].to_numpy().tolist() == [0, -1, 1]


def test_folder_has_images_and_arrays_as_files(ds, tmp_path):
    ds.to_folder(tmp_path / "out", label="grade")
    files = {p.relative_to(tmp_path / "out").as_posix() for p in Path(tmp_path).rglob("*.*")}
    assert {"low/000000.png", "000001.png", "high/000002.png"} <= files
    assert "_columns/visits/000002.npy" in files
    assert '"[""high"", ""low""]"' in (tmp_path / "out/metadata.csv").read_text()


def test_diff_shows_classes_and_images(ds):
    ds.update([0], {"grade": ["high"], "image": [np.zeros((5, 5))], "grades": [["high"]]})
    lines = ds.diff().to_pandas().set_index("column")
    assert lines.loc["grade", ["before", "after"]].tolist() == ["low", "high"]
    assert lines.loc["grades", ["before", "after"]].tolist() == ["[low]", "[high]"]
    assert diff_html(ds.diff()).count("<img") == 2


def test_only_images_with_a_mode_are_converted(ds):
    with pytest.raises(dl.SchemaError, match=r"'image' is Grey\(\)"):
        ds.set_mode("image", "L")
