"""Where a loader is: a few hundred bytes from which any other goes on exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.loader.samples import Samples
    from deeplake_lite.loader.schedule import Shuffle
    from deeplake_lite.loader.shares import Shares


@dataclass
class Progress:
    """How far an epoch has come."""

    epoch: int
    """From 0."""
    consumed: int = 0
    """Rows that all ranks together have handed out."""

    def to_json(
        self, samples: Samples, shuffle: Shuffle, seed: int, shares: Shares
    ) -> dict[str, Any]:
        """Return the state of a loader."""
        return {
            "format": 1,
            "version": samples.view.version,
            "view": samples.fingerprint,
            "rows": shares.n,
            "seed": seed,
            "shuffle": shuffle.to_json(),
            "global_batch_size": shares.size,
            "epoch": self.epoch,
            "consumed": self.consumed,
        }


def check_state(
    state: Mapping[str, Any], samples: Samples, shuffle: Shuffle, seed: int, shares: Shares
) -> Progress:
    """Return the progress that a state has, if it is one of this loader. Raises ValueError."""
    own = Progress(0).to_json(samples, shuffle, seed, shares)
    if not isinstance(state, dict) or state.keys() != own.keys():
        raise ValueError(
            f"A state is what state_dict() returned, got {type(state).__name__} with "
            f"{sorted(state) if isinstance(state, dict) else 'no keys'}."
        )
    if state["version"] != own["version"]:
        raise ValueError(
            f"The state is of version {state['version']}, and this view of {own['version']}. Open "
            f"that version: dl.open({samples.view.url!r}, version={state['version']!r})."
        )
    if state["view"] != own["view"]:
        raise ValueError(
            f"The state is of another view of this version, of {state['rows']:,} rows; this one "
            f"has {own['rows']:,}. Ask the same query, and for the same columns, in order."
        )
    if state["seed"] != own["seed"] or state["shuffle"] != own["shuffle"]:
        raise ValueError(
            f"The state is of seed={state['seed']}, shuffle={state['shuffle']}; this loader has "
            f"seed={own['seed']}, shuffle={own['shuffle']}. Set them alike."
        )
    if state["global_batch_size"] != own["global_batch_size"]:
        size, rest = divmod(state["global_batch_size"], shares.world_size)
        way = (
            f"set batch_size={size}" if not rest
            else f"use a number of ranks that divides {state['global_batch_size']}"
        )  # fmt: skip
        raise ValueError(
            f"The state is of batches of {state['global_batch_size']} rows over all ranks, and "
            f"{shares.world_size} ranks of batch_size={shares.batch_size} make {shares.size}. To "
            f"go on exactly, {way}."
        )
    return Progress(int(state["epoch"]), int(state["consumed"]))
