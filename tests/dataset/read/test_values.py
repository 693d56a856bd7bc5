"""Values of blocks of cells: arrays and lists, with None or masks for nulls."""

from threading import get_ident

import numpy as np
import pytest

from deeplake_lite.dataset.read import values
from deeplake_lite.dataset.read.values import decode_block
from deeplake_lite.htypes import Image, Text


@pytest.mark.parametrize("null", [False, True])
def test_large_samples_are_decoded_in_threads_even_with_nulls(monkeypatch, null):
    monkeypatch.setattr(values, "THREAD_BYTES", 10)
    threads, decode = set(), Image.decode

    def noted(self, data, shape):
        threads.add(get_ident())
        return decode(self, data, shape)

    monkeypatch.setattr(Image, "decode", noted)
    pictures = [np.full((4, 5), i, np.uint8) for i in range(3)] + [None] * null
    htype = Image("png", nullable=True)
    result = decode_block(htype, htype.encode(pictures))
    assert [None if v is None else v.tolist() for v in result] == [
        None if v is None else v.tolist() for v in pictures
    ]
    assert threads
    assert get_ident() not in threads


def test_all_nulls_read_as_none():
    htype = Text(nullable=True)
    assert decode_block(htype, htype.encode([None, None])) == [None, None]
