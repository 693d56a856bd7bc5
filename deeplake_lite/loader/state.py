"""The state of a loader: a few hundred bytes with which another loader continues exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deeplake_lite.checks import integer
from deeplake_lite.errors import OptionError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.loader.order.places import Progress

if TYPE_CHECKING:
    from deeplake_lite.loader.order.shares import Shares
    from deeplake_lite.loader.order.shuffle import Shuffling
    from deeplake_lite.loader.read.samples import Samples


FORMAT = 1
"""Number of the state format. States of another format are rejected."""


def state_of(
    progress: Progress, samples: Samples, shuffle: Shuffling, seed: int, shares: Shares
) -> dict[str, object]:
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
    """Return the progress in a state, if the state belongs to this loader.

    Raises
    ------
    OptionError
        When the state belongs to another version, view, seed, shuffle or batch size. The message
        names the difference and a fix.
    """
    own = state_of(Progress(0), samples, shuffle, seed, shares)
    check_keys(state, own)
    for name, least in (("rows", 0), ("global_batch_size", 1), ("epoch", 0), ("consumed", 0)):
        integer(name, state[name], least)
    # The version comes first: in another version, the view and its rows differ as a consequence.
    if state["version"] != own["version"]:
        raise OptionError(_explain_version(str(state["version"]).split("+"), samples))
    if state["seed"] != own["seed"] or state["shuffle"] != own["shuffle"]:
        raise OptionError(
            f"The state has seed={state['seed']}, shuffle={_format_shuffle(state['shuffle'])}, but "
            f"this loader has seed={own['seed']}, shuffle={_format_shuffle(own['shuffle'])}. Set "
            f"the same values{_columns_hint(state['shuffle'], own['shuffle'])}."
        )
    if state["view"] != own["view"] or state["rows"] != own["rows"]:
        raise OptionError(
            "The state belongs to another view of this version, with "
            f"{pluralize(state['rows'], 'row')}, but this view has {own['rows']:,}. Run the same "
            "query, with the same seed if it draws random rows, and select the same columns in the "
            "same order."
        )
    if state["global_batch_size"] != own["global_batch_size"]:
        raise OptionError(_explain_batch_size(state["global_batch_size"], shares))
    if state["consumed"] > shares.n:
        raise OptionError(
            f"A state must have consumed at most {shares.n:,} rows, but it has consumed "
            f"{state['consumed']:,}. Load the unchanged result of state_dict()."
        )
    return Progress(int(state["epoch"]), int(state["consumed"]))


def check_keys(state: object, own: Mapping[str, object]) -> None:
    """Raise OptionError for a value that is not a state, or that has another state format."""
    if not isinstance(state, Mapping) or state.keys() != own.keys():
        keys = f"the keys {sorted(map(str, state))}" if isinstance(state, Mapping) else "no keys"
        raise OptionError(
            "A state must be the result of state_dict(), but this one is of type "
            f"{type(state).__name__} and has {keys}. Pass what state_dict() returned."
        )
    if state.get("format", FORMAT) != FORMAT:
        raise OptionError(
            f"A state must have format {FORMAT}, but it has format {state['format']}. Install the "
            "version of deeplake-lite that created it."
        )


def _explain_version(versions: list[str], samples: Samples) -> str:
    views = samples.sources
    if len(versions) != len(views):
        return (
            f"The state belongs to a loader of {len(versions)} views, but this loader has "
            f"{len(views)}. Mix the same views."
        )
    pairs = zip(views, versions, strict=True)
    view, required = next((view, required) for view, required in pairs if view.version != required)
    return (
        f"The state belongs to version {required}, but this view is of version {view.version}. "
        f"Open that version: dl.open({view.url!r}, version={required!r})."
    )


def _explain_batch_size(size: int, shares: Shares) -> str:
    each, rest = divmod(size, shares.world_size)
    way_out = f"use a number of ranks that divides {size}" if rest else f"set batch_size={each}"
    return (
        f"The state has batches of {size} rows over all ranks, but {shares.world_size} ranks with "
        f"batch_size={shares.batch_size} make {shares.size}. To continue exactly, {way_out}."
    )


def _columns_hint(one: object, other: Any) -> str:
    """Return a hint to load the same columns, because block sizes depend on them."""
    if not isinstance(one, Mapping) or one.get("kind") != other["kind"] or one == other:
        return ""
    return ", and the same columns=, because the number of rows in a block depends on their size"


def _format_shuffle(shuffle: object) -> str:
    """Return a shuffle as users set it: False, ``'exact'``, or the dict of all its settings.

    >>> _format_shuffle({"kind": "none", "block": 0}), _format_shuffle({"kind": "exact"})
    ('False', "'exact'")
    """
    if not isinstance(shuffle, Mapping) or not shuffle:
        return repr(shuffle)
    kind, *rest = shuffle.values()
    if kind == "none":
        return "False"
    return repr(kind) if not any(rest) else repr(dict(shuffle))
