"""The browser in a real JupyterLab and Chromium: how long a reader waits.

Times are measured in the page, from the triggering event to the frame that shows the result: the
cards of the requested rows, drawn. Clicks are timed until Python's observer runs, by the clock
that both share.
"""

import io
import json
import statistics
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.widget.chromium import chromium
from tests.widget.labkit import Lab, Notebook

from . import corpus, lakes
from .harness import OURS, Figures, at_most

pytestmark = [pytest.mark.bench, pytest.mark.usefixtures("needs_ours")]

CARDS, POINTS, REPEATS = 28, 200_000, 40
SEVEN_BY_FOUR = "w.settings = {**w.settings, 'panel': None, 'caption': [], 'size': 140}"

TIMER = """
window.__shown = (ready) => new Promise((done) => {
    const look = () => (ready() ? done(performance.now()) : requestAnimationFrame(look));
    look();
});
window.__data = () => [...document.querySelectorAll('.dl-browser')].at(-1)?.dataset ?? {};
"""


@pytest.fixture(scope="module")
def notebook(work: Path) -> Iterator:
    """Return the function that opens a notebook with these cells."""
    lab = Lab(work / "lab")
    lab.start()
    try:
        with chromium() as chrome:

            def opened(*cells: str) -> AbstractContextManager[Notebook]:
                return lab.notebook(chrome, *cells)

            yield opened
    finally:
        lab.stop()


def opening(folder: Path, *more: str) -> str:
    return "\n".join(
        ("import deeplake_lite as dl", f"ds = dl.open({str(folder / 'lake')!r})", *more)
    )


def ms(times: Sequence[float]) -> Figures:
    return {
        "ms": statistics.median(times),
        "ms p95": float(np.percentile(times, 95)),
    }


def paint_of_a_cell(nb: Notebook, cell: int) -> float:
    """Run a cell that shows a browser; return the milliseconds until its cards are drawn."""
    nb.page.evaluate(TIMER)
    nb.page.evaluate(
        """() => {
            document.querySelectorAll('.dl-browser').forEach((old) => (old.dataset.old = '1'));
            window.__from = performance.now();
        }"""
    )
    nb.begin(cell)
    return nb.page.evaluate(
        """() => __shown(() => document.querySelector(
            ".dl-browser:not([data-old])[data-missing='0']")).then((at) => at - window.__from)"""
    )


def test_time_from_running_a_cell_to_drawn_cards(race, report, notebook, wide_lake, rows):
    with notebook(opening(wide_lake), "w = ds.browse()\nw") as nb:
        nb.run(0)
        first = paint_of_a_cell(nb, 1)
        rounds = race({OURS: lambda: {"ms": paint_of_a_cell(nb, 1)}}, 7)
    rounds[f"{OURS}, first of the kernel"] = [{"ms": first}]
    report.add(f"from cell run to first paint, {rows:,} rows", rounds, at_most(400, "ms"))


def jump(nb: Notebook, position: float) -> float:
    """Scroll to a part of the rows; return the milliseconds until its cards are drawn."""
    nb.page.wait_for_timeout(250)  # wait until read-ahead is done
    return nb.page.evaluate(
        """(part) => {
            const box = document.querySelector('.dl-scroller');
            const [from, start] = [performance.now(), __data().start];
            box.scrollTop = part * (box.scrollHeight - box.clientHeight);
            return __shown(() => __data().start !== start && __data().missing === '0')
                .then((at) => at - from);
        }""",
        position,
    )


def test_thumbnails_that_are_not_cached(race, report, notebook, work, jpegs):
    folder = work / "jpegs"
    lakes.image_lake(folder, jpegs)
    with notebook(opening(folder, "w = ds.browse()", SEVEN_BY_FOUR, "w")) as nb:
        nb.run(0)
        nb.painted()
        nb.page.evaluate(TIMER)
        places = iter(np.random.default_rng(0).random(8 * REPEATS))
        rounds = race({OURS: lambda: ms([jump(nb, next(places)) for _ in range(REPEATS)])}, 3)
        shown = nb.page.evaluate("() => __data().stop - __data().start")
    figure = f"{shown} thumbnails of 250x250 JPEGs, not cached"
    report.add(figure, rounds, at_most(60, "ms p95"))


