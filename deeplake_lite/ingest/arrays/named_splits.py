"""Finding splits in the names of arrays, such as ``x_train`` and ``x_test``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deeplake_lite import checks
from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.htypes import ClassLabel
from deeplake_lite.ingest.arrays.array_source import ArrayColumn, Constant, Part
from deeplake_lite.ingest.folders.layout import SPLITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


SPLIT = "split"
"""Name of the column of splits."""

_SPLIT = "|".join(sorted(SPLITS, key=len, reverse=True))
_LAST = re.compile(rf"(?P<name>.+?)[-_.](?P<split>{_SPLIT})", re.IGNORECASE)
_FIRST = re.compile(rf"(?P<split>{_SPLIT})[-_.](?P<name>.+)", re.IGNORECASE)


def parts_of(
    title: str,
    columns: Mapping[str, ArrayColumn],
    chosen: Sequence[str] | None,
    *,
    in_names: bool = True,
) -> list[Part]:
    """Return a part for each split in the names of arrays, or a single part if names have no split.

    Parameters
    ----------
    title : str
        Name of the file.
    columns : mapping
        The arrays of the file, by name.
    chosen : sequence of str, optional
        The columns to ingest. By default, all columns.
    in_names : bool
        Whether to look for splits in the names of the arrays.

    Raises
    ------
    NotFoundError
        If a column does not exist.
    InvalidValueError
        If no columns are chosen, and the arrays have different lengths.
    """
    splits = _splits(columns) if in_names else {}
    if chosen is not None:
        names = checks.names("columns", chosen)
        known = {name for arrays in splits.values() for name in arrays}
        if not splits or not known.issuperset(names):
            if unknown := [name for name in names if name not in columns]:
                raise NotFoundError.named("column", unknown[0], columns)
            return [Part(title, {name: columns[name] for name in names})]
        splits = {split: {name: arrays[name] for name in names} for split, arrays in splits.items()}
    if splits and all(len({len(c) for c in arrays.values()}) == 1 for arrays in splits.values()):
        kind = ClassLabel([*splits])
        return [
            Part(
                f"{title}, {split}",
                {**arrays, SPLIT: Constant(split, len(next(iter(arrays.values()))), kind)},
            )
            for split, arrays in splits.items()
        ]
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r}: {n:,}" for name, n in lengths.items())
        raise InvalidValueError(
            f"Columns must have the same length, but in {title} their lengths are {listed}. Select "
            "columns of the same length: columns=[…]."
        )
    return [Part(title, columns)]


def _splits(columns: Mapping[str, ArrayColumn]) -> dict[str, dict[str, ArrayColumn]]:
    """Return a dict from the names of splits to dicts from column names to columns.

    Splits have their usual order: train, validation, test. The dict is empty unless every name
    contains a split, and all splits have the same columns.
    """
    for pattern in (_LAST, _FIRST):
        matches = {name: pattern.fullmatch(name) for name in columns}
        splits = dict[str, dict[str, ArrayColumn]]()
        for name, match in matches.items():
            if match is not None:
                splits.setdefault(match["split"], {})[match["name"]] = columns[name]
        names = {frozenset(arrays) for arrays in splits.values()}
        is_whole = all(matches.values()) and len(splits) > 1 and len(names) == 1
        if is_whole and SPLIT not in next(iter(names)):
            first = next(iter(splits.values()))
            order = sorted(splits, key=lambda split: (SPLITS[split.lower()], split))
            return {split: {name: splits[split][name] for name in first} for split in order}
    return {}
