"""Batches as a tf.data.Dataset."""

import gc
import json
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from sklearn.datasets import load_digits

import deeplake_lite as dl
from deeplake_lite.errors import LoaderError
from deeplake_lite.htypes import resolve
from deeplake_lite.loader.read.samples import ViewSamples

from ...dataset.everything import SCHEMA as EVERYTHING
from ...dataset.everything import VALUES as CELLS
from ..watching import eventually, threads
from .frameworks import BLOCKED, ROWS, SCHEMA, columns, run_python


@pytest.fixture
def lake(make_lake):
    return make_lake(SCHEMA, **columns())


def test_element_spec_is_known_from_the_types(lake):
    spec = lake.tensorflow(4, row_ids=True).element_spec
    assert spec["image"] == tf.TensorSpec((None, 6, 5, 3), tf.uint8)
    assert spec["photo"] == tf.RaggedTensorSpec((None, None, None, 3), tf.uint8, 2)
    assert spec["boxes"] == tf.RaggedTensorSpec((None, None, 4), tf.float32, 1)
    assert spec["words"] == tf.RaggedTensorSpec((None, None), tf.string, 1)
    assert spec["outlines"] == tf.RaggedTensorSpec((None, None, None, 2), tf.float32, 2)
    assert spec["when"] == tf.TensorSpec((None,), tf.int64)
    assert spec["note_valid"] == tf.TensorSpec((None,), tf.bool)
    assert spec["_row_id"] == tf.TensorSpec((None,), tf.int64)


@pytest.mark.parametrize("options", [{"drop_last": True}, {"last": "pad"}])
def test_batch_axis_is_static_if_all_batches_are_full(lake, options):
    dataset = lake.tensorflow(4, columns=["image", "boxes"], **options)
    assert dataset.element_spec["image"].shape == (4, 6, 5, 3)
    assert dataset.element_spec["boxes"].shape.as_list() == [4, None, 4]
    sizes = [batch["boxes"].shape[0] for batch in dataset]
    assert sizes == ([4, 4] if "drop_last" in options else [4, 4, 4])


def test_skipped_rows_leave_the_batch_axis_unknown(lake):
    spec = lake.tensorflow(4, columns=["x"], drop_last=True, on_error="skip").element_spec
    assert spec["x"].shape.as_list() == [None]


def test_padded_rows_are_marked(lake):
    *_, last = lake.tensorflow(4, columns=["count"], last="pad")
    assert last["_padding"].numpy().tolist() == [False, False, True, True]


def test_values_equal_those_of_the_lake(lake):
    (batch,) = lake.tensorflow(ROWS, row_ids=True)
    rows = {name: list(lake[name][:]) for name in lake.columns}
    for name in ("photo", "boxes", "tokens", "outlines"):
        got = [row.to_list() if hasattr(row, "to_list") else row.numpy().tolist()
               for row in batch[name]]  # fmt: skip
        assert got == [[np.asarray(item).tolist() for item in row] for row in rows[name]]
    assert [t.decode() for t in batch["text"].numpy()] == rows["text"]
    assert [json.loads(t) for t in batch["meta"].numpy()] == rows["meta"]
    assert batch["note"].numpy().tolist() == [
        b"" if v is None else v.encode() for v in rows["note"]
    ]
    assert batch["note_valid"].numpy().tolist() == [v is not None for v in rows["note"]]
    assert batch["maybe_valid"].numpy().tolist() == [v is not None for v in rows["maybe"]]
    assert batch["words"].to_list() == [[b"wort"] * (k % 3) for k in range(ROWS)]
    assert batch["when"].numpy().tolist() == [10**15 + k for k in range(ROWS)]
    assert batch["_row_id"].numpy().tolist() == lake.row_ids.tolist()


def test_columns_may_be_padded_ragged_or_stacked_on_request(lake):
    collate = {"photo": "pad", "boxes": "ragged", "maybe": "pad", "count": "list", "tokens": "pad"}
    dataset = lake.tensorflow(4, columns=list(collate), collate=collate)
    assert dataset.element_spec["photo_mask"] == tf.TensorSpec((None, None, None), tf.bool)
    batch = next(iter(dataset))
    assert batch["photo"].shape == (4, 6, 4, 3)
    assert batch["boxes"].shape.as_list() == [4, None, 4]
    assert batch["tokens_mask"].numpy().sum(axis=1).tolist() == [0, 1, 2, 3]
    assert batch["count"].numpy().tolist() == [-5, -4, -3, -2]


