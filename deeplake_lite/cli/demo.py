"""The demo: one story on real data, each step timed, in the order in which one works.

The 1,797 handwritten digits that scikit-learn ships and the photographs that scikit-image ships go
into one lake. A tired annotator has got some labels wrong; a branch corrects them by their
neighbours, while work on main goes on, and is merged; on another branch they stay, for practice. A
query and a training loop read what came out, and a page shows the mistakes that are left. Steps are
functions in a tuple; each returns a line that says what it did.
"""

from __future__ import annotations

import os
import shlex
import time
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.cli.story import PRACTICE, Step, Story
from deeplake_lite.cli.uses import ask, save_page, train
from deeplake_lite.dataset.opening import create, exists
from deeplake_lite.dataset.opening import open as open_lake
from deeplake_lite.errors import ExistsError, MissingPackageError
from deeplake_lite.htypes import Boxes, ClassLabel, Embedding, Image, Scalar, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

DEFAULT = "digits.lake"

UV = "UV_RUN_RECURSION_DEPTH"
"""Variable that `uv run` sets for the programs that it starts."""

QUERY = "SELECT label, COUNT(*) AS n, AVG(brightness) AS brightness GROUP BY label ORDER BY label"
"""Query to type next."""

INK = 4
"""From this grey on, of 16, a pixel is ink."""

MISTAKES = 25
"""Labels that the annotator got wrong."""

NEIGHBOURS = 9
"""Pictures that are asked about a label."""

PHOTOGRAPHS = (
    "astronaut.png", "camera.png", "chelsea.png", "coffee.png", "coins.png", "moon.png",
    "hubble_deep_field.jpg", "motorcycle_left.png", "retina.jpg", "rocket.jpg",
)  # fmt: skip
"""Files in scikit-image's wheel."""

SCHEMA = {
    "image": Image("auto"),
    "label": ClassLabel([*"0123456789", "photograph"]),
    "boxes": Boxes("xyxy"),
    "embedding": Embedding(64, nullable=True),
    "text": Text(),
    "writer": Scalar("int16", nullable=True),
}


def run_demo(folder: str | None, say: Callable[[str], Any]) -> dict[str, Any]:
    """Run all steps, telling each; return what was done, as JSON.

    Raises
    ------
    ExistsError
        When `folder` is there already.
    MissingPackageError
        Without scikit-learn or scikit-image.
    """
    story = Story(folder or _free_name())
    if folder is not None and (exists(folder) or _is_full(folder)):
        raise ExistsError(
            f"{folder!r} is there already. Look at it: deeplake-lite info {folder}. "
            "Or make another: deeplake-lite demo another.lake."
        )
    done, width = list[dict[str, Any]](), max(len(step.title) for step in STEPS)
    begun = time.perf_counter()
    for number, step in enumerate(STEPS, 1):
        started = time.perf_counter()
        outcome = step.run(story)
        seconds = time.perf_counter() - started
        say(f"{number:2}. {step.title:{width}}  {seconds:5.2f} s  {outcome}")
        say(f"    {step.code}")
        done.append({"step": step.title, "seconds": round(seconds, 3), "outcome": outcome})
    total = time.perf_counter() - begun
    following = next_commands(story.url)
    say(f"\nAll in {total:.1f} s. Look at the mistakes that are left: open {story.page}")
    say("Now type:")
    for command in following:
        say(f"    {command}")
    say("In a notebook, correct them:")
    say(f"    {notebook_cell(story.url)}")
    return {
        "url": story.url,
        "seconds": round(total, 3),
        "steps": done,
        "page": str(story.page),
        "next": following,
        "notebook": notebook_cell(story.url),
    }


