"""The demo, which is a typical workflow on real data in timed steps.

The demo writes the 1,797 handwritten digits of scikit-learn and the photographs of scikit-image to
one lake, and gives some digits wrong labels. On a branch, the demo corrects these labels by
comparing each digit with the most similar images. Before it merges this branch into main, it also
edits main. Another branch keeps the wrong labels for practice. A query and a training loop read the
merged lake, and an HTML page shows the remaining mistakes. Each step is a function that returns a
line of text about its result.
"""

from __future__ import annotations

import os
import shlex
import time
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.cli.demo_state import PRACTICE, DemoState, Step
from deeplake_lite.cli.demo_steps import run_query, save_page, train
from deeplake_lite.dataset.opening import create, exists
from deeplake_lite.dataset.opening import open as open_lake
from deeplake_lite.errors import ExistsError, MissingPackageError
from deeplake_lite.htypes import Boxes, ClassLabel, Embedding, Image, Scalar, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

DEFAULT = "digits.lake"

UV = "UV_RUN_RECURSION_DEPTH"
"""Environment variable that `uv run` sets for programs that it starts."""

QUERY = "SELECT label, COUNT(*) AS n, AVG(brightness) AS brightness GROUP BY label ORDER BY label"
"""Query that the demo suggests at the end."""

INK = 4
"""Pixels with at least this grey value, from 0 to 16, count as ink."""

MISTAKES = 25
"""Number of wrong labels."""

NEIGHBOURS = 9
"""Number of neighbours that vote on each label."""

PHOTOGRAPHS = (
    "astronaut.png", "camera.png", "chelsea.png", "coffee.png", "coins.png", "moon.png",
    "hubble_deep_field.jpg", "motorcycle_left.png", "retina.jpg", "rocket.jpg",
)  # fmt: skip
"""Image files in scikit-image's wheel."""

SCHEMA = {
    "image": Image("auto"),
    "label": ClassLabel([*"0123456789", "photograph"]),
    "boxes": Boxes("xyxy"),
    "embedding": Embedding(64, nullable=True),
    "text": Text(),
    "writer": Scalar("int16", nullable=True),
}


def run_demo(folder: str | None, write: Callable[[str], object]) -> dict[str, object]:
    """Run all steps, pass two lines about each step to `write`, and return a summary.

    The summary is a dict that `json.dumps` accepts.

    Raises
    ------
    ExistsError
        When `folder` exists and is not empty.
    MissingPackageError
        When scikit-learn or scikit-image is not installed.
    """
    state = DemoState(folder or _free_name())
    if folder is not None and (exists(folder) or _is_full(folder)):
        raise ExistsError(
            f"{folder!r} already exists. To see its contents, run: deeplake-lite info {folder}. "
            "To create another lake, run: deeplake-lite demo another.lake."
        )
    steps, width = list[dict[str, Any]](), max(len(step.title) for step in STEPS)
    start = time.perf_counter()
    for number, step in enumerate(STEPS, 1):
        started = time.perf_counter()
        outcome = step.run(state)
        seconds = time.perf_counter() - started
        write(f"{number:2}. {step.title:{width}}  {seconds:5.2f} s  {outcome}")
        write(f"    {step.code}")
        steps.append({"step": step.title, "seconds": round(seconds, 3), "outcome": outcome})
    total = time.perf_counter() - start
    commands = next_commands(state.url)
    write(f"\nFinished in {total:.1f} s. To see the remaining mistakes, open {state.page}")
    write("Now try:")
    for command in commands:
        write(f"    {command}")
    write("To correct the mistakes in a notebook, run:")
    write(f"    {notebook_cell(state.url)}")
    return {
        "url": state.url,
        "seconds": round(total, 3),
        "steps": steps,
        "page": str(state.page),
        "next": commands,
        "notebook": notebook_cell(state.url),
    }


