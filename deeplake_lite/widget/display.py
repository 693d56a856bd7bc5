"""The base class of the widgets, with the traits that the page reads, and the notebook output."""

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
    from typing import Unpack

    from deeplake_lite.widget.messages import Dispatcher, Pack
    from deeplake_lite.widget.parts import Request
    from deeplake_lite.widget.static.strip import StripOptions


def _selection_of(value: object, widget: Display) -> bytes:
    """Return the selection that the page sent, or the current selection if the data are invalid."""
    if isinstance(value, bytes | bytearray | memoryview) and memoryview(value).nbytes % 4 == 0:
        return bytes(value)
    return widget._selected  # noqa: SLF001 # traitlets calls this outside of the class


class Display(anywidget.AnyWidget):
    """A widget that JavaScript draws on the page. A dispatcher answers the page's requests."""

    _esm = front_end.script("browser")
    _css = front_end.style()

    _selected = t.Bytes(b"").tag(sync=True, from_json=_selection_of)
    _selected_of = t.Int(0).tag(sync=True)  # generation of the selection; only the page sets it
    settings = t.Dict().tag(sync=True)
    about = t.Dict().tag(sync=True)
    state = t.Dict().tag(sync=True)
    staged: Any = t.List().tag(sync=True)
    staged_count = t.Int(0).tag(sync=True)
    staged_rows = t.Int(0).tag(sync=True)
    drafts: Any = t.List().tag(sync=True)
    problem: Any = t.Dict(default_value=None, allow_none=True).tag(sync=True)

    _dispatcher: Dispatcher

    def __init__(self, **traits: object) -> None:
        self._displays: list[Any] = []
        self._strips: list[Any] = []
        super().__init__(**traits)

    @abstractmethod
    def _strip(self, **more: Unpack[StripOptions]) -> str:
        """Return the shown rows as plain HTML, for notebooks without a kernel."""

    def freeze(self, rows: int = FROZEN) -> None:
        """Replace the dataset browser in the notebook with static HTML of the first rows.

        The dataset browser itself is shown only as long as its kernel runs. The static rows are
        stored in the notebook, so they are shown when the notebook is opened again or read on the
        web.

        Parameters
        ----------
        rows : int
            Maximum number of rows, counted from the first shown row.

        Raises
        ------
        LakeError
            When no cell shows the dataset browser.
        """
        if not self._displays:
            raise LakeError(
                "The dataset browser cannot be frozen, because no cell shows it. Show it in a cell "
                "first."
            )
        html = self._strip(rows=rows, side=FROZEN_SIDE, most_bytes=FROZEN_BYTES)
        for display in self._displays:
            display.update({"text/html": html, "text/plain": repr(self)}, raw=True)
        for strip in self._strips:
            strip.update({"text/html": "", "text/plain": ""}, raw=True)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget, and static HTML for notebook viewers that do not run widgets."""
        data, metadata = super()._repr_mimebundle_(**options) or ({}, {})
        return {**data, "text/html": self._strip(), "text/plain": repr(self)}, metadata

    def _ipython_display_(self) -> None:
        """Show the widget, and the first rows as static HTML. `freeze` replaces both outputs.

        The static rows are a separate output. If they were in the widget's MIME bundle, notebook
        viewers would choose the widget whenever its state is stored with the notebook, as after
        `nbconvert --execute`, and would show nothing without a kernel. A style sheet hides the
        static rows next to a live widget.
        """
        from IPython import display

        show: Any = display.display
        data, metadata = self._repr_mimebundle_()
        html = f'<div class="dl-strip">{data.pop("text/html")}</div>'
        self._displays.append(show(data, metadata=metadata, raw=True, display_id=True))
        strip = {"text/html": html, "text/plain": ""}
        self._strips.append(show(strip, raw=True, display_id=True))

    # ---- messages

    def notify(self, message: Mapping[str, object]) -> None:
        """Send the page a message that is not a reply."""
        self.send(message)

    def report_error(self, error: Exception) -> None:
        """Show an error in the page and log it."""
        logger.warning("%s", error)
        self.problem = dict(problem_of(error))

    @override
    def _handle_custom_msg(self, content: object, buffers: object) -> None:
        super()._handle_custom_msg(content, buffers)
        self._dispatcher.take(content)

    def _failed(self, request: Request, _pack: Pack) -> dict[str, object]:
        """Log an error that occurred in the page's JavaScript."""
        message = str(request.get("message"))[:2000]
        # Truncation may leave a lone surrogate, which cannot be written to a log file.
        text = message.encode("utf-8", "backslashreplace").decode()
        logger.error("The page of the dataset browser failed: %s", text)
        return {}
