from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeplake_lite.errors import ColumnNotFoundError, FormatError, SchemaError
from deeplake_lite.htypes import ClassLabel, Image, Scalar, Text
from deeplake_lite.schema import Field, Schema, SchemaChanges


@pytest.fixture
def schema():
    return Schema.build({"image": Image("jpeg"), "x": "float32", "boxes/left": "boxes"})


def test_columns_keep_their_order_and_get_unique_ids(schema):
    assert schema.names == ("image", "x", "boxes/left")
    assert [column.name for column in schema] == list(schema.names)
    assert len(schema) == 3
    assert len({column.id for column in schema}) == 3
    assert all(len(column.id) == 9 and column.id[0] == "c" for column in schema)
    assert schema["x"].htype == Scalar("float32")
    assert "x" in schema
    assert "y" not in schema


def test_unknown_column_suggests_the_nearest(schema):
    for use in (
        lambda: schema["imgae"],
        lambda: schema.drop("imgae"),
        lambda: schema.rename("imgae", "y"),
        lambda: schema.replace_metadata("imgae", {}),
    ):
        with pytest.raises(
            ColumnNotFoundError, match=r"There is no column 'imgae'. Did you mean 'image'"
        ):
            use()


def test_changes_give_another_schema_and_keep_ids(schema):
    other = (
        schema.rename("x", "score")
        .drop("image")
        .add("text", str)
        .replace_metadata("score", {"a": 1})
    )
    assert other.names == ("score", "boxes/left", "text")
    assert other["score"].id == schema["x"].id
    assert other["score"].metadata == {"a": 1}
    assert schema.names == ("image", "x", "boxes/left")
    assert schema.rename("x", "x") == schema


def test_schemas_are_compared_by_id(schema):
    other = (
        schema.rename("x", "score")
        .drop("image")
        .add("text", str)
        .replace_metadata("score", {"a": 1})
    )
    changes = schema.compare(other)
    assert changes.added == (other["text"],)
    assert changes.dropped == (schema["image"],)
    assert changes.renamed == changes.metadata == ((schema["x"], other["score"]),)
    assert changes.retyped == ()
    assert (
        repr(changes) == "SchemaChanges(+'text' Text(), -'image', 'x' -> 'score', 'score' metadata)"
    )
    assert not schema.compare(schema)
    assert schema.compare(schema) == SchemaChanges()
    again = schema.drop("x").add("x", "float32")
    assert [c.name for c in schema.compare(again).added] == ["x"]


def test_column_with_another_type_is_retyped():
    old = Schema((Field("label", "c00000000", ClassLabel(["a"])),))
    new = Schema((Field("label", "c00000000", ClassLabel(["a", "b"])),))
    assert (
        repr(old.compare(new))
        == "SchemaChanges('label' ClassLabel(['a']) -> ClassLabel(['a', 'b']))"
    )


def test_schema_round_trips_through_json_and_pickle(schema):
    schema = schema.replace_metadata("x", {"unit": "m", "range": [0, 1.5, None]})
    document = json.loads(json.dumps(schema.to_json(), allow_nan=False))
    assert Schema.from_json(document) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert hash(Schema.from_json(document)) == hash(schema)
    assert Schema.from_json({"columns": []}) == Schema()


@pytest.mark.parametrize(
    "name", ["a", "a/b/c", "two words", "größe", "_hidden", "x" * 255, ".a", "a/..b"]
)
def test_valid_names_are_accepted(name):
    assert Schema.build({name: "int8"}).names == (name,)


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("", "a non-empty string"),
        (5, "a non-empty string"),
        (None, "a non-empty string"),
        ("/a", "single slashes"),
        ("a/", "single slashes"),
        ("a//b", "single slashes"),
        ("a/../b", "single slashes"),
        (".", "single slashes"),
        ("a\nb", "control characters"),
        ("a\x00", "control characters"),
        ("a\ud800", "control characters"),
        ("__row", "two leading underscores"),
        ("x" * 256, "at most 255"),
    ],
)
def test_invalid_names_are_refused(schema, name, match):
    with pytest.raises(SchemaError, match=match):
        Schema.build({name: "int8"})
    with pytest.raises(SchemaError, match=match):
        schema.rename("x", name)


def test_name_is_either_a_column_or_a_group(schema):
    with pytest.raises(
        SchemaError, match="'boxes' cannot be both a column and the group of 'boxes/left'"
    ):
        schema.add("boxes", "boxes")
    with pytest.raises(SchemaError, match="'x' cannot be both a column and the group of 'x/y'"):
        schema.add("x/y", "int8")


def test_names_are_unique(schema):
    with pytest.raises(SchemaError, match="A column 'x' already exists"):
        schema.add("x", "int8")
    with pytest.raises(SchemaError, match="A column 'x' already exists"):
        schema.rename("image", "x")


def test_wrong_type_error_names_the_column():
    with pytest.raises(SchemaError, match="Column 'a': There is no type 'imgae'"):
        Schema.build({"a": "imgae"})


@pytest.mark.parametrize(
    "metadata", [{"a": float("nan")}, {"a": {1, 2}}, {1: 2}, {"a": (1, 2)}, [1]]
)
def test_metadata_is_json(schema, metadata):
    with pytest.raises((SchemaError, TypeError)):
        schema.replace_metadata("x", metadata)


COLUMN = {"name": "a", "id": "c00000000", "htype": {"htype": "text"}}


@pytest.mark.parametrize(
    ("document", "error"),
    [
        (None, FormatError),
        ([], FormatError),
        ({}, FormatError),
        ({"columns": {}}, FormatError),
        ({"columns": "abc"}, FormatError),
        ({"columns": [None]}, FormatError),
        ({"columns": [{**COLUMN, "htype": {"htype": "hologram"}}]}, FormatError),
        ({"columns": [{"name": "a", "id": "c00000000"}]}, FormatError),
        ({"columns": [{**COLUMN, "id": "../../etc"}]}, SchemaError),
        ({"columns": [{**COLUMN, "id": 5}]}, SchemaError),
        ({"columns": [{**COLUMN, "id": "c00000000\n"}]}, SchemaError),
        ({"columns": [{**COLUMN, "name": ["a"]}]}, SchemaError),
        ({"columns": [{**COLUMN, "metadata": []}]}, SchemaError),
        ({"columns": [COLUMN, COLUMN]}, SchemaError),
        ({"columns": [COLUMN, {**COLUMN, "name": "b"}]}, SchemaError),
    ],
)
def test_hostile_documents_raise_format_or_schema_errors(document, error):
    with pytest.raises(error):
        Schema.from_json(document)


@given(st.lists(st.text(max_size=5), unique=True, max_size=5))
def test_any_names_make_a_schema_that_round_trips_or_raise(names):
    try:
        schema = Schema.build(dict.fromkeys(names, Text()))
    except SchemaError:
        return
    assert schema.names == tuple(names)
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


@pytest.mark.parametrize("columns", [["x"], "x", None, 5])
def test_schema_is_made_from_a_dict(columns):
    with pytest.raises(SchemaError, match="must be a dict from column names to types"):
        Schema.build(columns)
