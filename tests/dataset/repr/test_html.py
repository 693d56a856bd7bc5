"""HTML and plain-text representations are well formed, escaped, small and complete."""

import re
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeplake_lite.dataset.repr import html
from deeplake_lite.dataset.repr.html import (
    CellChange,
    ColumnPage,
    ColumnSummary,
    DatasetSummary,
    DiffExample,
    DiffSummary,
    PreviewCell,
    PreviewRow,
    SchemaChange,
    Tally,
    VersionLine,
    render_column,
    render_dataset,
    render_diff,
    text_column,
    text_dataset,
    text_diff,
)
from deeplake_lite.dataset.repr.html.style import SHEET
from deeplake_lite.dataset.repr.html.tags import MAX_BYTES, MAX_THUMBNAILS
from deeplake_lite.htypes.base import Picture

HOSTILE = "<script>alert(1)</script></style></pre>\"'&\u202e\x00\x1b[31m\n\u200b\ud800"
WHEN = datetime(2026, 10, 3, 14, 5, tzinfo=UTC)
DOT = Picture(b"GIF89a" * 100, "image/gif", 8, 8)
VOID = {"img", "br"}


class Checker(HTMLParser):
    """A strict stack: every element closes in order, and no attribute occurs twice."""

    def __init__(self):
        super().__init__()
        self.stack, self.tags, self.images, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag == "img":
            self.images.append(dict(attrs))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if self.stack[-1] != "style":
            self.text.append(data)


def check_page(page):
    """Parse a page; check the rules that hold for every page."""
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.stack == []
    assert len(page.encode()) <= MAX_BYTES
    assert len(checker.images) <= MAX_THUMBNAILS
    allowed = {"class", "style", "src", "alt", "width", "height", "dir", "open"}
    allowed |= {"scope", "align", "cellpadding"}
    for tag, attributes in checker.tags:
        assert tag not in {"script", "iframe", "link", "a", "object", "svg"}
        assert set(attributes) <= allowed
    for image in checker.images:
        assert image["src"].startswith("data:image/")
        assert image["alt"]
        assert 1 <= int(image["width"]) <= 96
        assert 1 <= int(image["height"]) <= 96
    return checker


def stripped(page):
    """Remove everything that a sanitiser may remove; return the remaining text."""
    return " ".join("".join(check_page(page).text).split())


def preview(rows, picture=DOT, **texts):
    return tuple(
        PreviewRow(
            row,
            (PreviewCell("image", picture), *(PreviewCell(k, v) for k, v in texts.items())),
            f"rose {row}",
        )
        for row in range(rows)
    )


DATASET = DatasetSummary(
    "digits",
    1797,
    url="/data/digits.lake",
    branch="main",
    commit="7F3K",
    dirty="12 rows edited",
    nbytes=3_400_000,
    columns=(
        ColumnSummary("image", "Image", "uint8", (8, (8, 12), None), 812_000, "png"),
        ColumnSummary("label", "ClassLabel", "int32", nbytes=7188, note="2 classes"),
    ),
    previews=preview(3, text="a handwritten digit", empty=None),
    tallies=(Tally("label", (("even", 900), ("odd", 897))),),
    versions=(VersionLine("7F3K", "first thousand", WHEN, ("v1.0",)),),
)
COLUMN = ColumnPage(
    DATASET.columns[0],
    1797,
    title="digits",
    version="main@7F3K",
    facts=(("nulls", "12"),),
    previews=preview(2),
    tally=Tally("image", (("0–1", 3), ("1–2", 0)), noun="bin"),
)
DIFF = DiffSummary(
    "main",
    "fix",
    added=1200,
    removed=1,
    changed=2,
    columns=(("label", 2), ("image", 1)),
    schema=(
        SchemaChange("added", "score", "float32"),
        SchemaChange("removed", "old"),
        SchemaChange("changed", "box", "renamed from boxes"),
    ),
    examples=(
        DiffExample("changed", 41, (CellChange("label", "seven", "four"),), DOT),
        DiffExample("changed", 42, (CellChange("image", DOT, DOT), CellChange("text", None, "x"))),
        DiffExample("added", 1798, (CellChange("label", after="nine"),)),
        DiffExample("removed", 12, (CellChange("label", before="two"),)),
    ),
)
PAGES = [
    pytest.param(render_dataset, text_dataset, DATASET, id="dataset"),
    pytest.param(render_dataset, text_dataset, replace(DATASET, kind="View"), id="view"),
    pytest.param(render_column, text_column, COLUMN, id="column"),
    pytest.param(render_diff, text_diff, DIFF, id="diff"),
]
FACTS = {
    "dataset": (
        "Dataset digits · 1,797 rows · main@7F3K · ● 12 rows edited · 3.4 MB|/data/digits.lake|"
        "image|Image|uint8|8 × 8–12 × ?|812 KB|png|ClassLabel|7.2 KB|2 classes|"
        "a handwritten digit|null|rose 0|even|900|odd|897|7F3K|first thousand|v1.0|"
        "2026-10-03 14:05 UTC"
    ),
    "column": (
        "Column image of digits · 1,797 rows · main@7F3K · 812 KB|"
        "Image · uint8 · 8 × 8–12 × ? · png|"
        "nulls 12|rose 1|2 bins|0–1|3|1–2"
    ),
    "diff": (
        "Diff main → fix|+ 1,200 rows added|− 1 row removed|~ 2 rows changed|score|float32|old|"
        "renamed from boxes|label: seven → four|text: null → x|label: nine|label: two|"
        "+ row 1,798|− row 12|~ row 41"
    ),
}


