"""The browser where no kernel runs: a page of its own, and a strip in plain HTML."""
