"""The dataset browser in notebooks. Python keeps the data, and JavaScript draws them.

`browser` defines the widget, `display` its base class for notebooks, and `browser_state` its state.
`difference` shows two versions side by side. `messages` passes each request of the page to the part
of the browser that answers requests of this kind. A part is an object with a method for each of its
requests. The parts are in folders: `requests` for queries, selections, saved views and versions,
`images` for the grid, `filters` for facets, `row` for a single row, `edits` for editing, and
`review` for maps and suspicious rows. `static` creates pages that do not need a kernel. `jobs` is
the progress bar of a job.
"""

from deeplake_lite.widget.browser import Browser, browse
from deeplake_lite.widget.jobs import follow_job, show_job

__all__ = ["Browser", "browse", "follow_job", "show_job"]
