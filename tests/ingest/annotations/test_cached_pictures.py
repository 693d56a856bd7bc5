"""Pictures are parsed once if they are few, and are never kept if they are many or large."""

from __future__ import annotations

import numpy as np
import pytest

from deeplake_lite.dataset.export.annotations.objects import Object, Picture
from deeplake_lite.ingest.annotations import cached_pictures
from deeplake_lite.ingest.annotations.cached_pictures import CachedPictures

MASK = np.ones((10, 10), bool)


def pictures(objects=0, mask=None, image=None):
    own = [Object(np.zeros(4), "cat", mask=mask)] * objects
    return [Picture(f"{n}.png", own, image=image) for n in range(3)]


@pytest.mark.parametrize(
    ("given", "reads"),
    [
        (pictures(), 1),
        (pictures(objects=2), 1),
        (pictures(objects=3), 2),
        (pictures(objects=1, mask=MASK), 1),
        (pictures(objects=2, mask=MASK), 2),
        (pictures(image=b"x" * 100), 1),
        (pictures(image=b"x" * 200), 2),
        ([], 1),
    ],
    ids=["none", "few", "many", "mask", "masks", "image", "large image", "empty"],
)
def test_pictures_are_kept_up_to_a_limit(given, reads, monkeypatch):
    monkeypatch.setattr(cached_pictures, "MAX_OBJECTS", 9)
    monkeypatch.setattr(cached_pictures, "MAX_BYTES", 300)
    calls = []

    def read():
        calls.append(1)
        yield from given

    kept = CachedPictures(read)
    assert list(kept) == list(kept) == given
    assert len(calls) == reads


def test_pictures_of_a_pass_that_ended_early_are_read_again():
    calls = []

    def read():
        calls.append(1)
        yield from pictures()

    kept = CachedPictures(read)
    next(iter(kept))
    assert [p.path for p in kept] == ["0.png", "1.png", "2.png"]
    assert len(calls) == 2
