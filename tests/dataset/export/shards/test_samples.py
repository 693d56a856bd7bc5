"""Values of every type survive formats of samples, except for losses that are reported."""

import warnings
from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl
from tests.dataset.export.test_round_trips import lake_of_every_type

FORMATS = {"to_mds": dl.from_mds, "to_litdata": dl.from_litdata}

LOSSES = ("left out", "are read back as nulls")


def url():
    return f"memory://{uuid4().hex}"


def cells_of(ds, name):
    return ds.handle.table.digests(ds.schema[name].id, np.arange(len(ds))).tolist()


@pytest.mark.parametrize("export", FORMATS)
def test_every_type_round_trips(export, tmp_path):
    ds = lake_of_every_type()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        folder = getattr(ds, export)(tmp_path / "out")
    losses = [str(w.message) for w in caught if any(loss in str(w.message) for loss in LOSSES)]
    again = FORMATS[export](folder, url(), progress=False)
    wrong = []
    for name in ds.columns:
        if any(repr(name) in text for text in losses):
            continue
        if again.schema[name].htype != ds.schema[name].htype:
            wrong.append(f"{name}: type {again.schema[name].htype}")
        elif cells_of(again, name) != cells_of(ds, name):
            wrong.append(f"{name}: {again[name][:]!r:.200}")
    assert not wrong, "\n".join(wrong)