@pytest.mark.parametrize("collate", [None, "pad"])
def test_all_null_batches_fit_the_element_spec(make_lake, collate):
    pictures = [None, None, np.zeros((2, 3, 3), np.uint8), np.ones((4, 2, 3), np.uint8)]
    schema = {"p": dl.Image("png", nullable=True), "b": dl.Boxes(nullable=True)}
    lake = make_lake(schema, p=pictures, b=[None, None, np.ones((1, 4)), np.ones((2, 4))])
    batches = list(lake.tensorflow(2, collate=collate))
    assert [b["p_valid"].numpy().tolist() for b in batches] == [[False, False], [True, True]]
    assert batches[0]["p"].shape[-1] == 3


def test_tensorflow_shares_the_memory_of_a_batch(lake, monkeypatch):
    dataset = lake.tensorflow(4, columns=["image"])
    made = []
    resources = dataset.loader.resources
    convert = resources.convert
    monkeypatch.setattr(resources, "convert", lambda batch: made.append(convert(batch)) or made[-1])
    batch = next(iter(dataset))
    assert batch["image"]._numpy().ctypes.data in [arrays[0].ctypes.data for arrays in made]


def test_each_iteration_is_the_next_epoch_and_resumes_exactly(lake):
    def counts(dataset):
        return [b["count"].numpy().tolist() for b in dataset]

    dataset = lake.tensorflow(3, columns=["count"], shuffle=True)
    epochs = [counts(dataset) for _ in range(2)]
    assert epochs[0] != epochs[1]
    dataset.loader.set_epoch(0)
    assert counts(dataset) == epochs[0]
    dataset.loader.set_epoch(1)
    batches = iter(dataset)
    first = [next(batches)["count"].numpy().tolist() for _ in range(2)]
    state = dataset.loader.state_dict()
    assert state["consumed"] == 6
    other = lake.tensorflow(3, columns=["count"], shuffle=True)
    other.loader.load_state_dict(state)
    assert len(other) == 2
    assert first + counts(other) == epochs[1]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"columns": ["count"]},
        {"columns": ["count", "image"], "row_ids": True},
        {"columns": ["count", "label", "image"], "last": "pad"},
        {"transform": dict},
        {"num_workers": 2, "shuffle": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("further", ["none", "map", "batch", "take", "filter", "zip"])
def test_state_counts_exactly_the_batches_taken(make_lake, options, further):
    rows = make_lake({**SCHEMA}, **{name: [*v] * 4 for name, v in columns().items()})
    dataset = rows.tensorflow(2, **options)
    loader, per_step = dataset.loader, 2
    if further == "map":
        dataset = dataset.map(lambda batch: batch["count"])
    elif further == "batch":
        dataset, per_step = dataset.map(lambda batch: batch["count"]).batch(2), 4
    elif further == "filter":
        dataset = dataset.filter(lambda batch: tf.size(batch["count"]) > 0)
    elif further == "zip":
        dataset = tf.data.Dataset.zip(dataset, tf.data.Dataset.range(9))
    elif further == "take":
        dataset = dataset.take(3)
    for taken, _ in enumerate(dataset, 1):
        time.sleep(0.02)  # for read-ahead, if any
        assert loader.state_dict()["consumed"] == taken * per_step
        if taken == 3:
            break


USES = {
    "nothing": lambda dataset: dataset,
    "an epoch": list,
    "a part of an epoch": lambda dataset: next(iter(dataset)),
    "two epochs": lambda dataset: list(dataset.repeat(2)),
    "two iterators at once": lambda dataset: list(zip(dataset, dataset, strict=True)),
    "further steps": lambda dataset: list(dataset.map(lambda b: b["count"]).prefetch(2).take(2)),
    "within another": lambda dataset: list(tf.data.Dataset.range(2).flat_map(lambda _: dataset)),
    "a resumed epoch": lambda dataset: (
        next(iter(dataset)),
        dataset.loader.load_state_dict(dataset.loader.state_dict()),
        next(iter(dataset)),
    ),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_dropped_dataset_leaves_no_threads_and_no_loader(lake, use):
    running, loaders = threads(), []
    for _ in range(3):
        dataset = lake.tensorflow(4, columns=["count"])
        loaders.append(weakref.ref(dataset.loader))
        use(dataset)
        del dataset
    assert eventually(lambda: threads() <= running)
    assert [loader() for loader in loaders] == [None] * 3


def test_batches_continue_while_an_iterator_or_a_derived_dataset_holds_the_dataset(lake):
    batches = iter(lake.tensorflow(4, columns=["count"]).map(lambda batch: batch["count"]))
    gc.collect()
    assert sum(len(batch) for batch in batches) == ROWS


def test_dataset_made_in_a_traced_function_gives_its_batches(lake):
    @tf.function
    def count_rows():
        n = 0
        for batch in lake.tensorflow(4, columns=["count"]):
            n += tf.shape(batch["count"])[0]
        return n

    gc.collect()
    assert [int(count_rows()) for _ in range(2)] == [ROWS, ROWS]


def test_transform_is_sampled_without_consuming_the_epoch(lake):
    dataset = lake.tensorflow(
        4, columns=["image", "count"], transform=lambda s: (s["image"][:2] / 255, s["count"])
    )
    images, counts = dataset.element_spec
    assert images == tf.TensorSpec((None, 2, 5, 3), tf.float64)
    assert counts == tf.TensorSpec((None,), tf.int64)
    assert dataset.loader.state_dict()["consumed"] == 0
    assert [c for _, y in dataset for c in y.numpy()] == [k - 5 for k in range(ROWS)]


def test_columns_pass_through_a_transform_unchanged(lake):
    spec = lake.tensorflow(4).element_spec
    passed = lake.tensorflow(4, transform=lambda s: s)
    assert passed.element_spec == spec
    assert sum(batch["note_valid"].numpy().sum() for batch in passed) == ROWS // 2


def test_batch_transform_may_return_trees_and_numbers(lake):
    dataset = lake.tensorflow(
        4, columns=["x", "label"], drop_last=True,
        batch_transform=lambda b: ({"x": b["x"] * 2}, b["label"], np.float32(len(b["x"]))),
    )  # fmt: skip
    inputs, label, number = dataset.element_spec
    assert (inputs["x"].shape, label.dtype, number.shape) == ((4,), tf.int32, ())
    assert [float(n) for _, _, n in dataset] == [4.0, 4.0]


def test_error_for_a_transform_with_varying_shapes_says_what_to_do(lake):
    dataset = lake.tensorflow(
        4, columns=["x", "count"], transform=lambda s: {"x": np.zeros(1 + (s["count"] > 0))}
    )
    with pytest.raises(tf.errors.UnknownError, match=r"'x' must be float64 .*collate={'x': 'rag"):
        list(dataset)


def test_error_of_a_row_reaches_the_user_with_its_id_and_cause(lake):
    row_id = lake.row_ids[7]

    def transform(sample):
        if sample["count"] == 2:
            raise ValueError("two")
        return sample

    dataset = lake.tensorflow(2, columns=["count"], transform=transform)
    with pytest.raises(
        tf.errors.UnknownError, match=rf"(?s)LoaderError: row 7 of .*\(row id {row_id}\).*two"
    ):
        list(dataset)


def test_transform_that_fails_on_the_first_rows_fails_on_creation(lake):
    with pytest.raises(LoaderError, match="transform: ZeroDivisionError"):
        lake.tensorflow(2, transform=lambda _: 1 / 0)


def test_transform_of_an_empty_view_has_no_element_spec(lake):
    assert list(lake[:0].tensorflow(2, columns=["x", "boxes"])) == []
    with pytest.raises(ValueError, match="this view has no rows"):
        lake[:0].tensorflow(2, transform=lambda s: s)


@pytest.fixture
def digits(make_lake):
    data = load_digits()
    return make_lake(
        {"image": dl.Array("float32", (64,)), "label": dl.ClassLabel()},
        image=data.data.astype(np.float32) / 16, label=data.target,
    )  # fmt: skip


def test_keras_learns_the_digits(digits):
    tf.keras.utils.set_random_seed(0)
    model = tf.keras.Sequential([tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(10)])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])

    def pair(batch):
        return batch["image"], batch["label"]

    pairs = digits.tensorflow(32, shuffle=True, batch_transform=pair)
    assert len(pairs) == len(pairs.loader) == 57
    history = model.fit(pairs, epochs=3, shuffle=False, verbose=0).history
    assert history["loss"][-1] < history["loss"][0] / 2
    assert history["accuracy"][-1] > 0.9
    assert model.evaluate(digits.tensorflow(32, batch_transform=pair), verbose=0)[1] > 0.9
    mapped = digits.tensorflow(32).map(lambda b: (b["image"], b["label"]))
    assert mapped.element_spec == pairs.element_spec


