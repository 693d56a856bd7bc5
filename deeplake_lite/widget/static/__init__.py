"""Forms of the browser that need no kernel: a page in a file, and a strip in plain HTML."""
