"""Forms of the browser that need no kernel: an HTML page, and the first rows in plain HTML."""
