"""The state of a loader, a small dict with which another loader continues at the same row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deeplake_lite.checks import integer
from deeplake_lite.errors import OptionError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.loader.order.epoch import Progress

if TYPE_CHECKING:
    from deeplake_lite.loader.order.shares import Shares
    from deeplake_lite.loader.order.shuffle import Shuffling
    from deeplake_lite.loader.read.samples import Samples


FORMAT = 1
"""Number of the state format. States of another format are rejected."""


def state_of(
    progress: Progress, samples: Samples, shuffle: Shuffling, seed: int, shares: Shares
) -> dict[str, object]:
    """Return the state of a loader as a dict that `json.dumps` accepts."""
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
    """Return the progress that a state records, after checking that the state fits this loader.

    Raises
    ------
    OptionError
        When the state belongs to another version, view, seed, shuffle or batch size. The message
        names the difference and a fix.
    """
    current = state_of(Progress(0), samples, shuffle, seed, shares)
    check_keys(state, current)
    for name, least in (("rows", 0), ("global_batch_size", 1), ("epoch", 0), ("consumed", 0)):
        integer(name, state[name], least)
    # The version comes first: in another version, the view and its rows differ as a consequence.
    if state["version"] != current["version"]:
        raise OptionError(_explain_version(str(state["version"]).split("+"), samples))
    if state["seed"] != current["seed"] or state["shuffle"] != current["shuffle"]:
        shuffle_now = current["shuffle"]
        raise OptionError(
            f"The state has seed={state['seed']}, shuffle={_format_shuffle(state['shuffle'])}, but "
            f"this loader has seed={current['seed']}, shuffle={_format_shuffle(shuffle_now)}. Set "
            f"the same values{_columns_hint(state['shuffle'], shuffle_now)}."
        )
    if state["view"] != current["view"] or state["rows"] != current["rows"]:
        raise OptionError(
            "The state belongs to another view of this version, with "
            f"{pluralize(state['rows'], 'row')}, but this view has {current['rows']:,}. Run the "
            "same query, with the same seed if it draws random rows, and select the same columns "
            "in the same order."
        )
    if state["global_batch_size"] != current["global_batch_size"]:
        raise OptionError(_explain_batch_size(state["global_batch_size"], shares))
    if state["consumed"] > shares.n:
        raise OptionError(
            f"A state must have consumed at most {shares.n:,} rows, but this state has consumed "
            f"{state['consumed']:,}. Load the unchanged result of state_dict()."
        )
    return Progress(int(state["epoch"]), int(state["consumed"]))


def check_keys(state: object, expected: Mapping[str, object]) -> None:
    """Raise OptionError if a state lacks the keys of `expected`, or has another format number."""
    if not isinstance(state, Mapping) or state.keys() != expected.keys():
        keys = f"the keys {sorted(map(str, state))}" if isinstance(state, Mapping) else "no keys"
        raise OptionError(
            "A state must be the result of state_dict(), but this one is of type "
            f"{type(state).__name__} and has {keys}. Pass the unchanged result of state_dict()."
        )
    if state.get("format", FORMAT) != FORMAT:
        raise OptionError(
            f"A state must have format {FORMAT}, but this state has format {state['format']}. "
            "Install the version of deeplake-lite that created the state."
        )


def _explain_version(versions: list[str], samples: Samples) -> str:
    views = samples.sources
    if len(versions) != len(views):
        return (
            f"The state belongs to a loader of {len(versions)} views, but this loader has "
            f"{len(views)}. Mix the same views as before."
        )
    pairs = zip(views, versions, strict=True)
    view, required = next((view, required) for view, required in pairs if view.version != required)
    return (
        f"The state belongs to version {required}, but this view is of version {view.version}. "
        f"Open that version: dl.open({view.url!r}, version={required!r})."
    )


def _explain_batch_size(size: int, shares: Shares) -> str:
    batch_size, remainder = divmod(size, shares.world_size)
    way_out = (
        f"use a number of ranks that divides {size}"
        if remainder
        else f"set batch_size={batch_size}"
    )
    return (
        f"The state has batches of {size} rows over all ranks, but {shares.world_size} ranks with "
        f"batch_size={shares.batch_size} make {shares.size}. To continue exactly, {way_out}."
    )


def _columns_hint(shuffle: object, current: Any) -> str:
    """Return a hint to load the same columns if two shuffles differ only in their block sizes."""
    is_same_kind = isinstance(shuffle, Mapping) and shuffle.get("kind") == current["kind"]
    if not is_same_kind or shuffle == current:
        return ""
    return ", and the same columns=, because the number of rows in a block depends on their size"


def _format_shuffle(shuffle: object) -> str:
    """Return a shuffle as users set it: False, ``'exact'``, or the dict of all its settings.

    >>> _format_shuffle({"kind": "none", "block": 0}), _format_shuffle({"kind": "exact"})
    ('False', "'exact'")
    """
    if not isinstance(shuffle, Mapping) or not shuffle:
        return repr(shuffle)
    kind, *settings = shuffle.values()
    if kind == "none":
        return "False"
    return repr(kind) if not any(settings) else repr(dict(shuffle))
