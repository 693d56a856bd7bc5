"""Recognition of the format of data, so that one function ingests all of them."""
