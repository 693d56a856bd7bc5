"""Documents whose types claim cells of half a gigabyte: reads and writes take little memory."""

import contextlib
import shutil
import tracemalloc

import pytest

import deeplake_lite as dl
from tests.storage.test_metadata_that_lies import MAX_BYTES, craft_document

LARGE = 2**27
VECTOR = [1, 2, 3, 4]
COLUMNS = {
    "embedding": (dl.Embedding(4), [VECTOR] * 3),
    "nullable": (dl.Embedding(4, nullable=True), [VECTOR, None, None]),
    "embeddings": (dl.Sequence(dl.Embedding(4)), [[VECTOR] * 2, [], [VECTOR]]),
    "nested": (dl.Sequence(dl.Sequence(dl.Embedding(4))), [[[VECTOR] * 2], [], [[VECTOR]]]),
    "array": (dl.Array("float32", (4,)), [VECTOR] * 3),
    "arrays": (dl.Sequence(dl.Array("float32", (4,))), [[VECTOR] * 2, [], [VECTOR]]),
    "ragged": (dl.Array("float32", (None, 4)), [[VECTOR]] * 3),
    "ragged_items": (dl.Sequence(dl.Array("float32", (None, 4))), [[[VECTOR]], [], []]),
}
ACTIONS = {
    "open": lambda ds, _: repr(ds),
    "read": lambda ds, name: ds[name][:],
    "one cell": lambda ds, name: ds[name][0],
    "query": lambda ds, name: ds.query(f"SELECT {name} FROM dataset")[name][:],
    "load": lambda ds, name: list(ds.batches(2, columns=[name])),
    "verify": lambda ds, _: ds.verify(),
    "optimize": lambda ds, _: ds.optimize(),
}


def enlarge(htype):
    """Replace all sizes of 4 in a type's document."""
    for key, value in htype.items():
        if isinstance(value, dict):
            enlarge(value)
        elif key == "dim":
            htype[key] = LARGE
        elif key == "shape":
            htype[key] = [LARGE if size == 4 else size for size in value]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound") / "a.lake"
    ds = dl.create(str(folder), {name: htype for name, (htype, _) in COLUMNS.items()})
    ds.append({name: values for name, (_, values) in COLUMNS.items()})
    ds.commit("rows")
    return folder


@pytest.mark.parametrize("name", COLUMNS)
def test_type_with_huge_cells_is_detected_in_little_memory(sound, tmp_path, name):
    url = str(shutil.copytree(sound, tmp_path / "a.lake"))
    shutil.rmtree(tmp_path / "a.lake" / ".writers")

    def lie(document):
        columns = document["schema"]["columns"]
        enlarge(next(column for column in columns if column["name"] == name)["htype"])

    craft_document(url, lie)
    assert str(LARGE) in str(dl.open(url).schema[name].htype)
    tracemalloc.start()
    try:
        for act in ACTIONS.values():
            with contextlib.suppress(dl.LakeError):
                act(dl.open(url), name)
        assert tracemalloc.get_traced_memory()[1] < MAX_BYTES
    finally:
        tracemalloc.stop()
    with pytest.raises(dl.DamagedError):
        dl.open(url)[name][:]
