"""Datasets, views, columns and diffs are displayed correctly, briefly, cheaply and safely."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deeplake_lite as dl
from deeplake_lite.dataset.repr import preview
from deeplake_lite.dataset.repr.html.tags import MAX_BYTES, MAX_THUMBNAILS
from deeplake_lite.dataset.versions.summary import to_table_cell
from deeplake_lite.storage.repo import Repository
from deeplake_lite.storage.table import Table

from ..everything import SCHEMA, lake, png

HOSTILE = "<script>alert(1)</script></style>\"'&\u202e\x00\x1b[31m\n\u200b"


class Page(HTMLParser):
    """The tags and the text of an HTML page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def text_of(shown):
    """Return the text of a page, after checking that it is fit for display."""
    page = shown._repr_html_()
    parsed = Page(page)
    assert len(page.encode()) <= MAX_BYTES
    names = [name for name, _ in parsed.tags]
    assert "script" not in names
    assert not any(key.startswith("on") for _, attrs in parsed.tags for key in attrs)
    assert names.count("img") <= MAX_THUMBNAILS
    assert names[0] == "div", page[:200]
    return " ".join(" ".join(part for part in parsed.text if not part.startswith(".dl")).split())


def pictures_in(shown):
    return [attrs for name, attrs in Page(shown._repr_html_()).tags if name == "img"]


@pytest.fixture(scope="module")
def full():
    return lake()


@pytest.fixture
def blind(monkeypatch):
    """Make every read of cells fail."""

    def fail(*_args, **_kwargs):
        raise dl.DamagedError("broken")

    for name in ("read", "shapes", "nbytes", "digests", "statistics"):
        monkeypatch.setattr(Table, name, fail)


# ---- plain text


@pytest.mark.usefixtures("blind")
def test_text_has_a_line_per_column_and_reads_nothing(full):
    lines = repr(full).splitlines()
    assert lines[0].endswith(f"3 rows · main@{full.version} · clean")
    assert [line.split()[0] for line in lines[2:]] == list(SCHEMA)


def test_text_describes_the_columns(full):
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in repr(full).splitlines()[2:]}
    assert lines["image"] == "Image png, nullable"
    assert lines["objects"] == "Mask bool ? × ? × ? instance"
    assert lines["points"] == "Keypoints float32 ? × 2 × 2 2 points"
    assert lines["outlines"] == "Polygons float32 ? × ? × 2"
    assert lines["tags"] == "ClassLabel int32 ? 3 classes, several per row"
    assert lines["packed"] == "Array float64 2 × ? zstd"
    assert lines["link"] == "Link to Image auto, nullable"
    assert lines["frames"] == "Sequence of Image ? auto"


def test_text_shows_edits_branches_and_origins():
    ds = lake({"x": "int32"}, {"x": [1, 2, 3]})
    ds["x"][0] = 9
    assert "main@" in repr(ds)
    assert "● 1 cell updated" in repr(ds)
    assert "● 1 cell updated" in repr(ds[1:])
    assert "[1:]" in repr(ds[1:])
    ds.commit("nine")
    ds.branch("fix")
    ds.checkout("fix")
    ds.tag("v1")
    assert "fix@" in repr(ds)
    assert "v1@" in repr(dl.open(ds.url, version="v1"))
    assert f"1 row · {ds.version} · clean" not in repr(ds)
    assert f" {ds.version} · clean" in repr(dl.open(ds.url, version=ds.version))


def test_columns_have_a_text_form(full):
    assert repr(full["label"]).splitlines()[1] == "  ClassLabel · int32 · 2 classes, nullable"
    ds = lake({"x": "int32"}, {"x": [1]})
    ds["x"].metadata["unit"] = "cm"
    assert repr(ds["x"]).splitlines()[2] == "  unit cm"


# ---- HTML


def test_page_shows_every_type(full):
    page = text_of(full)
    for name in list(SCHEMA)[:12]:
        assert name in page
    assert "more columns" in page
    for name in SCHEMA:
        assert name in text_of(full[name])


