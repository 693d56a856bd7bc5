"""Lakes with false Zarr metadata give right values or our errors, in little memory."""

import contextlib
import json
import shutil
import tracemalloc

import icechunk
import pytest

import deeplake_lite as dl
from deeplake_lite.storage import state
from deeplake_lite.storage.repo import Repository, Session, run
from deeplake_lite.testing.tiny import only_arrays
from tests.dataset import everything

pytestmark = pytest.mark.usefixtures("only_arrays")

MAX_BYTES = 100 * 2**20
"""Memory limit for opening, reading and writing the lake."""


def shape(change):
    return lambda d: d.update(shape=[change(n) for n in d["shape"]])


def chunk_shape(value):
    def lie(document):
        grid = document["chunk_grid"]["configuration"]
        grid["chunk_shape"] = [value] * len(grid["chunk_shape"])

    return lie


LIES = {
    "huge shape": lambda d: d.update(shape=[2**40, *d["shape"][1:]]),
    "huge number": shape(lambda _: 2**70),
    "negative shape": shape(lambda n: -1 - n),
    "empty": shape(lambda _: 0),
    "more axes": lambda d: d.update(shape=[*d["shape"], 2**40]),
    "no axes": lambda d: d.update(shape=[]),
    "shape of texts": lambda d: d.update(shape=["a"]),
    "shape is none": lambda d: d.update(shape=None),
    "huge chunks": chunk_shape(2**40),
    "negative chunks": chunk_shape(-5),
    "no chunks": chunk_shape(0),
}


