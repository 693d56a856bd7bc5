"""Parse queries into syntax trees, complete words at the cursor, and quote names and constants."""