@pytest.mark.parametrize(("columns", "table", "preview"), [(28, 16, 20), (9, 0, 1), (8, 0, 0)])
def test_page_counts_the_omitted_columns(columns, table, preview):
    ds = dl.create(f"memory://left-out-{columns}", {f"c{i:02}": "int32" for i in range(columns)})
    ds.append({f"c{i:02}": [i] for i in range(columns)})
    left_out = [int(n) for n in re.findall(r"… (\d+) more columns?", ds._repr_html_())]
    assert left_out == [n for n in (table, preview) if n]


def test_preview_images_do_not_count_as_omitted_columns():
    names = [f"c{i}" for i in range(8)]
    ds = dl.create("memory://left-out-images", {"image": "image", **dict.fromkeys(names, "int32")})
    ds.append({"image": [np.zeros((4, 4, 3), "uint8")], **{name: [1] for name in names}})
    assert "more column" not in ds._repr_html_()


def test_page_has_shapes_sizes_classes_and_versions():
    values = {"image": [png((4, 5)), png((9, 5, 3))] * 2, "label": ["b", "a", "b", "b"]}
    ds = lake({"image": "image", "label": dl.ClassLabel(["a", "b", "c"])}, values)
    ds.tag("v1.0")
    page = text_of(ds)
    assert "4–9 × 5 × 1–3" in page
    assert "label 3 classes" in page
    assert "a ▇▇▇▇▇▇▇ 1 " in page
    assert "c 0 " in page
    assert "main, v1.0" in page
    assert "filled" in page
    assert len(pictures_in(ds)) == 4
    assert "Versions" not in text_of(ds[:2])


def test_links_are_shown_as_addresses_and_not_followed(tmp_path, monkeypatch):
    (tmp_path / "a.png").write_bytes(png((4, 4)))
    url = str(tmp_path / "a.lake")
    schema = {"link": dl.Link("image"), "links": dl.Sequence(dl.Link("image"))}
    ds = dl.create(url, schema)
    ds.append({"link": [str(tmp_path / "a.png")], "links": [["/etc/passwd"]]})
    ds.commit("links")
    ds = dl.open(url, allow=[str(tmp_path)])
    monkeypatch.setattr("deeplake_lite.htypes.link.resolve_link", None)
    page = text_of(ds)
    assert str(tmp_path)[:20] in page
    assert "/etc/passwd" in page
    assert not pictures_in(ds)


def test_page_reads_eight_rows_of_one_index_chunk(monkeypatch):
    count = preview.INDEX_ROWS + 500
    ds = lake({"x": "int32", "t": "text"}, {"x": np.arange(count), "t": ["t"] * count})
    seen, read = [], Table.read

    def noted(self, columns, slots):
        seen.append(slots)
        return read(self, columns, slots)

    monkeypatch.setattr(Table, "read", noted)
    text_of(ds)
    assert [len(slots) for slots in seen] == [8, 8]
    assert max(map(max, seen)) < preview.INDEX_ROWS
    seen.clear()
    text_of(ds[::-1])
    assert min(map(min, seen)) >= preview.INDEX_ROWS


def test_large_cells_are_not_read(monkeypatch):
    monkeypatch.setattr(preview, "_READ_BYTES", 100)
    ds = lake({"b": dl.Bytes()}, {"b": [b"\1" * 60, b"\2" * 60, b"\3"]})
    assert text_of(ds["b"]).count(preview.UNREAD) >= 2
    assert "60 bytes: 01" in text_of(ds["b"])
    huge = lake({"b": dl.Bytes()}, {"b": [b"\1" * 2_000]})
    assert "2,000 bytes" not in text_of(huge["b"])


def test_pages_of_large_images_stay_small():
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 255, (300, 300, 3), np.uint8) for _ in range(9)]
    ds = lake({"a": dl.Image("png"), "b": dl.Image("jpeg")}, {"a": noise, "b": noise})
    text_of(ds)
    assert len(pictures_in(ds)) == MAX_THUMBNAILS


def test_class_counts_include_nulls_and_are_limited(full, monkeypatch):
    assert "null" in text_of(full["label"])
    page = text_of(full["number"])
    assert "3 classes" in page
    assert "900" in page
    assert "3 classes" in text_of(full["tags"])
    monkeypatch.setattr(preview, "COUNTED_ROWS", 2)
    assert "2 classes," in text_of(full["label"])
    assert "label 2 classes" not in text_of(full)


