"""The rank of this process and the number of ranks, as the framework or launcher reports them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from deeplake_lite.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable


type Rank = tuple[int, int]
"""The rank of a process, and the number of ranks."""


def find_rank(
    rank: int | None, world_size: int | None, ask: Callable[[], Rank | None] = lambda: None
) -> Rank:
    """Return the rank of this process, and the world size, which is the number of ranks.

    If both arguments are set, they are returned. Otherwise, `ask`, torch, JAX, torchrun
    and SLURM are asked in turn, and the result is the first answer, or (0, 1) if there is none.
    Frameworks that the user has not imported are not imported here.

    Parameters
    ----------
    rank, world_size : int, optional
        The user's values, which apply if both are set.
    ask : callable
        Returns the rank and world size that another framework reports, or None. Asked before torch,
        JAX, torchrun and SLURM.

    Raises
    ------
    OptionError
        When environment variables have invalid values.

    >>> find_rank(1, 4)
    (1, 4)
    """
    if rank is not None and world_size is not None:
        return rank, world_size
    return ask() or _from_torch() or _from_jax() or _from_environment() or (0, 1)


def _from_torch() -> Rank | None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()


def _from_jax() -> Rank | None:
    jax = sys.modules.get("jax")
    # `process_index` starts JAX's backends, so it is only called in a distributed run.
    if jax is None or not jax.distributed.is_initialized():
        return None
    return jax.process_index(), jax.process_count()


def _from_environment() -> Rank | None:
    for rank, size in (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS")):
        if rank in os.environ and size in os.environ:
            return _read_variables(rank, size)
    return None


def _read_variables(rank_name: str, size_name: str) -> Rank:
    """Return the rank and the number of ranks from two environment variables.

    Raises OptionError if the values are invalid.
    """
    rank, size = os.environ[rank_name], os.environ[size_name]
    if not (rank.isdecimal() and size.isdecimal() and int(rank) < int(size)):
        raise OptionError(
            f"The variables {rank_name} and {size_name} must be the rank of this process and the "
            f"number of ranks, but they are {rank_name}={rank!r} and {size_name}={size!r}. Unset "
            "both variables, or pass rank= and world_size=."
        )
    return int(rank), int(size)
