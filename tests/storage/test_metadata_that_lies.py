"""Lakes whose Zarr metadata lies: right values or our errors, in little memory."""

import contextlib
import json
import shutil
import tracemalloc

import icechunk
import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo import Repository, Session, run
from tests.dataset import everything

MOST_BYTES = 100 * 2**20
"""What opening, reading and writing the lake takes at the most."""


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
    """Return a lake whose rows do not lie in order, and what is in it."""
    folder = tmp_path_factory.mktemp("sound") / "a.lake"
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
    """Commit other metadata of all arrays of that name; return how many there are."""
    repository = Repository.open(url)
    whole = {icechunk.ManifestSplitDimCondition.Any(): 2**31}  # the engine walks through the splits
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
    """Read and write the lake; only errors of ours leave, and values are right."""
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
def test_arrays_whose_metadata_lies_give_right_values_or_our_error(sound, tmp_path, name, lie):
    folder, before = sound
    url = str(shutil.copytree(folder, tmp_path / "a.lake"))
    try:
        assert craft(url, name, LIES[lie])
    except dl.LakeError:
        return  # the engine refuses to keep it
    tracemalloc.start()
    try:
        use(url, before)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


REFUSED = LIES.keys() - {"empty", "huge chunks"}


@pytest.mark.parametrize("lie", sorted(REFUSED))
def test_metadata_that_aborts_the_engine_is_not_written_again(make_lake, monkeypatch, lie):
    document = {"shape": [3, 4], "chunk_grid": {"configuration": {"chunk_shape": [1, 4]}}}
    session = make_lake({"x": "int32"}, x=[1])._table.session

    async def get(*_):
        return json.dumps(document).encode()

    monkeypatch.setattr(Session, "_get", get)
    assert run(session.length("any")) == 3
    LIES[lie](document)
    with pytest.raises(dl.DamagedError, match=r"any does not open: .* Restore the lake"):
        run(session.grow("any", (5, 4)))
