"""Rows without instances keep the number of points that their arrays have."""

import numpy as np
import pytest

import deeplake_lite as dl


@pytest.mark.parametrize("dims", [2, 3])
def test_rows_without_instances_keep_their_number_of_points(new_url, dims):
    shapes = [(0, 3, dims), (0, 0, dims), (1, 3, dims), (0, 5, dims)]
    ds = dl.create(
        new_url(), {"any": dl.Keypoints(dims=dims), "ab": dl.Keypoints(["a", "b"], dims=dims)}
    )
    ds.append(
        {"any": [np.zeros(shape) for shape in shapes], "ab": [[]] * 3 + [np.zeros((0, 2, dims))]}
    )
    assert [row.shape for row in ds["any"][:]] == shapes
    assert {row.shape for row in ds["ab"][:]} == {(0, 2, dims)}
    assert [row.shape for row in ds.query("SELECT any WHERE SHAPE(any)[0] = 0")["any"][:]] == [
        shape for shape in shapes if shape[0] == 0
    ]
