"""The steps that turn the cells of some rows into a batch."""
