"""The dataset browser in the notebook: Python holds the data, and JavaScript draws them.

`browser` has the widget that users hold, which `display` shows in the notebook; `shown` has its
state. `difference` shows two versions side by side. `messages` dispatches the requests of the page
to the parts of the browser, which are in folders: `requests` for queries, selections, saved views
and versions, `images` for the grid, `filters` for facets, `row` for a single row, `edits` for
editing, and `review` for maps and suspicious rows. `static` has the forms that need no kernel.
"""

from deeplake_lite.widget.browser import Browser, browse

__all__ = ["Browser", "browse"]
