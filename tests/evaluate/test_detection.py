import numpy as np
import pytest

import deeplake_lite as dl

from . import coco


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("ties", [True, False])
def test_metrics_of_boxes_are_those_of_pycocotools(seed, ties):
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


def test_classes_are_matched_by_name():
    names, rows = coco.random_rows(3)
    same = coco.lake("memory://same-order", names, rows)
    other = coco.lake("memory://other-order", names, rows, predicted_names=[*names[::-1], "new"])
    a, b = (ds.evaluate("predicted_boxes", "boxes") for ds in (same, other))
    np.testing.assert_equal(a.summary, b.summary)
    assert b.class_names == (*names, "new")


@pytest.mark.parametrize("form", ["xyxy", "cxcywh"])
def test_formats_and_units_of_boxes_do_not_matter(form):
    names, rows = coco.random_rows(4, ties=False)
    ds = coco.lake(f"memory://form-{form}", names, rows)
    expected = ds.evaluate("predicted_boxes", "boxes")
    for name in ("boxes", "predicted_boxes"):
        ds.add_column(f"{name}2", dl.Boxes(form, dtype="float64"), values=ds[name])
    result = ds.evaluate(
        "predicted_boxes2", "boxes2", labels="predicted_labels", scores="predicted_scores"
    )
    for name, value in expected.summary.items():
        np.testing.assert_allclose(result.summary[name], value, atol=1e-9)


def test_fractions_need_the_sizes_of_the_images_for_areas():
    names, rows = coco.random_rows(4, ties=False)
    for row in rows:
        for name in ("boxes", "predicted_boxes"):
            row[name] = np.add(row[name], [30, 30, 0, 0])
    ds = coco.lake("memory://fractions", names, rows)
    expected = ds.evaluate("predicted_boxes", "boxes").summary
    size = np.array([400, 800, 400, 800])
    kind = dl.Boxes("xywh", "fraction", dtype="float64")
    columns = {"labels": "predicted_labels", "scores": "predicted_scores"}
    for name in ("boxes", "predicted_boxes"):
        ds.add_column(f"{name}_f", kind, values=[np.clip(b / size, 0, 1) for b in ds[name][:]])
    bare = ds.evaluate("predicted_boxes_f", "boxes_f", **columns)
    assert "AP_small" not in bare.summary
    with pytest.raises(dl.SchemaError, match=r"different units, .* Include the column of images"):
        ds.evaluate("predicted_boxes_f", "boxes", **columns)
    ds.add_column("width", "int32", values=400)
    ds.add_column("height", "int32", values=800)
    for truth in ("boxes", "boxes_f"):
        result = ds.evaluate("predicted_boxes_f", truth, **columns).summary
        np.testing.assert_allclose(result["AP_small"], expected["AP_small"], atol=1e-9)


def test_objects_without_classes_are_of_one_class():
    names, rows = coco.random_rows(5, ties=False)
    ds = coco.lake("memory://one-class", names, rows)
    result = ds.select(("boxes", "crowd", "predicted_boxes", "predicted_scores")).evaluate(
        "predicted_boxes", "boxes"
    )
    one = [
        {**row, **{k: ["o"] * len(row[k]) for k in ("labels", "predicted_labels")}} for row in rows
    ]
    coco.assert_agree(result, coco.oracle(*coco.annotations(["o"], one)))
    assert result.class_names == ("object",)


def ious(a, b):
    """Return the overlaps of all pairs of two lists of boxes, xywh."""
    result = np.zeros((len(a), len(b)))
    for i, (x, y, w, h) in enumerate(a):
        for j, (u, v, s, t) in enumerate(b):
            width = min(x + w, u + s) - max(x, u)
            height = min(y + h, v + t) - max(y, v)
            shared = max(width, 0) * max(height, 0)
            result[i, j] = shared / (w * h + s * t - shared)
    return result