def test_damage_is_shown_in_place(full, monkeypatch):
    read = Table.read

    def damaged(self, columns, slots):
        if full["text"].field.id in columns and 0 in slots:
            raise dl.DamagedError("flipped bits")
        return read(self, columns, slots)

    monkeypatch.setattr(Table, "read", damaged)
    page = text_of(full[["text", "x"]])
    assert "cannot be read: flipped bits" in page
    assert page.count("cannot be read") == 1


@pytest.mark.usefixtures("blind")
def test_unreadable_dataset_still_has_a_page(full, monkeypatch):
    assert "cannot be read: broken" in text_of(full["text"])
    assert "Preview 3 rows" in text_of(full)
    monkeypatch.setattr(Repository, "ancestry", None)
    assert "Versions" not in text_of(full)
    assert "image" in text_of(full["image"])


def test_summary_that_cannot_be_gathered_is_named(full, monkeypatch):
    monkeypatch.setattr("deeplake_lite.dataset.show._page", None)
    assert full._repr_html_() == repr(full)
    monkeypatch.setattr("deeplake_lite.dataset.show._outline", None)
    assert repr(full) == full._repr_html_() == "<Dataset>"


def test_hostile_strings_are_harmless():
    name = "<script>'\"&amp;\u202e"
    ds = lake(
        {name: dl.Text(), "label": dl.ClassLabel([HOSTILE])}, {name: [HOSTILE], "label": [HOSTILE]}
    )
    ds[name].metadata[HOSTILE] = HOSTILE
    ds.metadata[HOSTILE] = HOSTILE
    first = ds.log()[-1].id
    ds.commit(HOSTILE)
    for shown in (ds, ds[:1], ds[name], ds["label"], ds.diff(first)):
        text_of(shown)
        assert "\x1b" not in repr(shown)
        assert "\u202e" not in repr(shown)


def test_empty_lakes_and_views_have_pages(full):
    empty = lake(values={"x": []})
    assert "0 rows" in text_of(empty)
    for name in SCHEMA:
        assert "0 rows" in text_of(empty[name])
    assert "0 rows" in text_of(full[[]])
    assert "no differences" in text_of(empty.diff())
    bare = dl.create("memory://bare", {})
    assert "0 rows" in text_of(bare)
    assert "0 rows" in repr(bare)


# ---- columns of numbers


def test_numbers_have_bounds_and_a_histogram():
    values = [None, float("nan"), *np.linspace(0, 1, 101)]
    ds = lake({"x": dl.Scalar("float64", nullable=True)}, {"x": values})
    page = text_of(ds["x"])
    for fact in ("min 0", "max 1", "mean 0.5", "NaN 1", "nulls 1", "10 bins", "0.9 to 1"):
        assert fact in page


def test_few_values_are_counted_and_times_are_formatted_as_times():
    ds = lake(
        {"ok": "bool", "when": "datetime64[D]", "x": "uint64"},
        {
            "ok": [True, False, True],
            "when": ["2026-01-02", "1960-01-01", "2026-01-02"],
            "x": [0, 1, 2**64 - 1],
        },
    )
    assert "2 values" in text_of(ds["ok"])
    assert "min 1960-01-01 · max 2026-01-02" in text_of(ds["when"])
    assert str(2**64 - 1) in text_of(ds["x"])


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["int64", "uint64", "float16", "float32", "float64", "datetime64[ns]"]),
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=40),
)
def test_random_numbers_can_be_summarised(dtype, bits):
    width = np.dtype(dtype).itemsize * 8
    numbers = np.array([n % 2**width for n in bits], f"u{width // 8}").view(dtype)
    if numbers.dtype.kind == "M":
        numbers = numbers[~np.isnat(numbers)]
    ds = lake({"x": dtype}, {"x": numbers})
    facts, tally = preview.summarize(ds.handle.table, ds["x"].field, ds.rows.live())
    finite = numbers.dtype.kind != "f" or np.isfinite(numbers)
    if tally is not None:
        assert sum(n for _, n in tally.counts) == np.broadcast_to(finite, len(numbers)).sum()
    assert all(isinstance(value, str) for _, value in facts)


# ---- diffs


