"""Forms of the browser that do not need a kernel: an HTML page, and a strip in plain HTML."""
