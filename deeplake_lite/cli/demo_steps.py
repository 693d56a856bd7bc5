"""Steps of the demo that use the finished lake for a query, a training loop and an HTML page."""

from __future__ import annotations

from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from deeplake_lite.cli.demo_state import PRACTICE
from deeplake_lite.dataset.opening import open as open_lake

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.cli.demo_state import DemoState

BOLD = "SELECT * WHERE label = '7' AND MEAN(image) > 85 ORDER BY MEAN(image) DESC"

BATCH = 64

EPOCHS = 3

SHOWN = 200
"""Number of rows on the page."""


def run_query(state: DemoState) -> str:
    """Query rows by label and by the pixels of their image."""
    bold = state.ds.query(BOLD)
    boldest = bold[0]["image"].mean()
    return f"{len(bold)} bold sevens, the first with a mean grey of {boldest:.0f}"


def train(state: DemoState) -> str:
    """Train a linear classifier on batches, and measure its accuracy on test rows."""
    from sklearn.linear_model import SGDClassifier

    digits = state.ds.query("SELECT image, label WHERE label <> 'photograph'")
    train, test = digits.split([0.8, 0.2], by="label", seed=0)
    model, batches = SGDClassifier(random_state=0), 0
    loader = train.batches(BATCH, shuffle=True, seed=0)
    for _ in range(EPOCHS):
        for batch in loader:  # each iteration is a new epoch, in a new order
            model.partial_fit(_vectors(batch), batch["label"], classes=np.arange(10))
            batches += 1
    right = [model.predict(_vectors(b)) == b["label"] for b in test.batches(BATCH)]
    share = np.concatenate(right).mean()
    training = f"{batches} batches of {BATCH} rows in {EPOCHS} epochs"
    return f"{training}; {share:.0%} of {len(test)} test rows correct"


def save_page(state: DemoState) -> str:
    """Save an HTML page of the browser that shows the most suspicious labels first."""
    practice = open_lake(state.url, branch=PRACTICE)
    suspects = practice.suspects("label", by="embedding")
    state.page = suspects.browse().to_html(_free_page(state.url), rows=SHOWN).absolute()
    size = state.page.stat().st_size / 1e6
    return (
        f"{SHOWN} of {len(suspects):,} digits, most suspicious first, {size:.1f} MB: {state.page}"
    )


def _vectors(batch: dict[str, object]) -> NDArray[Any]:
    """Return the pixels of a batch's images as vectors, (n, 64) float32, scaled to 0 to 1."""
    images = np.asarray(batch["image"], np.float32) / np.float32(255)
    return images.reshape(len(images), -1)


def _free_page(url: str) -> Path:
    """Return an unused path for the HTML page.

    The page is next to the lake if the lake is local, and otherwise in the current folder.
    """
    local = Path(url) if "://" not in url else Path(Path(urlsplit(url).path).name or "lake")
    endings = chain([""], (f"-{number}" for number in count(2)))
    names = (local.with_name(f"{local.stem}{ending}.html") for ending in endings)
    return next(name for name in names if not name.exists())
