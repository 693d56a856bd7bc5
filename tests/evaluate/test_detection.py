import numpy as np
import pytest

import deeplake_lite as dl

from . import coco


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("ties", [True, False])
def test_figures_of_boxes_are_those_of_pycocotools(seed, ties):
    names, rows = coco.random_rows(seed, ties=ties, crowds=[0, 0.1, 0.5][seed % 3])
    ds = coco.lake(f"memory://detection-{seed}-{ties}", names, rows)
    result = ds.evaluate("predicted_boxes", "boxes")
    judged = coco.oracle(*coco.annotations(names, rows))
    coco.assert_agree(result, judged)
    precision = judged.eval["precision"][:, :, :, 0, 2]
    expected = [np.nan if (own == -1).all() else own.mean() for own in precision.transpose(2, 0, 1)]
    np.testing.assert_allclose(result.classes["AP"], expected, atol=1e-9)
    curves = np.where(precision == -1, np.nan, precision)
    for n, name in enumerate(names):
        np.testing.assert_allclose(result.curve(name)["precision"], curves[0, :, n], atol=1e-9)