MIRRORED = """
import tensorflow as tf, deeplake_lite as dl
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
ds = dl.create("memory://mirrored", {"x": "float32", "boxes": dl.Boxes()})
ds.append({"x": range(10), "boxes": [[[0, 0, k, k]] * (k % 3) for k in range(10)]})
ds.commit("rows")
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
dataset = strategy.experimental_distribute_dataset(ds.tensorflow(4, shuffle=True))

@tf.function
def total(batch):
    parts = strategy.run(lambda b: (tf.reduce_sum(b["x"]), tf.shape(b["x"])[0]), (batch,))
    return [strategy.reduce("SUM", part, axis=None) for part in parts]

for _ in range(2):
    found = [total(batch) for batch in dataset]
    print(sum(float(x) for x, _ in found), [int(n) for _, n in found])
"""


@pytest.mark.slow
def test_mirrored_strategy_gets_every_row_once():
    assert run_python(MIRRORED).splitlines() == ["45.0 [4, 4, 2]"] * 2


def test_without_tensorflow_the_error_says_what_to_install():
    text = run_python(BLOCKED.format(package="tensorflow", exporter="tensorflow"))
    assert 'pip install "deeplake-lite[tensorflow]"' in text


def test_no_framework_is_imported_before_its_exporter_is_called():
    code = (
        "import sys, deeplake_lite.loader; print({'jax', 'tensorflow', 'torch'} & {*sys.modules})"
    )
    assert run_python(code).strip() == "set()"


