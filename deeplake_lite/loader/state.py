"""Where a loader is: a few hundred bytes from which any other goes on exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deeplake_lite.checks import integer
from deeplake_lite.errors import OptionError
from deeplake_lite.loader.order.places import Progress

if TYPE_CHECKING:
    from deeplake_lite.loader.order.shares import Shares
    from deeplake_lite.loader.order.shuffle import Shuffling
    from deeplake_lite.loader.read.samples import Samples


FORMAT = 1
"""Of states; one of another format is refused."""


def state_of(
    progress: Progress, samples: Samples, shuffle: Shuffling, seed: int, shares: Shares
) -> dict[str, Any]:
    """Return the state of a loader."""
    return {
        "format": FORMAT,
        "version": "+".join(view.version for view in samples.sources),
        "view": samples.fingerprint,
        "rows": shares.n,
        "seed": seed,
        "shuffle": shuffle.to_json(),
        "global_batch_size": shares.size,
        "epoch": progress.epoch,
        "consumed": progress.consumed,
    }


def check_state(
    state: Mapping[str, Any], samples: Samples, shuffle: Shuffling, seed: int, shares: Shares
) -> Progress:
    """Return the progress that a state has, if it is one of this loader.

    Raises
    ------
    OptionError
        For the state of anything else; it says which, and what to set.
    """
    own = state_of(Progress(0), samples, shuffle, seed, shares)
    check_keys(state, own)
    for name, least in (("rows", 0), ("global_batch_size", 1), ("epoch", 0), ("consumed", 0)):
        integer(name, state[name], least)
    if state["version"] != own["version"]:
        raise OptionError(_other_version(str(state["version"]).split("+"), samples))
    if state["seed"] != own["seed"] or state["shuffle"] != own["shuffle"]:
        raise OptionError(
            f"The state is of seed={state['seed']}, shuffle={_shown(state['shuffle'])}; this "
            f"loader has seed={own['seed']}, shuffle={_shown(own['shuffle'])}. Set them alike"
            f"{_same_columns(state['shuffle'], own['shuffle'])}."
        )
    if state["view"] != own["view"] or state["rows"] != own["rows"]:
        raise OptionError(
            f"The state is of another view of this version, of {state['rows']:,} rows; this one "
            f"has {own['rows']:,}. Ask the same query, with a seed where it draws, for the same "
            "columns, in order."
        )
    if state["global_batch_size"] != own["global_batch_size"]:
        raise OptionError(_other_batch(state["global_batch_size"], shares))
    if state["consumed"] > shares.n:
        raise OptionError(
            f"A state has consumed up to {shares.n:,} rows, got {state['consumed']:,}. Load what "
            "state_dict() returned, as it was."
        )
    return Progress(int(state["epoch"]), int(state["consumed"]))


def check_keys(state: Any, own: Mapping[str, Any]) -> None:
    """Refuse what is no state, or one of another format. Raises OptionError."""
    if not isinstance(state, Mapping) or state.keys() != own.keys():
        raise OptionError(
            f"A state is what state_dict() returned, got {type(state).__name__} with "
            f"{sorted(map(str, state)) if isinstance(state, Mapping) else 'no keys'}."
        )
    if state.get("format", FORMAT) != FORMAT:
        raise OptionError(
            f"A state has format {FORMAT}, got {state['format']}. Install the version of "
            "deeplake-lite that took it."
        )


def _other_version(versions: list[str], samples: Samples) -> str:
    views = samples.sources
    if len(versions) != len(views):
        return f"The state is of {len(versions)} views, and these are {len(views)}. Mix the same."
    pairs = zip(views, versions, strict=True)
    view, wanted = next((view, wanted) for view, wanted in pairs if view.version != wanted)
    return (
        f"The state is of version {wanted}, and this view of {view.version}. Open that version: "
        f"dl.open({view.url!r}, version={wanted!r})."
    )


def _other_batch(size: int, shares: Shares) -> str:
    each, rest = divmod(size, shares.world_size)
    way = (
        f"use a number of ranks that divides {size}" if rest else f"set batch_size={each}"
    )  # fmt: skip
    return (
        f"The state is of batches of {size} rows over all ranks, and {shares.world_size} ranks of "
        f"batch_size={shares.batch_size} make {shares.size}. To go on exactly, {way}."
    )


def _same_columns(one: Any, other: Any) -> str:
    """Say what else makes a shuffle another: how large blocks are depends on what is read."""
    if not isinstance(one, Mapping) or one.get("kind") != other["kind"] or one == other:
        return ""
    return ", and columns= as they were: blocks have as many rows as their sizes allow"


def _shown(shuffle: Any) -> str:
    """Write a shuffle as users set it: ``'exact'``, False, or with what else it depends on.

    >>> _shown({"kind": "none", "block": 0, "window": 0}), _shown({"kind": "exact", "block": 0})
    ('False', "'exact'")
    """
    if not isinstance(shuffle, Mapping) or not shuffle:
        return repr(shuffle)
    kind, *rest = shuffle.values()
    if kind == "none":
        return "False"
    return repr(kind) if not any(rest) else repr(dict(shuffle))
