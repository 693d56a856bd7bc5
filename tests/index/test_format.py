"""FORMAT.md suffices to read an index: these readers know nothing else."""

import json
from itertools import pairwise

import numpy as np
import pytest
import xxhash
from icechunk import Repository, Storage

import deeplake_lite as dl

CHUNK = 4 * 2**20


class Reader:
    """Reads the parts of an index through Icechunk."""

    def __init__(self, url, kind):
        repository = Repository.open(Storage.new_local_filesystem(url))
        [branch] = [b for b in repository.list_branches() if b.startswith(f"_index-{kind}-")]
        self.fields = branch.removeprefix("_index-").split("-")
        self._store = repository.readonly_session(branch).store
        root = json.loads(self._get("zarr.json"))
        self.document = root["attributes"]["deeplake_lite_index"]
        bare = {k: v for k, v in self.document.items() if k != "digest"}
        text = json.dumps(bare, sort_keys=True, separators=(",", ":"))
        assert xxhash.xxh3_64_hexdigest(text.encode()) == self.document["digest"]
        assert self.document["format"] == 1

    def _get(self, key):
        from zarr.core.buffer import default_buffer_prototype
        from zarr.core.sync import sync

        return sync(self._store.get(key, default_buffer_prototype())).to_bytes()

    def part(self, name):
        part = self.document["parts"][name]
        chunks = []
        for number, digest in enumerate(part["digests"], part["chunk"]):
            chunks.append(self._get(f"index/values/c/{number}"))
            assert xxhash.xxh3_64_hexdigest(chunks[-1]) == digest
        assert all(len(chunk) == CHUNK for chunk in chunks[:-1])
        dtype = np.dtype(part["dtype"]).newbyteorder("<")
        return np.frombuffer(b"".join(chunks), dtype).reshape(part["shape"])


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    url = str(tmp_path_factory.mktemp("format") / "lake")
    random = np.random.default_rng(0)
    vectors = random.normal(size=(20_000, 64)).astype(np.float32)
    vectors[5] = 1e30
    words = [f"w{i}" for i in range(50)] + ["Ünï"]
    strings = [" ".join(words[i] for i in random.integers(0, 51, 4)) for _ in range(20_000)]
    ds = dl.create(url, {"v": dl.Embedding(64), "t": "text"})
    ds.append({"v": vectors, "t": strings})
    ds.delete([7])
    ds.commit("rows")
    ds.create_index("v", metric="l2")
    ds.create_index("t")
    return url


def test_vector_index_is_read_by_its_description(url):
    reader, ds = Reader(url, "vector"), dl.open(url)
    document = reader.document
    assert reader.fields[:2] == ["vector", "l2"]
    assert reader.fields[3] == ds.version
    starts, slots = reader.part("starts"), reader.part("slots")
    assert sorted([*slots, *reader.part("loose")]) == [i for i in range(20_000) if i != 7]
    assert reader.part("loose").tolist() == [5]
    rows = reader.part("vectors").reshape(len(slots), document["dim"] * 4 + 8)
    vectors = np.ascontiguousarray(rows[:, :-8]).view("<f4")
    by_slot = np.insert(ds["v"][:], 7, 0, axis=0)
    np.testing.assert_array_equal(vectors, by_slot[slots])
    digests = np.ascontiguousarray(rows[:, -8:]).view("<u8")[:, 0]
    assert digests[9] == xxhash.xxh3_64_intdigest(rows[9, :-8].tobytes())
    lists, dim = reader.part("lists").tobytes(), document["dim"]
    centres = reader.part("centres")
    for number in range(0, len(starts) - 1, 20):
        a, b = starts[number], starts[number + 1]
        data, n = lists[a * (dim + 8) : b * (dim + 8)], b - a
        assert reader.part("digests")[number] == xxhash.xxh3_64_intdigest(data)
        codes = np.frombuffer(data, np.int8, n * dim).reshape(n, dim)
        scales, squares = np.frombuffer(data, "<f4", 2 * n, n * dim).reshape(2, n)
        np.testing.assert_allclose(codes * scales[:, None], vectors[a:b], atol=0.03)
        np.testing.assert_allclose(squares, np.square(vectors[a:b]).sum(axis=1), rtol=1e-5)
        distances = np.square(vectors[a:b, None] - centres).sum(axis=2)
        assert (distances.argmin(axis=1) == number).mean() > 0.99


def test_text_index_is_read_by_its_description(url):
    reader, ds = Reader(url, "text"), dl.open(url)
    blob, ends = reader.part("words").tobytes(), reader.part("word_ends")
    words = [blob[a:b].decode() for a, b in pairwise(ends)]
    assert words == sorted(words, key=str.encode)
    assert len(words) == reader.document["words"] == 51
    starts, texts, counts = (reader.part(name) for name in ("starts", "texts", "counts"))
    strings = np.insert(np.array(ds["t"][:], object), 7, "")
    split = [string.casefold().split() for string in strings]
    for number, word in enumerate(words):
        a, b = starts[number], starts[number + 1]
        expected = {slot: of.count(word) for slot, of in enumerate(split) if word in of}
        assert dict(zip(texts[a:b].tolist(), counts[a:b].tolist(), strict=True)) == expected
        digest = xxhash.xxh3_64_intdigest(texts[a:b].tobytes() + counts[a:b].tobytes())
        assert reader.part("digests")[number] == digest
    assert reader.part("lengths").tolist() == [len(of) for of in split]
    assert reader.part("present").tolist() == [int(slot != 7) for slot in range(20_000)]