@pytest.fixture(scope="module")
def corrected():
    schema = {"image": "image", "label": dl.ClassLabel(["a", "b"]), "t": dl.Text(nullable=True)}
    pictures = [png((4, 4), i) for i in range(20)]
    ds = lake(schema, {"image": pictures, "label": [0] * 20, "t": ["t"] * 20})
    first = ds.version
    ds.delete([0, 1, 2])
    ds.update([3, 4], {"label": ["b", "b"], "t": ["new", None]})
    ds.update([5], {"image": [png((4, 4), 99)]})
    ds.append({"image": [png((4, 4), 50)], "label": ["b"], "t": ["added"]})
    ds.add_column("score", dl.Scalar("float32", default=0.5))
    ds.rename_column("t", "text")
    ds["label"].metadata["by"] = "ada"
    ds.metadata["licence"] = "CC0"
    ds.commit("corrected")
    return ds, first


def test_diff_shows_counts_schema_and_rows(corrected):
    ds, first = corrected
    page = text_of(ds.diff(first))
    for part in ("1 row added", "3 rows removed", "3 rows changed"):
        assert part in page
    for part in ("renamed from t", "metadata by: None → 'ada'", "metadata licence: None → 'CC0'"):
        assert part in page
    assert "label : a → b" in page
    assert "text : t → null" in page
    assert "~ row 3" in page
    assert "+ row 17" in page
    assert "− row 0" in page
    assert len(pictures_in(ds.diff(first))) >= 7


def test_text_of_a_diff_reads_no_cell(corrected, monkeypatch):
    ds, first = corrected
    diff = ds.diff(first)
    monkeypatch.setattr(Table, "read", None)
    monkeypatch.setattr(Table, "ids", None)
    assert repr(diff).splitlines()[0].endswith("1 row added · 3 rows removed · 3 rows changed")


def test_unreadable_diff_is_still_shown(corrected, monkeypatch):
    ds, first = corrected
    diff = ds.diff(first)
    monkeypatch.setattr(Table, "read", None)
    assert "cannot be read" in text_of(diff)
    monkeypatch.setattr(Table, "find", None)
    assert diff._repr_html_() == repr(diff)


def test_changed_metadata_alone_is_a_diff():
    ds = lake({"x": "int32"}, {"x": [1]})
    ds.metadata["licence"] = "CC0"
    assert "no differences" not in repr(ds.diff())
    assert "licence" in text_of(ds.diff())


def test_diff_of_links_follows_none():
    ds = lake({"link": dl.Link("image")}, {"link": ["/etc/hostname"]})
    ds["link"][0] = "/etc/passwd"
    assert "/etc/passwd" in text_of(ds.diff())


def test_to_pandas_names_classes_and_shortens_other_values(corrected):
    ds, first = corrected
    frame = ds.diff(first).to_pandas()
    changed = frame[frame["change"] == "changed"]
    rows = changed[["column", "before", "after"]].values.tolist()
    assert ["label", "a", "b"] in rows
    assert ["text", "t", "new"] in rows
    assert any(row[0] == "text" and pd.isna(row[2]) for row in rows)
    assert any(row[0] == "image" and row[1].startswith("uint8 (4, 4): ") for row in rows)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (np.ma.masked, None),
        (np.ma.MaskedArray([1, 2], [True, True]), None),
        (np.float32(0.5), 0.5),
        (np.array(3), 3),
        ("text", "text"),
        (b"ab", "2 bytes"),
        ([1, "a"], "[1, 'a']"),
        (np.zeros((2, 2), "int8"), "int8 (2, 2): 0, 0, 0, 0"),
        (np.datetime64("2026-01-02"), np.datetime64("2026-01-02")),
    ],
)
def test_plain_values_are_built_in_types(value, shown):
    assert to_table_cell(value) == shown


def test_plain_classes_are_names():
    label = dl.ClassLabel(["a", "b"], multiple=True)
    assert to_table_cell(np.array([1, 0]), label) == "b, a"
    assert to_table_cell(np.ma.masked, label) is None


def test_page_with_jpegs_imports_no_other_codec():
    code = """
import sys
import numpy as np
import deeplake_lite as dl
ds = dl.create("memory://jpegs", {"i": dl.Image("jpeg")})
ds.append({"i": [np.zeros((200, 300, 3), "uint8")]})
assert "<img" in ds._repr_html_()
print([name for name in sys.modules if name.startswith(("PIL.Gif", "PIL.Png", "PIL.Bmp"))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
