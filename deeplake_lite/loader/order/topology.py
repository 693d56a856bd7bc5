"""Which rank this process is, of how many: from the framework, or from what launched it."""

from __future__ import annotations

import os
import sys

from deeplake_lite.errors import OptionError


def found_rank(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """Return rank and world size: as given, else as torch, JAX, torchrun or SLURM say, else 0 of 1.

    Frameworks that are not loaded are not asked. Raises OptionError for wrong variables.

    >>> found_rank(1, 4)
    (1, 4)
    """
    if rank is not None and world_size is not None:
        return rank, world_size
    return _of_torch() or _of_jax() or _of_environment() or (0, 1)


def _of_torch() -> tuple[int, int] | None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()


def _of_jax() -> tuple[int, int] | None:
    """Ask JAX, unless that would start its backends in a process that is alone."""
    jax = sys.modules.get("jax")
    if jax is None or not jax.distributed.is_initialized():
        return None
    return jax.process_index(), jax.process_count()


def _of_environment() -> tuple[int, int] | None:
    for rank, size in (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS")):
        if rank in os.environ and size in os.environ:
            return _told(rank, size)
    return None


def _told(rank: str, size: str) -> tuple[int, int]:
    """Return what two variables say. Raises OptionError where they say nothing."""
    told, of = os.environ[rank], os.environ[size]
    if not (told.isdecimal() and of.isdecimal() and int(told) < int(of)):
        raise OptionError(
            f"{rank} and {size} say which process this is of how many, got {rank}={told!r} and "
            f"{size}={of!r}. Unset them, or give rank= and world_size=."
        )
    return int(told), int(of)
