"""The dataset browser in notebooks. Python keeps the data, and JavaScript draws them.

`browser` defines the widget, `display` its base class for notebooks, and `browser_state` its state.
`difference` shows two versions side by side. `messages` dispatches the page's requests to the parts
of the browser. A part is an object that answers requests of one kind. The parts are in folders:
`requests` for queries, selections, saved views and versions, `images` for the grid, `filters` for
facets, `row` for a single row, `edits` for editing, and `review` for maps and suspicious rows.
`static` creates pages that do not need a kernel.
"""

from deeplake_lite.widget.browser import Browser, browse

__all__ = ["Browser", "browse"]
