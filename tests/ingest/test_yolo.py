"""YOLO datasets are ingested, and exported again."""

from __future__ import annotations

import random
from datetime import date

import numpy as np
import pytest
import yaml
from PIL import Image as PillowImage

import deeplake_lite as dl
from deeplake_lite.dataset.export.annotations.outlines import rotated_rectangle
from deeplake_lite.errors import ExportWarning, InvalidValueError, NotFoundError

WIDTH, HEIGHT = 64, 48


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def write(root):
    """Write images with label files; None as a label writes no file."""

    def write(labels, config=None, folders=("images", "labels"), suffix="jpg"):
        for name, text in labels.items():
            split = f"{name.rpartition('/')[0]}/".lstrip("/")
            stem = name.rpartition("/")[2]
            image, label = (root / f.replace("*/", split) for f in folders)
            if "*" not in folders[0]:
                image, label = image / split, label / split
            image.mkdir(parents=True, exist_ok=True)
            label.mkdir(parents=True, exist_ok=True)
            PillowImage.new("RGB", (WIDTH, HEIGHT)).save(image / f"{stem}.{suffix}")
            if text is not None:
                (label / f"{stem}.txt").write_text(text)
        if config is not None:
            (root / "data.yaml").write_text(yaml.safe_dump(config, allow_unicode=True))
        return root

    return write


@pytest.fixture
def ingest(new_url):
    return lambda path, **options: dl.from_yolo(path, new_url(), progress=False, **options)


CONFIG = {"train": "images/train", "val": "images/val", "names": {0: "cat", 1: "dög"}}
BOXES = {"train/a": "1 0.5 0.5 0.25 0.5\n0 0.1 0.2 0.1 0.1\n", "train/b": "", "val/c": None}


# ---- layouts


@pytest.mark.parametrize(
    ("config", "folders"),
    [
        (CONFIG, ("images", "labels")),
        ({**CONFIG, "path": "."}, ("images", "labels")),
        ({**CONFIG, "path": "nowhere"}, ("images", "labels")),
        ({**CONFIG, "names": ["cat", "dög"]}, ("images", "labels")),
        ({"train": "../train/images", "val": "../val/images", "names": ["cat", "dög"], "nc": 2},
         ("*/images", "*/labels")),
        ({"train": ["images/train"], "val": "./images/val", "names": ["cat", "dög"]},
         ("images", "labels")),
    ],
)  # fmt: skip
def test_data_yaml_names_splits_and_classes(write, ingest, config, folders):
    path = write(BOXES, config, folders)
    for given in (path, path / "data.yaml", str(path)):
        ds = ingest(given)
        assert [p.rpartition("/")[2] for p in ds["path"][:]] == ["a.jpg", "b.jpg", "c.jpg"]
        assert ds["split"].names == ("train", "val")
        assert ds["split"][:].tolist() == [0, 0, 1]
        assert ds["labels"].names == ("cat", "dög")
        assert [list(map(int, labels)) for labels in ds["labels"][:]] == [[1, 0], [], []]
        np.testing.assert_array_equal(
            ds["boxes"][0], np.float32([[0.5, 0.5, 0.25, 0.5], [0.1, 0.2, 0.1, 0.1]])
        )
        assert ds.schema["boxes"].htype == dl.Boxes("cxcywh", "fraction")


@pytest.mark.parametrize("folders", [("images", "labels"), ("*/images", "*/labels")])
def test_folder_without_data_yaml_is_read(write, ingest, folders):
    path = write(BOXES, None, folders)
    ds = ingest(path)
    assert ds["labels"].names == ("0", "1")
    assert ds["split"].names == ("train", "val")
    (path / "classes.txt").write_text("cat\ndog\n")
    assert ingest(path)["labels"].names == ("cat", "dog")


def test_list_of_images_in_a_text_file_is_read(write, ingest):
    path = write(BOXES, {"train": "train.txt", "names": ["cat", "dog"]})
    (path / "train.txt").write_text("./images/val/c.jpg\nimages/train/a.jpg\n")
    assert ingest(path)["path"][:] == ["images/val/c.jpg", "images/train/a.jpg"]