COLUMNS = ["x", "text", "embedding", "mask", "boxes", "words", "counts", "frames"]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Return a lake whose rows are not in order, and its contents."""
    folder = tmp_path_factory.mktemp("sound") / "a.lake"
    with only_arrays():
        ds = dl.create(str(folder), {name: everything.SCHEMA[name] for name in COLUMNS})
        ds.append({name: everything.VALUES[name] for name in COLUMNS})
        before = ds.commit("rows")
        ds.delete([0])
        ds.commit("one less")
        ds.restore(before)
        ds.commit("as before, in another place")
    return folder, contents(ds)


def contents(ds):
    return {name: repr(ds[name][:]) for name in ds.columns}


def arrays_of(repository):
    nodes = repository.inspect(repository.tip("main"))["nodes"]
    return [n["path"].strip("/") for n in nodes if n["node_type"] == "array"]


def craft(url, name, lie):
    """Commit different metadata for all arrays of that name; return their number."""
    repository = Repository.open(url)
    whole = {icechunk.ManifestSplitDimCondition.Any(): 2**31}  # the engine iterates over the splits
    splitting = icechunk.ManifestSplittingConfig.from_dict(
        {icechunk.ManifestSplitCondition.AnyArray(): whole}
    )
    config = icechunk.RepositoryConfig(manifest=icechunk.ManifestConfig(splitting=splitting))
    storage = icechunk.local_filesystem_storage(url)
    opened = icechunk.Repository.open(storage, config=config)
    session = Session(opened.writable_session("main")._session)
    paths = [path for path in arrays_of(repository) if path.rpartition("/")[2] == name]
    for path in paths:
        document = json.loads(bytes(run(session.get(f"{path}/zarr.json"))))
        lie(document)
        run(session.put(f"{path}/zarr.json", json.dumps(document).encode()))
    session.commit("crafted")
    return len(paths)


def use(url, before):
    """Read and write the lake; only our errors may be raised, and values must be right."""
    actions = [
        lambda ds: ds.verify(),
        lambda ds: ds.append({name: everything.VALUES[name] for name in COLUMNS}),
        lambda ds: ds.update([0], {"x": [7], "text": ["new"], "boxes": [[[0, 0, 2, 1]]]}),
        lambda ds: ds.delete([0]),
        lambda ds: ds.add_column("new", "text", values=["a"] * len(ds)),
    ]
    for name in COLUMNS:
        with contextlib.suppress(dl.LakeError):
            assert repr(dl.open(url)[name][:]) == before[name]
    for act in actions:
        with contextlib.suppress(dl.LakeError):
            ds = dl.open(url)
            act(ds)
            ds.commit("on top")
    with contextlib.suppress(dl.LakeError):
        dl.open(url).optimize()


TABLE = [
    *((name, lie) for name in ("id", "data", "tail") for lie in LIES if lie.startswith("huge")),
    ("id", "negative shape"),
    ("id", "negative chunks"),
    ("slot", "empty"),
]


@pytest.mark.parametrize(("name", "lie"), TABLE)
def test_arrays_with_false_metadata_give_right_values_or_our_error(sound, tmp_path, name, lie):
    folder, before = sound
    url = str(shutil.copytree(folder, tmp_path / "a.lake"))
    try:
        assert craft(url, name, LIES[lie])
    except dl.LakeError:
        return  # the engine refuses to store it
    tracemalloc.start()
    try:
        use(url, before)
        assert tracemalloc.get_traced_memory()[1] < MAX_BYTES
    finally:
        tracemalloc.stop()


REFUSED = LIES.keys() - {"empty", "huge chunks"}


@pytest.mark.parametrize("lie", sorted(REFUSED))
def test_metadata_that_aborts_the_engine_is_not_written_again(make_lake, monkeypatch, lie):
    document = {"shape": [3, 4], "chunk_grid": {"configuration": {"chunk_shape": [1, 4]}}}
    session = make_lake({"x": "int32"}, x=[1]).handle.table.session

    async def get(*_):
        return json.dumps(document).encode()

    monkeypatch.setattr(Session, "_get", get)
    assert run(session.length("any")) == 3
    LIES[lie](document)
    with pytest.raises(dl.DamagedError, match=r"any cannot be opened: .* Restore the lake"):
        run(session.grow("any", (5, 4)))


def column(document, name):
    return next(c for c in document["schema"]["columns"] if c["name"] == name)


def lengths(kind, value):
    def lie(document):
        keys = [key for key in document["lengths"] if key.endswith(kind)]
        document["lengths"].update(dict.fromkeys(keys, value))

    return lie


def forget_columns(document):
    of_rows = {k: v for k, v in document["lengths"].items() if k.startswith("rows")}
    document["schema"]["columns"], document["checksums"] = [], {}
    document["lengths"] = of_rows


DOCUMENTS = {
    "items by the trillion": lengths("items", 2**40),
    "a tail of terabytes": lengths("tail", 2**40),
    "blocks by the trillion": lengths("block", 2**40),
    "no block of row ids": lengths("block", 0),
    "cells of half a gigabyte": lambda d: column(d, "embedding")["htype"].update(dim=2**27),
    "columns left out": forget_columns,
}


def craft_document(url, lie):
    """Commit a different document, with its digest."""
    storage = icechunk.local_filesystem_storage(url)
    session = Session(icechunk.Repository.open(storage).writable_session("main")._session)
    root = json.loads(bytes(run(session.get("zarr.json"))))
    document = root["attributes"][state.KEY]
    lie(document)
    root["attributes"][state.KEY] = state.add_digest(document)
    run(session.put("zarr.json", json.dumps(root).encode()))
    session.commit("crafted")


@pytest.mark.parametrize("lie", DOCUMENTS)
def test_document_with_false_array_sizes_is_detected_in_little_memory(sound, tmp_path, lie):
    folder, _ = sound
    url = str(shutil.copytree(folder, tmp_path / "a.lake"))
    shutil.rmtree(tmp_path / "a.lake" / ".writers")
    craft_document(url, DOCUMENTS[lie])
    tracemalloc.start()
    try:
        assert bool(dl.open(url).verify()) == (lie == "columns left out")
        for name in dl.open(url).columns:
            with contextlib.suppress(dl.LakeError):
                dl.open(url)[name][:]
        assert tracemalloc.get_traced_memory()[1] < MAX_BYTES
    finally:
        tracemalloc.stop()


def test_false_metadata_that_agrees_with_a_document_takes_no_memory_for_missing_rows(
    sound, tmp_path
):
    folder, _ = sound
    url = str(shutil.copytree(folder, tmp_path / "a.lake"))
    shutil.rmtree(tmp_path / "a.lake" / ".writers")
    assert craft(url, "id", lambda d: d.update(shape=[2**36]))
    craft_document(url, lambda d: d.update(slots=2**36))
    with pytest.raises(dl.DamagedError, match="is missing"):
        dl.open(url)


def test_arrays_missing_from_the_document_prevent_a_restore(sound, tmp_path):
    folder, _ = sound
    url = str(shutil.copytree(folder, tmp_path / "a.lake"))
    before = dl.open(url).version
    shutil.rmtree(tmp_path / "a.lake" / ".writers")
    craft_document(url, forget_columns)
    ds = dl.open(url)
    ds.restore(before)
    with pytest.raises(dl.DamagedError, match="an object exists there that the lake's"):
        ds.commit("as it was")


def test_row_ids_in_blocks_marked_as_free_are_damage(sound, tmp_path):
    folder, _ = sound
    url = str(shutil.copytree(folder, tmp_path / "a.lake"))
    shutil.rmtree(tmp_path / "a.lake" / ".writers")
    assert craft(url, "block", lambda d: d.update(shape=[0]))
    craft_document(url, lengths("block", 0))
    report = dl.open(url).verify()
    assert not report
    assert "is not recorded as taken" in repr(report)


def test_out_of_memory_raises_our_error(make_lake, monkeypatch):
    ds = make_lake({"x": dl.Embedding(4)}, x=[[1, 2, 3, 4]] * 3)

    def full(*_):
        raise MemoryError

    monkeypatch.setattr("deeplake_lite.storage.array_spec.np.empty", full)
    with pytest.raises(dl.TooLargeError, match="but there is not enough memory"):
        ds["x"][:2]
