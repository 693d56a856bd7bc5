"""Pages on file:// with the front end over a fake model; their policy allows no request."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeplake_lite.widget import front_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FAKE = Path(__file__).with_name("fake.mjs")
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; media-src blob:"
)


def html(options: dict[str, Any], *, css: str = "", script: str = "") -> str:
    """A page with the front end over a FakeModel of these options."""
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>browser</title>
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<style>body {{ margin: 12px; }}{front_end.style()}{css}</style></head>
<body><main id="here"></main><script type="module">
{front_end.script("browser")}
{FAKE.read_text("utf-8")}
const model = new FakeModel({json.dumps(options)});
{script}
window.__model = model;
window.__close = render({{ model, el: document.getElementById("here") }});
</script></body></html>"""


def eventually(page: Any, holds: Callable[[], object]) -> None:
    """Wait until a condition is true, and fail if it is still false after a minute.

    Replies, selections and drawings arrive some time after the action that causes them, and later
    on a slow machine. Without that wait, a test would fail there.
    """
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if holds():
            return
        page.wait_for_timeout(20)
    assert holds()


@dataclasses.dataclass
class Opened:
    """A page with the widget, and all errors on it."""

    page: Any
    errors: list[str]
    requests: list[str]

    def painted(self) -> None:
        """Wait until every visible card is painted."""
        self.page.wait_for_function(
            "() => document.querySelector('.dl-browser')?.dataset.missing === '0'", timeout=600_000
        )

    def eventually(self, holds: Callable[[], object]) -> None:
        """Wait until a condition is true, and fail if it is still false after a minute."""
        eventually(self.page, holds)

    def answered(self) -> None:
        """Wait until the page has received a reply to each of its requests."""
        self.page.wait_for_function(
            "() => document.querySelector('.dl-browser').dataset.pending === '0'", timeout=600_000
        )

    def prefetched(self) -> None:
        """Wait until the page has the rows below the visible ones, so that it requests no more."""
        self.page.wait_for_function(
            "() => { const shown = document.querySelector('.dl-browser').dataset;"
            " const asked = __model.sent.filter((m) => m.type === 'cells').map((m) => m.stop);"
            " const wanted = Math.min(+shown.rows, 2 * shown.stop - shown.start);"
            " return shown.pending === '0' && Math.max(...asked) >= wanted; }",
            timeout=600_000,
        )

    def data(self, name: str) -> str:
        return self.page.eval_on_selector(".dl-browser", "(root, name) => root.dataset[name]", name)

    def sent(self, kind: str) -> list[dict[str, Any]]:
        """Messages of a type that were sent to Python."""
        return self.page.evaluate("k => __model.sent.filter((m) => m.type === k)", kind)

    def await_sent(self, kind: str, key: str, value: object) -> None:
        """Wait until the last message of a type sent to Python has a value at a key."""
        self.page.wait_for_function(
            "([kind, key, value]) => JSON.stringify("
            "__model.sent.findLast((m) => m.type === kind)?.[key]) === value",
            arg=[kind, key, json.dumps(value, separators=(",", ":"))],
        )

    def selected(self) -> list[int]:
        """The selection in Python."""
        return self.page.evaluate(
            "() => { const v = __model.get('_selected');"
            " return Array.from({length: v.byteLength / 4}, (_, i) => v.getUint32(i * 4, true)); }"
        )

    def await_selected(self, positions: list[int]) -> None:
        """Wait until these rows are the selection in Python."""
        self.page.wait_for_function(
            "(wanted) => { const v = __model.get('_selected');"
            " const found = Array.from({length: v.byteLength / 4}, (_, i) =>"
            " v.getUint32(i * 4, true));"
            " return JSON.stringify(found) === JSON.stringify(wanted); }",
            arg=positions,
        )

    def card(self, position: int) -> tuple[float, float]:
        """The middle of a visible card."""
        box = self.page.locator(f"[data-position='{position}']").bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def click(self, position: int, *keys: str) -> None:
        """Click a card with keys held down."""
        for key in keys:
            self.page.keyboard.down(key)
        self.page.mouse.click(*self.card(position))
        for key in keys:
            self.page.keyboard.up(key)


@contextlib.contextmanager
def opened(
    browser: Any,
    folder: Path,
    *,
    width: int = 1200,
    height: int = 720,
    dark: bool = False,
    scale: float = 1,
    css: str = "",
    script: str = "",
    fine: bool = True,
    **options: Any,
) -> Iterator[Opened]:
    """The widget on a page of its own; with `fine`, there must be no errors at the end."""
    file = folder / "page.html"
    file.write_text(html(options, css=css, script=script), "utf-8")
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        device_scale_factor=scale,
    )
    page = context.new_page()
    page.set_default_timeout(8000)
    shown = Opened(page, [], [])
    page.on("pageerror", lambda error: shown.errors.append(str(error)))
    page.on(
        "console", lambda line: shown.errors.append(line.text) if line.type == "error" else None
    )
    page.on("request", lambda request: shown.requests.append(request.url))
    page.goto(file.as_uri())
    try:
        yield shown
        if fine:
            assert shown.errors == []
            outside = [
                url for url in shown.requests if not url.startswith(("blob:", "data:", "file:"))
            ]
            assert outside == []
    finally:
        context.close()


@contextlib.contextmanager
def stored(browser: Any, path: Path, *, dark: bool = False) -> Iterator[Any]:
    """An exported page, opened from its file; no error or request may occur."""
    said, requests = [], []
    context = browser.new_context(color_scheme="dark" if dark else "light")
    page = context.new_page()
    page.set_default_timeout(8000)
    page.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: said.append(str(e)))
    page.on("dialog", lambda d: (said.append(d.message), d.dismiss()))
    page.on("request", lambda r: requests.append(r.url))
    page.goto(path.as_uri())
    try:
        page.wait_for_function(
            "() => document.querySelector('.dl-browser')?.dataset.missing === '0'"
        )
        yield page
    finally:
        context.close()
    assert said == []
    assert [url for url in requests if not url.startswith(("file:", "blob:", "data:"))] == []