def frames(nb: Notebook) -> Figures:
    """Scroll for two seconds; return how long a frame takes."""
    steps = nb.page.evaluate(
        """() => new Promise((done) => {
            const box = document.querySelector('.dl-scroller');
            const times = [];
            const step = (now) => {
                times.push(now);
                box.scrollTop += 40;
                times.length > 120 ? done(times) : requestAnimationFrame(step);
            };
            requestAnimationFrame(step);
        })"""
    )
    return ms(np.diff(steps).tolist())


def test_scrolling(race, report, notebook, wide_lake, rows):
    with notebook(opening(wide_lake, "w = ds.browse()", SEVEN_BY_FOUR, "w")) as nb:
        nb.run(0)
        nb.painted()
        rounds = race({OURS: partial(frames, nb)}, 3)
    report.add(f"a frame of scrolling, {rows:,} rows", rounds, at_most(20, "ms p95"))


def clicks(nb: Notebook) -> Figures:
    """Click rows; return the milliseconds until Python's observer has run."""
    nb.page.evaluate("() => (window.__clicks = [])")
    for i in range(REPEATS):
        nb.click(i % 8)
        nb.page.wait_for_timeout(120)
    down = nb.page.evaluate("() => window.__clicks")
    heard = json.loads(nb.run(1))
    assert len(heard) == len(down)
    return ms(np.subtract(heard, down).tolist())


def test_time_from_a_click_to_python(race, report, notebook, wide_lake, rows):
    observed = (
        "import json, time\nheard = []",
        "w.observe(lambda change: heard.append(time.time() * 1000), 'selected')",
    )
    said = "print(json.dumps(heard))\nheard.clear()"
    with notebook(opening(wide_lake, "w = ds.browse()", *observed, "w"), said) as nb:
        nb.run(0)
        nb.painted()
        nb.page.evaluate(
            """() => document.querySelector('.dl-stage').addEventListener('pointerup', () =>
                window.__clicks.push(performance.timeOrigin + performance.now()), true)"""
        )
        rounds = race({OURS: partial(clicks, nb)}, 3)
    report.add(f"click to Python's observer, {rows:,} rows", rounds, at_most(100, "ms p95"))


def repaint(nb: Notebook, text: str) -> float:
    """Run a query; return the milliseconds from Enter until its rows are drawn."""
    box = nb.page.get_by_role("combobox", name="Query")
    box.fill(text)
    nb.page.wait_for_timeout(400)  # completion has been offered by then
    nb.page.evaluate(
        """() => {
            const generation = __data().generation;
            window.__took = new Promise((done) => document.addEventListener('keydown', () => {
                const from = performance.now();
                __shown(() => __data().generation !== generation && __data().missing === '0')
                    .then((at) => done(at - from));
            }, {capture: true, once: true}));
        }"""
    )
    box.press("Enter")
    return nb.page.evaluate("() => window.__took")


def test_time_from_enter_to_the_answer(race, report, notebook, wide_lake, rows):
    with notebook(opening(wide_lake, "w = ds.browse()\nw")) as nb:
        nb.run(0)
        nb.painted()
        nb.page.evaluate(TIMER)
        texts = (
            f"SELECT * WHERE label = '{name}' AND score > 0.{i}"
            for i in range(1, 9)
            for name in lakes.NAMES
        )
        rounds = race({OURS: lambda: {"ms": repaint(nb, next(texts))}}, 7)
    report.add(f"query of {rows:,} rows, Enter to repaint", rounds, at_most(400, "ms"))


