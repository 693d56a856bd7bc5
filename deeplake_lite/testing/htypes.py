"""Checks that every column type must pass. The tests of a type call these functions.

Call `check_config` for a few configurations, `check_encode_decode` for values that the type
accepts, and `check_refuses` for values that it rejects.
"""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import htypes
from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.base import Htype, Picture
from deeplake_lite.htypes.cells import Cells, DenseCells, NestedCells, RaggedCells, concat, take
from deeplake_lite.htypes.layouts import Dense, Nested, Ragged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.htypes.layouts import Layout


def check_config(htype: Htype) -> None:
    """Check that a type can be restored from its configuration, its repr and its pickle.

    >>> check_config(htypes.Array("float32", (None, 3), nullable=True))
    """
    config = json.loads(json.dumps(htype.get_config(), allow_nan=False))
    names = {name: getattr(htypes, name) for name in htypes.__all__}
    names[type(htype).__name__] = type(htype)  # the type may come from another package
    for copy in (
        htypes.from_config(config),
        eval(repr(htype), names),
        pickle.loads(pickle.dumps(htype)),
    ):
        assert copy == htype, f"{copy!r} != {htype!r}"
        assert hash(copy) == hash(htype), f"{htype!r} and its copy have different hashes"
        assert copy.layout == htype.layout, f"{copy.layout} != {htype.layout}"
        assert repr(copy) == repr(htype), f"{copy!r} != {htype!r}"
    assert htype != replace(htype, nullable=not htype.nullable)
    assert "\n" not in str(htype)


def check_encode_decode(
    htype: Htype, values: Sequence[object], expected: Sequence[object] | None = None
) -> list[object]:
    """Check that decoding restores values, alone, in blocks, among nulls and in another order.

    Parameters
    ----------
    htype : Htype
        Type under test.
    values : sequence
        At least one value that the type accepts.
    expected : sequence, optional
        The decoded values, if they differ from the encoded ones.

    Returns
    -------
    list
        The decoded values.

    >>> check_encode_decode(htypes.Scalar("int8"), [1, 2])
    [np.int8(1), np.int8(2)]
    """
    cells = htype.encode(values)
    check_cells(htype.layout, cells)
    decoded = htype.decode_cells(cells)
    check_same(decoded, values if expected is None else expected)

    for row, value in enumerate(decoded):
        preview = htype.preview(value)
        assert isinstance(preview, str | Picture)
        if isinstance(preview, Picture):
            assert 0 < preview.width <= 96
            assert 0 < preview.height <= 96
        check_same(htype.decode_cells(htype.encode([values[row]])), [value])

    back = np.arange(len(cells))[::-1]
    check_same(htype.decode_cells(take(cells, back)), decoded[::-1])
    check_same(htype.decode_cells(concat([cells, take(cells, back)])), decoded + decoded[::-1])
    check_same(htype.decode_cells(htype.encode([])), [])

    nullable = replace(htype, nullable=True)
    holes = nullable.encode([None, *values, None])
    check_cells(nullable.layout, holes)
    check_same(nullable.decode_cells(holes), [None, *decoded, None])
    check_same(nullable.decode_cells(concat([holes, cells])), [None, *decoded, None, *decoded])
    check_cells(htype.layout, htype.encode([htype.blank]))
    return decoded


def check_refuses(htype: Htype, bad: object, match: str) -> None:
    """Check that a bad value raises an error that names its row and whose message matches a regex.

    >>> check_refuses(htypes.Scalar("int8"), 300, "int8 holds -128 to 127, but the value is 300")
    """
    for before in (0, 2):
        raised = None
        try:
            htype.encode([*[htype.blank] * before, bad])
        except InvalidValueError as error:
            raised = error
        assert raised is not None, f"{htype!r} accepted {brief(bad, 200)}"
        assert raised.row == before, f"the error names row {raised.row} instead of {before}"
        assert re.search(match, str(raised)), f"{str(raised)!r} does not match {match!r}"


def check_cells(layout: Layout, cells: Cells) -> None:
    """Check that cells have the class, dtypes and shapes that their layout requires."""
    assert cells.valid is None or (cells.valid.shape == (len(cells),) and not cells.valid.all())
    match layout, cells:
        case Dense(dtype, shape), DenseCells(values):
            assert values.dtype == dtype
            assert values.shape == (len(cells), *shape)
            assert values.dtype.isnative
        case Ragged(_, ndim), RaggedCells(buffers, shapes):
            assert shapes.dtype == np.int32
            assert shapes.shape == (len(cells), ndim)
            for buffer in buffers:
                view = memoryview(buffer)
                assert view.c_contiguous
                assert len(buffer) == view.nbytes  # type: ignore[arg-type]
        case Nested(item), NestedCells(counts, items):
            assert counts.dtype == np.int64
            assert counts.shape == (len(cells),)
            assert counts.sum() == len(items)
            check_cells(item.layout, items)
        case _:
            raise AssertionError(f"{type(cells).__name__} do not match {layout}")


def check_same(got: object, wanted: Any) -> None:
    """Check that two values are equal in type, shape and content. NaN equals NaN.

    >>> check_same([np.array([1.0, np.nan])], [[1.0, float("nan")]])
    """
    if isinstance(got, np.ndarray):
        np.testing.assert_array_equal(got, np.asarray(wanted, got.dtype))
        assert got.flags.writeable
        if isinstance(wanted, np.ndarray):
            assert got.shape == wanted.shape
    elif isinstance(got, list):
        assert len(got) == len(wanted), f"{len(got)} values instead of {len(wanted)}"
        for one, other in zip(got, wanted, strict=True):
            check_same(one, other)
    elif isinstance(got, np.generic):
        np.testing.assert_equal(got, np.asarray(wanted, got.dtype)[()])
    else:
        assert got == wanted, f"{got!r} != {wanted!r}"