@pytest.mark.parametrize(("render", "text", "summary"), PAGES)
def test_pages_are_well_formed_and_load_nothing(render, text, summary):
    page = render(summary)
    checker = check_page(page)
    assert checker.images
    assert page.startswith('<div class="dl-repr"><style>')
    assert not re.search(r"<script|\bid=|https?:|url\(|@import|javascript|\bon\w+=", page)
    assert "\n" not in text(summary).splitlines()[0]


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        (render_dataset(DATASET), "dataset"),
        (render_column(COLUMN), "column"),
        (render_diff(DIFF), "diff"),
    ],
)
def test_sanitised_pages_keep_all_facts(page, kind):
    checker = check_page(page)
    text = stripped(page)
    for fact in FACTS[kind].split("|"):
        assert fact in text
    assert "▇" in text
    assert "row" in checker.images[0]["alt"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [(text_dataset(DATASET), "dataset"), (text_column(COLUMN), "column")],
)
def test_plain_text_keeps_all_facts(text, kind):
    for fact in FACTS[kind].split("|"):
        assert fact in text


def test_plain_text_of_a_diff_keeps_all_facts():
    text = text_diff(DIFF)
    for fact in FACTS["diff"].split("|"):
        assert re.sub(r"^[+−~] (?=[\d,]+ row)", "", fact) in text


def test_parts_follow_the_usual_order():
    text = stripped(render_dataset(DATASET))
    places = [text.index(part) for part in ("digits", "Columns", "Preview", "label 2", "Versions")]
    assert places == sorted(places)


def with_strings(value, text):
    """Put one string into every field that accepts one."""
    if isinstance(value, str) and value not in {"added", "removed", "changed", "class", "bin"}:
        return text
    if isinstance(value, tuple):
        return tuple(with_strings(item, text) for item in value)
    if is_dataclass(value) and not isinstance(value, Picture):
        parts = {f.name: with_strings(getattr(value, f.name), text) for f in fields(value)}
        return replace(value, **parts)
    return value


@pytest.mark.parametrize(("render", "text", "summary"), PAGES)
def test_hostile_strings_are_escaped_in_every_field(render, text, summary):
    hostile = with_strings(summary, HOSTILE)
    page, plain = render(hostile), text(hostile)
    checker = check_page(page)
    assert page.count("<style>") == 1
    assert "<details" in page  # no fallback was needed
    for output in ("".join(checker.text), plain):
        assert "<script>alert(1)" in output
        assert output.replace("\n", "").isprintable()
    assert len(plain.splitlines()) <= len(text(with_strings(summary, "x")).splitlines())
    skeleton = [tag for tag, _ in check_page(render(with_strings(summary, "x"))).tags]
    assert [tag for tag, _ in checker.tags] == skeleton


def test_alt_texts_are_escaped():
    previews = (PreviewRow(0, (PreviewCell('"><b>', DOT),), HOSTILE),)
    page = render_dataset(DatasetSummary("x", 1, previews=previews))
    assert check_page(page).images[0]["alt"].startswith('"><b>, row 0: <script>')


