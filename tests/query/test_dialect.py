"""The grammar, as far as queries do not show it."""

from __future__ import annotations

import pytest

from deeplake_lite.errors import MissingPackageError
from deeplake_lite.query.parse.dialect import Ellipsis, check_extensible


def test_a_build_of_sqlglot_that_takes_no_nodes_of_ours_is_refused():
    def compiled() -> None:
        raise TypeError("interpreted classes cannot inherit from compiled")

    with pytest.raises(MissingPackageError, match="pip uninstall sqlglotc"):
        check_extensible(compiled)
    check_extensible(Ellipsis)
