"""Types of other packages are drawn by their interface; one without pixels draws itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite import codecs
from deeplake_lite.htypes.array import shapes_of
from deeplake_lite.htypes.arrays import as_array, as_buffer, each, from_buffer
from deeplake_lite.htypes.base import Htype, Picture
from deeplake_lite.htypes.cells import DenseCells, RaggedCells
from deeplake_lite.htypes.facets import Browser, Coordinates, Pixels
from deeplake_lite.htypes.layouts import Dense, Ragged
from deeplake_lite.schema import Schema
from deeplake_lite.widget.images.drawing import draw_functions
from deeplake_lite.widget.images.kinds import first_drawable, names_of
from deeplake_lite.widget.images.overlays import marks
from deeplake_lite.widget.static.strip import strip


@dataclass(frozen=True, repr=False, eq=False)
class Signal(Htype):
    """Samples over time, shown as a plot."""

    length: int | None = None
    """Samples per row; None if rows differ."""

    name: ClassVar[str] = "signal"

    @cached_property
    def layout(self):
        return Ragged("float32", 1) if self.length is None else Dense("float32", (self.length,))

    @property
    def blank(self):
        return np.zeros(self.length or 0, "float32")

    @property
    def browser(self):
        return Browser("image")

    def _encode(self, values, check):  # noqa: ARG002
        arrays = each(values, lambda value: as_array(value, "float32", (self.length,)))
        if self.length is not None:
            return DenseCells(np.stack(arrays))
        return RaggedCells([as_buffer(array) for array in arrays], shapes_of(arrays, 1))

    def decode(self, data, shape):
        return data if self.length is not None else from_buffer(data, "float32", shape)

    def preview(self, value):
        return plot(value) if len(value) else "no samples"


class Regions(dl.Array):
    """A class number for each pixel, of a fixed size."""

    pixels = Pixels("class_mask", "raw", "uint8", names=("sky", "sea"))
    browser = Browser("mask")


class Poses(dl.Keypoints):
    """Points in parts of the image."""

    coordinates = Coordinates("keypoints", ("x", "y", "visibility"), "fraction")


def plot(samples):
    """Return an image with a dot for each sample."""
    pixels = np.zeros((24, len(samples)), "uint8")
    heights = np.interp(samples, (min(samples), max(samples)), (23, 0)).astype(int)
    pixels[heights, np.arange(len(samples))] = 255
    return Picture(bytes(codecs.get("png").encode(pixels)), "image/png", len(samples), 24)


WAVE = np.sin(np.arange(40)).astype("float32")
RAMP = np.arange(30, dtype="float32")


def part(data, span):
    offset, length, mime = span
    return data[offset : offset + length], mime


@pytest.fixture(autouse=True)
def registered(install):
    """Register the type."""
    install(Signal)


@pytest.fixture
def ds(make_lake):
    return make_lake(
        {"signal": Signal(nullable=True), "label": dl.ClassLabel(["calm", "loud"])},
        signal=[WAVE, None, [], RAMP],
        label=[0, 1, 0, 1],
    )


def test_grid_shows_plots(ds, page):
    reply, data = page(ds).ask("cells", start=0, stop=4, size=64, columns=["label"])
    wave, null, empty, ramp = reply["cells"]
    assert [cell["main"] for cell in reply["cells"]] == ["signal"] * 4
    assert part(data, wave["v"]) == (plot(WAVE).data, "image/png")
    assert part(data, ramp["v"]) == (plot(RAMP).data, "image/png")
    assert [(c["w"], c["h"]) for c in (wave, ramp)] == [(40, 24), (30, 24)]
    assert (null["v"], null["card"]) == (None, {"kind": "null"})
    assert (empty["v"], empty["card"]) == (None, {"kind": "value", "text": "no samples"})
    assert wave["caption"]["label"]["t"] == "calm"


def test_row_details_show_its_plot(ds, page):
    p = page(ds)
    reply, data = p.ask("detail", p=0)
    [signal, _] = reply["columns"]
    assert (reply["picture"], reply["w"], reply["h"]) == ("signal", 40, 24)
    assert (signal["kind"], signal["type"], signal["shape"]) == ("image", "Signal", "40")
    assert part(data, signal["v"]) == (plot(WAVE).data, "image/png")
    [empty, _] = p.asks("detail", p=2)["columns"]
    assert (empty["v"], empty["text"]) == (None, "no samples")


def test_plot_is_shown_next_to_the_image_with_annotations(make_lake, page):
    ds = make_lake(
        {"signal": Signal(), "photo": dl.Image("png"), "boxes": "boxes"},
        signal=[WAVE, []],
        photo=[np.zeros((50, 100), "uint8")] * 2,
        boxes=[[[0, 0, 50, 25]]] * 2,
    )
    assert first_drawable(ds.schema).name == "photo"
    p = page(ds)
    reply, data = p.ask("detail", p=0)
    columns = {column["name"]: column for column in reply["columns"]}
    assert reply["picture"] == "photo"
    assert columns["boxes"]["marks"]["boxes"] == [[0, 0, 0.5, 0.5]]
    assert part(data, columns["signal"]["v"]) == (plot(WAVE).data, "image/png")
    assert columns["signal"]["text"] == "40 × 24"
    [empty] = [c for c in p.asks("detail", p=1)["columns"] if c["name"] == "signal"]
    assert (empty["v"], empty["null"], empty["text"]) == (None, False, "no samples")
    [cell] = p.asks("cells", start=0, stop=1, picture="signal", overlays=["boxes"])["cells"]
    assert "it belongs to 'photo'" in cell["unmarked"]["boxes"]


def test_page_treats_a_column_of_plots_as_images_without_pixels(ds, page):
    p = page(ds)
    about = p.w.about["columns"][0]
    assert (about["kind"], about["role"], about["dtype"]) == ("image", "picture", "float32")
    counted = p.asks("facets")["facets"]
    assert {facet["column"] for facet in counted} == {"label"}


def test_failing_plot_is_a_damaged_cell(ds, page, monkeypatch):
    def preview(self, value):  # noqa: ARG001
        raise ZeroDivisionError("nothing to scale")

    monkeypatch.setattr(Signal, "preview", preview)
    cell = page(ds).asks("cells", start=0, stop=1)["cells"][0]
    assert cell["card"] == {"kind": "damaged", "text": "nothing to scale"}


def test_fixed_length_values_and_lists_of_them_are_drawn_too():
    for htype, value in [(Signal(40), WAVE), (dl.Sequence(Signal()), [WAVE, RAMP])]:
        [draw] = draw_functions(htype, htype.encode([value]))
        assert (draw(64).data, draw(64).width) == (plot(WAVE).data, 40)
        assert first_drawable(Schema.build({"x": "int32", "signal": htype})).name == "signal"


def test_long_two_dimensional_signal_is_not_a_large_image(make_lake, page, monkeypatch):
    monkeypatch.setattr("deeplake_lite.widget.images.thumbnails.LARGE", 8)
    monkeypatch.setattr(Signal, "layout", Ragged("float32", 2))
    monkeypatch.setattr(Signal, "preview_stored", lambda *_: plot(RAMP))
    monkeypatch.setattr(
        Signal,
        "_encode",
        lambda _, values, check: RaggedCells(  # noqa: ARG005
            [as_buffer(np.asarray(v, "float32")) for v in values],
            np.array([np.shape(v) for v in values], np.int32),
        ),
    )
    ds = make_lake({"signal": Signal()}, signal=[np.zeros((4, 9))])
    reply, data = page(ds).ask("cells", start=0, stop=1, size=16)
    [cell] = reply["cells"]
    assert (part(data, cell["v"])[0], cell["w"]) == (plot(RAMP).data, 30)


def test_static_strip_has_plots(ds, page):
    w = page(ds).w
    html = strip(w.shown, w.thumbnails)
    assert html.count("<img") == 2
    assert "no samples" in html


# ---- pixels and positions


def test_mask_of_any_type_is_drawn_in_its_colours_or_as_numbers():
    numbers = np.arange(16, dtype="uint8").reshape(4, 4)
    htype, mask = Regions("uint8", (4, 4)), dl.Mask()
    for as_numbers in (False, True):
        [draw] = draw_functions(htype, htype.encode([numbers]), numbers=as_numbers)
        [known] = draw_functions(mask, mask.encode([numbers]), numbers=as_numbers)
        assert draw(64) == known(64)
    assert names_of(htype) == ("sky", "sea")


def test_relative_positions_stay_unchanged():
    points = np.array([[[0.5, 0.25, 1], [0.1, 1, 0]]])
    assert marks(Poses(), points, 200, 100)["points"] == points.tolist()
    scaled = marks(dl.Keypoints(), points * [200, 100, 1], 200, 100)["points"]
    assert scaled == points.tolist()
