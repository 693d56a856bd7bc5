import numpy as np
import pytest

import deeplake_lite as dl

from . import coco

OUTLINES = dl.Sequence(dl.Polygons())


def segmented(url, names, rows, htype=OUTLINES):
    plain = coco.lake(f"{url}-boxes", names, []).schema
    kinds = dict.fromkeys(("outlines", "predicted_outlines"), htype)
    size = {"width": "int32", "height": "int32"}
    ds = dl.create(url, {**{f.name: f.htype for f in plain}, **kinds, **size})
    ds.append([{**row, "width": coco.SIZE, "height": coco.SIZE} for row in rows])
    return ds


def documents(names, rows):
    return coco.annotations(
        names,
        rows,
        lambda row, n: {
            "segmentation": coco.runs_of(coco.mask_of(row["outlines"][n])),
            "area": int(coco.mask_of(row["outlines"][n]).sum()),
        },
        lambda row, n: {"segmentation": coco.runs_of(coco.mask_of(row["predicted_outlines"][n]))},
    )


def without_boxes(document, results):
    for own in results:
        own.pop("bbox")
    return document, results


@pytest.mark.parametrize("seed", range(4))
def test_metrics_of_outlines_are_those_of_pycocotools(seed):
    names, rows = coco.random_rows(seed, rows=15)
    rows = coco.with_outlines(rows, seed)
    ds = segmented(f"memory://outlines-{seed}", names, rows)
    result = ds.evaluate("predicted_outlines", "outlines")
    judged = coco.oracle(*without_boxes(*documents(names, rows)), "segm")
    assert result.kind == "segmentation"
    coco.assert_agree(result, judged, "segm")


@pytest.mark.parametrize("seed", range(2))
def test_masks_of_objects_give_the_metrics_of_their_outlines(seed):
    names, rows = coco.random_rows(seed, rows=8)
    rows = coco.with_outlines(rows, seed)
    outlines = segmented(f"memory://outlines-of-{seed}", names, rows)
    for row in rows:
        for name in ("outlines", "predicted_outlines"):
            masks = [coco.mask_of(shape) for shape in row[name]]
            row[name] = np.array(masks).reshape(-1, coco.SIZE, coco.SIZE)
    masks = segmented(f"memory://masks-of-{seed}", names, rows, dl.Mask("instance"))
    results = [ds.evaluate("predicted_outlines", "outlines") for ds in (outlines, masks)]
    np.testing.assert_equal(results[0].summary, results[1].summary)


def test_outlines_need_no_size_of_the_image():
    names, rows = coco.random_rows(3, rows=6)
    inside = [
        {
            **row,
            "boxes": np.minimum(row["boxes"], 90),
            "predicted_boxes": np.minimum(row["predicted_boxes"], 90),
        }
        for row in rows
    ]
    ds = segmented("memory://sizes", names, coco.with_outlines(inside, 0))
    columns = tuple(name for name in ds.columns if name not in ("width", "height"))
    a = ds.evaluate("predicted_outlines", "outlines")
    b = ds.select(columns).evaluate("predicted_outlines", "outlines")
    np.testing.assert_equal(a.summary, b.summary)


def test_crowds_of_coco_files_are_read_from_their_run_lengths(tmp_path):
    import json

    names, rows = coco.random_rows(5, rows=10, crowds=0.4)
    rows = coco.with_outlines(rows, 5)
    document, results = documents(names, rows)
    for image in document["images"]:
        image["file_name"] = f"{image['id']}.png"
    for own in document["annotations"]:
        if not own["iscrowd"]:
            row, n = rows[own["image_id"] - 1], None
            n = sum(
                o["image_id"] == own["image_id"] for o in document["annotations"][: own["id"] - 1]
            )
            own["segmentation"] = [
                np.round(np.asarray(o, np.float64), 2).ravel().tolist() for o in row["outlines"][n]
            ]
            row["outlines"][n] = None
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(document))
    ds = dl.from_coco(path, "memory://crowds", images=False, progress=False)
    ds = dl.open("memory://crowds")
    for name, htype in {
        "predicted_segmentation": OUTLINES,
        "predicted_labels": dl.Sequence(dl.ClassLabel(names)),
        "predicted_scores": dl.Sequence("float64"),
    }.items():
        source = name.replace("segmentation", "outlines")
        ds.add_column(name, htype, values=[row[source] for row in rows])
    result = ds.evaluate("predicted_segmentation", "segmentation")
    coco.assert_agree(result, coco.oracle(*without_boxes(document, results), "segm"), "segm")
