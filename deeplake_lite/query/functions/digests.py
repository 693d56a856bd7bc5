"""What stands for a value where only equality counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import xxhash

from deeplake_lite.query.functions.base import Arg, Bound, function
from deeplake_lite.query.functions.value_type import Type
from deeplake_lite.storage.digests import row_digests


@function("HASH(x)", group="Contents")
def hash_(x: Arg) -> Bound:
    """Digest of 64 bits, the same for equal values of one type and shape."""

    def compute(value: Any, *, lead: int) -> Any:  # noqa: ARG001 one row at a time
        if x.type.is_number:
            array = np.asarray(value)
            seed = xxhash.xxh3_64_intdigest(f"{array.dtype}:{array.shape}".encode())
            data = row_digests(array.reshape(1, -1)).tobytes() if array.size else b""
            return np.uint64(xxhash.xxh3_64_intdigest(data, seed))
        return np.uint64(xxhash.xxh3_64_intdigest(repr(value).encode()))

    return Bound(Type("uint64"), compute, stacks=False)
