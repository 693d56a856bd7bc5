"""The browser in the notebook: Python holds the data and answers, JavaScript draws and asks.

`browser` is what users hold, over `display`, which shows it, and `shown`, which is the state;
`difference` shows two versions side by side. `messages` answers what the page asks through the
`parts`, of which each knows one thing: `asked` what the page asks as a whole, `pictures` how rows
look, `filters` what they are counted by, `row` a single one, `edits` what is mended, `review` where
to look first. `static` is what stays where no kernel runs.
"""

from deeplake_lite.widget.browser import Browser, browse

__all__ = ["Browser", "browse"]