def test_image_belongs_to_its_first_split(write, ingest):
    path = write(BOXES, {**CONFIG, "val": ["images/val", "images/train"]})
    ds = ingest(path)
    assert ds["split"][:].tolist() == [0, 0, 1]
    assert [str(skipped) for skipped in ds.ingested.skipped] == [
        "a.jpg: it is also in split 'train'", "b.jpg: it is also in split 'train'"
    ]  # fmt: skip
    ds = ingest(write(BOXES, {**CONFIG, "val": "images/train"}))
    assert (ds["split"].names, ds.ingested.skipped) == (("train",), ())


def test_classes_named_like_other_numbers_keep_their_places(write, ingest):
    ds = ingest(write({"a": "0 0.5 0.5 0.1 0.1\n1 0.5 0.5 0.1 0.1"},
                      {"train": "images", "names": ["1", "0"]}))  # fmt: skip
    assert list(map(int, ds["labels"][0])) == [0, 1]


def test_folders_of_classes_are_read_as_such(root, ingest):
    for name in ("train/cat/1", "train/dog/2", "val/cat/3"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        PillowImage.new("RGB", (8, 8)).save(root / f"{name}.png")
    for options in ({}, {"task": "classify"}):
        ds = ingest(root, **options)
        assert ds["label"].names == ("cat", "dog")
        assert ds["split"].names == ("train", "val")


# ---- tasks


def test_outlines_are_in_pixels_and_have_boxes(write, ingest):
    text = "0 0.25 0.25 0.75 0.25 0.5 0.75\n1 0.5 0.5 0.25 0.5\n"
    ds = ingest(write({"a": text}, {"train": "images", "names": ["cat", "dog"]}))
    (outline,), nothing = ds["segmentation"][0]
    np.testing.assert_array_equal(outline, np.float32([[16, 12], [48, 12], [32, 36]]))
    assert nothing == []
    np.testing.assert_array_equal(
        ds["boxes"][0], np.float32([[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 0.25, 0.5]])
    )


def test_poses_have_keypoints_in_pixels(write, ingest):
    config = {"train": "images", "names": ["cat"], "kpt_shape": [2, 3]}
    ds = ingest(write({"a": "0 0.5 0.5 0.25 0.5 0.25 0.5 2 0 0 0"}, config))
    np.testing.assert_array_equal(ds["keypoints"][0], np.float32([[[16, 24, 2], [0, 0, 0]]]))
    ds = ingest(write({"a": "0 0.5 0.5 0.25 0.5 0.25 0.5 1 1"}, {**config, "kpt_shape": [2, 2]}))
    np.testing.assert_array_equal(ds["keypoints"][0], np.float32([[[16, 24], [64, 48]]]))


def test_oriented_boxes_are_outlines_of_four_corners(write, ingest):
    text = "0 0.25 0.25 0.5 0.25 0.5 0.5 0.25 0.5"
    ds = ingest(write({"a": text}, {"train": "images", "names": ["cat"]}))
    assert [part.shape for part in ds["segmentation"][0][0]] == [(4, 2)]


# ---- round trips


LINES = {
    "detect": lambda rng: [rng.uniform(0.1, 0.9) for _ in range(4)],
    "segment": lambda rng: [rng.random() for _ in range(2 * rng.randrange(3, 9))],
    "obb": lambda rng: [rng.random() for _ in range(8)],
    "pose": lambda rng: (
        [rng.random() for _ in range(4)]
        + [x for _ in range(2) for x in (rng.random(), rng.random(), rng.randrange(3))]
    ),
}


@pytest.mark.parametrize("task", LINES)
def test_exported_folder_is_ingested_as_the_same_rows(write, ingest, tmp_path, task):
    rng = random.Random(task)
    labels = {
        f"{split}/{n}": "\n".join(
            " ".join(map(str, [rng.randrange(2), *LINES[task](rng)])) for _ in range(count)
        )
        for n, (split, count) in enumerate([("train", 3), ("train", 0), ("val", 5), ("test", 1)])
    }
    config = {**CONFIG, "test": "images/test"} | ({"kpt_shape": [2, 3]} if task == "pose" else {})
    ds = ingest(write(labels, config, suffix="png"), task=task)
    again = ingest(ds.to_yolo(tmp_path / "out", task=task), task=task)
    assert [(f.name, f.htype) for f in again.schema] == [(f.name, f.htype) for f in ds.schema]
    for row in range(len(ds)):
        for name in ds.columns:
            np.testing.assert_equal(again[name][row], ds[name][row], err_msg=f"{row} {name}")
    assert [bytes(b) for b in again["image"].encoded()] == [bytes(b) for b in ds["image"].encoded()]


def test_export_follows_the_rules_of_ultralytics(make_lake, tmp_path):
    schema = {"image": dl.Image("png"), "boxes": dl.Boxes("xywh"), "score": "float32",
              "labels": dl.Sequence(dl.ClassLabel(["cat", "dog"]))}  # fmt: skip
    image = np.zeros((HEIGHT, WIDTH, 3), "uint8")
    boxes = [[[0, 0, 32, 24], [40, 40, 64, 48]], np.zeros((0, 4))]
    ds = make_lake(schema, image=[image] * 2, boxes=boxes, labels=[["dog", "cat"], []],
                   score=[0, 1])  # fmt: skip
    with pytest.warns(
        ExportWarning,
        match=r"'score' is left out; 1 object extends beyond its image and is clipped",
    ):
        root = ds.to_yolo(tmp_path / "out")
    config = yaml.safe_load((root / "data.yaml").read_text())
    assert config["names"] == {0: "cat", 1: "dog"}
    assert (config["train"], config["val"]) == ("images/train", "images/train")
    images = sorted((root / config["train"]).glob("*.png"))
    for path in images:
        label = root / "labels" / "train" / f"{path.stem}.txt"  # /images/ becomes /labels/
        rows = [list(map(float, line.split())) for line in label.read_text().splitlines()]
        assert all(len(row) == 5 and row[0] in (0, 1) for row in rows)
        assert all(0 <= x <= 1 for row in rows for x in row[1:])
    first = root / "labels" / "train" / "000000000000.txt"
    assert first.read_text().splitlines()[0] == "1 0.25 0.25 0.5 0.5"


def test_several_outlines_are_joined_without_changing_the_area(make_lake, tmp_path, ingest):
    square = np.array([[0, 0], [4, 0], [4, 4], [0, 4]])
    schema = {"image": dl.Image("png"), "segmentation": dl.Sequence("polygons"),
              "labels": dl.Sequence(dl.ClassLabel(["cat"]))}  # fmt: skip
    image = np.zeros((HEIGHT, WIDTH), "uint8")
    ds = make_lake(schema, image=[image], labels=[["cat"]], segmentation=[[[square, square + 20]]])
    with pytest.warns(ExportWarning, match="1 object with several outlines becomes one outline"):
        root = ds.to_yolo(tmp_path / "out")
    ((outline,),) = ingest(root)["segmentation"][0]
    x, y = outline.astype(np.float64).T
    assert abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2 == pytest.approx(32)


# ---- errors


BAD = {
    "detect": ["0 0.5 0.5 0.1", "0 a 0.5 0.1 0.1", "-1 0.5 0.5 0.1 0.1", "0.5 0.5 0.5 0.1 0.1",
               "2 0.5 0.5 0.1 0.1", "0 nan 0.5 0.1 0.1", "0", "0 inf 0 0 0", "1e30 0 0 0 0"],
    "segment": ["0 0.1 0.1 0.2 0.2 0.3", "0 0.1"],
    "pose": ["0 0.5 0.5 0.1 0.1", "0 0.5 0.5 0.1 0.1 0.5 0.5 7 0 0 0"],
    "obb": ["0 0.5 0.5 0.1 0.1"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("task", "text"), [(t, text) for t, texts in BAD.items() for text in texts]
)
def test_bad_label_is_an_error_or_its_image_is_skipped(write, ingest, task, text):
    config = {"train": "images", "names": ["cat", "dog"], "kpt_shape": [2, 3]}
    path = write({"a": text, "b": ""}, config)
    with pytest.raises(InvalidValueError, match=r"a\.(txt|jpg)"):
        ingest(path, task=task)
    ds = ingest(path, task=task, on_error="skip")
    assert ds["path"][:] == ["images/b.jpg"]
    assert [skipped.path for skipped in ds.ingested.skipped] == ["images/a.jpg"]


BOMB = "a0: &a0 x\n" + "".join(
    f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 9)}]\n" for i in range(9)
)
"""A document of 90 aliases that stand for 9 ** 9 values."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train: [", "must be YAML"), ("3", "must have keys such as"),
        ("names: [a]", "must name the"),
        ("train: nowhere\nnames: [a]", "no 'nowhere'"), ("\x00", "must be YAML"),
        ("train: images\nnames: {a: b}", "must map class numbers"),
        ("train: images\nnames: {9999999999: b}", "must map class numbers"),
        ("train: images\nnames: [a]\nkpt_shape: 3", "kpt_shape must be"),
        ("train: !!python/object/apply:os.system ['ls']\nnames: [a]", "must be YAML"),
        ("&a [*a]", "must be YAML"), ("names: " + "[" * 200, "must be YAML"),
        ("names: [a, [b]]\ntrain: images", "name of a class must be a string"),
        ("names: {0: {1: 2}}\ntrain: images", "name of a class must be a string"),
        ("names: [a, null]\ntrain: images", "name of a class must be a string"),
        ("names: [a]\ntrain: labels", "no images in the folders"),
        (BOMB, "aliases expand to more than 1,000,000 values"),
        ("x: &a [*a]\nnames: [a]\ntrain: images", "aliases expand to more than"),
    ],
)  # fmt: skip
def test_bad_data_yaml_is_refused(write, ingest, text, message):
    path = write({"a": "0 0.5 0.5 0.1 0.1"})
    (path / "data.yaml").write_text(text)
    with pytest.raises((InvalidValueError, NotFoundError), match=message):
        ingest(path / "data.yaml")


def test_missing_folders_and_tasks_are_refused(write, ingest, root, tmp_path):
    with pytest.raises(NotFoundError, match="There is no"):
        ingest(root)
    root.mkdir()
    with pytest.raises(NotFoundError, match="no images below"):
        ingest(root)
    with pytest.raises(dl.OptionError, match="task must be"):
        ingest(root, task="detection")
    ds = ingest(write({"a": "0 0.5 0.5 0.1 0.1"}))
    with pytest.raises(dl.SchemaError, match="needs a column of outlines"):
        ds.to_yolo(tmp_path / "out", task="segment")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "file").touch()
    with pytest.raises(dl.ExistsError, match="to_yolo writes to a new or empty folder"):
        ds.to_yolo(tmp_path / "out")


@pytest.mark.parametrize(
    "name", ["../../a.jpg", "/etc/a.jpg", "a\0b.jpg", "..\\a.jpg", "", "C:\\a"]
)
def test_files_are_never_written_outside_the_folder(make_lake, tmp_path, name):
    schema = {"image": dl.Image("png"), "path": "text", "boxes": dl.Boxes(),
              "labels": dl.Sequence(dl.ClassLabel(["cat"]))}  # fmt: skip
    image = np.zeros((4, 4), "uint8")
    ds = make_lake(schema, image=[image], path=[name], boxes=[np.zeros((0, 4))], labels=[[]])
    ds.to_yolo(tmp_path / "in" / "out")
    outside = [p for p in tmp_path.rglob("*") if p.is_file() and "out" not in p.parts]
    assert outside == []
    assert len([*(tmp_path / "in" / "out" / "images").rglob("*.png")]) == 1


def test_boxes_are_clipped_or_left_out_by_their_corners(make_lake, tmp_path):
    schema = {"image": dl.Image("png"), "boxes": dl.Boxes("xyxy"),
              "labels": dl.Sequence(dl.ClassLabel(["cat", "dog", "fox"]))}  # fmt: skip
    boxes = [[100, 100, 120, 120], [-40, 0, 32, 24], [0, 0, 64, 48]]
    ds = make_lake(schema, image=[np.zeros((HEIGHT, WIDTH), "u1")], boxes=[boxes],
                   labels=[["cat", "dog", "fox"]])  # fmt: skip
    message = "1 object extends beyond .* clipped; 1 object lies outside .* left out"
    with pytest.warns(ExportWarning, match=message):
        root = ds.to_yolo(tmp_path / "out")
    lines = (root / "labels/train/000000000000.txt").read_text().splitlines()
    assert lines == ["1 0.25 0.25 0.5 0.5", "2 0.5 0.5 1 1"]


def test_missing_label_files_are_not_taken_for_classes(write, ingest):
    path = write({"train/a": None, "val/b": None}, CONFIG)
    with pytest.raises(
        InvalidValueError, match=r"none was found. The label file of 'a\.jpg' would be"
    ):
        ingest(path)
    ds = ingest(path, task="detect")
    assert [len(boxes) for boxes in ds["boxes"][:]] == [0, 0]
    assert ds["labels"].names == ("cat", "dög")


def test_rest_of_the_data_yaml_is_written_again(write, ingest, tmp_path):
    config = {
        "train": "images", "names": ["cat"], "kpt_shape": [3, 2], "flip_idx": [1, 0, 2],
        "kpt_names": {0: ["left", "right", "tail"]}, "author": "A. B.", "date": date(2026, 1, 2),
    }  # fmt: skip
    ds = ingest(write({"a": "0 0.5 0.5 0.2 0.2 0.1 0.1 0.2 0.2 0.3 0.3"}, config))
    assert ds["keypoints"].names == ("left", "right", "tail")
    root = ds.to_yolo(tmp_path / "out")
    written = yaml.safe_load((root / "data.yaml").read_text())
    for key in ("kpt_shape", "kpt_names", "flip_idx", "author"):
        assert written[key] == config[key]
    assert written["date"] == "2026-01-02"
    again = ingest(root)
    assert again.metadata["yolo"] == ds.metadata["yolo"]
    assert again.schema["keypoints"].htype == ds.schema["keypoints"].htype


@pytest.mark.parametrize("htype", ["text", dl.ClassLabel(["train", "val"], nullable=True)], ids=str)
def test_split_is_a_class_or_text_and_null_is_reported(make_lake, tmp_path, htype):
    schema = {
        "image": dl.Image("png"), "boxes": dl.Boxes("xyxy"),
        "labels": dl.Sequence(dl.ClassLabel(["cat"])),
        "split": dl.Text(nullable=True) if htype == "text" else htype,
    }  # fmt: skip
    rows = {"image": [np.zeros((8, 8), "uint8")] * 3, "boxes": [np.zeros((0, 4))] * 3,
            "labels": [[]] * 3}  # fmt: skip
    ds = make_lake(schema, **rows, split=["val", None, "train"])
    with pytest.warns(ExportWarning, match="1 row without a split is written to 'train'"):
        root = ds.to_yolo(tmp_path / "out")
    names = [p.relative_to(root / "images").as_posix() for p in root.rglob("*.png")]
    assert sorted(names) == ["train/000000000001.png", "train/000000000002.png",
                             "val/000000000000.png"]  # fmt: skip


def test_column_of_numbers_named_split_is_left_out(make_lake, tmp_path):
    schema = {"image": dl.Image("png"), "boxes": dl.Boxes("xyxy"),
              "labels": dl.Sequence(dl.ClassLabel(["cat"])), "split": "int64"}  # fmt: skip
    ds = make_lake(schema, image=[np.zeros((8, 8), "uint8")], boxes=[np.zeros((0, 4))],
                   labels=[[]], split=[1])  # fmt: skip
    with pytest.warns(ExportWarning, match="'split' is left out"):
        root = ds.to_yolo(tmp_path / "out")
    assert (root / "images" / "train" / "000000000000.png").is_file()


# ---- exports of other tools


@pytest.mark.parametrize("name", ["obj.names", "images/_darknet.labels", "labels/classes.txt"])
def test_classes_have_the_names_of_files_of_other_tools(write, ingest, name):
    root = write({"a": "1 .5 .5 .1 .1"})
    (root / name).write_text("\ufeffcat\r\ndog\r\n", "utf-8")
    labels = ingest(root)["labels"]
    assert (labels.names, [*labels[0]]) == (("cat", "dog"), [1])


def test_files_of_class_names_must_agree(write, ingest):
    root = write({"a": "1 .5 .5 .1 .1"})
    (root / "obj.names").write_text("cat\ndog")
    (root / "classes.txt").write_text("dog\ncat")
    with pytest.raises(InvalidValueError, match="must agree"):
        ingest(root)


def test_predictions_have_scores(write, ingest):
    config = {"train": "images", "names": ["cat"]}
    root = write(
        {"a": "0 .5 .5 .1 .1 .25\n0 .5 .5 .2 .2 .5", "b": "", "c": "\ufeff0 .5 .5 .1 .1"}, config
    )
    ds = ingest(root)
    assert [list(map(str, s)) for s in ds["scores"][:]] == [["0.25", "0.5"], [], ["nan"]]
    assert [len(b) for b in ds["boxes"][:]] == [2, 0, 1]
    assert "scores" not in ingest(write({"a": "0 .5 .5 .1 .1", "b": ""}, config)).schema.names


@pytest.mark.parametrize(
    ("task", "line"),
    [
        ("obb", "0 .1 .1 .5 .1 .5 .5 .1 .5"),
        ("segment", "0 .1 .1 .5 .1 .5 .5"),
        ("pose", "0 .5 .5 .2 .2 .5 .5 2"),
    ],
)
def test_predictions_of_other_tasks_have_scores_if_all_lines_do(write, ingest, task, line):
    config = {"train": "images", "names": ["cat"]}
    config |= {"kpt_shape": [1, 3]} if task == "pose" else {}
    scored = {"a": f"{line} .25\n{line} .5", "b": "", "c": f"{line} 1"}
    ds = ingest(write(scored, config))
    plain = ingest(write({"a": f"{line}\n{line}", "c": line}, config))
    assert [list(s) for s in ds["scores"][:]] == [[0.25, 0.5], [], [1]]
    assert "scores" not in plain.schema.names
    for name in plain.schema.names:
        if name not in ("path", "image"):
            assert str(ds[name][0]) == str(plain[name][0])
    with pytest.raises(InvalidValueError, match=r"object 1 must have .* after its class"):
        ingest(write({**scored, "d": line}, config), task=task)


def test_number_of_classes_must_be_that_of_their_names(write, ingest):
    root = write({"a": "0 .5 .5 .1 .1"}, {"train": "images", "names": ["cat", "dog"], "nc": 3})
    with pytest.raises(InvalidValueError, match="number of class names, 2, but it is 3"):
        ingest(root)


def test_label_file_without_an_image_is_listed(write, ingest):
    root = write({"a": "0 .5 .5 .1 .1"})
    (root / "labels/lost.txt").write_text("0 .5 .5 .1 .1")
    assert [str(s) for s in ingest(root).ingested.skipped] == [
        "labels/lost.txt: there is no image with this name"
    ]


def test_outlines_become_rotated_rectangles_for_oriented_boxes(make_lake, tmp_path, ingest):
    corners = np.array([[20, 5], [40, 15], [35, 25], [15, 15]], "f4")
    between = np.insert(corners, 2, (corners[1] + corners[2]) / 2, axis=0)
    schema = {
        "image": dl.Image("png"), "labels": dl.Sequence(dl.ClassLabel(["a"])),
        "segmentation": dl.Sequence(dl.Polygons()),
    }  # fmt: skip
    outlines = [[corners], [between], [between[[0, 1, 2]], between[[2, 3, 4]]]]
    ds = make_lake(
        schema,
        image=[np.zeros((HEIGHT, WIDTH, 3), "u1")],
        labels=[["a"] * 3],
        segmentation=[outlines],
    )
    with pytest.warns(ExportWarning, match="2 objects with fewer or more than four corners become"):
        root = ds.to_yolo(tmp_path / "out", task="obb")
    again = ingest(root, task="obb")["segmentation"][0]
    assert np.array_equal(again[0][0], corners)
    for rectangle, expected in zip(again[1:], [corners, corners], strict=True):
        there = {tuple(np.round(corner, 3)) for corner in rectangle[0].tolist()}
        assert there == {tuple(corner) for corner in expected.tolist()}


def test_smallest_rectangle_is_no_larger_than_any_other():
    rng = np.random.default_rng(0)
    for _ in range(50):
        points = rng.normal(size=(rng.integers(3, 20), 2)) * [1, rng.uniform(0.1, 1)]
        corners = rotated_rectangle(points)
        sides = np.diff(corners[[0, 1, 2]], axis=0)
        assert abs(sides[0] @ sides[1]) < 1e-9
        inside = (points - corners[0]) @ sides.T / (sides**2).sum(1)
        assert inside.min() > -1e-9
        assert inside.max() < 1 + 1e-9
        angles = np.linspace(0, np.pi / 2, 500)
        cos, sin = np.cos(angles), np.sin(angles)
        turned = points @ np.array([[cos, -sin], [sin, cos]]).transpose(2, 0, 1)
        assert np.prod(np.hypot(*sides.T)) <= np.prod(np.ptp(turned, axis=1), axis=1).min() + 1e-9


@pytest.mark.parametrize("task", ["segment", "obb"])
def test_outlines_outside_their_image_are_left_out(make_lake, tmp_path, task):
    square = np.array([[0, 0], [10, 0], [10, 10], [0, 10]], "f4")
    schema = {
        "image": dl.Image("png"), "labels": dl.Sequence(dl.ClassLabel(["a"])),
        "segmentation": dl.Sequence(dl.Polygons()),
    }  # fmt: skip
    ds = make_lake(
        schema,
        image=[np.zeros((HEIGHT, WIDTH, 3), "u1")],
        labels=[["a"] * 3],
        segmentation=[[[square], [square + 100], [square - 5]]],
    )
    message = "1 object extends beyond its image and is clipped; 1 object lies outside its image"
    with pytest.warns(ExportWarning, match=message):
        root = ds.to_yolo(tmp_path / "out", task=task)
    lines = (root / "labels/train/000000000000.txt").read_text().splitlines()
    assert len(lines) == 2


def test_object_without_an_outline_is_reported_with_its_row(make_lake, tmp_path):
    schema = {
        "image": dl.Image("png"), "labels": dl.Sequence(dl.ClassLabel(["a"])),
        "segmentation": dl.Sequence(dl.Polygons()),
    }  # fmt: skip
    image = np.zeros((HEIGHT, WIDTH, 3), "u1")
    ds = make_lake(schema, image=[image] * 2, labels=[[], ["a"]], segmentation=[[], [[]]])
    with pytest.raises(InvalidValueError, match=r"^row 1: Each object must have an outline"):
        ds.to_yolo(tmp_path / "out")


def test_number_of_classes_describes_a_dataset_without_names(write, ingest):
    ds = ingest(write({"train/a": "1 0.5 0.5 0.25 0.5"}, {"train": "images/train", "nc": 3}))
    assert (ds["labels"].names, ds["split"].names) == (("0", "1", "2"), ("train",))


@pytest.mark.parametrize("names", ["cat", 3, {"0": "cat"}, ""])
def test_names_of_another_kind_are_refused(write, ingest, names):
    with pytest.raises(InvalidValueError, match="names must be a list, or must map"):
        ingest(write({"train/a": ""}, {"train": "images/train", "names": names}))


def test_names_in_a_folder_below_are_not_lost(write, ingest):
    root = write({"train/a": "1 0.5 0.5 0.25 0.5"}, {"train": "images/train", "names": ["a", "b"]})
    for read in (ingest, lambda path: dl.ingest(path, "memory://yolo-below", progress=False)):
        with pytest.raises(InvalidValueError, match=r"\['data/data.yaml'\] below it. Ingest"):
            read(root.parent)
    assert ingest(root)["labels"].names == ("a", "b")


def test_labels_next_to_the_images_of_voc_are_read(write, ingest):
    root = write({"a": "1 0.5 0.5 0.25 0.5"}, folders=("JPEGImages", "labels"))
    ds = ingest(root)
    assert ds["boxes"][0].tolist() == [[0.5, 0.5, 0.25, 0.5]]
    assert "label" not in ds.columns