def test_batch_axis_is_static_if_skipped_rows_are_replaced(lake):
    options = {"last": "pad", "on_error": "skip"}
    spec = lake.tensorflow(4, columns=["x"], **options).element_spec
    assert spec["x"].shape[0] == 4


def test_padding_of_a_column_passed_through_a_transform_may_grow(lake):
    options = {"columns": ["boxes"], "collate": "pad"}
    passed = lake.tensorflow(2, transform=lambda s: s, **options)
    assert passed.element_spec == lake.tensorflow(2, **options).element_spec
    assert sum(int(b["boxes_mask"].numpy().sum()) for b in passed) == sum(
        len(boxes) for boxes in lake["boxes"][:]
    )


def test_image_after_many_nulls_is_found_in_few_reads(make_lake, monkeypatch):
    pictures = [None] * 70 + [np.zeros((h, 3, 3), np.uint8) for h in (2, 4)]
    lake = make_lake({"p": dl.Image("png", nullable=True)}, p=pictures)
    reads, read = [], ViewSamples.read
    monkeypatch.setattr(
        ViewSamples, "read", lambda self, *a: reads.append(len(a[0])) or read(self, *a)
    )
    spec = lake.tensorflow(4).element_spec["p"]
    assert spec.shape.as_list() == [None, None, 3, 3]
    assert len(reads) <= 4


@pytest.mark.parametrize("options", [{"size": (4, 4)}, {"collate": "stack"}])
@pytest.mark.parametrize("there", [True, False])
def test_null_images_fit_the_element_spec(make_lake, options, there):
    pictures = [None, np.ones((5, 6, 3), "uint8") if there else None, None]
    ds = make_lake({"image": dl.Image("png", nullable=True)}, image=pictures)
    result = list(ds.tensorflow(1, **options))
    assert len({tuple(batch["image"].shape) for batch in result}) == 1
    assert [bool(batch["image_valid"][0]) for batch in result] == [False, there, False]


@pytest.mark.parametrize("texts", [["a", "b"], []])
def test_lists_of_equally_many_strings_are_ragged(make_lake, texts):
    ds = make_lake({"tags": dl.Sequence(dl.Text())}, tags=[texts] * 3)
    (batch,) = ds.tensorflow(3)
    assert batch["tags"].to_list() == [[text.encode() for text in texts]] * 3


def test_null_mask_does_not_replace_a_column(make_lake):
    schema = {"note": dl.Text(nullable=True), "note_valid": "int32"}
    ds = make_lake(schema, note=[None], note_valid=[3])
    with pytest.raises(ValueError, match=r"Batches use the key 'note_valid' to mark .* of 'note'"):
        ds.tensorflow(1)


