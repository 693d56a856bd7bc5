"""A tensor over a group is computed once, however often the group is met."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query import groups


@pytest.fixture(scope="module")
def ds():
    ds = dl.create(
        "memory://groups",
        {"kind": "int32", "emb": dl.Embedding(8), "vec": dl.Embedding(8, nullable=True)},
    )
    emb = np.random.default_rng(0).normal(size=(90, 8)).astype("float32")
    vec = [None if i % 4 == 0 else row for i, row in enumerate(emb)]
    ds.append({"kind": np.arange(90) % 3, "emb": emb, "vec": vec})
    ds.commit("rows")
    return ds


@pytest.fixture
def centres(ds):
    return [ds["emb"][k::3].mean(axis=0) for k in range(3)]


JOINED = (
    "WITH c AS (SELECT kind, MEAN(emb) AS centre FROM dataset GROUP BY kind) "
    "SELECT a.kind AS k, c.kind AS other, L2_DISTANCE(a.emb, c.centre) AS d "
    "FROM dataset a JOIN c ON TRUE WHERE L2_DISTANCE(a.emb, c.centre) < 2.5 ORDER BY d"
)


def test_rows_are_compared_with_the_means_of_groups(ds, centres):
    emb = ds["emb"][:]
    expected = np.linalg.norm(emb[:, None] - np.stack(centres)[None], axis=2)
    found = ds.query(JOINED)["d"][:]
    np.testing.assert_allclose(found, np.sort(expected[expected < 2.5]), rtol=1e-5)


def test_a_group_that_is_joined_is_computed_once(ds, monkeypatch):
    computed, compute = [], groups._computed

    def counted(leaf, members, inner):
        computed.append(members.digest)
        return compute(leaf, members, inner)

    monkeypatch.setattr(groups, "_computed", counted)
    assert len(ds.query(JOINED)["d"][:]) > 3
    assert len(computed) == len(set(computed)) == 3


def test_large_values_are_not_kept(ds, centres, monkeypatch):
    monkeypatch.setattr(groups, "KEPT_BYTES", 8)
    found = ds.query("SELECT kind, MEAN(emb) AS m GROUP BY kind ORDER BY kind")["m"][:]
    np.testing.assert_allclose(found, centres, rtol=1e-6)


def test_nulls_and_rows_that_are_left_out_do_not_count(ds):
    found = ds.query(
        "SELECT kind, SUM(vec) AS s, MEAN(vec * 2) FILTER (WHERE kind > 0) AS m "
        "GROUP BY kind ORDER BY kind"
    )
    rows = [[v for v in ds["vec"][k::3].filled(np.nan) if not np.isnan(v).any()] for k in range(3)]
    np.testing.assert_allclose(found["s"][:], [np.sum(r, axis=0) for r in rows], rtol=1e-5)
    assert np.ma.getmaskarray(found["m"][:])[:, 0].tolist() == [True, False, False]
    np.testing.assert_allclose(found["m"][2], np.mean(rows[2], axis=0) * 2, rtol=1e-5)
