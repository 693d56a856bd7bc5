"""What all widgets here have in common: the page, what both sides know, and how they are shown."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, override

import anywidget
import traitlets as t

from deeplake_lite.errors import LakeError
from deeplake_lite.widget import front_end
from deeplake_lite.widget.messages import logger, problem_of
from deeplake_lite.widget.static.strip import FROZEN, FROZEN_BYTES, FROZEN_SIDE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.widget.messages import Dispatcher


def _selection_of(value: Any, widget: Display) -> bytes:
    """Return the positions that the page sent, uint32; the ones there are where it sent none."""
    if isinstance(value, bytes | bytearray | memoryview) and memoryview(value).nbytes % 4 == 0:
        return bytes(value)
    return widget._selected


class Display(anywidget.AnyWidget):
    """A widget that the page of the browser draws, and its desk answers."""

    _esm = front_end.script("browser")
    _css = front_end.style()

    _selected = t.Bytes(b"").tag(sync=True, from_json=_selection_of)
    _selected_of = t.Int(0).tag(sync=True)  # generation; only the page sets it
    settings = t.Dict().tag(sync=True)
    about = t.Dict().tag(sync=True)
    state = t.Dict().tag(sync=True)
    staged: Any = t.List().tag(sync=True)
    staged_count = t.Int(0).tag(sync=True)
    staged_rows = t.Int(0).tag(sync=True)
    drafts: Any = t.List().tag(sync=True)
    problem: Any = t.Dict(default_value=None, allow_none=True).tag(sync=True)

    _dispatcher: Dispatcher

    def __init__(self, **traits: Any) -> None:
        self._displays: list[Any] = []
        self._strips: list[Any] = []
        super().__init__(**traits)

    @abstractmethod
    def _strip(self, **more: Any) -> str:
        """Return what is shown as plain HTML, for where no kernel runs."""

    def freeze(self, rows: int = FROZEN) -> None:
        """Put a picture of the first rows in the place of the browser, which stays in the notebook.

        What is shown by a kernel goes with it: a frozen browser is there when the notebook is
        opened again, or read on the web.

        Parameters
        ----------
        rows : int
            How many of the rows that are shown now.

        Raises
        ------
        LakeError
            When the browser is nowhere to be seen.
        """
        if not self._displays:
            raise LakeError("A browser is frozen where it is seen. Let a cell show it first.")
        html = self._strip(rows=rows, side=FROZEN_SIDE, most_bytes=FROZEN_BYTES)
        for seen in self._displays:
            seen.update({"text/html": html, "text/plain": repr(self)}, raw=True)
        for strip in self._strips:
            strip.update({"text/html": "", "text/plain": ""}, raw=True)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget, and what hosts show that run no widgets."""
        data, metadata = super()._repr_mimebundle_(**options) or ({}, {})
        return {**data, "text/html": self._strip(), "text/plain": repr(self)}, metadata

    def _ipython_display_(self) -> None:
        """Show the widget under an id, by which `freeze` finds it again, and a strip of rows.

        The strip is an output of its own. In one bundle with the widget, hosts choose the widget
        wherever its state was stored with the notebook, as `nbconvert --execute` does, and show
        nothing when no kernel answers it. Beside a widget that is answered, our style hides it.
        """
        from IPython import display

        show: Any = display.display
        data, metadata = self._repr_mimebundle_()
        html = f'<div class="dl-strip">{data.pop("text/html")}</div>'
        self._displays.append(show(data, metadata=metadata, raw=True, display_id=True))
        strip = {"text/html": html, "text/plain": ""}
        self._strips.append(show(strip, raw=True, display_id=True))

    # ---- messages

    def tell(self, message: dict[str, Any]) -> None:
        """Send the page a message that it did not ask for."""
        self.send(message)

    def complain(self, error: Exception) -> None:
        """Show an error in the page, and log it."""
        logger.warning("%s", error)
        self.problem = dict(problem_of(error))

    @override
    def _handle_custom_msg(self, content: Any, buffers: Any) -> None:
        super()._handle_custom_msg(content, buffers)
        self._dispatcher.take(content)

    def _failed(self, request: Mapping[str, Any], _pack: Any) -> dict[str, Any]:
        message = str(request.get("message"))[:2000]  # half a surrogate pair fits no log file
        whole = message.encode("utf-8", "backslashreplace").decode()
        logger.error("The page of the browser failed: %s", whole)
        return {}
