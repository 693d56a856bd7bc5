"""The browser in the notebook: Python holds the data and answers, JavaScript draws and asks.

`browser` is what users hold; `messages` answers what the page asks through the `parts`, of which
each knows one thing: `asking` and `cells` what is shown and how it looks, `facets` what it is made
of, `detail` and `history` one row, `versions` and `saved` what else there is to show. `shown` is
the state that they share. `strip` is what stays where no kernel runs.
"""

from deeplake_lite.widget.browser import Browser, browse
from deeplake_lite.widget.difference import Difference, browse_diff

__all__ = ["Browser", "Difference", "browse", "browse_diff"]