VALUES = [{"a": 1}, "null", "x", [1], "[1]", 1, "1", True, 0.5, ""]


def test_json_stays_json(make_lake):
    ds = make_lake(
        {"j": "json", "n": dl.Json(nullable=True), "s": dl.Sequence(dl.Json()), "t": "text"},
        j=VALUES,
        n=[None, *VALUES[1:]],
        s=[VALUES[:i] for i in range(len(VALUES))],
        t=[str(v) for v in VALUES],
    )
    [batch] = ds.tensorflow(len(VALUES))
    read = [json.loads(text) for text in batch["j"].numpy()]
    assert read == VALUES
    assert list(map(type, read)) == list(map(type, VALUES))
    assert [json.loads(text) for text in batch["n"].numpy()] == [None, *VALUES[1:]]
    assert batch["n_valid"].numpy().tolist() == [False] + [True] * (len(VALUES) - 1)
    lists = [[json.loads(text) for text in row] for row in batch["s"].to_list()]
    assert lists == [VALUES[:i] for i in range(len(VALUES))]
    assert batch["t"].numpy().tolist() == [str(v).encode() for v in VALUES]


def plain(value, *, as_json):
    """Return a value as nested lists in TensorFlow's types."""
    if isinstance(value, np.ndarray | np.generic):
        return (value.astype(np.int64) if value.dtype.kind in "mM" else value).tolist()
    if as_json:
        return [[json.dumps(item, separators=(",", ":")).encode() for item in row] for row in value]
    if isinstance(value, list):
        return [plain(item, as_json=False) for item in value]
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize("name", sorted(EVERYTHING.keys() - {"link", "counts", "words", "frames"}))
def test_sequence_of_any_type_has_its_values(make_lake, name):
    htype = replace(resolve(EVERYTHING[name]), nullable=False)
    values = [value for value in CELLS[name] if value is not None]
    options = {"mode": "RGB"} if name == "image" else {}  # one of which is greyscale
    if name == "pixels":
        values = [np.full((2, 3), 7, "uint16"), np.ones((3, 1), "uint16")]
    ds = make_lake({"c": dl.Sequence(htype)}, c=[[values[0], values[-1]], [], [values[1]]])
    (batch,) = ds.tensorflow(3, **options)
    rows = next(iter(ds.batches(3, collate="list", **options)))["c"]
    assert repr(batch["c"].to_list()) == repr(plain(rows, as_json=name == "notes"))  # NaN too


def test_images_in_sequences_are_resized(make_lake):
    rows = [[np.full((4 + k, 5, 3), k, np.uint8) for k in range(n)] for n in (2, 0, 3)]
    ds = make_lake({"c": dl.Sequence(dl.Image("png"))}, c=rows)
    dataset = ds.tensorflow(3, size=(4, 4))
    assert dataset.element_spec["c"] == tf.RaggedTensorSpec((None, None, 4, 4, 3), tf.uint8, 1)
    (batch,) = dataset
    assert [len(row) for row in batch["c"]] == [2, 0, 3]
    assert batch["c"][2][:, 0, 0, 0].numpy().tolist() == [0, 1, 2]
    (batch,) = ds.tensorflow(3, size=(4, 4), collate={"c": "pad"})
    assert batch["c"].shape == (3, 3, 4, 4, 3)
    assert batch["c_mask"].numpy().sum(axis=1).tolist() == [2, 0, 3]


def test_null_items_are_named(make_lake):
    ds = make_lake({"c": dl.Sequence(dl.Scalar("int32", nullable=True))}, c=[[1, None], [2]])
    with pytest.raises(tf.errors.UnknownError, match=r"'c' has null items\. Choose other columns="):
        list(ds.tensorflow(2))


NULLABLE = {
    "number": (dl.Scalar("float32", nullable=True), 1.5),
    "flag": (dl.Scalar("bool", nullable=True), True),
    "class": (dl.ClassLabel(["a", "b"], nullable=True), 1),
    "vector": (dl.Array("float32", (2,), nullable=True), [1, 2]),
    "ragged": (dl.Array("int16", (None,), nullable=True), [1]),
    "boxes": (dl.Boxes(nullable=True), [[1, 2, 3, 4]]),
    "text": (dl.Text(nullable=True), "a"),
    "bytes": (dl.Bytes(nullable=True), b"a"),
    "texts": (dl.Sequence(dl.Text(), nullable=True), ["a", "b"]),
    "picture": (dl.Image("png", nullable=True), np.ones((2, 3, 3), np.uint8)),
}


