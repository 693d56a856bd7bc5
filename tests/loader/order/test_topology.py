"""The rank of this process: as given, from a framework, or from the launcher."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from deeplake_lite.loader.order.topology import find_rank

VARIABLES = ("RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS")


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    monkeypatch.delitem(sys.modules, "jax._src.distributed", raising=False)


def distributed(*, initialized):
    return SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: initialized,
        get_rank=lambda: 5,
        get_world_size=lambda: 8,
    )


def test_single_process_is_rank_0_of_1():
    assert find_rank(None, None) == (0, 1)


@pytest.mark.parametrize("names", [("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS")])
def test_launchers_set_the_rank_in_variables(monkeypatch, names):
    monkeypatch.setenv(names[0], "2")
    assert find_rank(None, None) == (0, 1)  # half of the variables say nothing
    monkeypatch.setenv(names[1], "4")
    assert find_rank(None, None) == (2, 4)


def test_given_rank_takes_precedence(monkeypatch):
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert find_rank(0, 3) == (0, 3)


def test_torch_is_queried_if_it_is_initialized(monkeypatch):
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed(initialized=False))
    assert find_rank(None, None) == (2, 4)
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed(initialized=True))
    assert find_rank(None, None) == (5, 8)


def test_loaders_find_their_rank(make_lake, monkeypatch):
    ds = make_lake({"x": "int32"}, x=range(10))
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    loader = ds.batches(2)
    assert [b["x"].tolist() for b in loader] == [[1, 3], [5, 7], [9, 9]]
    assert "rank 1 of 2" in repr(loader)


def test_querying_loads_no_framework():
    code = (
        "import sys; from deeplake_lite.loader.order.topology import find_rank; "
        "find_rank(None, None); "
        "print(*[m for m in ('torch', 'jax', 'tensorflow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(("rank", "size"), [("", ""), ("x", "2"), ("2", "2"), ("-1", "2")])
def test_invalid_rank_variables_are_reported(monkeypatch, rank, size):
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", size)
    with pytest.raises(
        ValueError, match=f"they are RANK='{rank}' and WORLD_SIZE='{size}'. Unset both variables"
    ):
        find_rank(None, None)
    assert find_rank(1, 4) == (1, 4)