def count(row, names, iou, score):
    """Return tp, fp, fn and pairs of classes, one prediction after the other."""
    true = [names.index(n) for n in row["labels"]]
    order = np.argsort(-np.asarray(row["predicted_scores"]), kind="stable")
    order = [i for i in order if row["predicted_scores"][i] >= score]
    overlap = ious(row["predicted_boxes"], row["boxes"])
    own = [names.index(row["predicted_labels"][i]) for i in order]
    free, pairs, left = set(range(len(true))), [], []
    for i, c in zip(order, own, strict=True):
        fits = [j for j in free if true[j] == c and overlap[i, j] >= iou]
        if fits:
            best = max(fits, key=lambda j, i=i: (overlap[i, j], j))
            free.remove(best)
            pairs.append((c, c))
        else:
            left.append((i, c))
    tp = len(pairs)
    for i, c in left:
        fits = [j for j in free if overlap[i, j] >= iou]
        best = max(fits, key=lambda j, i=i: (overlap[i, j], j)) if fits else None
        pairs.append((-1 if best is None else true[best], c))
        free -= {best}
    pairs += [(true[j], -1) for j in free]
    return tp, len(left), len(true) - tp, pairs


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("iou", "score"), [(0.5, 0.5), (0.3, 0.2), (0.75, 0.0)])
def test_counts_and_confusions_are_those_of_a_simple_program(seed, iou, score):
    names, rows = coco.random_rows(seed, crowds=0, ties=False)
    ds = coco.lake(f"memory://counts-{seed}-{iou}", names, rows)
    result = ds.evaluate("predicted_boxes", "boxes", iou=iou, score=score)
    expected = [count(row, names, iou, score) for row in rows]
    assert result.rows[["tp", "fp", "fn"]].to_numpy().tolist() == [list(e[:3]) for e in expected]
    matrix = np.zeros((len(names) + 1,) * 2, int)
    for *_, pairs in expected:
        for pair in pairs:
            matrix[pair] += 1
    np.testing.assert_array_equal(result.confusion, matrix)
    assert result.summary["AP"] == ds.evaluate("predicted_boxes", "boxes").summary["AP"]


def test_blocks_of_rows_do_not_matter(monkeypatch):
    from deeplake_lite.evaluate import detection, matching

    names, rows = coco.random_rows(6)
    ds = coco.lake("memory://blocks", names, rows)
    whole = ds.evaluate("predicted_boxes", "boxes")
    monkeypatch.setattr(detection, "BLOCK_ROWS", 7)
    monkeypatch.setattr(detection, "MAX_PAIRS", 50)
    monkeypatch.setattr(matching, "BLOCK_CELLS", 100)
    parts = ds.evaluate("predicted_boxes", "boxes")
    np.testing.assert_equal(parts.summary, whole.summary)
    np.testing.assert_array_equal(parts.confusion, whole.confusion)
    assert parts.rows.equals(whole.rows)


def test_null_rows_are_left_out_and_counted():
    names, rows = coco.random_rows(7)
    ds = coco.lake("memory://null-rows", names, rows)
    for name in ("predicted_boxes", "boxes"):
        ds.set_nullable(name)
    expected = ds[4:].evaluate("predicted_boxes", "boxes")
    for row in range(4):
        ds["boxes" if row < 3 else "predicted_boxes"][row] = None
    result = ds.evaluate("predicted_boxes", "boxes")
    assert {k: result.counts[k] for k in ("rows", "unlabelled", "unpredicted")} == {
        "rows": 26,
        "unlabelled": 3,
        "unpredicted": 1,
    }
    np.testing.assert_equal(result.summary, expected.summary)


@pytest.mark.parametrize("rows", [0, 1])
def test_lakes_without_objects_have_metrics_that_are_not_defined(rows):
    empty = {
        "boxes": np.zeros((0, 4)),
        "labels": [],
        "crowd": [],
        "predicted_boxes": [[0, 0, 1, 1]],
    }
    own = {**empty, "predicted_labels": ["a"], "predicted_scores": [0.9]}
    ds = coco.lake(f"memory://empty-{rows}", ["a", "b"], [own] * rows)
    result = ds.evaluate("predicted_boxes", "boxes")
    assert np.isnan(result.summary["AP"])
    assert result.rows["fp"].tolist() == [1] * rows
    assert "–" in repr(result)
    assert "<svg" in result._repr_html_()


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        ({}, {"scores": "areas"}, dl.ColumnNotFoundError, "no column 'areas'"),
        ({}, {"scores": "labels"}, dl.SchemaError, "scores must be a column with a list of fl"),
        ({}, {"iou": 0}, dl.OptionError, "iou must be a number from 0.001 to 1, but it is 0"),
        ({}, {"score": "x"}, dl.OptionError, "score must be a number"),
        ({}, {"sigmas": [1]}, dl.OptionError, "has no option 'sigmas'"),
        (
            {"labels": []},
            {},
            dl.InvalidValueError,
            "column 'labels', row 1: must have as many values",
        ),
        (
            {"predicted_scores": [1.0, 2]},
            {},
            dl.InvalidValueError,
            "must have as many values as column 'predicted_boxes' has objects, 1, but it has 2",
        ),
        (
            {"predicted_scores": [float("nan")]},
            {},
            dl.InvalidValueError,
            "row 1: scores must be finite",
        ),
    ],
)
def test_misuse_is_reported(request, change, options, error, message):
    box = [[0, 0, 5, 5]]
    row = {"boxes": box, "labels": ["a"], "crowd": [False], "predicted_boxes": box}
    row |= {"predicted_labels": ["a"], "predicted_scores": [0.9]}
    ds = coco.lake(f"memory://{request.node.name[:60]}", ["a"], [row, {**row, **change}])
    with pytest.raises(error, match=message):
        ds.evaluate("predicted_boxes", "boxes", **options)


