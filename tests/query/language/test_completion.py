"""Completions at the cursor."""

import pytest

import deeplake_lite as dl
from deeplake_lite.query import complete

CLASSES = [("'rose'", "class"), ("'red tulip'", "class"), ("'it''s'", "class")]


@pytest.fixture
def ds(make_lake):
    return make_lake(
        {
            "image": "image",
            "label": dl.ClassLabel(["rose", "red tulip", "it's"]),
            "training/boxes": dl.Boxes(),
            "x": "int32",
        }
    )


def at_end(ds, text):
    return complete(text, len(text), ds)


def test_columns_come_before_functions_and_functions_before_keywords(ds):
    result = at_end(ds, "SELECT ")
    kinds = [kind for _, kind in result]
    assert [t for t, kind in result if kind == "column"] == [
        "image",
        "label",
        '"training/boxes"',
        "x",
    ]
    assert sorted(kinds, key=["column", "function", "keyword"].index) == kinds
    assert {("MEAN(", "function"), ("COUNT(", "function"), ("WHERE", "keyword")} <= set(result)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT im", [("image", "column")]),
        ("SELECT IM", [("image", "column")]),
        ("SELECT x WHERE cosine", [("COSINE_SIMILARITY(", "function")]),
        ("SELECT x FROM ds WHERE ds.la", [("label", "column")]),
        ("SELECT MEAN(im", [("image", "column")]),
        ("SELECT trai", [('"training/boxes"', "column")]),
        ('SELECT "trai', [('"training/boxes"', "column")]),
        ("SELECT x arr", [("ARRAY_AGG(", "function"), ("ARRANGE BY", "keyword")]),
        ("SELECT x FROM d", [("dataset", "source")]),
        ("SELECT x FROM ds JOIN ", [("dataset", "source")]),
        ("SELECT x WHERE label = ", CLASSES),
        ("SELECT x WHERE label='re", [("'red tulip'", "class")]),
        ("SELECT x WHERE label <> 'RO", [("'rose'", "class")]),
        ("SELECT x WHERE label IN ('rose', 'r", [("'rose'", "class"), ("'red tulip'", "class")]),
        ("SELECT x WHERE label NOT IN (", CLASSES),
        ("SELECT x WHERE t = 'lab", []),
        ("SELECT x WHERE label = 'zzz", []),
    ],
)  # fmt: skip
def test_completions_start_with_the_typed_word(ds, text, expected):
    assert at_end(ds, text) == expected


def test_only_text_before_the_cursor_counts(ds):
    assert complete("SELECT im FROM ds", 9, ds) == [("image", "column")]
    assert ("image", "column") in complete("", 0, ds)


def test_user_functions_are_offered(ds):
    from deeplake_lite.query.registering import unregister

    dl.function(returns="float32", name="zeal")(lambda x: x)
    assert at_end(ds, "SELECT zea") == [("ZEAL(", "function")]
    unregister("zeal")
