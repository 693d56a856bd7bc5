"""JAX batches on a GPU have the values of those on the CPU, in memory of their own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import deeplake_lite as dl
from tests.dataset.everything import SCHEMA, VALUES

pytestmark = pytest.mark.gpu
ROWS = 256


@pytest.fixture(scope="module")
def ds():
    """Make a lake of 256 arrays of 1 MB; all numbers of row i are i."""
    lake = dl.create("memory://gpu-jax", {"x": dl.Array("float32", (512, 512))})
    rows = np.arange(ROWS, dtype=np.float32)
    lake.append({"x": np.broadcast_to(rows[:, None, None], (ROWS, 512, 512))})
    return lake


def gpu():
    return jax.devices("gpu")[0]


def test_batches_of_all_types_equal_those_of_numpy():
    lake = dl.create("memory://gpu-jax-everything", SCHEMA)
    for _ in range(8):
        lake.append(VALUES)
    lake.drop_column("link")  # a link to something that is not an image
    lake.drop_column("pixels")  # greyscale and colour images have no common shape
    with jax.default_device(jax.devices("cpu")[0]):
        here = list(lake.jax(5, shuffle=True, seed=2, mode="RGB"))
    there = list(lake.jax(5, shuffle=True, seed=2, mode="RGB"))
    assert len(there) == len(here) == 5
    for a, b in zip(there, here, strict=True):
        assert list(a) == list(b)
        for key, value in b.items():
            if isinstance(value, jax.Array):
                assert a[key].devices() == {gpu()}
                assert a[key].dtype == value.dtype
                np.testing.assert_array_equal(np.asarray(a[key]), np.asarray(value))
            else:
                np.testing.assert_equal(a[key], value)


@pytest.mark.parametrize("sharded", [False, True])
def test_memory_is_not_reused_while_the_gpu_reads_it(ds, sharded):
    sharding = NamedSharding(Mesh(np.array([gpu()]), "d"), PartitionSpec("d")) if sharded else None

    @jax.jit
    def late(x):
        """Return the first, smallest and largest number of each row, after a long computation."""
        a = jnp.ones((2048, 2048)) + x[0, 0, 0] * 0
        for _ in range(20):
            a = a @ a / 2048
        x = x + a[0, 0] * 0
        return jnp.stack([x[:, 0, 0], x.min((1, 2)), x.max((1, 2))], 1)

    loader = ds.jax(4, shuffle=True, seed=1, sharding=sharding)
    for _ in range(2):
        seen = np.concatenate([late(batch["x"]) for batch in loader])
        assert (seen[:, 1] == seen[:, 0]).all()
        assert (seen[:, 2] == seen[:, 0]).all()
        assert sorted(seen[:, 0]) == list(range(ROWS))


def test_array_may_be_donated(ds):
    double = jax.jit(lambda x: x * 2, donate_argnums=0)
    for number, batch in enumerate(ds.jax(8)):
        expected = [2 * i for i in range(8 * number, 8 * number + 8)]
        assert double(batch["x"])[:, 0, 0].tolist() == expected
