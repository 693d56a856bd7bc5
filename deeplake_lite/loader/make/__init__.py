"""From the cells of some rows to a batch."""
