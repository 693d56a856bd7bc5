"""A page in Chromium whose model is a widget of this process: everything but Jupyter."""

from __future__ import annotations

import base64
import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeplake_lite.widget import front_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TRAITS = (
    "query", "_selected", "settings", "about", "state", "staged", "staged_count", "staged_rows",
    "problem",
)  # fmt: skip

MODEL = """
const unpack = (value) =>
	value?.bytes === undefined ? value : new DataView(fromBase64(value.bytes).buffer);
const isBytes = (value) => ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
const pack = (value) =>
	isBytes(value) ? { bytes: btoa(String.fromCharCode(...asBytes(value))) } : value;
const each = (values, f) =>
	Object.fromEntries(Object.entries(values).map(([name, value]) => [name, f(value)]));
class Bridge {
	constructor(traits) {
		Object.assign(this, { handlers: {}, changed: {}, calls: 0, traits: each(traits, unpack) });
	}
	get(name) { return this.traits[name]; }
	on(name, handler) { (this.handlers[name] ??= new Set()).add(handler); }
	off(name, handler) { this.handlers[name]?.delete(handler); }
	fire(name, ...values) { for (const f of [...(this.handlers[name] ?? [])]) f(...values); }
	set(name, value) {
		this.traits[name] = this.changed[name] = value;
		this.fire(`change:${name}`);
	}
	save_changes() {
		this.call({ changed: each(this.changed, pack) });
		this.changed = {};
	}
	send(message) { this.call({ message }); }
	async call(sent) {
		this.calls++;
		const back = JSON.parse(await window.python(JSON.stringify(sent)));
		this.calls--;
		for (const { trait, value, reply, buffers } of back) {
			if (trait) {
				this.traits[trait] = unpack(value);
				this.fire(`change:${trait}`);
			} else this.fire("msg:custom", reply, buffers.map(unpack));
		}
	}
}
const traits = JSON.parse(await window.python("{}"));
window.model = new Bridge(traits);
render({ model: window.model, el: document.getElementById("here") });
"""


class Kernel:
    """The receiver of the page's messages and traits, and the source of the replies."""

    def __init__(self, widget: Any) -> None:
        self.widget = widget
        self._back: list[dict[str, Any]] = []
        widget.send = self._send
        names = [name for name in TRAITS if widget.has_trait(name)]
        widget.observe(
            lambda change: self._back.append(
                {"trait": change["name"], "value": _packed(change["new"])}
            ),
            names,
        )
        self._names = names

    def _send(self, reply: Any, buffers: Any = None) -> None:
        if reply["type"] != "thread":  # messages of a thread have no way to the page here
            self._back.append({"reply": reply, "buffers": [_packed(b) for b in buffers or []]})

    def answer(self, text: str) -> str:
        sent = json.loads(text)
        if not sent:
            self._back.clear()
            result: Any = {name: _packed(getattr(self.widget, name)) for name in self._names}
            return json.dumps(result)
        for name, value in sent.get("changed", {}).items():
            plain = base64.b64decode(value["bytes"]) if name == "_selected" else value
            setattr(self.widget, name, plain)
        if "message" in sent:
            self.widget._handle_custom_msg(sent["message"], [])
        told = json.dumps(self._back)  # with what has changed in Python since the last message
        self._back.clear()
        return told


def _packed(value: Any) -> Any:
    is_bytes = isinstance(value, bytes | bytearray | memoryview)
    return {"bytes": base64.b64encode(value).decode()} if is_bytes else value


@contextlib.contextmanager
def shown(chrome: Any, widget: Any) -> Iterator[tuple[Any, list[str]]]:
    """Return a page with a widget, and the list of errors on it."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="bridge-") as folder:
        here = Path(folder, "page.html")
        css, script = front_end.style(), front_end.script("browser", "bytes")
        here.write_text(
            f"<!doctype html><meta charset=utf-8><style>{css}</style><main id=here></main>"
            f"<script type=module>{script}{MODEL}</script>",
            "utf-8",
        )
        page = chrome.new_page(viewport={"width": 1280, "height": 720})
        try:
            page.set_default_timeout(8000)
            page.on("pageerror", lambda e: wrong.append(str(e)))
            page.on("console", lambda m: m.type == "error" and wrong.append(m.text))
            page.expose_function("python", Kernel(widget).answer)
            page.goto(here.as_uri())
            painted(page)
            yield page, wrong
        finally:
            page.close()


def pushed(page: Any) -> None:
    """Deliver changes made in Python to the page."""
    page.evaluate("() => window.model.call({ changed: {} })")


HELD = """(name) => {
	const python = window.python;
	const released = new Promise((go) => (window.release = go));
	window.python = async (text) => {
		const back = await python(text);
		if (JSON.parse(text).message?.type === name) await released;
		return back;
	};
}"""


def held(page: Any, kind: str) -> Callable[[], None]:
    """Hold back the replies to one kind of message, as a busy kernel does.

    Returns a function that releases them. A fixed delay could end too early on a slow machine.
    """
    page.evaluate(HELD, kind)
    return lambda: page.evaluate("() => window.release()")


def painted(page: Any) -> None:
    """Wait until every visible row is drawn."""
    page.wait_for_function("() => document.querySelector('.dl-browser')?.dataset.missing === '0'")