def lasso(nb: Notebook) -> Figures:
    """Draw a circle on the map; return the milliseconds until the points in it are selected."""
    box = nb.page.locator(".dl-map").bounding_box()
    radius = min(box["width"], box["height"]) * 0.45
    angles = np.linspace(0, 2 * np.pi, 60)
    x = box["x"] + box["width"] / 2 + radius * np.cos(angles)
    y = box["y"] + box["height"] / 2 + radius * np.sin(angles)
    nb.page.evaluate(
        """() => {
            const said = document.querySelector('.dl-chosen-count');
            const before = said.textContent;
            window.__took = new Promise((done) => document.addEventListener('pointerup', () => {
                const from = performance.now();
                __shown(() => said.textContent !== before)
                    .then(() => requestAnimationFrame(() => done(performance.now() - from)));
            }, {capture: true, once: true}));
        }"""
    )
    nb.page.mouse.move(x[0], y[0])
    nb.page.mouse.down()
    for place in zip(x[1:], y[1:], strict=True):
        nb.page.mouse.move(*place)
    nb.page.mouse.up()
    took = nb.page.evaluate("() => window.__took")
    nb.page.locator(".dl-grid .dl-scroller").press("Escape")
    nb.page.get_by_text("Nothing selected").wait_for()
    return {"ms": took}


def test_lasso_on_the_map(race, report, notebook, work):
    rng = np.random.default_rng(0)
    lake = lakes.dl.create(
        str(work / "points" / "lake"),
        {"label": lakes.dl.ClassLabel(lakes.NAMES), "vector": lakes.dl.Embedding(16)},
    )
    label = rng.integers(len(lakes.NAMES), size=POINTS)
    vectors = rng.standard_normal((POINTS, 16), dtype=np.float32)
    vectors[:, :8] += 2 * np.eye(8, dtype=np.float32)[label]
    lake.append({"label": label, "vector": vectors})
    lake.commit("points")
    with notebook(opening(work / "points", "w = ds.browse()\nw")) as nb:
        nb.run(0)
        nb.painted()
        nb.page.evaluate(TIMER)
        nb.page.get_by_role("button", name="Map").click()
        nb.page.wait_for_selector(".dl-legend .dl-dot")  # the points are drawn
        nb.page.wait_for_timeout(1000)
        rounds = race({OURS: partial(lasso, nb)}, 7)
    report.add(f"lasso over {POINTS:,} points", rounds, at_most(300, "ms"))


def photographs(count: int, width: int = 6000, height: int = 4000) -> list[bytes]:
    """Return distinct JPEGs of 24 megapixels."""
    rng, files = np.random.default_rng(0), []
    for small in corpus.random_crops(count, 250, seed=9):
        large = np.asarray(Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC))
        grain = (
            rng.integers(0, 24, (height // 8, width // 8, 1), np.uint8).repeat(8, 0).repeat(8, 1)
        )
        with io.BytesIO() as file:
            Image.fromarray(large // 2 + large // 3 + grain).save(file, "JPEG", quality=90)
            files.append(file.getvalue())
    return files


def fetched_again(nb: Notebook) -> float:
    """Request all cards again; return the milliseconds until they are drawn."""
    nb.page.evaluate(
        """() => { // a block: what an arrow returns is waited for
            window.__took = __shown(() => __data().missing !== '0')
                .then((from) => __shown(() => __data().missing === '0').then((at) => at - from));
        }"""
    )
    nb.run(1)
    return nb.page.evaluate("() => window.__took")


def test_large_photographs(report, race, notebook, work):
    folder = work / "photographs"
    lakes.image_lake(folder, photographs(CARDS))
    again = "w.thumbnails = type(w.thumbnails)(ds.url, 1 << 26)\nw.tell({'type': 'changed'})"
    with notebook(
        opening(folder, "w = ds.browse()", SEVEN_BY_FOUR), again, "w", "w.settings['size']"
    ) as nb:
        nb.run(0)
        first = paint_of_a_cell(nb, 2)
        later = race({OURS: lambda: ms([fetched_again(nb) for _ in range(20)])}, 3)
    of = f"{CARDS} thumbnails of 24-megapixel photographs"
    report.add(
        f"{of}, from cell run to first paint, first", {OURS: [{"ms": first}]}, at_most(2000, "ms")
    )
    report.add(f"{of}, later, from disk", later, at_most(60, "ms p95"))
