"""What the page asks of the browser as a whole: queries, selections, saved views, versions."""