def next_commands(url: str, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the commands to type next, begun in the way that this program was started.

    >>> next_commands("my lake", {})[0]
    "deeplake-lite info 'my lake'"
    >>> next_commands("d.lake", {UV: "1"})[0]
    'uv run --extra demo deeplake-lite info d.lake'
    """
    runner, lake = "uv run --extra demo " if UV in environ else "", shlex.quote(url)
    code = f"import deeplake_lite as dl; print(dl.open({url!r})[0])"
    quoted = f'"{code}"' if lake == url else shlex.quote(code)  # what is easier to read
    return [
        f"{runner}deeplake-lite info {lake}",
        f"{runner}deeplake-lite diff {lake} v1 main",
        f"{runner}deeplake-lite log {lake}",
        f'{runner}deeplake-lite query {lake} "{QUERY}"',
        f"{runner}python -c {quoted}",
    ]


def notebook_cell(url: str) -> str:
    """Return what to run in a notebook."""
    return f"import deeplake_lite as dl; dl.open({url!r}, branch={PRACTICE!r}).browse()"


def gather(story: Story) -> str:
    """Load the digits and find the photographs."""
    try:
        from sklearn.datasets import load_digits  # 1 s: the demo's own
    except ImportError as error:
        raise MissingPackageError.needed("scikit-learn", "demo", "The demo") from error
    try:
        folder = Path(str(files("skimage.data")))
    except ImportError as error:
        raise MissingPackageError.needed("scikit-image", "demo", "The demo") from error
    digits = load_digits()
    story.digits, story.truth = digits.images.astype(np.uint8), digits.target
    story.photographs = [folder / name for name in PHOTOGRAPHS if (folder / name).is_file()]
    return f"{len(story.digits):,} digits, {len(story.photographs)} photographs"


def write_digits(story: Story) -> str:
    """Make the lake and write the digits, with the mistakes of their annotator."""
    story.lake = create(story.url, SCHEMA, metadata={"made by": "deeplake-lite demo"})
    wrong = np.random.default_rng(0).choice(len(story.truth), MISTAKES, replace=False)
    labels = story.truth.copy()
    labels[wrong] = (labels[wrong] + 5) % 10
    story.ds.append({
        "image": list((story.digits.astype(np.uint16) * 255 // 16).astype(np.uint8)),
        "label": labels,
        "boxes": [[ink_box(digit)] for digit in story.digits],
        "embedding": story.digits.reshape(-1, 64).astype(np.float32),
        "text": [f"a handwritten {digit}" for digit in story.truth],
        "writer": [None] * len(labels),
    })  # fmt: skip
    version = story.ds.commit("the digits of scikit-learn")
    return f"{len(labels):,} rows in version {version[:8]}"


def write_photographs(story: Story) -> str:
    """Add the photographs: files are kept as they are, whatever their size and format."""
    paths = story.photographs
    story.ds.append({
        "image": paths,
        "label": ["photograph"] * len(paths),
        "boxes": [[]] * len(paths),
        "embedding": [None] * len(paths),
        "text": [path.stem.replace("_", " ") for path in paths],
        "writer": [None] * len(paths),
    })  # fmt: skip
    story.ds.commit("the photographs of scikit-image")
    story.ds.tag("v1")
    story.ds.branch(PRACTICE)
    shapes = [story.ds["image"][i].shape for i in (0, len(story.ds) - 1)]
    return f"{len(story.ds):,} rows; pictures from {shapes[0]} to {shapes[1]}; tagged v1"


def look(story: Story) -> str:
    """Read a row, a slice, a selection."""
    ds = story.ds
    sevens = ds[ds["label"][:] == ds["label"].names.index("7")]
    row = ds[0]
    return f"row 0 is {row['text']!r}, image {row['image'].shape}; {len(sevens)} labelled 7"


def correct(story: Story) -> str:
    """Give, on a branch, each digit the label of its neighbours where those agree on another."""
    ds = story.ds
    ds.branch("fix-labels")
    ds.checkout("fix-labels")
    is_digit = np.flatnonzero(ds["label"][:] < 10)
    labels = ds["label"][is_digit]
    votes = neighbours_vote(np.asarray(ds["embedding"][is_digit]), labels)
    doubtful = np.flatnonzero((votes >= 0) & (votes != labels))
    ds["label"][is_digit[doubtful]] = votes[doubtful]
    ds.commit(f"{len(doubtful)} labels corrected by their neighbours")
    right = int((votes[doubtful] == story.truth[doubtful]).sum())
    return f"{len(doubtful)} labels corrected, {right} of the {MISTAKES} mistakes among them"


def go_on(story: Story) -> str:
    """Work on main at the same time: another column, other cells."""
    ds = story.ds
    ds.checkout("main")
    ds.add_column("brightness", "float32", values=[float(np.mean(i)) for i in ds["image"]])
    ds["writer"][:100] = np.arange(100) % 30
    ds.commit("brightness, and who wrote the first hundred")
    return f"{ds['brightness'][:].mean():.0f} is the mean brightness; 100 writers noted"


def compare(story: Story) -> str:
    """Compare the two branches."""
    diff = story.ds.diff("main", "fix-labels")
    cells = {name: len(ids) for name, ids in diff.changed.items()}
    return f"{len(diff.added)} rows added, {len(diff.removed)} removed, cells changed: {cells}"


def merge(story: Story) -> str:
    """Bring the corrections into main."""
    version = story.ds.merge("fix-labels")
    return f"version {version[:8]} has both: corrected labels and {len(story.ds.columns)} columns"


def go_back(story: Story) -> str:
    """Read the version that was tagged."""
    old = open_lake(story.url, version="v1")
    now = story.ds["label"][: len(old)]
    changed = np.flatnonzero(old["label"][:] != now)
    row = int(changed[0])
    names = story.ds["label"].names
    return f"row {row} was {names[int(old['label'][row])]}, is {names[int(now[row])]}"


def keep_view(story: Story) -> str:
    """Save a selection under a name."""
    ds = story.ds
    view = ds[(ds["label"][:] == 1) & (ds["brightness"][:] < 80)]
    view.save("thin ones")
    return f"{len(view)} rows as 'thin ones'"


def check(story: Story) -> str:
    """Read everything again against hashes and checksums."""
    return repr(story.ds.verify())


STEPS = (
    Step("gather", "# scikit-learn's digits, scikit-image's photographs", gather),
    Step("write and commit", "ds = dl.create(…); ds.append({…}); ds.commit('…')", write_digits),
    Step("add photographs", "ds.append({'image': paths, …}); ds.tag('v1')", write_photographs),
    Step("look", "ds[0]; ds[ds['label'][:] == 7]", look),
    Step("correct on a branch", "ds.checkout('fix-labels'); ds['label'][rows] = new", correct),
    Step("work on main", "ds.checkout('main'); ds.add_column('brightness', 'float32')", go_on),
    Step("diff", "ds.diff('main', 'fix-labels')", compare),
    Step("merge", "ds.merge('fix-labels')", merge),
    Step("read an old version", "dl.open(url, version='v1')", go_back),
    Step("query", "ds.query('SELECT * WHERE … ORDER BY MEAN(image) DESC')", ask),
    Step("train", "for batch in train.batches(64, shuffle=True): …", train),
    Step("save a view", "ds[mask].save('thin ones'); ds.views()", keep_view),
    Step("picture of the browser", "ds.suspects('label').browse().to_html('…')", save_page),
    Step("verify", "ds.verify()", check),
)


def ink_box(digit: NDArray[np.uint8]) -> list[int]:
    """Return the box around the ink of a digit, pixels, xyxy.

    >>> ink_box(np.pad(np.full((2, 3), 16, "uint8"), 1))
    [1, 1, 4, 3]
    """
    rows, columns = np.nonzero(digit >= INK)
    return [int(n) for n in (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)]


def neighbours_vote(vectors: NDArray[np.float32], labels: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the label on which all of a row's nearest rows agree: (n,) int64, else -1.

    Near is by cosine, exactly; a row is not its own neighbour.
    """  # fmt: skip
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    likeness = unit @ unit.T
    np.fill_diagonal(likeness, -1)
    nearest = np.argpartition(-likeness, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    counts = np.apply_along_axis(np.bincount, 1, labels[nearest], minlength=10)
    return np.where(counts.max(axis=1) == NEIGHBOURS, counts.argmax(axis=1), -1)


def _free_name() -> str:
    """Return the default name, numbered if it is taken."""
    stem, suffix = Path(DEFAULT).stem, Path(DEFAULT).suffix
    names = (DEFAULT, *(f"{stem}-{n}{suffix}" for n in range(2, 1_000)))
    return next(name for name in names if not Path(name).exists())


def _is_full(folder: str) -> bool:
    """Tell whether there is a file, or a folder with something in it."""
    path = Path(folder)
    return path.is_file() or (path.is_dir() and any(path.iterdir()))