def test_direction_marks_and_control_characters_are_made_visible():
    page = render_dataset(DatasetSummary("a\u202eb\x00c\nd\te", 1))
    assert r"a\u202eb\x00c↵d⇥e" in page


@pytest.mark.parametrize(("render", "text", "summary"), PAGES)
@pytest.mark.parametrize("char", ['"', "\U000e0001", "😀", "\n", "e\u0301"])
def test_pages_stay_small_whatever_the_strings(render, text, summary, char):
    page = render(with_strings(summary, char * 5000))
    check_page(page)
    assert "<details" in page
    assert len(text(with_strings(summary, char * 5000))) < MAX_BYTES


def test_at_most_eight_thumbnails_and_twelve_columns_are_drawn():
    columns = tuple(ColumnSummary(f"c{i}", "Array") for i in range(43))
    page = render_dataset(DatasetSummary("x", 30, columns=columns, previews=preview(30)))
    assert len(check_page(page).images) == MAX_THUMBNAILS
    assert "… 31 more columns" in page
    assert "c11<" in page
    assert "c12<" not in page


def test_oversized_thumbnails_are_left_out_and_smaller_ones_stay():
    big = replace(DOT, data=bytes(30_000))
    rows = preview(2, big) + preview(6)
    checker = check_page(render_dataset(DatasetSummary("x", 8, previews=rows)))
    assert len(checker.images) == 7
    assert "[image, row 1: rose 1]" in "".join(checker.text)


def test_rows_with_two_images_share_the_limit_of_eight():
    rows = tuple(
        PreviewRow(i, (PreviewCell("image", DOT), PreviewCell("mask", DOT))) for i in range(8)
    )
    checker = check_page(render_dataset(DatasetSummary("x", 8, previews=rows)))
    assert [i["alt"] for i in checker.images][-2:] == ["image, row 3", "mask, row 3"]
    assert "[image" not in "".join(checker.text)


def test_images_of_a_diff_beyond_the_eighth_become_words():
    examples = tuple(DiffExample("changed", i, picture=DOT) for i in range(8))
    cells = (CellChange("image", DOT, DOT),)
    last = (DiffExample("changed", 9, cells),)
    text = stripped(render_diff(DiffSummary("a", "b", changed=9, examples=examples[:7] + last)))
    assert "[image, row 9]" in text
    assert "null" not in text


def test_unusual_mime_types_are_not_embedded():
    for mime in ("image/svg+xml", "text/html", 'image/png" onload="x'):
        rows = preview(1, replace(DOT, mime=mime))
        assert not check_page(render_dataset(DatasetSummary("x", 1, previews=rows))).images


@pytest.mark.parametrize(
    ("width", "height", "drawn"),
    [(8, 8, (76, 76)), (96, 48, (76, 38)), (1, 96, (1, 76)), (0, 0, (1, 1)), (9000, 1, (76, 1))],
)
def test_thumbnails_fit_into_their_square(width, height, drawn):
    rows = preview(1, Picture(b"x", "image/png", width, height))
    (image,) = check_page(render_dataset(DatasetSummary("x", 1, previews=rows))).images
    assert (int(image["width"]), int(image["height"])) == drawn


def test_only_greatly_enlarged_images_keep_sharp_pixels():
    small, large = DOT, replace(DOT, width=90)
    assert 'class="dl-pixels"' in render_dataset(DatasetSummary("x", 1, previews=preview(1, small)))
    page = render_dataset(DatasetSummary("x", 1, previews=preview(1, large)))
    assert 'class="dl-pixels"' not in page


def test_only_the_largest_classes_are_shown_and_bins_stay_in_order():
    counts = tuple((f"n{i:02}", i) for i in range(20))
    text = text_dataset(DatasetSummary("x", 1, tallies=(Tally("label", counts),)))
    assert "label, 20 classes: n19 19 · n18 18" in text
    assert text.endswith("… 8 more classes")
    bins = text_column(ColumnPage(ColumnSummary("s", "Array"), 1, tally=Tally("s", counts, "bin")))
    assert "s, 20 bins: n00 0 · n01 1" in bins


