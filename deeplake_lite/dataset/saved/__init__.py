"""Named views and pickles: a version and rows of it, or the query that selects them."""
