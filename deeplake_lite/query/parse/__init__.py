"""Parse queries into syntax trees, complete words, and quote names and constants."""