def test_columns_that_are_not_found_are_asked_for():
    label, score = dl.Sequence(dl.ClassLabel(["a"])), dl.Sequence("float32")
    schema = {"b": dl.Boxes(), "p": dl.Boxes(), "x": label, "y": label, "s": score, "t": score}
    ds = dl.create("memory://unclear", schema)
    with pytest.raises(dl.SchemaError, match=r"per row: scores=…, such as 's', 't'\."):
        ds.evaluate("p", "b")
    with pytest.raises(dl.SchemaError, match=r"per row: labels=…, such as 'x', 'y'\."):
        ds.evaluate("p", "b", scores="s")
    ds.evaluate("p", "b", scores="s", labels="x", truth_labels="y")


def test_labels_without_names_do_not_match_labels_with_names():
    named, bare = (dl.Sequence(dl.ClassLabel(n)) for n in (["a"], []))
    schema = {"boxes": dl.Boxes(), "labels": named, "predicted_boxes": dl.Boxes()}
    schema |= {"predicted_labels": bare, "predicted_scores": dl.Sequence("float32")}
    ds = dl.create("memory://nameless", schema)
    with pytest.raises(dl.SchemaError, match="Classes are matched by name, but only one"):
        ds.evaluate("predicted_boxes", "boxes")


def test_crowds_and_areas_of_other_objects_are_not_used():
    names, rows = coco.random_rows(8, crowds=0.5)
    ds = coco.lake("memory://other-truth", names, rows)
    ds.add_column("areas", dl.Sequence("float64"), values=[np.ones(len(b)) for b in ds["boxes"][:]])
    ds.add_column("gt_boxes", dl.Boxes("xywh", dtype="float64"), values=ds["boxes"])
    result = ds.evaluate("predicted_boxes", "gt_boxes", truth_labels="labels")
    assert not {"crowd", "areas"} & result.options.keys()
    assert ds.evaluate("predicted_boxes", "boxes").options["crowd"] == "crowd"


def test_rows_may_have_only_predictions_or_only_truth():
    box, none = [[0, 0, 5, 5]], np.zeros((0, 4))
    found = {"boxes": none, "labels": [], "crowd": [], "predicted_boxes": box}
    found |= {"predicted_labels": ["a"], "predicted_scores": [0.9]}
    missed = {"boxes": box, "labels": ["a"], "crowd": [False], "predicted_boxes": none}
    missed |= {"predicted_labels": [], "predicted_scores": []}
    result = coco.lake("memory://apart", ["a"], [found, missed]).evaluate(
        "predicted_boxes", "boxes"
    )
    assert result.rows[["tp", "fp", "fn"]].to_numpy().tolist() == [[0, 1, 0], [0, 0, 1]]
    assert result.confusion.to_numpy().tolist() == [[0, 1], [1, 0]]


def test_columns_of_another_model_are_not_borrowed(make_lake):
    labels = dl.Sequence(dl.ClassLabel(["a", "b"]))
    boxes = [[[0, 0, 10, 10], [20, 20, 30, 30]]]
    schema = {
        "boxes": dl.Boxes(), "labels": labels, "model_boxes": dl.Boxes(), "model_labels": labels,
        "model_scores": dl.Sequence("float32"), "second_boxes": dl.Boxes(),
    }  # fmt: skip
    ds = make_lake(
        schema, boxes=boxes, labels=[["a", "b"]], model_boxes=boxes, model_labels=[["a", "b"]],
        model_scores=[[0.9, 0.8]], second_boxes=[boxes[0][::-1]],
    )  # fmt: skip
    assert ds.evaluate("model_boxes", "boxes").summary["AP"] == pytest.approx(1)
    with pytest.raises(dl.SchemaError, match="per row: scores="):
        ds.evaluate("second_boxes", "boxes")
    result = ds.evaluate("second_boxes", "boxes", labels="model_labels", scores="model_scores")
    assert result.summary["AP"] == 0