def test_empty_summaries_are_labelled_as_such():
    assert stripped(render_dataset(DatasetSummary("new", 0))) == "Dataset new · 0 rows · clean"
    assert stripped(render_diff(DiffSummary("a", "b"))) == "Diff a → b · no differences"
    assert text_diff(DiffSummary("a", "b")) == "Diff a → b · no differences"
    only_schema = DiffSummary("a", "b", schema=(SchemaChange("added", "score"),))
    assert "the same rows" in text_diff(only_schema)


def test_only_versions_are_folded():
    page = render_dataset(DATASET)
    assert page.count("<details open>") == 3
    assert page.count("<details>") == 1


def test_every_css_rule_stays_under_the_root():
    for rule in SHEET.split("}")[:-1]:
        for selector in rule.split("{")[0].split(","):
            assert selector.strip().startswith(".dl-repr.dl-repr")


@pytest.mark.parametrize(("render", "text", "summary"), PAGES)
def test_summaries_of_nonsense_give_text_instead_of_errors(render, text, summary):
    for junk in (None, 3, "x", object(), float("nan"), [None]):
        for field in fields(summary):
            odd = replace(summary, **{field.name: junk})
            check_page(render(odd))
            assert text(odd)


def test_value_without_a_repr_is_shown_by_type():
    class Stone:
        def __repr__(self):
            raise RuntimeError("no")

    assert text_dataset(Stone()) == "<Stone>"
    assert "&lt;Stone&gt;</pre>" in render_dataset(Stone())
    assert "&lt;DatasetSummary&gt;" in render_dataset(DatasetSummary(Stone(), None))


texts = st.text(max_size=200) | st.text("<>&\"'/=\x00\u202e\u0301", max_size=300)
numbers = st.integers(-10, 10**15)
pictures = st.builds(
    Picture,
    st.binary(max_size=9) | st.integers(0, 40_000).map(bytes),
    st.sampled_from(["image/png", "image/jpeg", "text/html"]) | texts,
    st.integers(-1, 10_000),
    st.integers(-1, 10_000),
)
contents = st.none() | texts | pictures
kinds = st.sampled_from(["added", "removed", "changed"])


def tuples(of, most):
    return st.lists(of, max_size=most).map(tuple)


columns = st.builds(
    ColumnSummary,
    texts,
    texts,
    texts,
    tuples(st.none() | numbers | st.tuples(numbers, numbers), 4),
    st.none() | numbers,
    texts,
)
rows = st.builds(PreviewRow, numbers, tuples(st.builds(PreviewCell, texts, contents), 6), texts)
tallies = st.builds(
    Tally, texts, tuples(st.tuples(texts, numbers), 15), st.sampled_from(["class", "bin"])
)
versions = st.builds(VersionLine, texts, texts, st.datetimes(), tuples(texts, 5))
datasets = st.builds(
    DatasetSummary,
    texts,
    numbers,
    columns=tuples(columns, 14),
    previews=tuples(rows, 10),
    tallies=tuples(tallies, 5),
    versions=tuples(versions, 10),
    dirty=texts,
    origin=texts,
)
column_pages = st.builds(
    ColumnPage,
    columns,
    numbers,
    facts=tuples(st.tuples(texts, texts), 5),
    previews=tuples(rows, 9),
    tally=st.none() | tallies,
)
changes = st.builds(CellChange, texts, contents, contents)
diffs = st.builds(
    DiffSummary,
    texts,
    texts,
    numbers,
    numbers,
    numbers,
    tuples(st.tuples(texts, numbers), 14),
    tuples(st.builds(SchemaChange, kinds, texts, texts), 14),
    tuples(st.builds(DiffExample, kinds, numbers, tuples(changes, 4), st.none() | pictures), 10),
)


@given(datasets)
def test_any_dataset_is_drawn(summary):
    assert "<details" in render_dataset(summary) or not summary.columns
    check_page(render_dataset(summary))
    assert text_dataset(summary).replace("\n", "").isprintable()


@given(column_pages)
def test_any_column_is_drawn(column):
    check_page(render_column(column))
    assert text_column(column).startswith("Column ")


@given(diffs)
def test_any_diff_is_drawn(diff):
    check_page(render_diff(diff))
    assert text_diff(diff).startswith("Diff ")


def test_public_names_are_listed():
    assert sorted(html.__all__) == html.__all__
    assert all(hasattr(html, name) for name in html.__all__)
