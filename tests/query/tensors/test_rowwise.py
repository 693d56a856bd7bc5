"""Row-by-row evaluation: bounded memory, threads, and groups in blocks."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.tensors import rowwise, spans


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    monkeypatch.setattr(spans, "SMALL_BYTES", 0)
    rng = np.random.default_rng(0)
    images = [rng.integers(255, size=(20 + i % 3, 30, 3), dtype=np.uint8) for i in range(200)]
    ds = dl.create(str(tmp_path / "lake"), {"image": dl.Image("png"), "kind": "int32"})
    ds.append({"image": images, "kind": np.arange(200) % 3})
    ds.commit("pictures")
    return ds, images


def test_blocks_do_not_exceed_their_byte_limit(pictures, monkeypatch):
    ds, images = pictures
    monkeypatch.setattr(spans, "BLOCK_BYTES", 40_000)
    held, opened = [], rowwise._Reader.__init__

    def counted(self, tree, env, inner):
        opened(self, tree, env, inner)
        held.append(len(next(iter(env.values()))))

    monkeypatch.setattr(rowwise._Reader, "__init__", counted)
    result = ds.query("SELECT * WHERE MEAN(image) > 127")
    expected = [i for i, image in enumerate(images) if image.mean() > 127]
    assert result.row_ids.tolist() == ds.row_ids[expected].tolist()
    assert sum(held) == 200
    assert max(held) * 2000 <= 40_000  # each is about 2 KB, and 1 KB in Python


def test_error_in_a_prefetched_block_ends_the_query(pictures, monkeypatch):
    ds, _ = pictures
    monkeypatch.setattr(spans, "BLOCK_BYTES", 40_000)
    with pytest.raises(dl.QueryError, match="boolean index did not match"):
        ds.query("SELECT * WHERE SUM(image[$m]) > 5", params={"m": np.ones((20, 30, 3), bool)})


def test_index_beyond_a_row_is_null(pictures, monkeypatch):
    ds, images = pictures
    monkeypatch.setattr(spans, "BLOCK_BYTES", 40_000)
    result = ds.query("SELECT image[21, 0, 0] AS y")["y"][:]
    assert result.mask.tolist() == [len(image) < 22 for image in images]
    assert result.compressed().tolist() == [int(i[21, 0, 0]) for i in images if len(i) == 22]


@pytest.mark.parametrize("name", ["SUM", "MEAN", "MIN", "MAX", "STD"])
def test_aggregates_of_a_group_are_computed_block_by_block(pictures, name, monkeypatch):
    ds, images = pictures
    monkeypatch.setattr(spans, "BLOCK_BYTES", 20_000)
    result = ds.query(f"SELECT kind, {name}(image) AS y GROUP BY kind ORDER BY kind")["y"][:]
    for kind, got in enumerate(result):
        expected = getattr(np, name.lower())(np.stack(images[kind::3]), axis=0)
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_large_groups_do_not_wait_for_each_others_threads(pictures):
    ds, images = pictures
    result = ds.query("SELECT kind, LIST(AMEAN(image)) AS y GROUP BY kind ORDER BY kind")["y"][:]
    assert [len(y) for y in result] == [67, 67, 66]
    assert result[0][1] == pytest.approx(images[3].mean())