@pytest.mark.parametrize("name", NULLABLE)
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("how", ["transform", "batch_transform", "collate"])
def test_null_under_a_new_key_of_a_transform_is_an_error(make_lake, name, first, how):
    htype, value = NULLABLE[name]
    values = [value, value, None, value]
    ds = make_lake({"x": htype}, x=values[::-1] if first else values)
    options = {
        "transform": lambda s: {"made": s["x"]},
        "batch_transform": lambda b: {
            "made": [v if ok else None for v, ok in zip(b["x"], valid(b), strict=True)]
        },
        "collate": lambda samples: {"made": [s["x"] for s in samples]},
    }
    with pytest.raises((LoaderError, tf.errors.UnknownError), match="'made' has null rows"):
        list(ds.tensorflow(2, **{how: options[how]}))


def valid(batch):
    """Tell which rows of `x` are not null."""
    return batch.get("x_valid", [v is not None for v in batch["x"]])


@pytest.mark.parametrize("name", NULLABLE)
def test_null_under_its_own_column_name_is_marked(make_lake, name):
    htype, value = NULLABLE[name]
    ds = make_lake({"x": htype}, x=[value, value, None, value])
    batches = list(ds.tensorflow(2, transform=lambda s: {"x": s["x"]}))
    assert [b["x_valid"].numpy().tolist() for b in batches] == [[True, True], [False, True]]


@pytest.mark.parametrize(
    ("usual", "odd"),
    [
        ("a", 2.5),
        ("a", True),
        ("a", [1]),
        ("a", float("nan")),
        ([1, 2, 3], b"q"),
        (["a", "b"], "ab"),
        (["a", "b"], b"ab"),
        (1, "a"),
        (1.5, None),
        (np.ones(2), "ab"),
        (b"a", {"k": 1}),
    ],
)
def test_value_of_a_different_kind_than_in_the_first_batch_is_an_error(make_lake, usual, odd):
    ds = make_lake({"x": "int32"}, x=range(6))
    dataset = ds.tensorflow(2, transform=lambda s: {"made": odd if s["x"] == 4 else usual})
    with pytest.raises(tf.errors.UnknownError, match=r"'made' (must be|has null)"):
        list(dataset)


def test_masked_row_from_a_transform_is_an_error(make_lake):
    ds = make_lake({"x": "int32"}, x=range(4))
    masked = ds.tensorflow(
        2, batch_transform=lambda b: {"made": np.ma.masked_equal(b["x"], 3).astype("float32")}
    )
    with pytest.raises(tf.errors.UnknownError, match="'made' has null rows"):
        list(masked)


def test_mixed_values_from_a_transform_are_always_json(make_lake):
    ds = make_lake({"x": "int32"}, x=range(4))
    mixed = ["a", {"k": 1}, None, "null"]
    batches = ds.tensorflow(2, transform=lambda s: {"made": mixed[s["x"]]})
    result = [json.loads(v) for b in batches for v in b["made"].numpy().tolist()]
    assert result == mixed


@pytest.mark.parametrize(
    ("htype", "shapes"),
    [
        (dl.Array("float32", (None, None)), [(3, 0), (2, 0)]),
        (dl.Array("uint8", (None, None), nullable=True), [(3, 0), (2, 0)]),
        (dl.Array("int64", (None, None, None)), [(0, 2, 3), (0, 5, 4)]),
        (dl.Array("float32", (None, None, None)), [(2, 0, 3), (4, 0, 1)]),
        (dl.Mask("instance"), [(0, 3, 4), (0, 5, 6)]),
    ],
    ids=str,
)
def test_padded_empty_batch_keeps_its_shape(make_lake, htype, shapes):
    dtype = "bool" if isinstance(htype, dl.Mask) else htype.value_dtype
    ds = make_lake({"x": htype}, x=[np.zeros(shape, dtype) for shape in shapes])
    [expected], [batch] = (list(loader(2, collate="pad")) for loader in (ds.batches, ds.tensorflow))
    assert batch["x"].shape == expected["x"].shape
    assert all(
        most == max(sizes) for most, *sizes in zip(batch["x"].shape[1:], *shapes, strict=True)
    )