def next_commands(url: str, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the shell commands that the demo suggests.

    If the demo was started by ``uv run``, the commands start with ``uv run`` too.

    >>> next_commands("my lake", {})[0]
    "deeplake-lite info 'my lake'"
    >>> next_commands("d.lake", {UV: "1"})[0]
    'uv run --extra demo deeplake-lite info d.lake'
    """
    runner, lake = "uv run --extra demo " if UV in environ else "", shlex.quote(url)
    code = f"import deeplake_lite as dl; print(dl.open({url!r})[0])"
    # Double quotes are easier to read than what `shlex.quote` returns.
    quoted = f'"{code}"' if lake == url else shlex.quote(code)
    return [
        f"{runner}deeplake-lite info {lake}",
        f"{runner}deeplake-lite diff {lake} v1 main",
        f"{runner}deeplake-lite log {lake}",
        f'{runner}deeplake-lite query {lake} "{QUERY}"',
        f"{runner}python -c {quoted}",
    ]


def notebook_cell(url: str) -> str:
    """Return the code that the demo suggests for a notebook."""
    return f"import deeplake_lite as dl; dl.open({url!r}, branch={PRACTICE!r}).browse()"


def gather(state: DemoState) -> str:
    """Load the digits and find the photographs."""
    try:
        from sklearn.datasets import load_digits  # slow to import, and only the demo needs it
    except ImportError as error:
        raise MissingPackageError.needed("scikit-learn", "demo", "The demo") from error
    try:
        folder = Path(str(files("skimage.data")))
    except ImportError as error:
        raise MissingPackageError.needed("scikit-image", "demo", "The demo") from error
    digits = load_digits()
    state.digits, state.truth = digits.images.astype(np.uint8), digits.target
    state.photographs = [folder / name for name in PHOTOGRAPHS if (folder / name).is_file()]
    return f"{len(state.digits):,} digits, {len(state.photographs)} photographs"


def write_digits(state: DemoState) -> str:
    """Create the lake, and write the digits with some wrong labels."""
    state.lake = create(state.url, SCHEMA, metadata={"made by": "deeplake-lite demo"})
    wrong = np.random.default_rng(0).choice(len(state.truth), MISTAKES, replace=False)
    labels = state.truth.copy()
    labels[wrong] = (labels[wrong] + 5) % 10
    state.ds.append({
        "image": list((state.digits.astype(np.uint16) * 255 // 16).astype(np.uint8)),
        "label": labels,
        "boxes": [[ink_box(digit)] for digit in state.digits],
        "embedding": state.digits.reshape(-1, 64).astype(np.float32),
        "text": [f"a handwritten {digit}" for digit in state.truth],
        "writer": [None] * len(labels),
    })  # fmt: skip
    version = state.ds.commit("the digits of scikit-learn")
    return f"{len(labels):,} rows in version {version[:8]}"


def write_photographs(state: DemoState) -> str:
    """Add the photographs, whose files are stored unchanged, with any size and format."""
    paths = state.photographs
    state.ds.append({
        "image": paths,
        "label": ["photograph"] * len(paths),
        "boxes": [[]] * len(paths),
        "embedding": [None] * len(paths),
        "text": [path.stem.replace("_", " ") for path in paths],
        "writer": [None] * len(paths),
    })  # fmt: skip
    state.ds.commit("the photographs of scikit-image")
    state.ds.tag("v1")
    state.ds.branch(PRACTICE)
    shapes = [state.ds["image"][i].shape for i in (0, len(state.ds) - 1)]
    return f"{len(state.ds):,} rows; images from {shapes[0]} to {shapes[1]}; tagged v1"


def read_rows(state: DemoState) -> str:
    """Read a row, and select rows by a condition."""
    ds = state.ds
    sevens = ds[ds["label"][:] == ds["label"].names.index("7")]
    row = ds[0]
    return f"row 0 is {row['text']!r}, image {row['image'].shape}; {len(sevens)} labelled 7"


def correct(state: DemoState) -> str:
    """On a branch, correct the labels of digits whose neighbours all agree on another label."""
    ds = state.ds
    ds.branch("fix-labels")
    ds.checkout("fix-labels")
    is_digit = np.flatnonzero(ds["label"][:] < 10)
    labels = ds["label"][is_digit]
    votes = neighbours_vote(np.asarray(ds["embedding"][is_digit]), labels)
    suspects = np.flatnonzero((votes >= 0) & (votes != labels))
    ds["label"][is_digit[suspects]] = votes[suspects]
    ds.commit(f"correct {len(suspects)} labels from their neighbours")
    right = int((votes[suspects] == state.truth[suspects]).sum())
    return f"{len(suspects)} labels corrected, including {right} of the {MISTAKES} mistakes"


def edit_main(state: DemoState) -> str:
    """Edit main at the same time by adding a column and changing cells."""
    ds = state.ds
    ds.checkout("main")
    ds.add_column("brightness", "float32", values=[float(np.mean(i)) for i in ds["image"]])
    ds["writer"][:100] = np.arange(100) % 30
    ds.commit("brightness, and who wrote the first hundred")
    return f"the mean brightness is {ds['brightness'][:].mean():.0f}; 100 writers recorded"


def compare(state: DemoState) -> str:
    """Compare the two branches."""
    diff = state.ds.diff("main", "fix-labels")
    cells = {name: len(ids) for name, ids in diff.changed.items()}
    return f"{len(diff.added)} rows added, {len(diff.removed)} removed, cells changed: {cells}"


def merge(state: DemoState) -> str:
    """Merge the corrections into main."""
    version = state.ds.merge("fix-labels")
    return f"version {version[:8]} has both: corrected labels and {len(state.ds.columns)} columns"


def read_old_version(state: DemoState) -> str:
    """Read the tagged version."""
    old = open_lake(state.url, version="v1")
    new = state.ds["label"][: len(old)]
    changed = np.flatnonzero(old["label"][:] != new)
    row = int(changed[0])
    names = state.ds["label"].names
    return f"row {row} was {names[int(old['label'][row])]}, now it is {names[int(new[row])]}"


def save_view(state: DemoState) -> str:
    """Save a selection under a name."""
    ds = state.ds
    view = ds[(ds["label"][:] == 1) & (ds["brightness"][:] < 80)]
    view.save("thin ones")
    return f"{len(view)} rows as 'thin ones'"


def check(state: DemoState) -> str:
    """Read all data, and compare it with hashes and checksums."""
    return repr(state.ds.verify())


STEPS = (
    Step("gather", "# scikit-learn's digits, scikit-image's photographs", gather),
    Step("write and commit", "ds = dl.create(…); ds.append({…}); ds.commit('…')", write_digits),
    Step("add photographs", "ds.append({'image': paths, …}); ds.tag('v1')", write_photographs),
    Step("read rows", "ds[0]; ds[ds['label'][:] == 7]", read_rows),
    Step("correct on a branch", "ds.checkout('fix-labels'); ds['label'][rows] = new", correct),
    Step("work on main", "ds.checkout('main'); ds.add_column('brightness', 'float32')", edit_main),
    Step("diff", "ds.diff('main', 'fix-labels')", compare),
    Step("merge", "ds.merge('fix-labels')", merge),
    Step("read an old version", "dl.open(url, version='v1')", read_old_version),
    Step("query", "ds.query('SELECT * WHERE … ORDER BY MEAN(image) DESC')", run_query),
    Step("train", "for batch in train.batches(64, shuffle=True): …", train),
    Step("save a view", "ds[mask].save('thin ones'); ds.views()", save_view),
    Step("save a page", "ds.suspects('label').browse().to_html('…')", save_page),
    Step("verify", "ds.verify()", check),
)


def ink_box(digit: NDArray[np.uint8]) -> list[int]:
    """Return the box around the ink of a digit, in pixels, xyxy.

    >>> ink_box(np.pad(np.full((2, 3), 16, "uint8"), 1))
    [1, 1, 4, 3]
    """
    rows, columns = np.nonzero(digit >= INK)
    return [int(n) for n in (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)]


def neighbours_vote(vectors: NDArray[np.float32], labels: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each row the label that all of its neighbours share, (n,) int64.

    The label is -1 if the neighbours have different labels. The neighbours of a row are the other
    rows whose vectors have the highest cosine similarity.
    """  # fmt: skip
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similarities = unit @ unit.T
    np.fill_diagonal(similarities, -1)  # a row is not its own neighbour
    nearest = np.argpartition(-similarities, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    counts = np.apply_along_axis(np.bincount, 1, labels[nearest], minlength=10)
    return np.where(counts.max(axis=1) == NEIGHBOURS, counts.argmax(axis=1), -1)


def _free_name() -> str:
    """Return `DEFAULT`, or the same name with a number if a file or folder has this name."""
    stem, suffix = Path(DEFAULT).stem, Path(DEFAULT).suffix
    names = (DEFAULT, *(f"{stem}-{n}{suffix}" for n in range(2, 1_000)))
    return next(name for name in names if not Path(name).exists())


def _is_full(folder: str) -> bool:
    """Return whether a path is a file or a non-empty folder."""
    path = Path(folder)
    return path.is_file() or (path.is_dir() and any(path.iterdir()))
