"""The classes of predictions and truth, which are matched by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Values

MAX_CLASSES = 8_192
"""Maximum number of classes, because a confusion matrix has a cell for each pair of classes."""


class Classes:
    """A mapping from class names to numbers. New names are added when they are looked up.

    Examples
    --------
    >>> from deeplake_lite.htypes import ClassLabel
    >>> classes = Classes(["cat", "dog"])
    >>> classes.numbers(ClassLabel(["dog", "bird"]), np.array([0, 1, -1])).tolist()
    [1, 2, -1]
    >>> classes.names
    ('cat', 'dog', 'bird')
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._numbers: dict[str, int] = {}
        for name in names:
            self.number(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all classes that have a number, in the order of their numbers."""
        return tuple(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, name: str) -> int:
        """Return the number of a class. Raises OptionError if there are too many classes."""
        number = self._numbers.setdefault(name, len(self._numbers))
        if number >= MAX_CLASSES:
            raise OptionError(
                f"An evaluation can have at most {MAX_CLASSES:,} classes, but there are more. "
                "Choose a column of classes, not of ids or free text."
            )
        return number

    def numbers(self, htype: Htype, values: Values) -> NDArray[np.int64]:
        """Return the evaluation's class number of each value, (n,) int64, or -1 for null.

        Parameters
        ----------
        htype : Htype
            A type of classes or strings.
        values : ndarray or list
            Class numbers of `htype`, or strings.
        """
        classes = htype.classes
        if classes is None:
            return np.array([self.number(str(value)) for value in values], np.int64)
        codes: Any = np.asarray(values, np.int64)
        present, inverse = np.unique(codes, return_inverse=True)
        names = tuple(classes.names)
        table = [self._number_of(names, code) for code in present.tolist()]
        return np.array(table, np.int64)[inverse].reshape(codes.shape)

    def _number_of(self, names: tuple[str, ...], code: int) -> int:
        """Return the evaluation's number of the class that is `code` in a column with `names`."""
        if code < 0:
            return -1
        if names and code >= len(names):
            raise InvalidValueError(
                f"A class number must be below {len(names)}, the number of classes, but it is "
                f"{code}. Add the class: ds.add_classes(…)."
            )
        return self.number(names[code] if names else str(code))
