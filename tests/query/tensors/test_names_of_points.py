"""Point names are not value names: coordinates are numbers, as in an array of points."""

from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

NAMES = ["nose", "tail"]
POINTS = np.zeros((3, 1, 2, 3), "float32")
POINTS[:, 0, 0, 0] = [1, 2.5, 1]
POINTS[:, 0, 1, 2] = [2, 0, 1]
SCHEMA = {
    "named": dl.Keypoints(NAMES), "nameless": dl.Keypoints(), "flat": dl.Keypoints(NAMES, dims=2),
    "nullable": dl.Keypoints(NAMES, nullable=True), "seq": dl.Sequence(dl.Keypoints(NAMES)),
    "plain": dl.Array("float32", (None, None, None)), "number": "float32",
}  # fmt: skip
KINDS = ["named", "nameless", "flat", "nullable", "seq[0]"]


@pytest.fixture(scope="module")
def ds():
    made = dl.create(f"memory://{uuid4().hex}", SCHEMA)
    values = dict.fromkeys(["named", "nameless", "nullable", "plain"], POINTS)
    others = {"flat": POINTS[..., :2], "seq": [[p] for p in POINTS], "number": [1, 2, 3]}
    made.append({**values, **others})
    return made


SELECTED = [
    "COALESCE({x}[0, 0, 0], 1)", "GREATEST({x}[0, 0, 0], 1)", "LEAST({x}[0, 0, 0], number)",
    "CAST({x}[0, 0, 0] AS TEXT)", "{x}[0, 0, 0] || 'px'", "[{x}[0, 0, 0], 1]",
    "IF(number > 1, {x}[0, 0, 0], 2.5)", "CASE WHEN number > 1 THEN {x}[0, 0, 0] ELSE number END",
    "LIST({x}[0, 0, 0])", "HISTOGRAM({x}[0, 0, 0])",
    "{x}[0, 0, 0] AS y UNION ALL SELECT number",
]  # fmt: skip


@pytest.mark.parametrize("text", SELECTED)
def test_coordinates_behave_like_an_array_of_them(ds, text):
    query = f"SELECT {text} AS y"
    expected = ds.query(query.format(x="plain"))
    for kind in KINDS:
        result = ds.query(query.format(x=kind))
        assert result.schema["y"].htype == expected.schema["y"].htype, kind
        assert str(list(result["y"][:])) == str(list(expected["y"][:])), kind


REFUSED = [
    "{x} = 'nose'", "{x} <> 'nose'", "{x}[0, 0, 0] = 'nose'", "{x}[0, 0, 0] IN ('nose')",
    "CONTAINS({x}, 'nose')", "ANY({x} = 'nose')",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_point_name_is_not_a_coordinate(ds, text):
    for kind in [*KINDS, "plain"]:
        with pytest.raises(QueryTypeError, match="nose") as caught:
            ds.query(f"SELECT {text} AS y".format(x=kind))["y"][:]
        assert "class" not in str(caught.value), kind
